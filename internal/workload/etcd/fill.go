package etcd

import (
	"context"
	"fmt"
	"sync/atomic"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
	"golang.org/x/sync/errgroup"

	"plimsoll.dev/plimsoll/internal/record"
)

const (
	// fillers is how many requests are under way at once.
	fillers = 16
	// fillBatch is how many keys go into one transaction, at most; etcd allows 128.
	fillBatch = 100
	// fillBytes is what they have together, at most; etcd allows 1.5 MiB.
	fillBytes = 1 << 20
)

// fillPlain makes those keys of the key space that are not there.
func (e *etcd) fillPlain(ctx context.Context) error {
	var there pb.RangeResponse
	first, last := e.keys.key(0), e.keys.key(e.keys.count-1)
	request := &pb.RangeRequest{Key: first, RangeEnd: append(last, 0), CountOnly: true}
	if err := e.connections[0].call(ctx, rangeMethod, request, &there); err != nil {
		return fmt.Errorf("count the keys: %w", err)
	}
	if there.Count >= int64(e.keys.count) { // another phase has put them
		return nil
	}
	size := min(fillBatch, max(1, fillBytes/(len(first)+len(e.values[0]))))
	return e.fill(ctx, size, func(ctx context.Context, c *connection, from, to int) error {
		request := &pb.TxnRequest{}
		for i := from; i < to; i++ {
			request.Success = append(request.Success, put(e.keys.key(i), e.values[0]))
		}
		return c.call(ctx, txnMethod, request, &pb.TxnResponse{})
	})
}

// fillKube makes the phase's own keys in the way of kube-apiserver, the only
// one that kine knows, and notes their revisions.
func (e *etcd) fillKube(ctx context.Context) error {
	e.revisions = make(revisions, e.keys.count)
	return e.fill(ctx, 1, func(ctx context.Context, c *connection, i, _ int) error {
		key := e.keys.key(i)
		var response pb.TxnResponse
		if err := c.call(ctx, txnMethod, optimistic(key, 0, put(key, e.values[0]), get(key)), &response); err != nil {
			return err
		}
		revision := response.Header.GetRevision()
		if !response.Succeeded { // it is there already
			revision = found(&response).GetModRevision()
		}
		e.revisions[i].Store(revision)
		return nil
	})
}

// fill calls batch for all keys, some at a time.
func (e *etcd) fill(ctx context.Context, size int, batch func(ctx context.Context, c *connection, from, to int) error) error {
	var claimed atomic.Int64
	group, ctx := errgroup.WithContext(ctx)
	for filler := range fillers {
		c := e.connections[filler%len(e.connections)]
		group.Go(func() error {
			for {
				to := int(claimed.Add(int64(size)))
				from := to - size
				if from >= e.keys.count {
					return nil
				}
				limited, cancel := context.WithTimeout(ctx, e.Timeout)
				err := batch(limited, c, from, min(to, e.keys.count))
				cancel()
				if err != nil {
					return fmt.Errorf("make the keys that operations work on: %w%s", err, wayOut(err))
				}
			}
		})
	}
	return group.Wait()
}

// wayOut says what helps.
func wayOut(err error) string {
	switch r := failure(err); {
	case r.Reason == "no-space":
		return ": raise etcd's quota-backend-bytes, or lower keySpace or valueSize"
	case r.Outcome == record.TimedOut:
		return ": the server is too slow for the phase's timeout"
	}
	return ""
}
