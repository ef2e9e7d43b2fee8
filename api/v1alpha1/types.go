// Package v1alpha1 defines the scenario document: what a user writes, what
// `plimsoll plan` explains and what `plimsoll run` executes.
//
// The JSON schema in scenario.schema.json is generated from these types and
// their comments (go generate ./api/...); it is what documents are checked
// against, so a comment here is also what an editor shows and what an error
// message can lean on.
package v1alpha1

//go:generate go run ./schemagen ../../docs/scenario.md

// APIVersion and Kind identify a scenario document.
const (
	APIVersion = "plimsoll.dev/v1alpha1"
	Kind       = "Scenario"
)

// Scenario is one experiment: a target, its preparation, the load, and the
// bounds that the load must keep.
type Scenario struct {
	// The version of this document's form.
	APIVersion string `json:"apiVersion" jsonschema:"enum=plimsoll.dev/v1alpha1"`
	// Always Scenario.
	Kind string `json:"kind" jsonschema:"enum=Scenario"`
	// Names the scenario.
	Metadata Metadata `json:"metadata"`
	// What is run.
	Spec Spec `json:"spec"`
}

// Metadata names a scenario.
type Metadata struct {
	// Short name of the scenario.
	Name Name `json:"name"`
	// One line for people.
	Title string `json:"title,omitempty"`
	// The question that the scenario answers, and what to look at.
	Description string `json:"description,omitempty"`
}

// Spec says what is run against which target.
type Spec struct {
	// The system under test.
	Target Target `json:"target"`
	// Named values; ${name} elsewhere in the document stands for the whole value. A list of values is an axis: the scenario is run for each of them. --set name=value replaces one.
	Parameters map[string]any `json:"parameters,omitempty"`
	// Alternatives under comparison, each a change of this spec; the first is the baseline that the others are held against. Default: one, the spec as it stands.
	Variants []Variant `json:"variants,omitempty"`
	// How often each variant is run, each time on a fresh target. Default 1.
	Repetitions int `json:"repetitions,omitempty" jsonschema:"minimum=1,maximum=1000,default=1"`
	// Seed of every random choice. Default 1.
	Seed uint64 `json:"seed,omitempty" jsonschema:"default=1"`
	// What exists before the first step; not measured.
	Prepare []Preparation `json:"prepare,omitempty"`
	// Resources whose objects are counted every second of the run, by state, as the metric plimsoll_objects: pods pending, unready, running, succeeded, failed; deployments progressing, available; all others present; and all of them terminating, once their deletion has begun. By a watch each, as admin.
	Observe []Resource `json:"observe,omitempty" jsonschema:"uniqueItems=true"`
	// What is done, one step after the other.
	Steps []Step `json:"steps" jsonschema:"minItems=1"`
	// Ends the load before this machine is lost. Default: with its defaults, for local targets; none for others.
	Guard *Guard `json:"guard,omitempty"`
	// Bounds that the run must keep; a missed one gives exit code 3.
	Objectives []Objective `json:"objectives,omitempty"`
	// Measures that the comparison of variants is about. All others are exploratory: shown, and held to a stricter test.
	Primary []PrimaryMeasure `json:"primary,omitempty"`
	// A change that is smaller than this does not matter. Without a margin, no two variants can be called equivalent.
	Margin Percent `json:"margin,omitempty"`
	// Looks for the load line: the largest value of a parameter at which every objective holds.
	Search *Search `json:"search,omitempty"`
	// Published figures, shown beside those that were measured.
	References []Reference `json:"references,omitempty"`
	// Figures over time that the report shows beside those of CPU and memory.
	Panels []Panel `json:"panels,omitempty"`
}

// Target is the system under test; exactly one kind of it.
type Target struct {
	// A target that plimsoll starts on this machine for the run and stops after it.
	Local *LocalTarget `json:"local,omitempty"`
	// A cluster that is there already; run --kubeconfig FILE uses one without a change of the document.
	Borrowed *BorrowedTarget `json:"borrowed,omitempty"`
	// A folder on the disk under test; nothing is started.
	Directory *DirectoryTarget `json:"directory,omitempty"`
	// A server that answers at once and stores nothing, for finding out what plimsoll itself takes.
	Null *NullTarget `json:"null,omitempty"`
}

