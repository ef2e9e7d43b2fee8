package etcd

import (
	"bytes"
	"context"
	"strconv"
	"sync/atomic"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
	"go.etcd.io/etcd/api/v3/mvccpb"

	"plimsoll.dev/plimsoll/internal/record"
	"plimsoll.dev/plimsoll/internal/workload"
)

// revisions are those at which keys were last changed, as far as this run
// knows: what the cache is to kube-apiserver. 0 is a key that is not there.
type revisions []atomic.Int64

// optimistic is the transaction of kube-apiserver's storage (etcd3, through
// OptimisticPut and OptimisticDelete of etcd's client): then, if the key is
// still at the revision, 0 meaning that it is not there; else otherwise.
func optimistic(key []byte, revision int64, then, otherwise *pb.RequestOp) *pb.TxnRequest {
	request := &pb.TxnRequest{
		Compare: []*pb.Compare{{
			Result: pb.Compare_EQUAL, Target: pb.Compare_MOD, Key: key,
			TargetUnion: &pb.Compare_ModRevision{ModRevision: revision},
		}},
		Success: []*pb.RequestOp{then},
	}
	if otherwise != nil {
		request.Failure = []*pb.RequestOp{otherwise}
	}
	return request
}

func get(key []byte) *pb.RequestOp {
	return &pb.RequestOp{Request: &pb.RequestOp_RequestRange{RequestRange: &pb.RangeRequest{Key: key}}}
}

func remove(key []byte) *pb.RequestOp {
	return &pb.RequestOp{Request: &pb.RequestOp_RequestDeleteRange{RequestDeleteRange: &pb.DeleteRangeRequest{Key: key}}}
}

// found is what the transaction read instead; nil if the key is not there.
func found(response *pb.TxnResponse) *mvccpb.KeyValue {
	if len(response.Responses) == 1 {
		if kvs := response.Responses[0].GetResponseRange().GetKvs(); len(kvs) == 1 {
			return kvs[0]
		}
	}
	return nil
}

// creator creates keys if they are absent.
type creator struct{ client }

func (c *creator) Next() (workload.Op, bool) {
	i, ok := c.draw()
	key, value := c.keys.key(i), c.value()
	return workload.Op{Kind: "create", Do: func(ctx context.Context, _ workload.Timer) workload.Result {
		var response pb.TxnResponse
		r := c.do(ctx, txnMethod, optimistic(key, 0, put(key, value), nil), &response)
		if r.Outcome == record.OK && !response.Succeeded {
			return workload.Result{Outcome: record.Failed, Reason: exists}
		}
		c.wrote(r, response.Header)
		r.Bytes = int64(len(key) + len(value))
		return r
	}}, ok
}

// remover deletes each key once, if it is unchanged.
type remover struct{ client }

func (c *remover) Next() (workload.Op, bool) {
	i, ok := c.keys.each(&c.next)
	return workload.Op{Kind: "delete", Do: func(ctx context.Context, _ workload.Timer) workload.Result {
		key := c.keys.key(i)
		var response pb.TxnResponse
		r := c.do(ctx, txnMethod, optimistic(key, c.revisions[i].Load(), remove(key), get(key)), &response)
		if r.Outcome == record.OK && !response.Succeeded {
			return workload.Result{Outcome: record.Failed, Reason: conflict}
		}
		c.wrote(r, response.Header)
		return r
	}}, ok
}

// updater updates keys, if they are unchanged.
type updater struct {
	client
	retries int
}

func (c *updater) Next() (workload.Op, bool) {
	i, ok := c.draw()
	u := &update{updater: c, index: i, key: c.keys.key(i), value: c.mark(c.value())}
	return workload.Op{Kind: "update", Do: u.do}, ok
}

// mark makes a value unlike any other, so that it is known when it is read back.
func (c *updater) mark(value []byte) []byte {
	mark := strconv.Itoa(c.index) + "/" + strconv.FormatInt(c.made, 10) + "/"
	return append([]byte(mark), value[min(len(mark), len(value)):]...)
}

// update is one update under way.
type update struct {
	*updater
	index      int
	key, value []byte
	revision   int64 // that the next attempt expects
}

