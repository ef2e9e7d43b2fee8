// Package etcd is traffic on etcd's own API, or on what speaks it. Requests are
// sent once, over a connection that is chosen beforehand: nothing balances,
// and nothing is tried again behind the workload's back, as etcd's own client
// does with reads and leases. So every request is counted with its outcome.
package etcd

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync/atomic"
	"time"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"

	v1 "plimsoll.dev/plimsoll/api/v1alpha1"
	"plimsoll.dev/plimsoll/internal/target"
	"plimsoll.dev/plimsoll/internal/workload"
)

// Options say which operations are performed, and on whom.
type Options struct {
	Datastore   target.Datastore
	Phase       string
	RunID       string
	Shared      bool // others use the datastore too: keys have a prefix of the run's own
	Kine        bool // answers in etcd's place
	Connections int  // shared by the clients in turn
	Timeout     time.Duration
	Operation   v1.EtcdWorkload
	Seed        uint64  // of the run
	Writes      *Writes // of all phases of the run; nil if none of them watches
}

// New gives the workload of a phase.
func New(o Options) workload.Workload {
	if o.Writes == nil {
		o.Writes = new(Writes)
	}
	return &etcd{Options: o}
}

type etcd struct {
	Options
	connections []*connection
	keys        *keySpace
	values      [][]byte
	revisions   revisions    // of the keys that kube kinds change
	next        atomic.Int64 // operation of all clients
}

// kubeRoot begins the keys of kube kinds in a datastore of the run's own.
const kubeRoot = "/plimsoll/"

// root begins all keys that the run's phases make, as far as they have a prefix at all.
func (e *etcd) root() string {
	switch {
	case e.Shared:
		return target.KeyPrefix(e.RunID)
	case e.kube():
		return kubeRoot
	}
	return ""
}

// kube says whether the transactions are those of kube-apiserver. Each such
// phase has keys of its own; others share theirs, so that one phase reads what
// another has put.
func (e *etcd) kube() bool {
	o := e.Operation
	return o.KubeCreate != nil || o.KubeUpdate != nil || o.KubeDelete != nil || o.KubeList != nil
}

func (e *etcd) prefix() string {
	if e.kube() {
		return e.root() + strings.ReplaceAll(e.Phase, "/", "-") + "/"
	}
	return e.root()
}

// spec is what the operations' keys and values are like.
func (e *etcd) spec() v1.EtcdKeys {
	switch o := e.Operation; {
	case o.Put != nil:
		return *o.Put
	case o.Range != nil:
		return o.Range.EtcdKeys
	case o.Txn != nil:
		return o.Txn.EtcdKeys
	case o.Delete != nil:
		return *o.Delete
	case o.KubeCreate != nil:
		return *o.KubeCreate
	case o.KubeUpdate != nil:
		return o.KubeUpdate.EtcdKeys
	case o.KubeDelete != nil:
		return *o.KubeDelete
	case o.KubeList != nil:
		return v1.EtcdKeys{Order: "sequential", KeySpace: o.KubeList.Keys, KeySize: 8, ValueSize: o.KubeList.ValueSize, To: "any"}
	case o.Watch != nil:
		return v1.EtcdKeys{To: o.Watch.To}
	}
	return v1.EtcdKeys{To: "any"}
}

// Prepare opens the connections and makes the keys that operations work on.
func (e *etcd) Prepare(ctx context.Context) error {
	spec := e.spec()
	if err := e.connect(ctx, spec.To); err != nil {
		return fmt.Errorf("phase %s: %w", e.Phase, err)
	}
	err := e.prepare(ctx, spec)
	if err != nil {
		return errors.Join(fmt.Errorf("phase %s: %w", e.Phase, err), e.close())
	}
	if e.Operation.Watch != nil {
		e.Writes.Watch()
	}
	return nil
}

