package kube

import (
	"context"
	"io"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"plimsoll.dev/plimsoll/internal/record"
	"plimsoll.dev/plimsoll/internal/workload"
)

// maxWrites bounds how many writes are remembered; older ones are forgotten.
const maxWrites = 1 << 16

// deleted stands for the version of a deletion, whose answer tells none.
const deleted = "deleted"

// write is a change of one object.
type write struct {
	path    string // of the object
	version string // that it has since, or deleted
}

// Writes remembers when the writes of a run's phases were answered, so that
// watches can say how much later they heard of them. It remembers nothing
// unless somebody watches. The zero value is ready.
type Writes struct {
	watches atomic.Int64

	mu       sync.Mutex
	answered map[write]time.Time
	order    []write // a circle once it is full
	oldest   int
}

func (w *Writes) watch() { w.watches.Add(1) }

// unwatch forgets everything with the last watch.
func (w *Writes) unwatch() {
	if w.watches.Add(-1) > 0 {
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.answered, w.order, w.oldest = nil, nil, 0
}

// note remembers a write that was answered just now.
func (w *Writes) note(one write) {
	now := time.Now()
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.answered == nil {
		w.answered = map[write]time.Time{}
	}
	if _, known := w.answered[one]; known {
		return // of two equal ones, the second changed nothing
	}
	w.answered[one] = now
	if len(w.order) < maxWrites {
		w.order = append(w.order, one)
		return
	}
	delete(w.answered, w.order[w.oldest])
	w.order[w.oldest] = one
	w.oldest = (w.oldest + 1) % maxWrites
}

// at is when a write was answered; false says that it was not, as far as is known.
func (w *Writes) at(one write) (time.Time, bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	at, ok := w.answered[one]
	return at, ok
}

// write sends a request that changes the object at path, for watches to match.
func (c *client) write(ctx context.Context, r request, path string) workload.Result {
	if c.writes == nil || c.writes.watches.Load() == 0 {
		return c.do(ctx, r, discard)
	}
	version := deleted
	read := discard
	if r.method != http.MethodDelete {
		read = func(body io.Reader) (n int64, err error) {
			version, n, err = readVersion(body)
			return n, err
		}
	}
	result := c.do(ctx, r, read)
	if result.Outcome == record.OK && version != "" {
		c.writes.note(write{path, version})
	}
	return result
}
