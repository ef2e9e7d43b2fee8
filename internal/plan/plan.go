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
		fmt.Fprintf(table, "prepare\t%s\n", preparation.InWords())
	}
	for i, step := range s.Spec.Steps {
		fmt.Fprintf(table, "step %d\t%s\n", i+1, stepInWords(step))
		for _, preparation := range step.Prepare {
			fmt.Fprintf(table, "\t  first: %s\n", preparation.InWords())
		}
		for _, phase := range step.Phases {
			background := ""
			if phase.Background {
				background = ", as long as the others"
			}
			fmt.Fprintf(table, "\t  %s: %s; %s%s\n", phase.Name, phase.Load.InWords(), phase.Workload().InWords(), background)
		}
	}
	for _, o := range s.Spec.Objectives {
		fmt.Fprintf(table, "objective\t%s%s %s\n", o.Measure, o.PromQL, o.BoundInWords())
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

func stepInWords(step v1.Step) string {
	words := string(step.Name)
	if step.Point != nil {
		words += fmt.Sprintf(" (%s = %s)", step.Point.Parameter, step.Point.Text)
	}
	if !*step.Measured {
		words += " (not measured)"
	}
	return words
}

func targetInWords(t v1.Target) string {
	if t.Local == nil {
		return "borrowed: a cluster that runs already, in namespaces of plimsoll's own"
	}
	members := "one etcd member"
	if etcd := t.Local.Datastore.Etcd; etcd.Members > 1 {
		members = fmt.Sprintf("%d etcd members", etcd.Members)
	}
	return "local: " + members + ", kube-apiserver"
}
