package v1alpha1

import "fmt"

// Workload is what a phase does, of whatever kind.
type Workload interface {
	// Operations are the kinds of operations that it performs: the whole ones, and then their parts.
	Operations() (whole, parts []string)
	// InWords says what it does, for plans and reports.
	InWords() string
}

// Workloads are the fields of a phase of which one is set.
func Workloads() []string { return []string{"kube", "steve", "disk", "etcd"} }

// Workload is the phase's one workload; nil, if it has none.
func (p *Phase) Workload() Workload {
	if all := p.workloads(); len(all) > 0 {
		return all[0]
	}
	return nil
}

// InWords says what the phase's workload does, and where.
func (p *Phase) InWords() string { return p.Workload().InWords() + p.Cluster.inWords() }

func (p *Phase) workloads() []Workload {
	var all []Workload
	if p.Kube != nil {
		all = append(all, p.Kube)
	}
	if p.Steve != nil {
		all = append(all, p.Steve)
	}
	if p.Disk != nil {
		all = append(all, p.Disk)
	}
	if p.Etcd != nil {
		all = append(all, p.Etcd)
	}
	if p.Wait != nil {
		all = append(all, p.Wait)
	}
	return all
}

// Makes gives what the operation makes objects of, and the field that it is;
// nil, if it makes none, or bundles.
func (k *KubeWorkload) Makes() (field string, made *Objects) {
	switch {
	case k.Create != nil:
		return "create", k.Create
	case k.Churn != nil:
		return "churn", &k.Churn.Objects
	case k.Ring != nil:
		return "ring", &k.Ring.Objects
	}
	return "", nil
}

// selects gives which objects of a fill the operation is on, and the field that
// it is, which is the verb too; nil, if it is on no single ones.
func (k *KubeWorkload) selects() (field string, selected *KubeSelection) {
	switch {
	case k.Get != nil:
		return "get", k.Get
	case k.Update != nil:
		return "update", &k.Update.KubeSelection
	case k.Patch != nil:
		return "patch", &k.Patch.KubeSelection
	case k.Delete != nil:
		return "delete", k.Delete
	}
	return "", nil
}

// LoadInWords says what the load of the phase is; a wait is none.
func (p *Phase) LoadInWords() string {
	if p.Wait != nil {
		return "one watch"
	}
	return p.Load.InWords()
}

// servesKubernetes says whether there is a Kubernetes API.
func (t Target) servesKubernetes() bool {
	switch {
	case t.Local != nil:
		return t.Local.KubeAPIServer.On()
	case t.Borrowed != nil:
		return t.Borrowed.Etcd == nil
	}
	return t.Null != nil
}

// servesSteve says whether there is a Steve.
func (t Target) servesSteve() bool {
	return t.Local != nil && t.Local.Steve != nil || t.Borrowed != nil && t.Borrowed.Steve != nil
}

// On says whether it is started.
func (k KubeAPIServer) On() bool { return k.Enabled == nil || *k.Enabled }

// Operations are a block or a batch of entries that is written and synced, and these two apart.
func (*DiskWorkload) Operations() (whole, parts []string) {
	return []string{"store"}, []string{"write", "sync"}
}

// InWords says what the workload does.
func (w *DiskWorkload) InWords() string {
	if s := w.Sequential; s != nil {
		how := ", through the page cache"
		if s.Direct {
			how = ", past the page cache"
		}
		return fmt.Sprintf("write blocks of %v to a file of %v, each made to last by %s%s", s.Block, s.File, s.Sync, how)
	}
	wal := w.WAL
	sizes := wal.Entry.String()
	if wal.EntryTo != wal.Entry {
		sizes += " to " + wal.EntryTo.String()
	}
	return fmt.Sprintf("write entries of %s, up to %d to an fdatasync, to preallocated segments of %v", sizes, wal.Batch, wal.Segment)
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
