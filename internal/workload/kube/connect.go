package kube

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"

	"k8s.io/client-go/rest"

	"plimsoll.dev/plimsoll/internal/target"
)

// connection is one HTTP/2 connection to the API server.
type connection struct {
	client    *http.Client
	transport *http.Transport
	base      url.URL
}

// connect opens n connections as the identity and proves each with a request,
// so that no measured operation pays for a handshake.
func connect(ctx context.Context, api target.KubeAPI, identity target.Identity, n int) ([]*connection, error) {
	config, err := api.RESTConfig(identity)
	if err != nil {
		return nil, err
	}
	connections := make([]*connection, n)
	for i := range connections {
		if connections[i], err = open(config); err != nil {
			return nil, err
		}
		if err := connections[i].prove(ctx); err != nil {
			return nil, fmt.Errorf("connect to %s as %s: %w", config.Host, identity, err)
		}
	}
	return connections, nil
}

func open(config *rest.Config) (*connection, error) {
	tlsConfig, err := rest.TLSConfigFor(config)
	if err != nil {
		return nil, fmt.Errorf("read client certificates: %w", err)
	}
	base, err := url.Parse(config.Host)
	if err != nil {
		return nil, fmt.Errorf("read server address: %w", err)
	}
	transport := &http.Transport{
		TLSClientConfig:   tlsConfig,
		ForceAttemptHTTP2: true,
		// One connection is one connection: requests beyond the server's stream limit queue, rather
		// than open another behind our back.
		HTTP2: &http.HTTP2Config{StrictMaxConcurrentRequests: true, MaxReadFrameSize: 1 << 20},
		// Compression is asked for by nobody: it would measure gzip.
		DisableCompression:  true,
		TLSHandshakeTimeout: 10 * time.Second,
	}
	wrapped, err := rest.HTTPWrappersForConfig(config, transport)
	if err != nil {
		return nil, fmt.Errorf("read credentials: %w", err)
	}
	return &connection{&http.Client{Transport: wrapped}, transport, *base}, nil
}

// prove performs one cheap request that every authenticated user may make.
func (c *connection) prove(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	response, err := c.send(ctx, http.MethodGet, "/version", nil, 0)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusOK {
		return fmt.Errorf("GET /version: %s", response.Status)
	}
	_, err = io.Copy(io.Discard, response.Body)
	return err
}

// send performs a request; path may carry a query.
func (c *connection) send(ctx context.Context, method, path string, body io.Reader, length int64) (*http.Response, error) {
	address := c.base
	address.Path, address.RawQuery, _ = strings.Cut(path, "?")
	request := &http.Request{
		Method: method, URL: &address, Host: address.Host,
		Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
		Header:        http.Header{"Accept": {"application/json"}, "User-Agent": {"plimsoll"}},
		ContentLength: length,
	}
	if body != nil {
		request.Header.Set("Content-Type", "application/json")
		request.Body = io.NopCloser(body)
	}
	return c.client.Do(request.WithContext(ctx))
}

func (c *connection) close() { c.transport.CloseIdleConnections() }
