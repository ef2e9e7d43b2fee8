package kube

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"

	v1 "plimsoll.dev/plimsoll/api/v1alpha1"
	"plimsoll.dev/plimsoll/internal/record"
	"plimsoll.dev/plimsoll/internal/target"
)

// FilledName is the name of the i-th object that a fill makes.
func FilledName(i int) string { return fmt.Sprintf("plimsoll-%06d", i) }

// fillTimeout bounds one creation of a fill, which is not measured but must end.
const fillTimeout = time.Minute

// Fill makes objects through the API server as admin, and counts them in made
// as it goes.
func Fill(ctx context.Context, api target.KubeAPI, fill v1.Fill, runID string, made *atomic.Int64) error {
	connections, err := connect(ctx, api, target.Admin, min(fill.Clients, 4))
	if err != nil {
		return err
	}
	defer func() {
		for _, c := range connections {
			c.close()
		}
	}()
	if err := ensureNamespace(ctx, connections[0], fill.Namespace, runID); err != nil {
		return err
	}
	template := newTemplate(fill.Resource, fill.Namespace, fill.Payload, runID)
	var claimed atomic.Int64
	clients, ctx := errgroup.WithContext(ctx)
	for i := range fill.Clients {
		clients.Go(func() error {
			c := creator{client{connection: connections[i%len(connections)], timeout: fillTimeout, buffer: make([]byte, 4<<10)}, template, 0}
			for {
				n := int(claimed.Add(1)) - 1
				if n >= fill.Count {
					return nil
				}
				if err := c.fill(ctx, FilledName(n)); err != nil {
					return fmt.Errorf("fill %s in namespace %s: create %s: %w", fill.Resource, fill.Namespace, FilledName(n), err)
				}
				made.Add(1)
			}
		})
	}
	return clients.Wait()
}

// fill makes one object, and tries again when the server is too busy to take it.
func (c *creator) fill(ctx context.Context, name string) error {
	for {
		result := c.create(ctx, name)
		switch {
		case ctx.Err() != nil:
			return context.Cause(ctx)
		case result.Outcome == record.OK:
			return nil
		case result.Outcome != record.Rejected:
			return fmt.Errorf("%s (%s)", result.Outcome, result.Reason)
		}
		select {
		case <-time.After(time.Second): // what Retry-After says
		case <-ctx.Done():
		}
	}
}

// ensureNamespace makes a namespace unless it is there.
func ensureNamespace(ctx context.Context, c *connection, name v1.Name, runID string) error {
	ctx, cancel := context.WithTimeout(ctx, fillTimeout)
	defer cancel()
	body := fmt.Sprintf(`{"apiVersion":"v1","kind":"Namespace","metadata":{"name":%q,"labels":{%q:%q}}}`, name, RunLabel, runID)
	response, err := c.send(ctx, http.MethodPost, "/api/v1/namespaces", strings.NewReader(body), int64(len(body)))
	if err != nil {
		return fmt.Errorf("make namespace %s: %w", name, err)
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusCreated && response.StatusCode != http.StatusConflict {
		message, _ := io.ReadAll(io.LimitReader(response.Body, 1<<10))
		return fmt.Errorf("make namespace %s: %s: %s", name, response.Status, message)
	}
	_, err = io.Copy(io.Discard, response.Body)
	return err
}
