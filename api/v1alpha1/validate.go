package v1alpha1

import (
	"fmt"
	"slices"
	"strings"

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
	v := validator{phases: map[Name]*Phase{}, unmeasured: map[Name]bool{}, fills: map[string]int{}, target: s.Spec.Target}
	v.controlPlane(s.Spec.Target.Local)
	v.downstream(s.Spec.Target.Local)
	v.stevePorts(s.Spec.Target.Local)
	v.borrowed(s.Spec.Target.Borrowed)
	v.preparations("spec.prepare", s.Spec.Prepare, false)
	if len(s.Spec.Observe) > 0 && !s.Spec.Target.servesKubernetes() {
		v.fault("spec.observe", "the target serves no Kubernetes API, whose objects could be counted")
	}
	steps := map[Name]bool{}
	for i := range s.Spec.Steps {
		step := &s.Spec.Steps[i]
		path := fmt.Sprintf("spec.steps.%d", i)
		if steps[step.Name] {
			v.fault(path+".name", "another step is called %q too", written(step.Name))
		}
		steps[step.Name] = true
		v.step(path, step)
	}
	for i := range s.Spec.Objectives {
		v.objective(fmt.Sprintf("spec.objectives.%d", i), &s.Spec.Objectives[i])
	}
	v.experiment(&s.Spec)
	return v.faults
}

type validator struct {
	faults     []FieldError
	phases     map[Name]*Phase
	unmeasured map[Name]bool
	fills      map[string]int // objects that exist by now, by resource and namespace
	made       []*Fill        // by now
	target     Target
}

func (v *validator) fault(path, format string, args ...any) {
	v.faults = append(v.faults, FieldError{path, fmt.Sprintf(format, args...)})
}

func (v *validator) preparations(path string, preparations []Preparation, growing bool) {
	for i, p := range preparations {
		fill := p.Fill
		if fill == nil {
			continue
		}
		path := fmt.Sprintf("%s.%d.fill", path, i)
		v.made = append(v.made, fill)
		v.reachable(path, fill.Cluster)
		if !v.target.servesKubernetes() {
			v.fault(path, "the target serves no Kubernetes API, through which objects are made")
		}
		v.objects(path, fill.Objects)
		if plane := v.target.cluster(fill.Cluster); fill.Through == ThroughDatastore && (plane == nil || plane.Datastore.Etcd == nil) {
			v.fault(path+".through", "only a local target's etcd can be filled directly: use api")
		}
		what := collectionInWords(fill.Resource, fill.Namespace) + fill.Cluster.inWords()
		if fill.Template == "" {
			if v.fills[what] > fill.Count || v.fills[what] == fill.Count && !growing {
				v.fault(path, "an earlier fill has made %d %s already, under the same names; count is how many there are afterwards", v.fills[what], what)
			}
			v.fills[what] = fill.Count
		}
	}
}

// objects checks what objects are made of.
func (v *validator) objects(path string, o Objects) {
	switch {
	case (o.Resource == "") == (o.Template == ""):
		v.fault(path, "needs exactly one of resource and template")
	case o.Resource != "" && !o.Resource.HasPayload():
		v.fault(path+".resource", "%s have no payload: write a template", o.Resource)
	case o.Resource != "" && o.Namespace == "":
		v.fault(path, "needs a namespace")
	case o.Namespaces > 0 && o.Namespace == "":
		v.fault(path+".namespaces", "needs namespace, with which their names begin")
	}
}

