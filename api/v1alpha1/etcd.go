package v1alpha1

import (
	"fmt"
	"strconv"
	"strings"
	"time"
)

// EtcdWorkload is one kind of operation on etcd's own API; exactly one. kine
// answers only the transactions that kube-apiserver sends: kubeCreate, kubeUpdate,
// kubeDelete, kubeList and watch.
type EtcdWorkload struct {
	// Writes single keys.
	Put *EtcdKeys `json:"put,omitempty"`
	// Reads single keys that were put before.
	Range *EtcdRange `json:"range,omitempty"`
	// Writes and reads several keys in one transaction.
	Txn *EtcdTxn `json:"txn,omitempty"`
	// Deletes single keys, each once.
	Delete *EtcdKeys `json:"delete,omitempty"`
	// Watches all keys: for each event, the delay since its write was answered.
	Watch *EtcdWatch `json:"watch,omitempty"`
	// Grants a lease, and revokes it.
	Lease *EtcdLease `json:"lease,omitempty"`
	// Creates keys as kube-apiserver does: if they are absent.
	KubeCreate *EtcdKeys `json:"kubeCreate,omitempty"`
	// Updates keys as kube-apiserver does: if they are unchanged.
	KubeUpdate *EtcdUpdate `json:"kubeUpdate,omitempty"`
	// Deletes keys as kube-apiserver does: if they are unchanged.
	KubeDelete *EtcdKeys `json:"kubeDelete,omitempty"`
	// Lists keys as kube-apiserver does: page by page at one revision.
	KubeList *EtcdList `json:"kubeList,omitempty"`
}

// EtcdKeys says which keys and values are used.
type EtcdKeys struct {
	// Order of the keys: sequential, uniform or zipfian. Default sequential.
	Order string `json:"order,omitempty" jsonschema:"enum=sequential,enum=uniform,enum=zipfian,default=sequential"`
	// Number of different keys. Those that are read, updated or deleted are made beforehand. Default: 10000 to read or update; else one for each write of the phase, as far as that is known; else 100000 to delete, and 1000000 to put or create.
	KeySpace int `json:"keySpace,omitempty" jsonschema:"minimum=1"`
	// Bytes of each key, which is its number, filled up with zeros; behind the prefix that the kube kinds and borrowed servers have. Default 8B.
	KeySize Bytes `json:"keySize,omitempty" jsonschema:"default=8B"`
	// Bytes of each value. Default 256B.
	ValueSize Bytes `json:"valueSize,omitempty" jsonschema:"default=256B"`
	// Which members are asked: leader, or any in turn. Default any.
	To string `json:"to,omitempty" jsonschema:"enum=leader,enum=any,default=any"`
}

// EtcdRange reads keys.
type EtcdRange struct {
	EtcdKeys `json:",inline"`
	// Whether the member asked may answer from what it has (serializable) rather than after it has heard from the others.
	Serializable bool `json:"serializable,omitempty"`
}

// EtcdTxn is a transaction of puts.
type EtcdTxn struct {
	EtcdKeys `json:",inline"`
	// Puts in each transaction. Default 10.
	Puts int `json:"puts,omitempty" jsonschema:"minimum=1,default=10"`
}

// EtcdUpdate updates keys.
type EtcdUpdate struct {
	EtcdKeys `json:",inline"`
	// How often an update is tried again after it met a conflict or timed out; what was read back decides whether it was applied. Default 0.
	Retries int `json:"retries,omitempty" jsonschema:"minimum=0"`
}

// EtcdWatch watches keys.
type EtcdWatch struct {
	// Which members are asked: leader, or any in turn. Default any.
	To string `json:"to,omitempty" jsonschema:"enum=leader,enum=any,default=any"`
}

// EtcdLease grants leases.
type EtcdLease struct {
	// Time to live of each lease. Default 60s.
	TTL Duration `json:"ttl,omitempty" jsonschema:"default=60s"`
}

// EtcdList lists keys.
type EtcdList struct {
	// Number of keys, which are made before. Default 1000.
	Keys int `json:"keys,omitempty" jsonschema:"minimum=1,default=1000"`
	// Bytes of each value. Default 256B.
	ValueSize Bytes `json:"valueSize,omitempty" jsonschema:"default=256B"`
	// Most keys in one answer. Default 500, as client-go has it.
	PageSize int `json:"pageSize,omitempty" jsonschema:"minimum=1,default=500"`
}

