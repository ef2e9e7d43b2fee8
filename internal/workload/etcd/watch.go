package etcd

import (
	"context"
	"errors"
	"slices"
	"time"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"

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

// watcher watches all keys that phases make.
type watcher struct{ client }

func (c *watcher) Next() (workload.Op, bool) {
	return workload.Op{Kind: "watch", Lasting: true, Do: c.watch}, true
}

// watch watches until the phase is over. A watch that the server ends is a
// failure, and the next operation opens another.
func (c *watcher) watch(ctx context.Context, parts workload.Timer) workload.Result {
	longer, cancel := outlast(ctx)
	defer cancel()
	w := watching{watcher: c, parts: parts}
	err := w.follow(longer)
	w.settle(time.Now())
	r := failure(err)
	if errors.Is(context.Cause(ctx), workload.ErrOver) && w.created {
		r = workload.Result{}
	}
	r.Items, r.Bytes = w.events, w.bytes
	return r
}

// outlast gives a context that ends with ctx; a little later, if that is because the phase is over.
func outlast(ctx context.Context) (context.Context, context.CancelFunc) {
	longer, cancel := context.WithCancel(context.WithoutCancel(ctx))
	stop := context.AfterFunc(ctx, func() {
		if errors.Is(context.Cause(ctx), workload.ErrOver) {
			select {
			case <-time.After(lastEvents):
			case <-longer.Done():
			}
		}
		cancel()
	})
	return longer, func() {
		stop()
		cancel()
	}
}

// watching is a watch under way.
type watching struct {
	*watcher
	parts         workload.Timer
	created       bool
	events, bytes int64
	early         []heard // without an answered write yet
}

// heard is an event whose write has not been answered.
type heard struct {
	revision int64
	at       time.Time
}

// follow opens the watch, and takes events until it ends.
func (w *watching) follow(ctx context.Context) error {
	stream, err := w.connection.watch(ctx)
	if err != nil {
		return err
	}
	key, last := w.watched()
	create := &pb.WatchCreateRequest{Key: key, RangeEnd: last}
	if err := stream.Send(&pb.WatchRequest{RequestUnion: &pb.WatchRequest_CreateRequest{CreateRequest: create}}); err != nil {
		return err
	}
	for {
		response, err := stream.Recv()
		switch {
		case err != nil:
			return err
		case response.Canceled:
			return errors.New("the server closed the watch: " + response.CancelReason)
		}
		w.created = w.created || response.Created
		w.take(response, time.Now())
	}
}

// watched are the keys that the run's phases write, of whatever kind. etcd
// itself is watched as a whole; kine and borrowed servers are not ours beyond the prefix.
func (w *watching) watched() (key, last []byte) {
	if root := w.root(); root != "" {
		return []byte(root), end(root)
	}
	if w.Kine {
		return []byte(kubeRoot), end(kubeRoot)
	}
	return []byte{0}, []byte{0}
}

func (w *watching) take(response *pb.WatchResponse, now time.Time) {
	w.settle(now)
	for _, event := range response.Events {
		w.events++
		w.bytes += int64(len(event.Kv.Key) + len(event.Kv.Value))
		if answered, ok := w.Writes.at(event.Kv.ModRevision); ok {
			w.record(max(0, now.Sub(answered)))
			continue
		}
		if len(w.early) == maxEarly {
			w.early = append(w.early[:0], w.early[1:]...)
		}
		w.early = append(w.early, heard{event.Kv.ModRevision, now})
	}
}

// settle looks again for the writes of events that came before their answers:
// those came without delay.
func (w *watching) settle(now time.Time) {
	w.early = slices.DeleteFunc(w.early, func(h heard) bool {
		_, answered := w.Writes.at(h.revision)
		if answered {
			w.record(0)
		}
		return answered || now.Sub(h.at) > answerTime
	})
}

func (w *watching) record(delay time.Duration) {
	w.parts.Took("event", delay, workload.Result{Outcome: record.OK, Items: 1})
}
