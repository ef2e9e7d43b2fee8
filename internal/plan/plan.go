package plan

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"
	"text/tabwriter"
	"time"

	v1 "plimsoll.dev/plimsoll/api/v1alpha1"
)

// Plan is what would happen: the content of plan.json.
type Plan struct {
	SchemaVersion int               `json:"schemaVersion"`
	Scenario      *v1.Scenario      `json:"scenario"`
	Parameters    map[string]string `json:"parameters,omitempty"`
	Runs          []Run             `json:"runs"`
	Estimate      Estimate          `json:"estimate"` // of all runs together
}

// Run is one execution of the scenario.
type Run struct {
	Index int    `json:"index"` // from 1, in order of execution
	Name  string `json:"name"`
	Seed  uint64 `json:"seed"`
}

// Estimate is roughly what the runs come to. It rests on the rates below, and
// is there so that nobody starts an hour or fills a disk by mistake.
type Estimate struct {
	Objects  int64       `json:"objects"`  // made in preparation
	Requests int64       `json:"requests"` // of the steps; at the least, where a loop is bounded by time
	Bytes    int64       `json:"bytes"`    // moved by those requests
	Disk     int64       `json:"diskBytes"`
	Duration v1.Duration `json:"duration"`
}

// SchemaVersion is the version of plan.json.
const SchemaVersion = 1

// New plans a scenario that Load has accepted.
func New(scenario *v1.Scenario, set map[string]string) *Plan {
	p := &Plan{SchemaVersion: SchemaVersion, Scenario: scenario, Parameters: map[string]string{}}
	for name, value := range scenario.Spec.Parameters {
		p.Parameters[name] = fmt.Sprint(value)
	}
	maps.Copy(p.Parameters, set)
	for i := range scenario.Spec.Repetitions {
		p.Runs = append(p.Runs, Run{
			Index: i + 1,
			Name:  string(scenario.Metadata.Name),
			Seed:  scenario.Spec.Seed + uint64(i),
		})
	}
	p.Estimate = estimate(&scenario.Spec).times(int64(len(p.Runs)))
	return p
}

// Rates behind the estimate, as seen on two cores (COMPONENTS: creates through
// the API 800-980/s, walks at 250 pages of 100 objects of 10 KiB per second).
const (
	createsPerSecond  = 800
	requestsPerSecond = 1500
	bytesPerSecond    = 300e6
	bootAndTeardown   = 8 * time.Second
	metadataBytes     = 350 // of an object in JSON, beside its payload
	diskPerByte       = 2   // a database and its log, against the objects in it
)

func estimate(spec *v1.Spec) Estimate {
	e := Estimate{Disk: 150e6, Duration: v1.Duration(bootAndTeardown)}
	size := map[v1.Name]int64{}  // of an object, by namespace
	count := map[v1.Name]int64{} // of objects, by namespace
	for _, p := range spec.Prepare {
		if fill := p.Fill; fill != nil {
			size[fill.Namespace] = objectBytes(fill.Payload)
			count[fill.Namespace] += int64(fill.Count)
			e.Objects += int64(fill.Count)
			e.Disk += int64(fill.Count) * objectBytes(fill.Payload) * diskPerByte
			e.Duration += v1.Duration(float64(fill.Count) / createsPerSecond * float64(time.Second))
		}
	}
	for _, step := range spec.Steps {
		var longest v1.Duration
		for _, phase := range step.Phases {
			requests, bytes := perOperation(phase.Kube, size, count)
			operations, bounded := operationsOf(phase)
			took := bounded
			if bounded == 0 {
				took = v1.Duration(max(float64(operations*requests)/requestsPerSecond, float64(operations*bytes)/bytesPerSecond) * float64(time.Second))
				took += v1.Duration(thinkTime(phase))
			}
			longest = max(longest, took)
			e.Requests += operations * requests
			e.Bytes += operations * bytes
		}
		e.Duration += longest
	}
	return e
}

// operationsOf gives the operations of a phase, and its duration if that is what bounds it.
func operationsOf(phase v1.Phase) (int64, v1.Duration) {
	switch load := phase.Load; {
	case load.Open != nil:
		return int64(float64(load.Open.Rate) * time.Duration(load.Open.Duration).Seconds()), load.Open.Duration
	case load.Closed.IterationsPerClient > 0:
		return int64(load.Closed.IterationsPerClient * load.Closed.Clients), 0
	case load.Closed.Iterations > 0:
		return int64(load.Closed.Iterations), 0
	case phase.Kube != nil && phase.Kube.Delete != nil:
		return int64(phase.Kube.Delete.Count), load.Closed.Duration
	default:
		return 0, load.Closed.Duration
	}
}

