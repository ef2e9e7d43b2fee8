package v1alpha1

import (
	"slices"
	"strings"
	"testing"
)

func TestWaitCovers(t *testing.T) {
	spread, one, all := Wait{Namespace: "pf", Namespaces: 10}, Wait{Namespace: "pf"}, Wait{}
	for _, row := range []struct {
		name      string
		wait      Wait
		namespace string
		covered   bool
	}{
		{"the first of the namespaces", spread, "pf-0", true},
		{"the last", spread, "pf-9", true},
		{"one behind the last", spread, "pf-10", false},
		{"a number that is written otherwise", spread, "pf-01", false},
		{"a negative number", spread, "pf--1", false},
		{"no number", spread, "pf-x", false},
		{"the name that they begin with", spread, "pf", false},
		{"the one namespace", one, "pf", true},
		{"one that begins alike", one, "pf-0", false},
		{"any, where none is named", all, "kube-system", true},
		{"none, where none is named", all, "", true},
	} {
		t.Run(row.name, func(t *testing.T) {
			if got := row.wait.Covers(row.namespace); got != row.covered {
				t.Errorf("Covers(%q) = %v", row.namespace, got)
			}
		})
	}
}

// waitingFor gives a scenario of one step that waits.
func waitingFor(w Wait) *Scenario {
	s := &Scenario{Spec: Spec{Target: Target{Local: &LocalTarget{}}, Steps: []Step{{Name: "ready", Wait: &w}}}}
	s.Default()
	return s
}

func TestWaitIsAnObjectiveByItself(t *testing.T) {
	s := waitingFor(Wait{Resource: "pods", State: WaitRunning, Count: 3})
	s.Default() // a second time changes nothing
	if faults := s.Validate(); len(faults) > 0 {
		t.Error(faults)
	}
	if len(s.Spec.Objectives) != 1 || s.Spec.Objectives[0].Measure != "success(ready)" || s.Spec.Objectives[0].Min.Value != 1 {
		t.Errorf("objectives are %+v", s.Spec.Objectives)
	}
	if phases := s.Spec.Steps[0].Phases; len(phases) != 1 || phases[0].Name != "ready" {
		t.Errorf("phases are %+v", phases)
	}
}

func TestWaitThatIsNotMeasuredIsNoObjective(t *testing.T) {
	unmeasured := false
	s := &Scenario{Spec: Spec{Steps: []Step{{Name: "ready", Measured: &unmeasured, Wait: &Wait{Resource: "pods", State: WaitGone}}}}}
	s.Default()
	if len(s.Spec.Objectives) > 0 {
		t.Errorf("objectives are %+v", s.Spec.Objectives)
	}
}

func TestFaultsOfWaits(t *testing.T) {
	for _, row := range []struct {
		name  string
		wait  Wait
		fault string
	}{
		{"without a number", Wait{Resource: "pods", State: WaitRunning}, "spec.steps.0.wait needs count"},
		{"for no object, with a number", Wait{Resource: "pods", State: WaitGone, Count: 3}, "spec.steps.0.wait.count has no place"},
		{"for what does not run", Wait{Resource: "secrets", State: WaitRunning, Count: 3}, "spec.steps.0.wait.state only pods run"},
		{"for what does not become available", Wait{Resource: "pods", State: WaitAvailable, Count: 3}, "spec.steps.0.wait.state only deployments"},
		{"in namespaces without a name", Wait{Resource: "pods", State: WaitGone, Namespaces: 2}, "spec.steps.0.wait.namespaces needs namespace"},
	} {
		t.Run(row.name, func(t *testing.T) {
			faults := waitingFor(row.wait).Validate()
			if !slices.ContainsFunc(faults, func(f FieldError) bool { return strings.HasPrefix(f.Path+" "+f.Message, row.fault) }) {
				t.Errorf("faults are %v; want %q", faults, row.fault)
			}
		})
	}
}

func TestStepThatDoesNothing(t *testing.T) {
	s := &Scenario{Spec: Spec{Steps: []Step{{Name: "nothing"}}}}
	s.Default()
	if faults := s.Validate(); len(faults) != 1 || !strings.Contains(faults[0].Message, "needs phases, or wait") {
		t.Errorf("faults are %v", faults)
	}
}