func (w *EtcdWorkload) setDefaults(load Load) {
	for _, keys := range w.keys() {
		keys.Order = or(keys.Order, "sequential")
		keys.KeySize = or(keys.KeySize, 8)
		keys.ValueSize = or(keys.ValueSize, 256)
		keys.To = or(keys.To, "any")
	}
	switch {
	case w.Put != nil:
		w.Put.KeySpace = or(w.Put.KeySpace, or(load.operations(), 1_000_000))
	case w.KubeCreate != nil:
		w.KubeCreate.KeySpace = or(w.KubeCreate.KeySpace, or(load.operations(), 1_000_000))
	case w.Range != nil:
		w.Range.KeySpace = or(w.Range.KeySpace, 10_000)
	case w.KubeUpdate != nil:
		w.KubeUpdate.KeySpace = or(w.KubeUpdate.KeySpace, 10_000)
	case w.Delete != nil:
		w.Delete.KeySpace = or(w.Delete.KeySpace, or(load.operations(), 100_000))
	case w.KubeDelete != nil:
		w.KubeDelete.KeySpace = or(w.KubeDelete.KeySpace, or(load.operations(), 100_000))
	case w.Txn != nil:
		w.Txn.Puts = or(w.Txn.Puts, 10)
		w.Txn.KeySpace = or(w.Txn.KeySpace, or(load.operations()*w.Txn.Puts, 1_000_000))
	case w.Watch != nil:
		w.Watch.To = or(w.Watch.To, "any")
	case w.Lease != nil:
		w.Lease.TTL = or(w.Lease.TTL, Duration(time.Minute))
	case w.KubeList != nil:
		w.KubeList.Keys = or(w.KubeList.Keys, 1000)
		w.KubeList.ValueSize = or(w.KubeList.ValueSize, 256)
		w.KubeList.PageSize = or(w.KubeList.PageSize, 500)
	}
}

// operations is how many operations the load comes to; 0 if that is not known beforehand.
func (l Load) operations() int {
	switch {
	case l.Closed != nil && l.Closed.Iterations > 0:
		return l.Closed.Iterations
	case l.Closed != nil:
		return l.Closed.IterationsPerClient * l.Closed.Clients
	case l.Open != nil: // what arrives by chance is about as much; keys that are used twice do no harm
		return int(l.Open.Operations())
	}
	return 0
}

// keys are those of the workload, if its kind has such.
func (w *EtcdWorkload) keys() []*EtcdKeys {
	switch {
	case w.Put != nil:
		return []*EtcdKeys{w.Put}
	case w.Range != nil:
		return []*EtcdKeys{&w.Range.EtcdKeys}
	case w.Txn != nil:
		return []*EtcdKeys{&w.Txn.EtcdKeys}
	case w.Delete != nil:
		return []*EtcdKeys{w.Delete}
	case w.KubeCreate != nil:
		return []*EtcdKeys{w.KubeCreate}
	case w.KubeUpdate != nil:
		return []*EtcdKeys{&w.KubeUpdate.EtcdKeys}
	case w.KubeDelete != nil:
		return []*EtcdKeys{w.KubeDelete}
	}
	return nil
}

// kinds are the names of the kinds that are asked for, in the order of the document's type.
func (w *EtcdWorkload) kinds() []string {
	var all []string
	for _, kind := range []struct {
		name  string
		asked bool
	}{
		{"put", w.Put != nil}, {"range", w.Range != nil}, {"txn", w.Txn != nil}, {"delete", w.Delete != nil},
		{"watch", w.Watch != nil}, {"lease", w.Lease != nil}, {"kubeCreate", w.KubeCreate != nil},
		{"kubeUpdate", w.KubeUpdate != nil}, {"kubeDelete", w.KubeDelete != nil}, {"kubeList", w.KubeList != nil},
	} {
		if kind.asked {
			all = append(all, kind.name)
		}
	}
	return all
}

// finite says that the workload has an end of its own: each key is deleted once.
func (w *EtcdWorkload) finite() bool { return w.Delete != nil || w.KubeDelete != nil }

// maxTxnPuts is what etcd takes in a transaction by default (--max-txn-ops).
const maxTxnPuts = 128

