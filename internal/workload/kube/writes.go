package kube

import (
	"context"
	"io"
	"net/http"

	"plimsoll.dev/plimsoll/internal/jsonscan"
	"plimsoll.dev/plimsoll/internal/record"
	"plimsoll.dev/plimsoll/internal/workload"
	"plimsoll.dev/plimsoll/internal/workload/httpconn"
)

// Write is a change of one object.
type Write struct {
	Path    string // of the object
	Version string // that it has since, or Deleted
}

// Deleted stands for the version of a deletion, whose answer tells none.
const Deleted = "deleted"

// Writes are those to the Kubernetes API.
type Writes = workload.Writes[Write]

// write sends a request that changes the object at path, for watches to match.
func (c *client) write(ctx context.Context, r httpconn.Request, path string) workload.Result {
	if !c.writes.Watched() {
		return c.Do(ctx, r, httpconn.Discard)
	}
	version := Deleted
	read := httpconn.Discard
	if r.Method != http.MethodDelete {
		read = func(body io.Reader) (n int64, err error) {
			version, n, err = jsonscan.ReadVersion(body)
			return n, err
		}
	}
	result := c.Do(ctx, r, read)
	if result.Outcome == record.OK && version != "" {
		c.writes.Note(Write{path, version})
	}
	return result
}
