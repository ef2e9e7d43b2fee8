package kube

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"

	"plimsoll.dev/plimsoll/internal/target"
	"plimsoll.dev/plimsoll/internal/workload/httpconn"
)

const flowControl = "/apis/flowcontrol.apiserver.k8s.io/v1/"

// FlowNames gives the names of the flow schemas and priority levels that a
// server has, by their UIDs: its answers name them by these. A server that has
// none, or shows them to others only, gives none.
func FlowNames(ctx context.Context, api target.KubeAPI) (_ map[string]string, err error) {
	connections, err := httpconn.ConnectAPI(ctx, api, target.Admin, httpconn.Options{Connections: 1})
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, connections.Close()) }()
	names := map[string]string{}
	for _, resource := range []string{"flowschemas", "prioritylevelconfigurations"} {
		if err := addNames(ctx, connections[0], flowControl+resource, names); err != nil {
			return nil, fmt.Errorf("list %s: %w", resource, err)
		}
	}
	return names, nil
}

// addNames reads the names of a collection's objects.
func addNames(ctx context.Context, connection *httpconn.Connection, path string, names map[string]string) error {
	response, err := connection.Exchange(ctx, httpconn.Request{Method: http.MethodGet, Path: path})
	if err != nil {
		return err
	}
	defer response.Body.Close()
	switch response.StatusCode {
	case http.StatusOK:
	case http.StatusNotFound, http.StatusForbidden:
		return nil
	default:
		return errors.New(response.Status)
	}
	var list struct {
		Items []struct {
			Metadata struct{ Name, UID string }
		}
	}
	if err := json.NewDecoder(response.Body).Decode(&list); err != nil {
		return err
	}
	for _, item := range list.Items {
		names[item.Metadata.UID] = item.Metadata.Name
	}
	return nil
}
