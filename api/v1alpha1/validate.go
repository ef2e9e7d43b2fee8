package v1alpha1

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"plimsoll.dev/plimsoll/internal/measure"
)

// FieldError is a fault of a document at a path such as spec.steps.0.name.
type FieldError struct {
	Path    string
	Message string
}

// Validate finds what the schema cannot say: names that clash, loads that never
// end, references to what is not there. The scenario has its defaults.
func (s *Scenario) Validate() []FieldError {
	v := validator{phases: map[Name]*Phase{}, unmeasured: map[Name]bool{}, fills: map[string]int{}}
	if s.Spec.Target.Local == nil {
		v.fault("spec.target", "needs a kind of target: local")
	}
	for i, p := range s.Spec.Prepare {
		if p.Fill != nil {
			what := objects(p.Fill.Resource, p.Fill.Namespace)
			if v.fills[what] > 0 {
				v.fault(fmt.Sprintf("spec.prepare.%d.fill", i), "another fill makes %s too, under the same names", what)
			}
			v.fills[what] = p.Fill.Count
		}
	}
	steps := map[Name]bool{}
	for i := range s.Spec.Steps {
		step := &s.Spec.Steps[i]
		path := fmt.Sprintf("spec.steps.%d", i)
		if steps[step.Name] {
			v.fault(path+".name", "another step is called %q too", step.Name)
		}
		steps[step.Name] = true
		v.step(path, step)
	}
	for i := range s.Spec.Objectives {
		v.objective(fmt.Sprintf("spec.objectives.%d", i), &s.Spec.Objectives[i])
	}
	return v.faults
}

type validator struct {
	faults     []FieldError
	phases     map[Name]*Phase
	unmeasured map[Name]bool
	fills      map[string]int // objects, by resource and namespace
}

func (v *validator) fault(path, format string, args ...any) {
	v.faults = append(v.faults, FieldError{path, fmt.Sprintf(format, args...)})
}

func (v *validator) step(path string, step *Step) {
	background := 0
	for i := range step.Phases {
		phase := &step.Phases[i]
		phasePath := fmt.Sprintf("%s.phases.%d", path, i)
		if v.phases[phase.Name] != nil {
			v.fault(phasePath+".name", "another phase is called %q too; phases are named in objectives, so a name is used once", phase.Name)
		}
		v.phases[phase.Name] = phase
		v.unmeasured[phase.Name] = !*step.Measured
		if phase.Background {
			background++
		}
		v.phase(phasePath, phase)
	}
	if background == len(step.Phases) {
		v.fault(path+".phases", "every phase is a background phase, so the step would never end: at least one must not be")
	}
}

func (v *validator) phase(path string, phase *Phase) {
	v.load(path+".load", phase)
	if phase.Kube == nil {
		v.fault(path, "has no workload: add kube")
		return
	}
	if phase.Connections > phase.Load.Clients() && phase.Load.Clients() > 0 {
		v.fault(path+".connections", "is more than the %d clients that would share them", phase.Load.Clients())
	}
	kube := path + ".kube"
	switch o := phase.Kube; {
	case o.Get != nil:
		v.filled(kube+".get", o.Get.Resource, o.Get.Namespace, o.Get.Count)
	case o.Delete != nil:
		v.filled(kube+".delete", o.Delete.Resource, o.Delete.Namespace, o.Delete.Count)
		if open := phase.Load.Open; open != nil {
			if arrivals := float64(open.Rate) * time.Duration(open.Duration).Seconds(); arrivals > float64(o.Delete.Count) {
				v.fault(kube+".delete.count", "is %d, but about %.0f deletions would arrive", o.Delete.Count, arrivals)
			}
		}
	}
}