// RAMDisk is the size of the RAM disk that the target needs; 0 for none.
func (t Target) RAMDisk() Bytes {
	switch {
	case t.Directory != nil && t.Directory.Path == "":
		return t.Directory.RAMDisk
	case t.Local != nil && t.Local.Datastore.Etcd != nil && t.Local.Datastore.Etcd.DataDir == "":
		return t.Local.Datastore.Etcd.RAMDisk
	}
	return 0
}

// DirectoryTarget is a folder, in which plimsoll makes one of its own and removes it after the run.
type DirectoryTarget struct {
	// Path of the folder, which must exist. Default: the run directory.
	Path string `json:"path,omitempty"`
	// Size of a RAM disk (tmpfs) that is written to where path names no folder. plimsoll mounts it, which takes root, and unmounts it after the run. Default: none.
	RAMDisk Bytes `json:"ramDisk,omitempty"`
}

// NullTarget is a server of plimsoll's own, in a process of its own.
type NullTarget struct {
	// Bytes of each answer. Default 1KiB.
	Answer Bytes `json:"answer,omitempty" jsonschema:"default=1KiB"`
	// How long it waits before it answers.
	Delay Duration `json:"delay,omitempty"`
}

// BorrowedTarget is a cluster that somebody else runs. plimsoll makes what it
// needs in namespaces of its own, labels it, and removes it at the end.
type BorrowedTarget struct {
	// Path of a kubeconfig file. Default: as kubectl finds it.
	Kubeconfig string `json:"kubeconfig,omitempty"`
	// Context of the kubeconfig. Default: its current one.
	Context string `json:"context,omitempty"`
	// Steve, or a Rancher, in front of the cluster. Default: none.
	Steve *BorrowedSteve `json:"steve,omitempty"`
	// etcd, or what speaks its API, rather than a cluster: for etcd workloads only.
	Etcd *BorrowedEtcd `json:"etcd,omitempty"`
}

// BorrowedEtcd is an etcd that somebody else runs. plimsoll writes under a
// prefix of its own, and removes that at the end.
type BorrowedEtcd struct {
	// URLs of the members that clients use.
	Endpoints []string `json:"endpoints" jsonschema:"minItems=1"`
	// File with the certificate that the servers' are signed by. Default: what the system trusts.
	CA string `json:"ca,omitempty"`
	// File with the client's certificate.
	Cert string `json:"cert,omitempty"`
	// File with the key of the client's certificate.
	Key string `json:"key,omitempty"`
}

// LocalTarget is a control plane of real components, each a child process.
type LocalTarget struct {
	// Where objects are stored. Default: one etcd member.
	Datastore Datastore `json:"datastore,omitempty"`
	// The API server.
	KubeAPIServer KubeAPIServer `json:"kubeAPIServer,omitempty"`
	// The controllers: of deployments, namespaces, service accounts, garbage, … Default: none.
	KubeControllerManager *KubeControllerManager `json:"kubeControllerManager,omitempty"`
	// The scheduler, which binds pods to nodes. Default: none.
	KubeScheduler *KubeScheduler `json:"kubeScheduler,omitempty"`
	// Nodes without machines. Default: none.
	Kwok *Kwok `json:"kwok,omitempty"`
	// Rancher's Steve in front of the API server. Default: none, or, with downstream, one.
	Steve *Steve `json:"steve,omitempty"`
	// A second control plane with a Steve of its own, which is reached through a tunnel from beside the first one, as in Rancher. Default: none.
	Downstream *Downstream `json:"downstream,omitempty"`
}

// Datastore is where the API server stores objects; exactly one kind of it.
type Datastore struct {
	// etcd, with TLS, and with fsync on.
	Etcd *Etcd `json:"etcd,omitempty"`
	// kine, which offers etcd's API over an SQL database.
	Kine *Kine `json:"kine,omitempty"`
}

