package kube

import (
	"context"
	"errors"
	"io"
	"net/http"
	"strings"
	"time"

	v1 "plimsoll.dev/plimsoll/api/v1alpha1"
	"plimsoll.dev/plimsoll/internal/jsonscan"
	"plimsoll.dev/plimsoll/internal/record"
	"plimsoll.dev/plimsoll/internal/workload"
	"plimsoll.dev/plimsoll/internal/workload/httpconn"
)

// errWatchEnded is a watch that the server ended.
var errWatchEnded error = watchEnded{}

type watchEnded struct{}

func (watchEnded) Error() string  { return "the server ended the watch" }
func (watchEnded) Reason() string { return "watch-ended" }

// eventError is an event of kind ERROR.
type eventError struct{ reason string }

func (e *eventError) Error() string { return "the watch failed: " + e.reason }
func (e *eventError) Reason() string {
	if e.reason == "" {
		return "event-error"
	}
	return "event-" + e.reason
}

// newEvents gives a scanner of the events of one watch.
func newEvents() *jsonscan.EventScanner {
	return &jsonscan.EventScanner{EventShape: jsonscan.KubernetesEvent}
}

// watcher is a client that watches a collection.
type watcher struct {
	client
	path   string                              // of the collection
	pathOf func(namespace, name string) string // of an object
	buffer []byte
}

func newWatcher(c client, w v1.KubeWatch) *watcher {
	return &watcher{c, collection(w.Resource, w.Namespace), PathsOf(w.Resource), make([]byte, bufferSize)}
}

func (c *watcher) Next() (workload.Op, bool) {
	return workload.Op{Kind: "watch", Lasting: true, Do: c.watch}, true
}

// watch watches until the phase is over. The first events show what was there
// already; those behind the bookmark that ends them are of writes, and timed
// from the write's answer. The time limit is that of the first event. A watch
// that the server ends is fine, and says so; the next operation opens another.
func (c *watcher) watch(ctx context.Context, parts workload.Timer) workload.Result {
	asking, cancel := workload.Outlast(ctx)
	defer cancel(nil)
	w := watching{watcher: c, parts: parts, begun: time.Now(), delays: workload.Delays[Write]{Writes: c.writes, Parts: parts}}
	w.limit = time.AfterFunc(c.Timeout, func() { cancel(context.DeadlineExceeded) })
	defer w.limit.Stop()
	result := c.Ask(asking, httpconn.Request{Method: http.MethodGet, Path: c.path + streamQuery}, w.read)
	w.delays.Settle(time.Now())
	over := errors.Is(context.Cause(asking), workload.ErrOver)
	switch {
	case over && w.seen, result.Reason == httpconn.Failure(errWatchEnded).Reason && w.seen:
		result.Outcome = record.OK
		if over {
			result.Reason = ""
		}
	case errors.Is(context.Cause(asking), context.DeadlineExceeded):
		result.Outcome, result.Reason = httpconn.Failure(context.DeadlineExceeded).Outcome, "timeout"
	}
	result.Items = w.events
	if !w.seen {
		parts.Took("first-event", time.Since(w.begun), workload.Result{Outcome: result.Outcome, Reason: result.Reason})
	}
	return result
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
	delays workload.Delays[Write]
}

func (w *watching) read(body io.Reader) (int64, error) {
	var failed error
	n, err := newEvents().Read(body, w.buffer, func(e jsonscan.Event) bool {
		if e.Kind == "ERROR" {
			failed = &eventError{e.Reason}
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

func (w *watching) take(e jsonscan.Event, now time.Time) {
	if !w.seen {
		w.seen = true
		w.limit.Stop()
		w.parts.Took("first-event", now.Sub(w.begun), workload.Result{})
	}
	w.delays.Settle(now)
	if e.Kind == "BOOKMARK" {
		w.live = w.live || e.InitialEnd
		return
	}
	w.events++
	if !w.live {
		return
	}
	version := e.Version
	if e.Kind == "DELETED" {
		version = Deleted
	}
	w.delays.Heard(Write{w.pathOf(e.Namespace, e.Name), version}, now)
}

// PathsOf gives the paths of the objects of a resource, by which Writes knows them.
func PathsOf(resource v1.Resource) func(namespace, name string) string {
	root := collection(resource, "")
	before, after, _ := strings.Cut(collection(resource, "*"), "*")
	return func(namespace, name string) string {
		if namespace == "" {
			return root + "/" + name
		}
		return before + namespace + after + "/" + name
	}
}