func (w *EtcdWorkload) check(v *validator, path string, phase *Phase) {
	if v.target.Local == nil && (v.target.Borrowed == nil || v.target.Borrowed.Etcd == nil) {
		v.fault(path, "needs a local target, or a borrowed etcd")
	}
	load := phase.Load
	kinds := w.kinds()
	if len(kinds) != 1 {
		v.fault(path, "needs exactly one kind of operation, but has %d: %s", len(kinds), strings.Join(kinds, ", "))
		return
	}
	kind := kinds[0]
	path += "." + kind
	if v.onKine() && kind != "watch" && !strings.HasPrefix(kind, "kube") {
		v.fault(path, "kine answers only the transactions that kube-apiserver sends, and may acknowledge others without applying them: use kubeCreate, kubeUpdate, kubeDelete, kubeList or watch")
	}
	for _, keys := range w.keys() {
		v.etcdKeys(path, *keys, w.finite(), load)
	}
	switch {
	case w.Txn != nil && w.Txn.Puts > maxTxnPuts:
		v.fault(path+".puts", "is %d, but etcd takes at most %d operations in a transaction", w.Txn.Puts, maxTxnPuts)
	case w.Txn != nil && w.Txn.Puts > w.Txn.KeySpace:
		v.fault(path+".puts", "is %d, but there are only %d different keys, and a transaction may put each only once", w.Txn.Puts, w.Txn.KeySpace)
	case w.Lease != nil && w.Lease.TTL < Duration(time.Second):
		v.fault(path+".ttl", "must be 1s at least: etcd counts in seconds")
	case w.Watch != nil:
		v.endless(path, load)
	}
}

func (v *validator) etcdKeys(path string, k EtcdKeys, once bool, load Load) {
	if digits := len(strconv.Itoa(max(0, k.KeySpace-1))); int(k.KeySize) < digits {
		v.fault(path+".keySize", "is %v, but the last of %d keys has %d digits", k.KeySize, k.KeySpace, digits)
	}
	if once && k.Order == "zipfian" {
		v.fault(path+".order", "each key is deleted once: use sequential or uniform")
	}
	if n := load.operations(); once && n > k.KeySpace {
		v.fault(path+".keySpace", "is %d, but there are %d deletions", k.KeySpace, n)
	}
}

// onKine says whether kine answers.
func (v *validator) onKine() bool {
	return v.target.Local != nil && v.target.Local.Datastore.Kine != nil
}

// Operations are those of etcd's API.
func (w *EtcdWorkload) Operations() (whole, parts []string) {
	switch {
	case w.Put != nil:
		return []string{"put"}, nil
	case w.Range != nil:
		return []string{"range"}, nil
	case w.Txn != nil:
		return []string{"txn"}, nil
	case w.Delete != nil:
		return []string{"delete"}, nil
	case w.Watch != nil:
		return []string{"watch"}, []string{"event"}
	case w.Lease != nil:
		return []string{"lease"}, []string{"grant", "revoke"}
	case w.KubeCreate != nil:
		return []string{"create"}, nil
	case w.KubeUpdate != nil: // what an update comes to, and the requests that it takes
		return []string{"update"}, []string{"attempt", "read-back"}
	case w.KubeDelete != nil:
		return []string{"delete"}, nil
	}
	return []string{"walk"}, []string{"page"}
}

// InWords says what the workload does.
func (w *EtcdWorkload) InWords() string {
	switch {
	case w.Put != nil:
		return "put " + w.Put.inWords()
	case w.Range != nil:
		return "read " + w.Range.inWords()
	case w.Txn != nil:
		return fmt.Sprintf("transactions of %d puts of %s", w.Txn.Puts, w.Txn.inWords())
	case w.Delete != nil:
		return "delete " + w.Delete.inWords()
	case w.Watch != nil:
		return "watch all keys"
	case w.Lease != nil:
		return "grant and revoke leases"
	case w.KubeCreate != nil:
		return "create, as kube-apiserver does, " + w.KubeCreate.inWords()
	case w.KubeUpdate != nil:
		return "update, as kube-apiserver does, " + w.KubeUpdate.inWords()
	case w.KubeDelete != nil:
		return "delete, as kube-apiserver does, " + w.KubeDelete.inWords()
	}
	return fmt.Sprintf("list %d keys, as kube-apiserver does, in pages of %d", w.KubeList.Keys, w.KubeList.PageSize)
}

func (k EtcdKeys) inWords() string {
	return fmt.Sprintf("%s keys of %v with values of %v", k.Order, k.KeySize, k.ValueSize)
}