func thinkTime(phase v1.Phase) time.Duration {
	closed := phase.Load.Closed
	if closed == nil {
		return 0
	}
	perClient := max(closed.IterationsPerClient, closed.Iterations/closed.Clients)
	return time.Duration(perClient) * time.Duration(closed.Think)
}

// perOperation gives the requests and bytes of one operation.
func perOperation(o *v1.KubeWorkload, size, count map[v1.Name]int64) (requests, bytes int64) {
	switch {
	case o == nil:
		return 0, 0
	case o.List != nil:
		var objects, total int64
		for namespace, n := range count {
			if o.List.Namespace == "" || o.List.Namespace == namespace {
				objects += n
				total += n * size[namespace]
			}
		}
		if o.List.PageSize == 0 {
			return 1, total
		}
		return max(1, (objects+int64(o.List.PageSize)-1)/int64(o.List.PageSize)), total
	case o.Get != nil:
		return 1, size[o.Get.Namespace]
	case o.Create != nil:
		return 1, 2 * objectBytes(o.Create.Payload)
	case o.Churn != nil:
		return 2, 2 * objectBytes(o.Churn.Payload)
	default:
		return 1, metadataBytes
	}
}

func objectBytes(payload v1.Bytes) int64 { return metadataBytes + (int64(payload)+2)/3*4 }

func (e Estimate) times(n int64) Estimate {
	return Estimate{e.Objects * n, e.Requests * n, e.Bytes * n, e.Disk, e.Duration * v1.Duration(n)}
}

// Print writes the plan for people.
func (p *Plan) Print(w io.Writer) error {
	s := p.Scenario
	fmt.Fprintf(w, "%s: %s\n\n", s.Metadata.Name, s.Metadata.Title)
	table := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintf(table, "target\t%s\n", targetInWords(s.Spec.Target))
	if len(p.Parameters) > 0 {
		var parameters []string
		for _, name := range slices.Sorted(maps.Keys(p.Parameters)) {
			parameters = append(parameters, name+"="+p.Parameters[name])
		}
		fmt.Fprintf(table, "parameters\t%s\n", strings.Join(parameters, " "))
	}
	for _, preparation := range s.Spec.Prepare {
		if fill := preparation.Fill; fill != nil {
			fmt.Fprintf(table, "prepare\tfill %d %s of %s in namespace %s\n", fill.Count, fill.Resource, fill.Payload, fill.Namespace)
		}
	}
	for i, step := range s.Spec.Steps {
		note := ""
		if !*step.Measured {
			note = " (not measured)"
		}
		fmt.Fprintf(table, "step %d\t%s%s\n", i+1, step.Name, note)
		for _, phase := range step.Phases {
			background := ""
			if phase.Background {
				background = ", as long as the others"
			}
			fmt.Fprintf(table, "\t  %s: %s; %s%s\n", phase.Name, phase.Load.InWords(), phase.Kube.InWords(), background)
		}
	}
	for _, o := range s.Spec.Objectives {
		fmt.Fprintf(table, "objective\t%s %s\n", o.Measure, o.BoundInWords())
	}
	var order []string
	for _, run := range p.Runs {
		order = append(order, strconv.Itoa(run.Index)+" "+run.Name)
	}
	fmt.Fprintf(table, "runs\t%s, each on a fresh target\n", strings.Join(order, ", "))
	e := p.Estimate
	fmt.Fprintf(table, "roughly\t%s in all; %d objects prepared, %d requests, %.1f MB moved, %.1f GB of disk at a time\n",
		time.Duration(e.Duration).Round(time.Second), e.Objects, e.Requests, float64(e.Bytes)/1e6, float64(e.Disk)/1e9)
	return table.Flush()
}

func targetInWords(t v1.Target) string {
	members := "one etcd member"
	if etcd := t.Local.Datastore.Etcd; etcd.Members > 1 {
		members = fmt.Sprintf("%d etcd members", etcd.Members)
	}
	return "local: " + members + ", kube-apiserver"
}