func (v *validator) step(path string, step *Step) {
	v.preparations(path+".prepare", step.Prepare, step.Point != nil)
	v.disturbance(path, step)
	v.profile(path, step)
	background := 0
	for i := range step.Phases {
		phase := &step.Phases[i]
		phasePath := fmt.Sprintf("%s.phases.%d", path, i)
		if phase.Wait != nil { // and is called as the step
			phasePath = path
		}
		if v.phases[phase.Name] != nil {
			v.fault(phasePath+".name", "another phase is called %q too; phases are named in objectives, so a name is used once", written(phase.Name))
		}
		for _, name := range []Name{phase.Name, written(phase.Name)} {
			v.phases[name] = phase
			v.unmeasured[name] = !*step.Measured
		}
		if phase.Wait != nil {
			phase.Wait.check(v, path+".wait", phase)
			continue
		}
		if phase.Background {
			background++
		}
		v.phase(phasePath, phase)
	}
	switch {
	case len(step.Phases) == 0:
		v.fault(path, "does nothing: it needs phases, or wait")
	case background == len(step.Phases):
		v.fault(path+".phases", "every phase is a background phase, so the step would never end: at least one must not be")
	}
}

func (v *validator) phase(path string, phase *Phase) {
	v.load(path+".load", phase)
	v.reachable(path, phase.Cluster)
	v.followed(path, phase)
	asked := slices.DeleteFunc(phase.kinds(), func(k workloadKind) bool { return !k.asked })
	switch all := strings.Join(Workloads(), ", "); {
	case len(asked) == 0:
		v.fault(path, "has no workload: add one of %s", all)
		return
	case len(asked) > 1:
		v.fault(path, "has more than one of %s: a phase has one workload", all)
		return
	}
	if phase.Connections > phase.Load.Clients() && phase.Load.Clients() > 0 {
		v.fault(path+".connections", "is more than the %d clients that would share them", phase.Load.Clients())
	}
	if phase.UserAgent != "" && phase.Kube == nil {
		v.fault(path+".userAgent", "is that of requests to the Kubernetes API, and the phase makes none")
	}
	asked[0].workload.check(v, path+"."+asked[0].field, phase)
}

// endless checks the load of a watch, which goes on until its phase ends.
func (v *validator) endless(path string, load Load) {
	switch {
	case load.Open != nil:
		v.fault(path, "a watch goes on until its phase ends: its load is a closed loop")
	case load.Closed != nil && (load.Closed.Iterations > 0 || load.Closed.IterationsPerClient > 0):
		v.fault(path, "a watch goes on until its phase ends: give it a duration rather than iterations, or make it a background phase")
	}
}

// written is the name of a step or phase in the document; copies of a swept step have
// @ and a value behind it.
func written(name Name) Name {
	before, _, _ := strings.Cut(string(name), "@")
	return Name(before)
}

