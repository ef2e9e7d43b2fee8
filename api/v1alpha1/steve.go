package v1alpha1

import (
	"fmt"
	"slices"
)

// Steve is Rancher's API in front of kube-apiserver.
type Steve struct {
	// Its version, among those that plimsoll can build. Default: what $PLIMSOLL_ASSETS holds, else v0.10.2.
	Version string `json:"version,omitempty" jsonschema:"enum=v0.8.0,enum=v0.9.15,enum=v0.10.2"`
	// Whether lists are answered from a cache in SQLite (--sql-cache, known as Vai) rather than one in memory.
	SQLCache bool `json:"sqlCache,omitempty"`
	// Whether, without the SQL cache, answers to lists are kept in memory, for requests that name their revision (CATTLE_REQUEST_CACHE_DISABLED=false). Rancher of 2023 did so; Steve of today does only when told.
	RequestCache bool `json:"requestCache,omitempty"`
	// Flags laid over plimsoll's own, but for those that say where it listens; null removes one.
	Flags Flags `json:"flags,omitempty"`
}

func (s *Steve) inWords() string {
	words := "Steve"
	if s.Version != "" {
		words += " " + s.Version
	}
	if s.SQLCache {
		words += " with SQL cache"
	}
	return words
}

// SteveVersion is the version of Steve that is built unless the document names another.
const SteveVersion = "v0.10.2"

// SteveVersions are those that can be chosen.
func SteveVersions() []string { return []string{"v0.8.0", "v0.9.15", SteveVersion} }

// BorrowedSteve is a Steve that somebody else runs, by itself or in a Rancher.
// Fills go through the kubeconfig, which must be of the same cluster.
type BorrowedSteve struct {
	// URL that its /v1 is below, such as https://rancher.example.org or, for a cluster downstream of that, https://rancher.example.org/k8s/clusters/c-m-abcdefgh.
	URL string `json:"url" jsonschema:"pattern=^https?://"`
	// File with the bearer token that requests are made with. Default: no token.
	TokenFile string `json:"tokenFile,omitempty"`
	// Environment variable with the bearer token, instead of a file.
	TokenEnv string `json:"tokenEnv,omitempty"`
	// File with the certificate that the server's is signed by. Default: what the system trusts.
	CA string `json:"ca,omitempty"`
	// Whether the server's certificate is taken as it is, as one that Steve has made for itself must be.
	Insecure bool `json:"insecure,omitempty"`
}

// SteveWorkload is one kind of operation on the API of Steve; exactly one.
type SteveWorkload struct {
	// Lists a whole collection; each page and each whole walk is an operation, and so is the time until a page begins (first-byte).
	List *SteveList `json:"list,omitempty"`
	// Reads single objects by their ids, chosen at random.
	Get *KubeSelection `json:"get,omitempty"`
	// Reads how many objects there are of each kind (/v1/counts).
	Counts *SteveCounts `json:"counts,omitempty"`
	// Watches a collection over a websocket (/v1/subscribe) until the phase ends.
	Watch *KubeWatch `json:"watch,omitempty"`
}

// SteveCounts reads how many objects there are.
type SteveCounts struct{}

// SteveList lists a collection.
type SteveList struct {
	// Resource of the objects.
	Resource Resource `json:"resource"`
	// Namespace to list; all namespaces when empty.
	Namespace Name `json:"namespace,omitempty"`
	// How pages are asked for: k8s (limit, revision and continue), page (page, pagesize and revision, until a page is empty), or none (one request; pageSize is then its limit). Default k8s. With its SQL cache Steve takes no notice of limit and gives everything at once, which the result flags.
	Pagination string `json:"pagination,omitempty" jsonschema:"enum=k8s,enum=page,enum=none,default=k8s"`
	// Objects in one page. Default 100.
	PageSize int `json:"pageSize,omitempty" jsonschema:"minimum=1,default=100"`
	// Condition on fields (filter), such as metadata.labels.app=web.
	Filter string `json:"filter,omitempty"`
	// Fields to sort by (sort), such as -metadata.name.
	Sort string `json:"sort,omitempty"`
	// Rancher projects or namespaces that the objects must be in, separated by commas (projectsornamespaces).
	ProjectsOrNamespaces string `json:"projectsornamespaces,omitempty"`
	// Whether each walk is checked for every object that fills have made in these namespaces: it should see each exactly once. A walk that does not is ok and has the reason missing, duplicate, or missing-and-duplicate.
	Verify bool `json:"verify,omitempty"`
}

// stevePorts checks that nobody moves the ports of a Steve: whoever reaches one is an
// admin, so plimsoll shuts off from other machines those that it has chosen.
func (v *validator) stevePorts(local *LocalTarget) {
	if local == nil || local.Steve == nil {
		return
	}
	for _, flag := range []string{"https-listen-port", "http-listen-port", "metrics-listen-addr", "pprof-listen-addr"} {
		const fault = "plimsoll chooses where Steve listens, asks it there, and keeps other machines away: leave this flag out"
		_, moved := local.Steve.Flags[flag]
		if moved {
			v.fault("spec.target.local.steve.flags."+flag, fault)
		}
		if local.Downstream == nil || moved { // by default the one downstream has the same flags
			continue
		}
		if _, moved := local.Downstream.Steve.Flags[flag]; moved {
			v.fault("spec.target.local.downstream.steve.flags."+flag, fault)
		}
	}
}