// Etcd is an etcd cluster on this machine.
type Etcd struct {
	// Number of members. Default 1.
	Members int `json:"members,omitempty" jsonschema:"enum=1,enum=3,default=1"`
	// Folder under which each member gets a data directory of its own for the run, removed after it. Default: in the run directory.
	DataDir string `json:"dataDir,omitempty"`
	// Size of a RAM disk (tmpfs) that holds the data of all members where dataDir names no folder. plimsoll mounts it, which takes root, and unmounts it after the run. Default: none.
	RAMDisk Bytes `json:"ramDisk,omitempty"`
	// Folder under which each member gets one for its write-ahead log, apart from its data; writes of disk workloads then go to that disk. Default: with the data.
	WALDir string `json:"walDir,omitempty"`
	// Client port of the first member; the others and all peers get free ports. Default: a free one.
	Port int `json:"port,omitempty" jsonschema:"minimum=1,maximum=65535"`
	// Flags of every member, laid over plimsoll's own; null removes one.
	Flags Flags `json:"flags,omitempty"`
	// Flags of single members, laid over those of every member: those of the first member first.
	MemberFlags []Flags `json:"memberFlags,omitempty"`
}

// KubeAPIServer is one kube-apiserver.
type KubeAPIServer struct {
	// False for a datastore alone. Default true.
	Enabled *bool `json:"enabled,omitempty" jsonschema:"default=true"`
	// Port that it serves on. Default: a free one.
	Port int `json:"port,omitempty" jsonschema:"minimum=1,maximum=65535"`
	// Audit counts every request by whom it is from, as plimsoll_audit_requests_total: metadata has the API server tell of each, which costs CPU of both. Nothing of it is kept but the counts. Default: no audit.
	Audit string `json:"audit,omitempty" jsonschema:"enum=metadata"`
	// Flags laid over plimsoll's own; null removes one.
	Flags Flags `json:"flags,omitempty"`
}

// Preparation is one thing done before the steps, or before the phases of one;
// exactly one kind of it.
type Preparation struct {
	// Makes many alike objects.
	Fill *Fill `json:"fill,omitempty"`
	// Waits until the target has come to rest.
	Settle *Settle `json:"settle,omitempty"`
}

// Fill makes objects named plimsoll-000000, plimsoll-000001, … Object i is a
// function of the seed and i, so a fill can be continued, and objects that
// exist already are left as they are.
type Fill struct {
	Objects `json:",inline"`
	// Number of objects that there are afterwards.
	Count int `json:"count" jsonschema:"minimum=1"`
	// Which control plane they are made in: local or, behind the tunnel, downstream. Default local.
	Cluster Cluster `json:"cluster,omitempty" jsonschema:"enum=local,enum=downstream,default=local"`
	// How they are made: api (requests to the API server) or datastore (straight into the datastore of a local target, in big batches). Default: datastore where that is possible.
	Through Way `json:"through,omitempty" jsonschema:"enum=api,enum=datastore"`
	// How many requests are under way at once. Default 16.
	Clients int `json:"clients,omitempty" jsonschema:"minimum=1,default=16"`
}

// Objects says what objects are made of: a resource with a payload, or a
// template; and in which namespaces they are.
type Objects struct {
	// A resource whose objects have one key, data, with a payload.
	Resource Resource `json:"resource,omitempty"`
	// YAML of any object, as a Go template that knows .Index, .Name, .Namespace, .Payload and .Node, one of the nodes that kwok is given, in turn. Name and namespace are set by plimsoll.
	Template string `json:"template,omitempty"`
	// Namespace of the objects.
	Namespace Name `json:"namespace,omitempty"`
	// Number of namespaces, called NAMESPACE-0, NAMESPACE-1, …, over which objects are spread evenly. Default: one, called NAMESPACE.
	Namespaces int `json:"namespaces,omitempty" jsonschema:"minimum=1"`
	// Bytes of payload in each object, before base64. Default 4B.
	Payload Bytes `json:"payload,omitempty" jsonschema:"default=4B"`

	// Nodes is, in a plan, how many nodes kwok is given.
	Nodes int `json:"nodes,omitempty" jsonschema:"-"`
}