// do updates a key. An attempt that meets a conflict learns the key's present
// revision from the answer. One that is not answered may have been applied all
// the same, or may be yet, so the key is read back: what bears the update's
// mark was. Retries, if any are allowed, go on from there; the outcome is that
// of the last attempt, and its reason tells what became of the update.
func (u *update) do(ctx context.Context, parts workload.Timer) workload.Result {
	u.revision = u.revisions[u.index].Load()
	for attempt := 0; ; attempt++ {
		ours := false
		r := parts.Part(ctx, "attempt", func(ctx context.Context) (r workload.Result) {
			r, ours = u.attempt(ctx)
			return r
		})
		switch {
		case r.Outcome == record.OK && attempt > 0:
			return u.done(r, retried)
		case r.Outcome == record.OK:
			return u.done(r, "")
		case ours: // an earlier attempt, applied after it had been given up
			return u.done(workload.Result{}, applied)
		}
		last := attempt >= u.retries
		if uncertain(r) && r.Reason != cutShort {
			fate := u.readBack(ctx, parts)
			switch {
			case fate == applied && u.retries > 0:
				return u.done(workload.Result{}, applied)
			case last: // else it is tried again: what was applied after all has another revision by then, and our mark
				r.Reason = fate
				return r
			}
		}
		if last || r.Reason == cutShort || ctx.Err() != nil || r.Reason != conflict && !uncertain(r) {
			return r
		}
	}
}

func (u *update) done(r workload.Result, reason string) workload.Result {
	r.Outcome, r.Reason, r.Bytes = record.OK, reason, int64(len(u.key)+len(u.value))
	return r
}

// attempt tries once. ours says that the key bears the update's mark already.
func (u *update) attempt(ctx context.Context) (r workload.Result, ours bool) {
	var response pb.TxnResponse
	r = u.client.do(ctx, txnMethod, optimistic(u.key, u.revision, put(u.key, u.value), get(u.key)), &response)
	switch {
	case r.Outcome != record.OK:
		return r, false
	case response.Succeeded:
		u.learn(response.Header.GetRevision())
		u.wrote(r, response.Header)
		return r, false
	}
	kv := found(&response)
	u.learn(kv.GetModRevision())
	return workload.Result{Outcome: record.Failed, Reason: conflict}, bytes.Equal(kv.GetValue(), u.value)
}

// learn keeps a revision of the key, unless a later one is known.
func (u *update) learn(revision int64) {
	u.revision = revision
	known := &u.revisions[u.index]
	for old := known.Load(); old < revision && !known.CompareAndSwap(old, revision); old = known.Load() {
	}
}

// readBack says what became of an attempt that was not answered: applied, lost or unknown.
func (u *update) readBack(ctx context.Context, parts workload.Timer) string {
	var response pb.RangeResponse
	r := parts.Part(ctx, "read-back", func(ctx context.Context) workload.Result {
		return u.client.do(ctx, rangeMethod, &pb.RangeRequest{Key: u.key}, &response)
	})
	switch {
	case r.Outcome != record.OK:
		return unknown
	case len(response.Kvs) == 0:
		u.learn(0)
		return lost
	}
	u.learn(response.Kvs[0].ModRevision)
	if bytes.Equal(response.Kvs[0].Value, u.value) {
		return applied
	}
	return lost
}

// lister lists all keys, page by page at one revision.
type lister struct {
	client
	pageSize int64
}

func (c *lister) Next() (workload.Op, bool) { return workload.Op{Kind: "walk", Do: c.walk}, true }

func (c *lister) walk(ctx context.Context, parts workload.Timer) workload.Result {
	var whole workload.Result
	prefix := c.prefix()
	request := &pb.RangeRequest{Key: []byte(prefix), RangeEnd: end(prefix), Limit: c.pageSize}
	for {
		var response pb.RangeResponse
		page := parts.Part(ctx, "page", func(ctx context.Context) workload.Result {
			return moved(c.do(ctx, rangeMethod, request, &response), response.Kvs)
		})
		whole.Bytes += page.Bytes
		whole.Items += page.Items
		if page.Outcome != record.OK || !response.More || len(response.Kvs) == 0 {
			whole.Outcome, whole.Reason = page.Outcome, page.Reason
			return whole
		}
		if request.Revision == 0 {
			request.Revision = response.Header.GetRevision()
		}
		request.Key = append(bytes.Clone(response.Kvs[len(response.Kvs)-1].Key), 0)
	}
}

// moved adds what an answer holds.
func moved(r workload.Result, kvs []*mvccpb.KeyValue) workload.Result {
	for _, kv := range kvs {
		r.Bytes += int64(len(kv.Key) + len(kv.Value))
	}
	r.Items = int64(len(kvs))
	return r
}
