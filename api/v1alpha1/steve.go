package v1alpha1

// Steve is Rancher's API in front of kube-apiserver.
type Steve struct {
	// Whether lists are answered from a cache in SQLite (--sql-cache, known as Vai) rather than one in memory.
	SQLCache bool `json:"sqlCache,omitempty"`
	// Flags laid over plimsoll's own; null removes one.
	Flags Flags `json:"flags,omitempty"`
}

// SteveWorkload is one kind of operation on the API of Steve; exactly one.
type SteveWorkload struct {
	// Lists a whole collection; each page and each whole walk is an operation.
	List *SteveList `json:"list,omitempty"`
}

// SteveList lists a collection.
type SteveList struct {
	// Resource of the objects.
	Resource Resource `json:"resource"`
	// Namespace to list; all namespaces when empty.
	Namespace Name `json:"namespace,omitempty"`
	// How pages are asked for: k8s (limit, revision and continue), page (page, pagesize and revision, until a page is empty), or none (one request; pageSize is then its limit). Default k8s.
	Pagination string `json:"pagination,omitempty" jsonschema:"enum=k8s,enum=page,enum=none,default=k8s"`
	// Objects in one page. Default 100.
	PageSize int `json:"pageSize,omitempty" jsonschema:"minimum=1,default=100"`
	// Condition on fields (filter), such as metadata.labels.app=web.
	Filter string `json:"filter,omitempty"`
	// Fields to sort by (sort), such as -metadata.name.
	Sort string `json:"sort,omitempty"`
}