// Way is how a fill reaches the datastore.
type Way string

// The ways.
const (
	ThroughAPI       Way = "api"
	ThroughDatastore Way = "datastore"
)

// Settle waits until components use little CPU and the API server's cache has
// caught up with the datastore.
type Settle struct {
	// At rest is: all components together below this many CPUs, for three seconds. Default 0.2.
	CPUs float64 `json:"cpus,omitempty" jsonschema:"minimum=0,default=0.2"`
	// After this long the run goes on regardless, with a warning. Default 60s.
	Timeout Duration `json:"timeout,omitempty" jsonschema:"default=60s"`
}

// Step is a set of phases that run in parallel, a wait, or both.
type Step struct {
	// Name, unique in the scenario.
	Name Name `json:"name"`
	// False for a warm-up: recorded and labelled, but in no estimate or objective. Default true.
	Measured *bool `json:"measured,omitempty" jsonschema:"default=true"`
	// Repeats the step once for each value of a parameter, in one run: a growing series.
	Sweep *Sweep `json:"sweep,omitempty"`
	// What is done before the phases; not measured.
	Prepare []Preparation `json:"prepare,omitempty"`
	// What is done to the target while the phases run. Default: nothing.
	Fault *Fault `json:"fault,omitempty"`
	// Which components are profiled while the phases run, in a step that is not measured: being profiled costs time. Default: none.
	Profile *Profile `json:"profile,omitempty"`
	// What runs in parallel.
	Phases []Phase `json:"phases,omitempty" jsonschema:"minItems=1"`
	// What the step waits for, beside phases or without any; background phases go on meanwhile.
	Wait *Wait `json:"wait,omitempty"`

	// Point is, in a plan, the value of the sweep that this repetition of the step is for.
	Point *Point `json:"point,omitempty" jsonschema:"-"`
}

// Point is one value of a sweep.
type Point struct {
	Parameter string  `json:"parameter"`
	Value     float64 `json:"value"` // the number that a quantity begins with
	Text      string  `json:"text"`  // as it is written
}

// Sweep is a series of values of one parameter, either listed or a geometric
// series. Within the step, ${parameter} stands for the value.
type Sweep struct {
	// The parameter; it need not be under spec.parameters.
	Parameter string `json:"parameter" jsonschema:"pattern=^[a-zA-Z][a-zA-Z0-9]*$"`
	// The values: numbers, or quantities such as 50/s.
	Values []any `json:"values,omitempty"`
	// First value of a geometric series.
	From float64 `json:"from,omitempty"`
	// Last value of a geometric series.
	To float64 `json:"to,omitempty"`
	// Each value is the last one times this. Default 2.
	Factor float64 `json:"factor,omitempty"`
}

// Phase is one population of clients and what they do.
type Phase struct {
	// Name, unique in the scenario.
	Name Name `json:"name"`
	// True for load that runs as long as the other phases of its step.
	Background bool `json:"background,omitempty"`
	// When operations start, and how many clients there are.
	Load Load `json:"load"`
	// Connections that the clients share, dealt out in turn. Default: one per client.
	Connections int `json:"connections,omitempty" jsonschema:"minimum=1"`
	// HTTP version: 2 or 1.1 (then a connection carries one request at a time). Default 2.
	HTTP string `json:"http,omitempty" jsonschema:"enum=1.1,enum=2,default=2"`
	// Which control plane the requests are for: local or, with Steve's going through the tunnel, downstream. Default local.
	Cluster Cluster `json:"cluster,omitempty" jsonschema:"enum=local,enum=downstream,default=local"`
	// User that the requests are made as; users are apart for priority and fairness. Default: the load user.
	User Name `json:"user,omitempty"`
	// User agent that requests to the Kubernetes API bear. Default: plimsoll.
	UserAgent string `json:"userAgent,omitempty"`
	// After this long a request counts as timed out. Default 60s.
	Timeout Duration `json:"timeout,omitempty" jsonschema:"default=60s"`
	// Operations on the Kubernetes API.
	Kube *KubeWorkload `json:"kube,omitempty"`
	// Operations on the API of Steve.
	Steve *SteveWorkload `json:"steve,omitempty"`
	// Writes to a disk, as etcd or fio do them.
	Disk *DiskWorkload `json:"disk,omitempty"`
	// Operations on etcd itself, or on what speaks its API.
	Etcd *EtcdWorkload `json:"etcd,omitempty"`

	// Wait is, in a plan, what the phase's step waits for; the phase is nothing else.
	Wait *Wait `json:"wait,omitempty" jsonschema:"-"`
}

