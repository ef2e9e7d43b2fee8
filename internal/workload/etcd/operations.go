package etcd

import (
	"context"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
	"google.golang.org/protobuf/proto"

	"plimsoll.dev/plimsoll/internal/record"
	"plimsoll.dev/plimsoll/internal/workload"
)

// The methods of etcd's API that are called.
const (
	putMethod    = "/etcdserverpb.KV/Put"
	rangeMethod  = "/etcdserverpb.KV/Range"
	deleteMethod = "/etcdserverpb.KV/DeleteRange"
	txnMethod    = "/etcdserverpb.KV/Txn"
	grantMethod  = "/etcdserverpb.Lease/LeaseGrant"
	revokeMethod = "/etcdserverpb.Lease/LeaseRevoke"
	statusMethod = "/etcdserverpb.Maintenance/Status"
)

// do sends one request within the phase's time limit.
func (c *client) do(ctx context.Context, method string, request, response proto.Message) workload.Result {
	ctx, cancel := context.WithTimeout(ctx, c.Timeout)
	defer cancel()
	if err := c.connection.call(ctx, method, request, response); err != nil {
		return failure(err)
	}
	return workload.Result{}
}

// wrote notes an answered write for watches.
func (c *client) wrote(r workload.Result, header *pb.ResponseHeader) {
	if revision := header.GetRevision(); r.Outcome == record.OK && revision != 0 && c.Writes.Watched() {
		c.Writes.Note(revision)
	}
}

// putter writes single keys.
type putter struct {
	client
	request pb.PutRequest
}

func (c *putter) Next() (workload.Op, bool) {
	i, ok := c.draw()
	c.request.Key, c.request.Value = c.keys.key(i), c.value()
	return workload.Op{Kind: "put", Do: c.put}, ok
}

func (c *putter) put(ctx context.Context, _ workload.Timer) workload.Result {
	var response pb.PutResponse
	r := c.do(ctx, putMethod, &c.request, &response)
	c.wrote(r, response.Header)
	r.Bytes = int64(len(c.request.Key) + len(c.request.Value))
	return r
}

// reader reads single keys.
type reader struct {
	client
	serializable bool
}

func (c *reader) Next() (workload.Op, bool) {
	i, ok := c.draw()
	request := &pb.RangeRequest{Key: c.keys.key(i), Serializable: c.serializable}
	return workload.Op{Kind: "range", Do: func(ctx context.Context, _ workload.Timer) workload.Result {
		var response pb.RangeResponse
		r := c.do(ctx, rangeMethod, request, &response)
		if r.Outcome == record.OK && len(response.Kvs) == 0 {
			r = workload.Result{Outcome: record.Failed, Reason: notThere}
		}
		return moved(r, response.Kvs)
	}}, ok
}

// transactor writes several keys at once.
type transactor struct {
	client
	puts int
}

func (c *transactor) Next() (workload.Op, bool) {
	request := &pb.TxnRequest{}
	var bytes int64
	for used := map[int]bool{}; len(used) < c.puts; {
		i, _ := c.draw()
		if used[i] {
			continue // etcd takes a key only once
		}
		used[i] = true
		key, value := c.keys.key(i), c.value()
		bytes += int64(len(key) + len(value))
		request.Success = append(request.Success, put(key, value))
	}
	return workload.Op{Kind: "txn", Do: func(ctx context.Context, _ workload.Timer) workload.Result {
		var response pb.TxnResponse
		r := c.do(ctx, txnMethod, request, &response)
		c.wrote(r, response.Header)
		r.Bytes = bytes
		return r
	}}, true
}

func put(key, value []byte) *pb.RequestOp {
	return &pb.RequestOp{Request: &pb.RequestOp_RequestPut{RequestPut: &pb.PutRequest{Key: key, Value: value}}}
}

// deleter deletes each key once.
type deleter struct{ client }

func (c *deleter) Next() (workload.Op, bool) {
	i, ok := c.keys.each(&c.next)
	request := &pb.DeleteRangeRequest{Key: c.keys.key(i)}
	return workload.Op{Kind: "delete", Do: func(ctx context.Context, _ workload.Timer) workload.Result {
		var response pb.DeleteRangeResponse
		r := c.do(ctx, deleteMethod, request, &response)
		c.wrote(r, response.Header)
		if r.Outcome == record.OK && response.Deleted == 0 {
			return workload.Result{Outcome: record.Failed, Reason: notThere}
		}
		return r
	}}, ok
}

// leaser grants leases and revokes them.
type leaser struct {
	client
	seconds int64
}

func (c *leaser) Next() (workload.Op, bool) {
	return workload.Op{Kind: "lease", Do: c.lease}, true
}

func (c *leaser) lease(ctx context.Context, parts workload.Timer) workload.Result {
	var granted pb.LeaseGrantResponse
	r := parts.Part(ctx, "grant", func(ctx context.Context) workload.Result {
		return c.do(ctx, grantMethod, &pb.LeaseGrantRequest{TTL: c.seconds}, &granted)
	})
	if r.Outcome != record.OK {
		return r
	}
	return parts.Part(ctx, "revoke", func(ctx context.Context) workload.Result {
		return c.do(ctx, revokeMethod, &pb.LeaseRevokeRequest{ID: granted.ID}, &pb.LeaseRevokeResponse{})
	})
}
