package local

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"
)

const (
	accessTimeout = 10 * time.Second
	rbacPath      = "/apis/rbac.authorization.k8s.io/v1/"
)

// loadRole lets load users do everything to every resource but grant rights.
const loadRole = `{
	"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRole", "metadata": {"name": "plimsoll-load"},
	"rules": [{
		"apiGroups": ["*"], "resources": ["*"],
		"verbs": ["get", "list", "watch", "create", "update", "patch", "delete", "deletecollection"]
	}]
}`

const loadBinding = `{
	"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRoleBinding", "metadata": {"name": "plimsoll-load"},
	"roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "plimsoll-load"},
	"subjects": [{"apiGroup": "rbac.authorization.k8s.io", "kind": "Group", "name": "` + loadGroup + `"}]
}`

// admitLoad gives the load users their role and waits until it counts: the API
// server learns of it through a watch of its own.
func (t *Target) admitLoad(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, accessTimeout)
	defer cancel()
	t.mu.Lock()
	admin, load := t.client(kubernetesCA, adminClient), t.client(kubernetesCA, loadClient)
	t.mu.Unlock()
	url := t.ports.apiserverURL()
	for _, o := range []struct{ resource, body string }{{"clusterroles", loadRole}, {"clusterrolebindings", loadBinding}} {
		if err := post(ctx, admin, url+rbacPath+o.resource, o.body); err != nil {
			return t.because(fmt.Errorf("give the load users their rights: %w", err))
		}
	}
	if err := await(ctx, load, url+"/api/v1/namespaces/default/configmaps?limit=1"); err != nil {
		return t.because(fmt.Errorf("wait until the load users may list configmaps: %w", err))
	}
	return nil
}

// because puts the exit of a component, if there was one, before its consequence.
func (t *Target) because(err error) error {
	select {
	case exit := <-t.failed:
		return fmt.Errorf("%w\n%w", exit, err)
	default:
		return err
	}
}

func post(ctx context.Context, client *http.Client, url, body string) error {
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, url, strings.NewReader(body))
	if err != nil {
		return err
	}
	request.Header.Set("Content-Type", "application/json")
	response, err := client.Do(request)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	answer, _ := io.ReadAll(io.LimitReader(response.Body, 4<<10))
	if response.StatusCode != http.StatusCreated {
		return fmt.Errorf("POST %s answers %s: %s", url, response.Status, answer)
	}
	return nil
}