// Load is a closed or an open loop; exactly one of them.
type Load struct {
	// A client's next operation starts after its last has finished: measures capacity, and service time.
	Closed *ClosedLoad `json:"closed,omitempty"`
	// Operations start when the arrival process says: measures response time.
	Open *OpenLoad `json:"open,omitempty"`
}

// ClosedLoad is a closed loop, bounded by iterations, by a duration, or (in a
// background phase) by the other phases of its step.
type ClosedLoad struct {
	// Number of clients. In a background phase it may be 0, which leaves the phase out: a parameter can then switch it off.
	Clients int `json:"clients" jsonschema:"minimum=0"`
	// Operations of all clients together.
	Iterations int `json:"iterations,omitempty" jsonschema:"minimum=1"`
	// Operations of each client.
	IterationsPerClient int `json:"iterationsPerClient,omitempty" jsonschema:"minimum=1"`
	// Operations start until this much time has passed.
	Duration Duration `json:"duration,omitempty"`
	// Pause of a client between two operations.
	Think Duration `json:"think,omitempty"`
	// Clients start in groups rather than all at once.
	Ramp *ClientRamp `json:"ramp,omitempty"`
}

// ClientRamp starts some clients more every so often.
type ClientRamp struct {
	// How many start together.
	Clients int `json:"clients" jsonschema:"minimum=1"`
	// Time between two groups.
	Every Duration `json:"every"`
}

// OpenLoad is an open loop.
type OpenLoad struct {
	// Operations per unit of time, such as 50/s or 3000/m.
	Rate Rate `json:"rate"`
	// Rate at the end; between the two it changes evenly. Default: the same.
	RateTo Rate `json:"rateTo,omitempty"`
	// Arrival process: poisson (independent users) or constant (reproducible). Default poisson.
	Arrivals Arrivals `json:"arrivals,omitempty" jsonschema:"enum=poisson,enum=constant,default=poisson"`
	// How long operations arrive. Not in background phases, which end with their step.
	Duration Duration `json:"duration,omitempty"`
	// Most operations under way at once. Default 100.
	Clients int `json:"clients,omitempty" jsonschema:"minimum=1,default=100"`
	// Most operations waiting for a client; one more is dropped, and counted. Default 10000.
	Backlog int `json:"backlog,omitempty" jsonschema:"minimum=1,default=10000"`
}

// Arrivals names an arrival process.
type Arrivals string

// The arrival processes.
const (
	Poisson  Arrivals = "poisson"
	Constant Arrivals = "constant"
)

// Objective is a declared bound on a measure.
type Objective struct {
	// What it means, for people. Default: the measure and its bound.
	Name string `json:"name,omitempty"`
	// The measure, such as p99(gets.get.response) or success(walks).
	Measure string `json:"measure,omitempty"`
	// A PromQL expression over the metrics of the measured steps, instead of a measure; its largest value must keep the bound.
	PromQL string `json:"promql,omitempty"`
	// Whether it is the question that the scenario asks: reports on variants then begin with it, also when several blocks compare them.
	Headline bool `json:"headline,omitempty"`
	// Upper bound, with its unit, such as 1s, 4GiB or 50/s.
	Max *Bound `json:"max,omitempty"`
	// Lower bound, with its unit, such as 99% or 50/s.
	Min *Bound `json:"min,omitempty"`
	// Ends the load, in order, once a bound on an expression has been broken for this long without a break, at any time from the start of the first measured step: what is looked for has been found. Default: the load goes on.
	StopAfter Duration `json:"stopAfter,omitempty"`
}
