package kube

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"

	v1 "plimsoll.dev/plimsoll/api/v1alpha1"
	"plimsoll.dev/plimsoll/internal/record"
	"plimsoll.dev/plimsoll/internal/target"
	"plimsoll.dev/plimsoll/internal/workload"
)

// filledName is the name of the i-th object that a fill makes.
func filledName(i int) string { return fmt.Sprintf("plimsoll-%06d", i) }

const (
	// fillConnections is over how many connections the clients of a fill work, at most.
	fillConnections = 4
	// createTimeout bounds one creation, which is not measured but must end.
	createTimeout = time.Minute
	// retryAfter is the Retry-After of an API server that is too busy.
	retryAfter = time.Second
)

// Fill makes objects through the API server as admin, and counts them in made
// as it goes.
func Fill(ctx context.Context, api target.KubeAPI, fill v1.Fill, runID string, made *atomic.Int64) (err error) {
	connections, err := connect(ctx, api, target.Admin, min(fill.Clients, fillConnections))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, connections.close()) }()
	if err := ensureNamespace(ctx, connections[0], fill.Namespace, runID); err != nil {
		return err
	}
	template := newTemplate(fill.Resource, fill.Namespace, fill.Payload, runID)
	var claimed atomic.Int64
	clients, ctx := errgroup.WithContext(ctx)
	for i := range fill.Clients {
		clients.Go(func() error {
			for {
				n := int(claimed.Add(1)) - 1
				if n >= fill.Count {
					return nil
				}
				if err := template.create(ctx, connections[i%len(connections)], filledName(n)); err != nil {
					return fmt.Errorf("fill %s in namespace %s: create %s: %w", fill.Resource, fill.Namespace, filledName(n), err)
				}
				made.Add(1)
			}
		})
	}
	return clients.Wait()
}

// ensureNamespace makes a namespace unless it is there.
func ensureNamespace(ctx context.Context, c *connection, name v1.Name, runID string) error {
	err := newNamespaceTemplate(runID).create(ctx, c, string(name))
	var refused *refusedError
	if errors.As(err, &refused) && refused.code == http.StatusConflict {
		return nil
	}
	if err != nil {
		return fmt.Errorf("make namespace %s: %w", name, err)
	}
	return nil
}

// create makes one object, and tries again while the server is too busy to take it.
func (t template) create(ctx context.Context, c *connection, name string) error {
	trying, cancel := context.WithTimeout(ctx, createTimeout)
	defer cancel()
	var busy error // the last rejection
	for {
		err := t.post(trying, c, name)
		var refused *refusedError
		if errors.As(err, &refused) && refused.Outcome == record.Rejected {
			busy = err
			select {
			case <-time.After(retryAfter):
				continue
			case <-trying.Done():
			}
		}
		switch {
		case err == nil:
			return nil
		case ctx.Err() != nil:
			return context.Cause(ctx)
		case trying.Err() != nil:
			if busy != nil {
				err = busy
			}
			return fmt.Errorf("given up after %s: %w", createTimeout, err)
		}
		return err
	}
}

// post asks once for an object to be made.
func (t template) post(ctx context.Context, c *connection, name string) error {
	body, length := t.render(name)
	response, err := c.send(ctx, http.MethodPost, t.path, body, length)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	if response.StatusCode >= 300 {
		result, message := refusal(response)
		return &refusedError{result, response.StatusCode, message}
	}
	_, err = io.Copy(io.Discard, response.Body)
	return err
}

// refusedError is an answer that is not a success.
type refusedError struct {
	workload.Result
	code    int
	message string // the server's own
}

func (e *refusedError) Error() string {
	return fmt.Sprintf("the server answers %d %s: %s", e.code, http.StatusText(e.code), e.message)
}
