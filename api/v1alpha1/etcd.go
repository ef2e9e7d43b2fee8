package v1alpha1

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
	// Number of different keys. Default 1 for each operation, as far as that is known, else 1000000.
	KeySpace int `json:"keySpace,omitempty" jsonschema:"minimum=1"`
	// Bytes of each key. Default 8B.
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
