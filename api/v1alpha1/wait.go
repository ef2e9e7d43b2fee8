package v1alpha1

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"plimsoll.dev/plimsoll/internal/measure"
)

// Wait is what a step waits for: as many objects in a state as there are to be,
// or no object any more. It is watched, not asked for, as admin. How long it took
// is an operation, wait, of a phase that is called as the step is; that it was
// met is an objective by itself, unless the step is not measured.
type Wait struct {
	// Resource of the objects.
	Resource Resource `json:"resource"`
	// State that they are waited for in: running (pods, and ready), available (deployments, with all their replicas), present, or gone.
	State WaitState `json:"state" jsonschema:"enum=running,enum=available,enum=present,enum=gone"`
	// How many objects must be in the state. Not with gone, which is none at all.
	Count int `json:"count,omitempty" jsonschema:"minimum=1"`
	// Namespace of the objects. Default: all namespaces.
	Namespace Name `json:"namespace,omitempty"`
	// Number of namespaces, called NAMESPACE-0, NAMESPACE-1, …. Default: one, called NAMESPACE.
	Namespaces int `json:"namespaces,omitempty" jsonschema:"minimum=1"`
	// After this long the wait is missed, and the run goes on. Default 5m.
	Timeout Duration `json:"timeout,omitempty" jsonschema:"default=5m"`
	// After this long without progress the wait is missed at once, if the cluster's events, or what holds the objects, tell why. Default 30s.
	Patience Duration `json:"patience,omitempty" jsonschema:"default=30s"`
}

// WaitState is what objects are waited for in.
type WaitState string

// The states.
const (
	WaitRunning   WaitState = "running"
	WaitAvailable WaitState = "available"
	WaitPresent   WaitState = "present"
	WaitGone      WaitState = "gone"
)

// Operations are one wait.
func (*Wait) Operations() (whole, parts []string) { return []string{"wait"}, nil }

// InWords says what is waited for.
func (w *Wait) InWords() string {
	where := placeInWords(w.Namespace, w.Namespaces)
	what := fmt.Sprintf("until %d %s%s are %s", w.Count, w.Resource, where, w.State)
	if w.State == WaitGone {
		what = fmt.Sprintf("until all %s%s are gone", w.Resource, where)
	}
	return fmt.Sprintf("wait %s, at most %v", what, time.Duration(w.Timeout))
}

// Covers says whether objects of a namespace are waited for.
func (w *Wait) Covers(namespace string) bool {
	if w.Namespaces == 0 {
		return w.Namespace == "" || namespace == string(w.Namespace)
	}
	number, ok := strings.CutPrefix(namespace, string(w.Namespace)+"-")
	n, err := strconv.Atoi(number)
	return ok && err == nil && strconv.Itoa(n) == number && n < w.Namespaces && n >= 0
}

func (w *Wait) setDefaults(Load) {
	w.Timeout = or(w.Timeout, Duration(5*time.Minute))
	w.Patience = or(w.Patience, Duration(30*time.Second))
}

// waiting turns what a step waits for into a phase of it.
func (s *Step) waiting() {
	if s.Wait == nil {
		return
	}
	s.Phases = append(s.Phases, Phase{Name: s.Name, Load: Load{Closed: &ClosedLoad{Clients: 1, Iterations: 1}}, Wait: s.Wait})
	s.Wait = nil
}

// expectWaits makes an objective of every wait that is measured, unless the
// document has one on it.
func (s *Spec) expectWaits() {
	for _, step := range s.Steps {
		for _, phase := range step.Phases {
			if phase.Wait == nil || !*step.Measured {
				continue
			}
			m := fmt.Sprintf("success(%s)", written(phase.Name))
			known := false
			for _, o := range s.Objectives {
				known = known || o.Measure == m
			}
			if !known {
				s.Objectives = append(s.Objectives, Objective{
					Name: fmt.Sprintf("%s: %s %s", written(phase.Name), phase.Wait.Resource, phase.Wait.State), Measure: m,
					Min: &Bound{Value: 1, Unit: measure.Fraction, Text: "100%"},
				})
			}
		}
	}
}

func (w *Wait) check(v *validator, path string, _ *Phase) {
	switch {
	case !v.target.servesKubernetes():
		v.fault(path, "the target serves no Kubernetes API, whose objects could be waited for")
	case w.State == WaitRunning && w.Resource != "pods":
		v.fault(path+".state", "only pods run: wait for %s that are present or gone", w.Resource)
	case w.State == WaitAvailable && w.Resource != "deployments":
		v.fault(path+".state", "only deployments become available: wait for %s that are present or gone", w.Resource)
	case w.State == WaitGone && w.Count > 0:
		v.fault(path+".count", "has no place here: gone is none at all")
	case w.State != WaitGone && w.Count == 0:
		v.fault(path, "needs count: how many %s must be %s", w.Resource, w.State)
	case w.Namespaces > 0 && w.Namespace == "":
		v.fault(path+".namespaces", "needs namespace, with which their names begin")
	}
}
