package kube

import (
	"context"
	"io"
	"net/http"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"plimsoll.dev/plimsoll/internal/jsonscan"
	"plimsoll.dev/plimsoll/internal/record"
	"plimsoll.dev/plimsoll/internal/workload"
	"plimsoll.dev/plimsoll/internal/workload/httpconn"
)

// maxWrites bounds how many writes are remembered; older ones are forgotten.
const maxWrites = 1 << 16

// Deleted stands for the version of a deletion, whose answer tells none.
const Deleted = "deleted"

// write is a change of one object.
type write struct {
	path    string // of the object
	version string // that it has since, or Deleted
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

// Watch has writes remembered, until Unwatch.
func (w *Writes) Watch() { w.watches.Add(1) }

// Unwatch forgets everything with the last watch.
func (w *Writes) Unwatch() {
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
func (c *client) write(ctx context.Context, r httpconn.Request, path string) workload.Result {
	if c.writes == nil || c.writes.watches.Load() == 0 {
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
		c.writes.note(write{path, version})
	}
	return result
}

const (
	// answerTime is how long after its event a write may yet be answered; later, it was somebody else's.
	answerTime = 10 * time.Second
	// maxEarly bounds how many events may wait for the answers of their writes.
	maxEarly = 1024
)

// Delays records, as parts called event, how much later than the answers of
// their writes a watch hears of them.
type Delays struct {
	Writes *Writes
	Parts  workload.Timer
	Since  time.Time // writes that were answered before are history

	early []heard // without an answered write yet
}

// heard is an event whose write has not been answered.
type heard struct {
	write
	at time.Time
}

// Heard takes in an event of the object at a path in the Kubernetes API, whose
// version is Deleted if it is gone.
func (d *Delays) Heard(path, version string, now time.Time) {
	one := write{path, version}
	if answered, ok := d.Writes.at(one); ok {
		if !answered.Before(d.Since) {
			d.record(max(0, now.Sub(answered)))
		}
		return
	}
	if len(d.early) == maxEarly {
		d.early = append(d.early[:0], d.early[1:]...)
	}
	d.early = append(d.early, heard{one, now})
}

// Settle looks again for the writes of events that came before their answers:
// those came without delay.
func (d *Delays) Settle(now time.Time) {
	d.early = slices.DeleteFunc(d.early, func(h heard) bool {
		_, answered := d.Writes.at(h.write)
		if answered {
			d.record(0)
		}
		return answered || now.Sub(h.at) > answerTime
	})
}

func (d *Delays) record(delay time.Duration) {
	d.Parts.Took("event", delay, workload.Result{Items: 1})
}
