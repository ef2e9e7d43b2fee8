package steve

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"

	"github.com/gorilla/websocket"

	v1 "plimsoll.dev/plimsoll/api/v1alpha1"
	"plimsoll.dev/plimsoll/internal/jsonscan"
	"plimsoll.dev/plimsoll/internal/record"
	"plimsoll.dev/plimsoll/internal/workload"
	"plimsoll.dev/plimsoll/internal/workload/httpconn"
	"plimsoll.dev/plimsoll/internal/workload/kube"
)

// eventShape is that of the messages of a subscription.
var eventShape = jsonscan.EventShape{Kind: "name", Object: "data", Reason: "error"}

// What messages are called.
const (
	started    = "resource.start"
	stopped    = "resource.stop"
	failed     = "resource.error"
	created    = "resource.create"
	changed    = "resource.change"
	removed    = "resource.remove"
	subscribed = "/v1/subscribe"
)

// watchError is why a watch has ended.
type watchError struct{ reason string }

func (e *watchError) Error() string  { return "the watch has ended: " + e.reason }
func (e *watchError) Reason() string { return e.reason }

// Ends of watches.
var (
	errEnded  = &watchError{"watch-ended"} // by the server, which does that to those that read too slowly
	errTooOld = &watchError{"event-too-old"}
	errEvent  = &watchError{"event-error"}
)

// watcher is a client that watches a collection over a websocket, which is
// always HTTP/1.1 and a connection of its own. Its connection of the phase
// is for the list before it.
type watcher struct {
	httpconn.Client
	dialer  websocket.Dialer
	server  httpconn.Server
	address string
	path    string // of the collection
	watch   v1.KubeWatch
	pathOf  func(namespace, name string) string // in the Kubernetes API, by which Writes knows objects
	writes  *kube.Writes
	buffer  []byte
}

func newWatcher(c httpconn.Client, server httpconn.Server, w v1.KubeWatch, writes *kube.Writes) *watcher {
	address := *server.URL
	address.Scheme = map[string]string{"http": "ws", "https": "wss"}[address.Scheme]
	address.Path = strings.TrimSuffix(address.Path, "/") + subscribed
	trust := server.TLS.Clone() // nil stays nil
	if trust != nil {
		trust.NextProtos = []string{"http/1.1"}
	}
	return &watcher{
		Client: c, dialer: websocket.Dialer{TLSClientConfig: trust}, server: server, address: address.String(),
		path: collection(w.Resource, w.Namespace), watch: w, pathOf: kube.PathsOf(w.Resource), writes: writes, buffer: make([]byte, bufferSize),
	}
}

func (c *watcher) Next() (workload.Op, bool) {
	return workload.Op{Kind: "watch", Lasting: true, Do: c.do}, true
}

// do watches until the phase is over. It lists first, as Rancher's dashboard
// does, and subscribes from that list's revision. The part start is from the
// opening of the websocket to the message that the subscription has begun,
// which is also what the time limit is for; the parts event are how much later
// than the answers of their writes events came. Without its SQL cache Steve
// shows nothing that was there before the revision. With it, it shows
// again what came into the cache after the object of that revision, old or new:
// those are counted as items, but not timed.
//
// A watch that the server ends is fine, and says so; the next operation opens another.
func (c *watcher) do(ctx context.Context, parts workload.Timer) workload.Result {
	asking, cancel := workload.Outlast(ctx)
	defer cancel(nil)
	revision, listed := c.revision(asking)
	if listed.Outcome != record.OK {
		return listed
	}
	w := watching{watcher: c, parts: parts, begun: time.Now(), delays: workload.Delays[kube.Write]{Writes: c.writes, Parts: parts}}
	w.limit = time.AfterFunc(c.Timeout, func() { cancel(context.DeadlineExceeded) })
	defer w.limit.Stop()
	result := w.follow(asking, revision)
	w.delays.Settle(time.Now())
	over := errors.Is(context.Cause(asking), workload.ErrOver)
	switch {
	case over && w.started:
		result.Outcome, result.Reason = record.OK, ""
	case result.Reason == errEnded.reason && w.started:
		result.Outcome = record.OK
	case asking.Err() != nil: // the connection was closed because of it
		failure := httpconn.Failure(asking.Err())
		if errors.Is(context.Cause(asking), context.DeadlineExceeded) {
			failure = httpconn.Failure(context.DeadlineExceeded)
		}
		result.Outcome, result.Reason = failure.Outcome, failure.Reason
	}
	result.Items = w.events
	result.Bytes += listed.Bytes
	if !w.started {
		parts.Took("start", time.Since(w.begun), workload.Result{Outcome: result.Outcome, Reason: result.Reason})
	}
	return result
}

