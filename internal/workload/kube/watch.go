package kube

import (
	"context"
	"errors"
	"io"
	"net/http"
	"slices"
	"strings"
	"time"

	v1 "plimsoll.dev/plimsoll/api/v1alpha1"
	"plimsoll.dev/plimsoll/internal/record"
	"plimsoll.dev/plimsoll/internal/workload"
)

const (
	// lastEvents is how long a watch goes on once its phase is over, for the events of the last writes.
	lastEvents = 250 * time.Millisecond
	// answerTime is how long after its event a write may yet be answered; later, it was somebody else's.
	answerTime = 10 * time.Second
	// maxEarly bounds how many events may wait for the answers of their writes.
	maxEarly = 1024
)

// errWatchEnded is a watch that the server ended.
var errWatchEnded = errors.New("the server ended the watch")

// watcher is a client that watches a collection.
type watcher struct {
	client
	path          string // of the collection
	root          string // of the same in all namespaces
	before, after string // around the namespace in a path
	buffer        []byte
}

func newWatcher(c client, w v1.KubeWatch) *watcher {
	before, after, _ := strings.Cut(collection(w.Resource, "*"), "*")
	return &watcher{c, collection(w.Resource, w.Namespace), collection(w.Resource, ""), before, after, make([]byte, bufferSize)}
}

func (c *watcher) Next() (workload.Op, bool) {
	return workload.Op{Kind: "watch", Lasting: true, Do: c.watch}, true
}

// watch watches until the phase is over. The first events show what was there
// already; those behind the bookmark that ends them are of writes, and timed
// from the write's answer. The time limit is that of the first event. A watch
// that the server ends is fine, and says so; the next operation opens another.
func (c *watcher) watch(ctx context.Context, parts workload.Timer) workload.Result {
	asking, cancel := outlast(ctx)
	defer cancel(nil)
	w := watching{watcher: c, parts: parts, begun: time.Now()}
	w.limit = time.AfterFunc(c.timeout, func() { cancel(context.DeadlineExceeded) })
	defer w.limit.Stop()
	result := c.ask(asking, request{method: http.MethodGet, path: c.path + streamQuery}, w.read)
	w.settle(time.Now())
	over := errors.Is(context.Cause(asking), workload.ErrOver)
	switch {
	case over && w.seen, result.Reason == failure(errWatchEnded).Reason && w.seen:
		result.Outcome = record.OK
		if over {
			result.Reason = ""
		}
	case errors.Is(context.Cause(asking), context.DeadlineExceeded):
		result.Outcome, result.Reason = failure(context.DeadlineExceeded).Outcome, "timeout"
	}
	result.Items = w.events
	if !w.seen {
		parts.Took("first-event", time.Since(w.begun), workload.Result{Outcome: result.Outcome, Reason: result.Reason})
	}
	return result
}

// outlast gives a context that ends with ctx; a little later, if that is
// because the phase is over.
func outlast(ctx context.Context) (context.Context, context.CancelCauseFunc) {
	longer, cancel := context.WithCancelCause(context.WithoutCancel(ctx))
	stop := context.AfterFunc(ctx, func() {
		if errors.Is(context.Cause(ctx), workload.ErrOver) {
			select {
			case <-time.After(lastEvents):
			case <-longer.Done():
			}
		}
		cancel(context.Cause(ctx))
	})
	return longer, func(cause error) {
		stop()
		cancel(cause)
	}
}

// watching is a watch under way.
type watching struct {
	*watcher
	parts  workload.Timer
	begun  time.Time
	limit  *time.Timer // of the first event
	seen   bool        // the first event, or a bookmark
	live   bool        // what was there already has been shown
	events int64
	early  []heard // without an answered write yet
}

// heard is an event whose write has not been answered.
type heard struct {
	write
	at time.Time
}

func (w *watching) read(body io.Reader) (int64, error) {
	var failed error
	n, err := new(eventScanner).read(body, w.buffer, func(e event) bool {
		if e.kind == "ERROR" {
			failed = &eventError{e.reason}
			return false
		}
		w.take(e, time.Now())
		return true
	})
	switch {
	case failed != nil:
		return n, failed
	case err == nil:
		return n, errWatchEnded
	}
	return n, err
}

func (w *watching) take(e event, now time.Time) {
	if !w.seen {
		w.seen = true
		w.limit.Stop()
		w.parts.Took("first-event", now.Sub(w.begun), workload.Result{})
	}
	w.settle(now)
	if e.kind == "BOOKMARK" {
		w.live = w.live || e.initialEnd
		return
	}
	w.events++
	if !w.live {
		return
	}
	one := write{w.pathOf(e), e.version}
	if e.kind == "DELETED" {
		one.version = deleted
	}
	if answered, ok := w.writes.at(one); ok {
		w.record(max(0, now.Sub(answered)))
		return
	}
	if len(w.early) == maxEarly {
		w.early = append(w.early[:0], w.early[1:]...)
	}
	w.early = append(w.early, heard{one, now})
}

// settle looks again for the writes of events that came before their answers:
// those came without delay.
func (w *watching) settle(now time.Time) {
	w.early = slices.DeleteFunc(w.early, func(h heard) bool {
		_, answered := w.writes.at(h.write)
		if answered {
			w.record(0)
		}
		return answered || now.Sub(h.at) > answerTime
	})
}

func (w *watching) record(delay time.Duration) {
	w.parts.Took("event", delay, workload.Result{Items: 1})
}

func (w *watching) pathOf(e event) string {
	if e.namespace == "" {
		return w.root + "/" + e.name
	}
	return w.before + e.namespace + w.after + "/" + e.name
}
