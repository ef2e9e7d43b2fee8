package fill

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"path"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	clientv3 "go.etcd.io/etcd/client/v3"
	"go.uber.org/zap"
	"golang.org/x/sync/errgroup"

	"plimsoll.dev/plimsoll/internal/target"
)

const (
	// writers is how many transactions are under way at once.
	writers = 8
	// maxBatch is how many objects a transaction makes, at most; etcd allows 128 (--max-txn-ops).
	maxBatch = 100
	// maxBatchBytes is what they have together, at most; etcd allows 1.5 MiB (--max-request-bytes).
	maxBatchBytes = 256 << 10
	// writeTimeout bounds one transaction together with its repetitions.
	writeTimeout = time.Minute
	// writeAgain is the pause before a transaction is repeated.
	writeAgain = 100 * time.Millisecond
	// cacheTimeout bounds the wait for the API server's cache.
	cacheTimeout = 5 * time.Minute
	// cacheAgain is the pause before the cache is asked again.
	cacheAgain = 20 * time.Millisecond
)

// throughDatastore writes objects as the API server would store them, and waits
// until its cache shows them.
func (f *filler) throughDatastore(ctx context.Context) error {
	if f.Datastore == nil {
		return errors.New("the target's datastore cannot be reached: use through: api")
	}
	if e, ok := f.Datastore.(target.Emulation); ok && e.Emulates() != "" {
		return fmt.Errorf("%s takes only what an API server writes: use through: api", e.Emulates())
	}
	encoder, err := newEncoder(ctx, f.client, f.template, f.From)
	if err != nil {
		return err
	}
	endpoints, config := f.Datastore.Etcd()
	etcd, err := clientv3.New(clientv3.Config{
		Endpoints: endpoints, TLS: config, DialTimeout: writeTimeout, Logger: zap.NewNop(), Context: ctx,
	})
	if err != nil {
		return fmt.Errorf("connect to etcd: %w", err)
	}
	defer etcd.Close()
	w := &writer{filler: f, encoder: encoder, etcd: etcd}
	if err := w.all(ctx); err != nil {
		return err
	}
	return f.awaitCache(ctx, w.revision.Load())
}

// writer writes the objects of a fill into etcd.
type writer struct {
	*filler
	encoder  *encoder
	etcd     *clientv3.Client
	claimed  atomic.Int64 // objects that some goroutine has taken on
	revision atomic.Int64 // of the last write
}

func (w *writer) all(ctx context.Context) error {
	size, err := w.batchSize()
	if err != nil {
		return err
	}
	w.claimed.Store(int64(w.From))
	group, ctx := errgroup.WithContext(ctx)
	for range writers {
		group.Go(func() error {
			var buffer []byte
			for {
				to := int(w.claimed.Add(int64(size)))
				from := to - size
				if from >= w.Fill.Count {
					return nil
				}
				var err error
				if buffer, err = w.batch(ctx, from, min(to, w.Fill.Count), buffer[:0]); err != nil {
					return err
				}
			}
		})
	}
	return group.Wait()
}

// batchSize is how many objects like the first go into one transaction.
func (w *writer) batchSize() (int, error) {
	first, err := w.encoder.encode(nil, w.From)
	if err != nil {
		return 0, err
	}
	return min(maxBatch, max(1, maxBatchBytes/len(first))), nil
}

// entry is an object as it is stored.
type entry struct {
	key   string
	value []byte
}

// batch writes some objects, in more than one transaction if they are larger
// than the first was. They are encoded into the buffer, which it gives back, as
// it has grown, for the next batch.
func (w *writer) batch(ctx context.Context, from, to int, buffer []byte) ([]byte, error) {
	var entries []entry
	for i := from; i < to; i++ {
		start := len(buffer)
		var err error
		if buffer, err = w.encoder.encode(buffer, i); err != nil {
			return nil, err
		}
		if len(entries) > 0 && len(buffer) > maxBatchBytes {
			if err := w.commit(ctx, entries); err != nil {
				return nil, err
			}
			entries, buffer = nil, append(buffer[:0], buffer[start:]...)
			start = 0
		}
		entries = append(entries, entry{w.key(i), buffer[start:len(buffer):len(buffer)]})
	}
	return buffer, w.commit(ctx, entries)
}

// key is where kube-apiserver stores object i.
func (w *writer) key(i int) string {
	key := "/registry/" + w.template.Info().Prefix + "/"
	if namespace := w.template.Namespace(i); namespace != "" {
		key += namespace + "/"
	}
	return key + w.template.Name(i)
}

// commit makes those of the objects that do not exist.
func (w *writer) commit(ctx context.Context, entries []entry) error {
	err := w.create(ctx, entries)
	if err != nil {
		return fmt.Errorf("write %s and %d more into etcd: %w", entries[0].key, len(entries)-1, explain(err, entries))
	}
	w.Made.Add(int64(len(entries)))
	return nil
}