// borrowed checks what somebody else runs.
func (v *validator) borrowed(b *BorrowedTarget) {
	if b == nil || b.Steve == nil {
		return
	}
	const path = "spec.target.borrowed.steve"
	if b.Etcd != nil {
		v.fault(path, "is in front of a cluster, but the target is an etcd")
	}
	if b.Steve.TokenFile != "" && b.Steve.TokenEnv != "" {
		v.fault(path, "has both tokenFile and tokenEnv: choose one")
	}
	if b.Steve.Insecure && b.Steve.CA != "" {
		v.fault(path+".insecure", "makes ca void: choose one")
	}
}

// namespaces are those that the workload names.
func (w *SteveWorkload) namespaces() []*Name {
	switch {
	case w.List != nil:
		return []*Name{&w.List.Namespace}
	case w.Get != nil:
		return []*Name{&w.Get.Namespace}
	case w.Watch != nil:
		return []*Name{&w.Watch.Namespace}
	}
	return nil
}

func (w *SteveWorkload) setDefaults(Load) {
	if w.List != nil {
		w.List.Pagination = or(w.List.Pagination, "k8s")
		w.List.PageSize = or(w.List.PageSize, 100)
	}
}

func (w *SteveWorkload) check(v *validator, path string, phase *Phase) {
	switch local := v.target.Local; {
	case local != nil && local.Steve != nil && !v.target.servesKubernetes():
		v.fault(path, "Steve needs the API server: leave kubeAPIServer enabled")
	case !v.target.servesSteve():
		v.fault(path, "the target has no Steve: add steve: {} to spec.target.local, or steve: {url: …} to spec.target.borrowed")
	}
	switch {
	case w.Get != nil:
		v.filled(path+".get", *w.Get, phase.Cluster)
	case w.Watch != nil:
		v.endless(path+".watch", phase.Load)
	}
	l := w.List
	if l == nil || !l.Verify {
		return
	}
	path += ".list.verify"
	switch {
	case l.Pagination == "none":
		v.fault(path, "needs walks over the whole list: pagination is k8s or page")
	case l.Filter != "" || l.ProjectsOrNamespaces != "":
		v.fault(path, "cannot tell which objects a filter or projectsornamespaces leaves out: list all")
	case !slices.ContainsFunc(v.made, func(fill *Fill) bool { return fill.Cluster == phase.Cluster && l.holds(fill) }):
		v.fault(path, "checks for the %s of a fill, but none makes any", collectionInWords(l.Resource, l.Namespace))
	}
}

// holds says whether a list lists some of what a fill makes. A template may
// not tell of what resource its objects are.
func (l *SteveList) holds(fill *Fill) bool {
	in := func(namespace Name) bool { return l.Namespace == "" || l.Namespace == namespace }
	if resource := fill.resource(); resource != "" && resource != l.Resource {
		return false
	}
	for i := range fill.Namespaces {
		if in(spread(fill.Namespace, i)) {
			return true
		}
	}
	return fill.Namespaces == 0 && in(fill.Namespace)
}

// Operations are the kinds of operations that the workload performs: the whole
// ones, and then their parts.
func (w *SteveWorkload) Operations() (whole, parts []string) {
	switch {
	case w.Get != nil:
		return []string{"get"}, nil
	case w.Counts != nil:
		return []string{"counts"}, nil
	case w.Watch != nil:
		return []string{"watch"}, []string{"start", "event"}
	}
	return []string{"walk"}, []string{"page", "first-byte"}
}

// Verifies says whether it checks each walk for the objects that exist throughout.
func (w *SteveWorkload) Verifies() bool { return w != nil && w.List != nil && w.List.Verify }

// InWords says what the workload does.
func (w *SteveWorkload) InWords() string {
	switch {
	case w.Get != nil:
		return "get " + w.Get.inWords() + " through Steve"
	case w.Counts != nil:
		return "count all objects through Steve"
	case w.Watch != nil:
		return "watch " + collectionInWords(w.Watch.Resource, w.Watch.Namespace) + " through Steve"
	}
	return w.List.inWords()
}

func (l *SteveList) inWords() string {
	words := "list all " + collectionInWords(l.Resource, l.Namespace) + " through Steve"
	switch l.Pagination {
	case "none":
		words += fmt.Sprintf(", at most %d in one request", l.PageSize)
	case "page":
		words += fmt.Sprintf(" in pages of %d, numbered", l.PageSize)
	default:
		words += fmt.Sprintf(" in pages of %d, continued", l.PageSize)
	}
	for _, more := range []struct{ word, value string }{{"filter", l.Filter}, {"sort", l.Sort}, {"projectsornamespaces", l.ProjectsOrNamespaces}} {
		if more.value != "" {
			words += fmt.Sprintf(", %s %s", more.word, more.value)
		}
	}
	if l.Verify {
		words += ", each checked for every object"
	}
	return words
}
