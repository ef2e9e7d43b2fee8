package etcd

import (
	"context"
	"errors"
	"time"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"

	"plimsoll.dev/plimsoll/internal/workload"
)

// Writes are those to etcd, by the revision that each made.
type Writes = workload.Writes[int64]

// watcher watches all keys that phases make.
type watcher struct{ client }

func (c *watcher) Next() (workload.Op, bool) {
	return workload.Op{Kind: "watch", Lasting: true, Do: c.watch}, true
}

// watch watches until the phase is over. A watch that the server ends is a
// failure, and the next operation opens another.
func (c *watcher) watch(ctx context.Context, parts workload.Timer) workload.Result {
	longer, cancel := workload.Outlast(ctx)
	defer cancel(nil)
	w := watching{watcher: c, delays: workload.Delays[int64]{Writes: c.Writes, Parts: parts}}
	err := w.follow(longer)
	w.delays.Settle(time.Now())
	r := failure(err)
	if errors.Is(context.Cause(ctx), workload.ErrOver) && w.created {
		r = workload.Result{}
	}
	r.Items, r.Bytes = w.events, w.bytes
	return r
}

// watching is a watch under way.
type watching struct {
	*watcher
	created       bool
	events, bytes int64
	delays        workload.Delays[int64]
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
	w.delays.Settle(now)
	for _, event := range response.Events {
		w.events++
		w.bytes += int64(len(event.Kv.Key) + len(event.Kv.Value))
		w.delays.Heard(event.Kv.ModRevision, now)
	}
}