func (w *writer) create(ctx context.Context, entries []entry) error {
	for condition := absent; len(entries) > 0; condition = eachAbsent {
		puts := make([]clientv3.Op, len(entries))
		for i, e := range entries {
			puts[i] = clientv3.OpPut(e.key, "")
			puts[i].WithValueBytes(e.value) // not copied, unlike that of OpPut
		}
		answer, err := w.transact(ctx, condition(entries), puts)
		if err != nil {
			return err
		}
		if answer.Succeeded {
			raise(&w.revision, answer.Header.Revision)
			return nil
		}
		if entries, err = w.missing(ctx, entries); err != nil {
			return err
		}
	}
	return nil
}

// absent is the condition that none of the objects exists. Keys that follow one
// another are compared as one range, which costs etcd much less. Another key may
// lie in the range, so what fails is tried again by eachAbsent.
func absent(entries []entry) []clientv3.Cmp {
	first, last := entries[0].key, entries[len(entries)-1].key
	gapless := path.Dir(first) == path.Dir(last) && len(first) == len(last) && last > first &&
		number(last)-number(first) == len(entries)-1
	if gapless {
		return []clientv3.Cmp{clientv3.Compare(clientv3.CreateRevision(first), "=", 0).WithRange(last + "\x00")}
	}
	return eachAbsent(entries)
}

func eachAbsent(entries []entry) []clientv3.Cmp {
	compares := make([]clientv3.Cmp, len(entries))
	for i, e := range entries {
		compares[i] = clientv3.Compare(clientv3.CreateRevision(e.key), "=", 0)
	}
	return compares
}

// number is the index in a key.
func number(key string) int {
	n, _ := strconv.Atoi(key[strings.LastIndexByte(key, '-')+1:])
	return n
}

// missing gives those of the objects that do not exist.
func (w *writer) missing(ctx context.Context, entries []entry) ([]entry, error) {
	counts := make([]clientv3.Op, len(entries))
	for i, e := range entries {
		counts[i] = clientv3.OpGet(e.key, clientv3.WithCountOnly())
	}
	answer, err := w.transact(ctx, nil, counts)
	if err != nil {
		return nil, err
	}
	var missing []entry
	for i, r := range answer.Responses {
		if r.GetResponseRange().Count == 0 {
			missing = append(missing, entries[i])
		}
	}
	return missing, nil
}

// transact carries out a transaction, and repeats it while etcd cannot take it:
// what it wrote after all then exists.
func (w *writer) transact(ctx context.Context, compares []clientv3.Cmp, ops []clientv3.Op) (*clientv3.TxnResponse, error) {
	ctx, cancel := context.WithTimeout(ctx, writeTimeout)
	defer cancel()
	for {
		answer, err := w.etcd.Txn(ctx).If(compares...).Then(ops...).Commit()
		if !passing(err) {
			return answer, err
		}
		select {
		case <-time.After(writeAgain):
		case <-ctx.Done():
			return nil, err
		}
	}
}

// passing says whether etcd may well take later what it does not take now.
func passing(err error) bool {
	for _, e := range []error{
		rpctypes.ErrTooManyRequests, rpctypes.ErrLeaderChanged, rpctypes.ErrNoLeader,
		rpctypes.ErrNotLeader, rpctypes.ErrTimeout, rpctypes.ErrTimeoutDueToLeaderFail,
	} {
		if errors.Is(err, e) {
			return true
		}
	}
	return false
}

func explain(err error, entries []entry) error {
	switch {
	case errors.Is(err, rpctypes.ErrNoSpace):
		return errors.New(err.Error() + quotaHint)
	case errors.Is(err, rpctypes.ErrRequestTooLarge):
		return fmt.Errorf("%w (the largest object has some %d bytes: make it smaller, or raise max-request-bytes in the flags of etcd)", err, len(entries[0].value))
	}
	return err
}

// raise sets a number unless it is larger already.
func raise(n *atomic.Int64, to int64) {
	for {
		old := n.Load()
		if old >= to || n.CompareAndSwap(old, to) {
			return
		}
	}
}

// awaitCache waits until the API server's cache is not older than a revision of
// the datastore; 0 is none.
func (f *filler) awaitCache(ctx context.Context, revision int64) error {
	if revision == 0 {
		return nil
	}
	waiting, cancel := context.WithTimeout(ctx, cacheTimeout)
	defer cancel()
	list := fmt.Sprintf("%s?limit=1&resourceVersionMatch=NotOlderThan&resourceVersion=%d", f.template.Collection(""), revision)
	for {
		// The server itself waits for three seconds, and then answers by a timeout.
		_, err := f.client.send(waiting, http.MethodGet, list, nil)
		if err == nil {
			return nil
		}
		var refused *refusedError
		if errors.As(err, &refused) && refused.code != http.StatusGatewayTimeout && !refused.rejected {
			return fmt.Errorf("wait for the API server's cache: %w", err)
		}
		select {
		case <-time.After(cacheAgain):
		case <-waiting.Done():
			if ctx.Err() != nil {
				return context.Cause(ctx)
			}
			return fmt.Errorf("the objects are in the datastore, but after %s the API server's cache has not come to its revision %d: %w", cacheTimeout, revision, err)
		}
	}
}