func (v *validator) load(path string, phase *Phase) {
	if open := phase.Load.Open; open != nil {
		switch {
		case phase.Background && open.RateTo != open.Rate:
			v.fault(path+".open.rateTo", "needs a duration, which a background phase has not")
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
	finite := phase.Kube != nil && (phase.Kube.Delete != nil || phase.Kube.Unbundle != nil) || phase.Etcd != nil && phase.Etcd.finite()
	switch {
	case phase.Background && bounds > 0:
		v.fault(path+".closed", "has a bound, but a background phase ends with its step: leave out iterations, iterationsPerClient and duration")
	case !phase.Background && closed.Clients == 0:
		v.fault(path+".closed.clients", "is 0, so that nothing would be done: only a background phase can be left out so")
	case bounds > 1:
		v.fault(path+".closed", "has more than one of iterations, iterationsPerClient and duration: choose one")
	case !phase.Background && bounds == 0 && !finite:
		v.fault(path+".closed", "needs one of iterations, iterationsPerClient and duration, or the phase would never end")
	}
}

// filled checks that objects which an operation works on are made beforehand.
func (v *validator) filled(path string, s KubeSelection, cluster Cluster) {
	what := collectionInWords(s.Resource, s.Namespace) + cluster.inWords()
	if made := v.fills[what]; s.Resource.HasPayload() && made < s.Count {
		v.fault(path+".count", "is %d, but only %d %s are made: raise the count of a fill, or lower this one", s.Count, made, what)
	}
}

func (v *validator) objective(path string, o *Objective) {
	if o.Max == nil && o.Min == nil {
		v.fault(path, "needs a bound: max or min")
	}
	if (o.Measure == "") == (o.PromQL == "") {
		v.fault(path, "needs exactly one of measure and promql")
		return
	}
	if o.StopAfter > 0 && o.PromQL == "" {
		v.fault(path+".stopAfter", "only a bound on promql can end the load: what a measure comes to is known when its phase is over")
	}
	if o.PromQL != "" { // its syntax is plan's to check, with the engine's own parser
		if o.Max != nil && o.Min != nil && o.Max.Unit != o.Min.Unit {
			v.fault(path, "max is in %s, but min is in %s", o.Max.Unit, o.Min.Unit)
		}
		return
	}
	m, ok := v.measure(path+".measure", o.Measure)
	if !ok {
		return
	}
	for side, bound := range map[string]*Bound{"max": o.Max, "min": o.Min} {
		if bound != nil && bound.Unit != m.BoundUnit() {
			v.fault(path+"."+side, "%s is in %s, but %s is in %s", bound.Text, bound.Unit, m, m.BoundUnit())
		}
	}
}

// measure checks that a measure is of what the scenario does; false says that it is none.
func (v *validator) measure(path, text string) (measure.Measure, bool) {
	m, err := measure.Parse(text)
	if err != nil {
		v.fault(path, "%v", err)
		return m, false
	}
	phase := v.phases[Name(m.Phase)]
	switch {
	case m.Component != "":
	case phase == nil:
		v.fault(path, "no phase is called %q%s", m.Phase, NearMiss(m.Phase, keys(v.phases)))
	case v.unmeasured[Name(m.Phase)]:
		v.fault(path, "phase %s is in a step that is not measured", m.Phase)
	default:
		v.operation(path, m, phase)
	}
	return m, true
}

// experiment checks what runs are compared by.
func (v *validator) experiment(s *Spec) {
	for i, p := range s.Primary {
		path := fmt.Sprintf("spec.primary.%d", i)
		if (p.Measure == "") == (p.PromQL == "") {
			v.fault(path, "needs exactly one of measure and promql")
			continue
		}
		if p.Measure != "" {
			v.measure(path+".measure", p.Measure)
		}
	}
	for i, r := range s.References {
		v.reference(fmt.Sprintf("spec.references.%d", i), r)
	}
	if s.Search != nil && len(s.Objectives) == 0 {
		v.fault("spec.search", "looks for the largest value at which every objective holds: declare objectives")
	}
}

func (v *validator) reference(path string, r Reference) {
	given := 0
	for field, text := range map[string]string{"measure": r.Measure, "ratio": r.Ratio, "growth": r.Growth} {
		if text == "" {
			continue
		}
		given++
		m, ok := v.measure(path+"."+field, text)
		unit := m.BoundUnit()
		if field != "measure" {
			unit = measure.Count
		}
		if ok && r.Value.Unit != unit {
			v.fault(path+".value", "%s is in %s, but %s is in %s", r.Value.Text, r.Value.Unit, field, unit)
		}
	}
	if given != 1 {
		v.fault(path, "needs exactly one of measure, ratio and growth")
	}
}

func (v *validator) operation(path string, m measure.Measure, phase *Phase) {
	workload := phase.Workload()
	if m.Operation == "" || workload == nil {
		return
	}
	whole, parts := workload.Operations()
	switch {
	case !slices.Contains(whole, m.Operation) && !slices.Contains(parts, m.Operation):
		v.fault(path, "phase %s has no operation %q; it has %s", m.Phase, m.Operation, strings.Join(append(whole, parts...), ", "))
	case m.Clock == "response" && (phase.Load.Open == nil || !slices.Contains(whole, m.Operation)):
		v.fault(path, "only whole operations of an open loop have response times; ask for %s.%s.service", m.Phase, m.Operation)
	}
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
	if best == "" || distance(strings.ToLower(name), strings.ToLower(best)) >= len(name) {
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