func (v *validator) load(path string, phase *Phase) {
	if open := phase.Load.Open; open != nil {
		switch {
		case phase.Background && open.Duration != 0:
			v.fault(path+".open.duration", "has no place in a background phase, which ends with its step")
		case !phase.Background && open.Duration == 0:
			v.fault(path+".open", "needs a duration, or the phase would never end")
		}
	}
	closed := phase.Load.Closed
	if closed == nil {
		return
	}
	bounds := 0
	for _, bound := range []bool{closed.Iterations > 0, closed.IterationsPerClient > 0, closed.Duration > 0} {
		if bound {
			bounds++
		}
	}
	finite := phase.Kube != nil && phase.Kube.Delete != nil
	switch {
	case phase.Background && bounds > 0:
		v.fault(path+".closed", "has a bound, but a background phase ends with its step: leave out iterations, iterationsPerClient and duration")
	case bounds > 1:
		v.fault(path+".closed", "has more than one of iterations, iterationsPerClient and duration: choose one")
	case !phase.Background && bounds == 0 && !finite:
		v.fault(path+".closed", "needs one of iterations, iterationsPerClient and duration, or the phase would never end")
	}
}

// filled checks that objects which an operation works on are made beforehand.
func (v *validator) filled(path string, resource Resource, namespace Name, count int) {
	what := objects(resource, namespace)
	if made := v.fills[what]; made < count {
		v.fault(path+".count", "is %d, but only %d %s are made: raise the count of a fill under spec.prepare, or lower this one", count, made, what)
	}
}

func objects(resource Resource, namespace Name) string {
	return fmt.Sprintf("%s in namespace %s", resource, namespace)
}

func (v *validator) objective(path string, o *Objective) {
	m, err := measure.Parse(o.Measure)
	if err != nil {
		v.fault(path+".measure", "%v", err)
		return
	}
	phase := v.phases[Name(m.Phase)]
	switch {
	case phase == nil:
		v.fault(path+".measure", "no phase is called %q%s", m.Phase, NearMiss(m.Phase, keys(v.phases)))
	case v.unmeasured[Name(m.Phase)]:
		v.fault(path+".measure", "phase %s is in a step that is not measured", m.Phase)
	default:
		v.operation(path+".measure", m, phase)
	}
	if o.Max == nil && o.Min == nil {
		v.fault(path, "needs a bound: max or min")
	}
	for side, bound := range map[string]*Bound{"max": o.Max, "min": o.Min} {
		if bound != nil && bound.Unit != m.Unit() {
			v.fault(path+"."+side, "%s is in %s, but %s is in %s", bound.Text, bound.Unit, m, m.Unit())
		}
	}
}

func (v *validator) operation(path string, m measure.Measure, phase *Phase) {
	if m.Operation == "" || phase.Kube == nil {
		return
	}
	operations := phase.Kube.Operations()
	i := slices.Index(operations, m.Operation)
	switch {
	case i < 0:
		v.fault(path, "phase %s has no operation %q; it has %s", m.Phase, m.Operation, strings.Join(operations, ", "))
	case m.Clock == "response" && (phase.Load.Open == nil || i > 0):
		v.fault(path, "only whole operations of an open loop have response times; ask for %s.%s.service", m.Phase, m.Operation)
	}
}

// Operations are the kinds of operations that the workload performs: the whole
// one, and then its parts.
func (k *KubeWorkload) Operations() []string {
	switch {
	case k.Create != nil:
		return []string{"create"}
	case k.Get != nil:
		return []string{"get"}
	case k.List != nil:
		return []string{"walk", "page"}
	case k.Delete != nil:
		return []string{"delete"}
	case k.Churn != nil:
		return []string{"cycle", "create", "delete"}
	}
	return nil
}

// NearMiss gives "; did you mean …?" if one of the names is close to name.
func NearMiss(name string, names []string) string {
	best, nearest := "", max(2, len(name)/3)+1
	for _, candidate := range names {
		d := distance(strings.ToLower(name), strings.ToLower(candidate))
		if d < nearest || d == nearest && candidate < best {
			best, nearest = candidate, d
		}
	}
	if best == "" {
		return ""
	}
	return fmt.Sprintf("; did you mean %q?", best)
}

// distance is Levenshtein's.
func distance(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		previous := row[0]
		row[0] = i + 1
		for j := range len(b) {
			substitution := previous
			if a[i] != b[j] {
				substitution++
			}
			previous = row[j+1]
			row[j+1] = min(row[j+1]+1, row[j]+1, substitution)
		}
	}
	return row[len(b)]
}

func keys[K ~string, V any](m map[K]V) []string {
	var names []string
	for name := range m {
		names = append(names, string(name))
	}
	slices.Sort(names)
	return names
}