// revision asks for one object, and so for the revision of the collection: of
// limit and pagesize, with its SQL cache Steve follows only the latter.
func (c *watcher) revision(ctx context.Context) (string, workload.Result) {
	scan := jsonscan.ListScanner{Shape: listShape}
	result := c.Do(ctx, httpconn.Request{Method: http.MethodGet, Path: c.path + "?limit=1&pagesize=1&page=1"}, func(body io.Reader) (int64, error) {
		return scan.Read(body, c.buffer)
	})
	return scan.Found().Version, result
}

// watching is a watch under way.
type watching struct {
	*watcher
	parts   workload.Timer
	begun   time.Time
	limit   *time.Timer // of the start
	started bool
	events  int64
	delays  workload.Delays[kube.Write]
}

// follow subscribes, and takes messages until the watch ends.
func (w *watching) follow(ctx context.Context, revision string) workload.Result {
	headers, err := w.server.Credentials()
	if err != nil {
		return httpconn.Failure(err)
	}
	headers.Set("User-Agent", "plimsoll")
	conn, response, err := w.dialer.DialContext(ctx, w.address, headers)
	switch {
	case errors.Is(err, websocket.ErrBadHandshake) && response != nil:
		return w.Connection.Refusal(response)
	case err != nil:
		return httpconn.Failure(err)
	}
	defer conn.Close()
	defer context.AfterFunc(ctx, func() { _ = conn.Close() })()
	bytes, err := w.subscribe(conn, revision)
	if err == nil {
		var read int64
		read, err = w.read(conn)
		bytes += read
	}
	var closed *websocket.CloseError
	if errors.As(err, &closed) {
		err = errEnded
	}
	result := httpconn.Failure(err) // there is always one
	result.Bytes = bytes
	return result
}

func (w *watching) subscribe(conn *websocket.Conn, revision string) (int64, error) {
	message, _ := json.Marshal(struct { // of texts it cannot fail
		ResourceType    string `json:"resourceType"`
		Namespace       string `json:"namespace,omitempty"`
		ResourceVersion string `json:"resourceVersion,omitempty"`
	}{typeOf(w.watch.Resource), string(w.watch.Namespace), revision})
	if err := conn.WriteMessage(websocket.TextMessage, message); err != nil {
		return 0, fmt.Errorf("subscribe: %w", err)
	}
	return int64(len(message)), nil
}

// read takes messages until the connection ends, or one of them says that the watch does.
func (w *watching) read(conn *websocket.Conn) (total int64, err error) {
	scan := jsonscan.EventScanner{EventShape: eventShape}
	for err == nil {
		_, message, next := conn.NextReader()
		if next != nil {
			return total, next
		}
		var n int64
		var ends error
		n, err = scan.Read(message, w.buffer, func(e jsonscan.Event) bool {
			ends = w.take(e, time.Now())
			return true
		})
		total += n
		if err == nil {
			err = ends
		}
	}
	return total, err
}

// take takes in a message; an error says that the watch has ended.
func (w *watching) take(e jsonscan.Event, now time.Time) error {
	w.delays.Settle(now)
	version := e.Version
	switch e.Kind {
	case started:
		w.started = true
		w.limit.Stop()
		w.delays.Since = now
		w.parts.Took("start", now.Sub(w.begun), workload.Result{})
		return nil
	case stopped:
		return errEnded
	case failed:
		if strings.Contains(e.Reason, "too old") {
			return errTooOld
		}
		return errEvent
	case removed:
		version = kube.Deleted
	case created, changed:
	default:
		return nil // a ping
	}
	w.events++
	w.delays.Heard(kube.Write{Path: w.pathOf(e.Namespace, e.Name), Version: version}, now)
	return nil
}
