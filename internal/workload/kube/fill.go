package kube

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"time"

	v1 "plimsoll.dev/plimsoll/api/v1alpha1"
	"plimsoll.dev/plimsoll/internal/record"
	"plimsoll.dev/plimsoll/internal/workload"
)

// filledName is the name of the i-th object that a fill makes.
func filledName(i int) string { return fmt.Sprintf("plimsoll-%06d", i) }

const (
	// createTimeout bounds one creation, which is not measured but must end.
	createTimeout = time.Minute
	// retryAfter is the Retry-After of an API server that is too busy.
	retryAfter = time.Second
)

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