func (e *etcd) prepare(ctx context.Context, spec v1.EtcdKeys) error {
	if e.Operation.Watch == nil && !e.kube() {
		if err := e.mustBeEtcd(ctx); err != nil {
			return err
		}
	}
	if spec.KeySpace == 0 {
		return nil
	}
	var err error
	if e.keys, err = newKeySpace(e.prefix(), spec, e.Seed); err != nil {
		return err
	}
	e.values = valuesOf(int(spec.ValueSize))
	switch o := e.Operation; {
	case o.Range != nil, o.Delete != nil:
		return e.fillPlain(ctx)
	case o.KubeUpdate != nil, o.KubeDelete != nil, o.KubeList != nil:
		return e.fillKube(ctx)
	}
	return nil
}

// mustBeEtcd puts a key twice and reads it: kine, which stands in for etcd
// towards kube-apiserver, refuses plain puts, or acknowledges them without
// applying them, and figures of those would be of nothing.
func (e *etcd) mustBeEtcd(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, connectTimeout)
	defer cancel()
	c := e.connections[0]
	key := []byte(e.root() + "plimsoll-probe/" + e.Phase)
	read := &pb.RangeResponse{}
	err := func() error {
		for _, value := range []string{"1", "2"} {
			if err := c.call(ctx, putMethod, &pb.PutRequest{Key: key, Value: []byte(value)}, &pb.PutResponse{}); err != nil {
				return err
			}
		}
		return c.call(ctx, rangeMethod, &pb.RangeRequest{Key: key}, read)
	}()
	switch {
	case err != nil && !speaksOfKine(err):
		return fmt.Errorf("put and read a key: %w", err)
	case err != nil, len(read.Kvs) != 1, !bytes.Equal(read.Kvs[0].Value, []byte("2")):
		return errors.New("the server does not apply plain puts, as etcd does: it is kine, or the like, which answers only what kube-apiserver sends; use kubeCreate, kubeUpdate, kubeDelete, kubeList or watch")
	}
	return c.call(ctx, deleteMethod, &pb.DeleteRangeRequest{Key: key}, &pb.DeleteRangeResponse{})
}

func speaksOfKine(err error) bool {
	text := err.Error()
	return strings.Contains(text, "not supported") || strings.Contains(text, "not implemented") || strings.Contains(text, "Unimplemented")
}

// Dial gives a client on its share of the connections.
func (e *etcd) Dial(_ context.Context, index int, random *rand.Rand) (workload.Client, error) {
	c := client{etcd: e, connection: e.connections[index%len(e.connections)], index: index, random: random}
	if e.keys != nil {
		c.draw = e.keys.drawer(random, &e.next)
	}
	switch o := e.Operation; {
	case o.Put != nil:
		return &putter{client: c}, nil
	case o.Range != nil:
		return &reader{client: c, serializable: o.Range.Serializable}, nil
	case o.Txn != nil:
		return &transactor{client: c, puts: o.Txn.Puts}, nil
	case o.Delete != nil:
		return &deleter{client: c}, nil
	case o.Watch != nil:
		return &watcher{client: c}, nil
	case o.Lease != nil:
		return &leaser{client: c, seconds: int64(time.Duration(o.Lease.TTL).Seconds())}, nil
	case o.KubeCreate != nil:
		return &creator{client: c}, nil
	case o.KubeUpdate != nil:
		return &updater{client: c, retries: o.KubeUpdate.Retries}, nil
	case o.KubeDelete != nil:
		return &remover{client: c}, nil
	case o.KubeList != nil:
		return &lister{client: c, pageSize: int64(o.KubeList.PageSize)}, nil
	}
	return nil, fmt.Errorf("phase %s: no operation", e.Phase)
}

// Close closes the connections.
func (e *etcd) Close() error {
	if e.Operation.Watch != nil {
		e.Writes.Unwatch()
	}
	return e.close()
}

func (e *etcd) close() error {
	var errs []error
	for _, c := range e.connections {
		errs = append(errs, c.close())
	}
	e.connections = nil
	return errors.Join(errs...)
}

// client is what every logical user has.
type client struct {
	*etcd
	connection *connection
	index      int
	random     *rand.Rand
	draw       func() (key int, ok bool)
	made       int64
}

// value gives one of a few values, so that two writes of a key differ.
func (c *client) value() []byte {
	c.made++
	return c.values[int(c.made)%len(c.values)]
}
