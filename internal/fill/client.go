package fill

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"

	utilnet "k8s.io/apimachinery/pkg/util/net"
	"k8s.io/client-go/rest"

	"plimsoll.dev/plimsoll/internal/target"
)

const (
	// requestTimeout bounds one request together with its repetitions.
	requestTimeout = time.Minute
	// retryAfter is the Retry-After of an API server that is too busy.
	retryAfter = time.Second
	// maxAnswer bounds what is read of an answer, in bytes: an object and some.
	maxAnswer = 8 << 20
)

// client speaks to the API server as admin.
type client struct {
	http *http.Client
	base string // URL without a slash at its end
}

func newClient(api target.KubeAPI) (*client, error) {
	config, err := api.RESTConfig(target.Admin)
	if err != nil {
		return nil, err
	}
	config.UserAgent = "plimsoll"
	c, err := rest.HTTPClientFor(config)
	if err != nil {
		return nil, fmt.Errorf("read credentials for %s: %w", config.Host, err)
	}
	base, _, err := rest.DefaultServerUrlFor(config)
	if err != nil {
		return nil, fmt.Errorf("read server address: %w", err)
	}
	return &client{http: c, base: strings.TrimSuffix(base.String(), "/")}, nil
}

func (c *client) close() { utilnet.CloseIdleConnectionsFor(c.http.Transport) }

// create asks for an object to be made, and tries again while the server is too
// busy to take it. path may carry a query.
func (c *client) create(ctx context.Context, path string, body []byte) ([]byte, error) {
	return c.persist(ctx, http.MethodPost, path, body)
}

func (c *client) get(ctx context.Context, path string) ([]byte, error) {
	return c.persist(ctx, http.MethodGet, path, nil)
}

func (c *client) persist(ctx context.Context, method, path string, body []byte) ([]byte, error) {
	trying, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	var busy error // the last rejection
	for {
		answer, err := c.send(trying, method, path, body)
		var refused *refusedError
		if errors.As(err, &refused) && refused.rejected {
			busy = err
			select {
			case <-time.After(retryAfter):
				continue
			case <-trying.Done():
			}
		}
		switch {
		case err == nil:
			return answer, nil
		case ctx.Err() != nil:
			return nil, context.Cause(ctx)
		case trying.Err() != nil:
			if busy != nil {
				err = busy
			}
			return nil, fmt.Errorf("given up after %s: %w", requestTimeout, err)
		}
		return nil, err
	}
}

// send sends one request, once.
func (c *client) send(ctx context.Context, method, path string, body []byte) ([]byte, error) {
	request, err := http.NewRequestWithContext(ctx, method, c.base+path, bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	request.Header.Set("Content-Type", "application/json")
	request.Header.Set("Accept", "application/json")
	response, err := c.http.Do(request)
	if err != nil {
		return nil, err
	}
	defer response.Body.Close()
	answer, err := io.ReadAll(io.LimitReader(response.Body, maxAnswer))
	if response.StatusCode >= 300 {
		return nil, newRefusedError(response, answer)
	}
	return answer, err
}

// refusedError is an answer that is not a success.
type refusedError struct {
	code            int
	reason, message string // the server's own
	rejected        bool   // for now, being too busy
}

func newRefusedError(response *http.Response, body []byte) *refusedError {
	e := &refusedError{code: response.StatusCode, message: strings.TrimSpace(string(body))}
	e.rejected = e.code == http.StatusTooManyRequests ||
		e.code == http.StatusServiceUnavailable && response.Header.Get("Retry-After") != ""
	var status struct{ Reason, Message string }
	if json.Unmarshal(body, &status) == nil {
		e.reason, e.message = status.Reason, status.Message
	}
	if strings.Contains(e.message, "mvcc: database space exceeded") {
		e.message += quotaHint
	}
	return e
}

// quotaHint says what to do about an etcd that is full.
const quotaHint = " (etcd's database has reached its limit: raise quota-backend-bytes in the flags of etcd, or make less)"

func (e *refusedError) Error() string {
	return fmt.Sprintf("the server answers %d %s: %s", e.code, http.StatusText(e.code), e.message)
}
