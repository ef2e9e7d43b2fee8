package analysis

import (
	"cmp"
	"math"
	"slices"

	"plimsoll.dev/plimsoll/internal/design"
	"plimsoll.dev/plimsoll/internal/measure"
	"plimsoll.dev/plimsoll/internal/store"
)

// The generator is no part of what variants are compared by.
const generator = "plimsoll"

// subjectsOf lists what runs are compared by: first the primary measures, then
// everything else that a reader may want to know of measured phases and of the
// target's components.
func subjectsOf(primary []design.Primary, runs []*Run) []Subject {
	list := subjects{seen: map[string]bool{}}
	for _, p := range primary {
		s := Subject{Name: p.Name, Measure: p.Measure, PromQL: p.PromQL, Primary: true, Better: p.Better}
		list.addMeasure(s, runs)
	}
	for _, run := range runs {
		for step, phase := range run.Phases() {
			if phase.Measured && !phase.Background && phase.End > 0 {
				list.addPhase(step.Point, phase)
			}
		}
	}
	for _, run := range runs {
		for _, usage := range run.Components {
			if usage.Component != generator {
				list.addMeasured(measure.Measure{Statistic: measure.MaxRSS, Component: usage.Component}, nil)
				list.addMeasured(measure.Measure{Statistic: measure.MeanCPU, Component: usage.Component}, nil)
			}
		}
	}
	return list.all
}

type subjects struct {
	all  []Subject
	seen map[string]bool
}

func (l *subjects) add(s Subject) {
	if !l.seen[s.key()] {
		l.seen[s.key()] = true
		l.all = append(l.all, s)
	}
}

// addMeasure adds a measure that somebody wrote down, at each point of the sweep
// that repeats its phase.
func (l *subjects) addMeasure(s Subject, runs []*Run) {
	m, err := measure.Parse(s.Measure)
	if err != nil { // PromQL, or what an older plimsoll could not refuse: it has no value
		l.add(s)
		return
	}
	s.Measure, s.Unit = m.String(), string(m.Unit())
	s.Better = cmp.Or(s.Better, m.Better())
	points := pointsOf(m.Phase, runs)
	for _, point := range points {
		at := s
		at.Point = &point
		l.add(at)
	}
	if points == nil {
		l.add(s)
	}
}

// pointsOf are those of the sweep that repeats a phase; nil if none does.
func pointsOf(phase string, runs []*Run) []store.Point {
	var points []store.Point
	for _, run := range runs {
		for step, p := range run.Phases() {
			if step.Point != nil && p.Written() == phase && !slices.Contains(points, *step.Point) {
				points = append(points, *step.Point)
			}
		}
	}
	return points
}

func (l *subjects) addPhase(point *store.Point, phase *Phase) {
	name := phase.Written()
	add := func(m measure.Measure) { l.addMeasured(m, point) }
	add(measure.Measure{Statistic: "success", Phase: name})
	for _, operation := range phase.Operations {
		clock, _ := operation.MainClock(phase)
		for _, statistic := range []string{"mean", "p50", "p95", "p99", "max", "min"} {
			add(measure.Measure{Statistic: statistic, Phase: name, Operation: operation.Name, Clock: string(clock)})
		}
		add(measure.Measure{Statistic: "rate", Phase: name, Operation: operation.Name})
		if operation.Bytes > 0 {
			add(measure.Measure{Statistic: "bytes", Phase: name, Operation: operation.Name})
		}
	}
}

func (l *subjects) addMeasured(m measure.Measure, point *store.Point) {
	l.add(Subject{Name: m.String(), Measure: m.String(), Unit: string(m.Unit()), Better: m.Better(), Point: point})
}

// key tells subjects apart; a primary one and another of the same measure are one.
func (s Subject) key() string {
	key := s.Measure + "\n" + s.PromQL
	if s.Point != nil {
		key += "\n" + s.Point.String()
	}
	return key
}

// read gives a run's value of a subject; false says that it has none, or one
// that says nothing: of operations that all timed out, and, unless somebody
// asked for it, a percentile that a handful of operations decides.
func (r *Run) read(s Subject) (reading, bool) {
	if s.PromQL != "" {
		_, highest, n := extremes(r.expressions[s.PromQL].values)
		return reading{value: highest.F, n: n}, n > 0 && !math.IsInf(highest.F, 0)
	}
	m, err := measure.Parse(s.Measure)
	if err != nil {
		return reading{}, false
	}
	m.Phase = r.phaseAt(m.Phase, s.Point)
	value, known := r.value(m)
	switch q, isQuantile := measure.Quantile(m.Statistic); {
	case !known || m.Clock != "" && r.noneSucceeded(m):
		return reading{}, false
	case isQuantile && q > 50 && !s.Primary && !enough(value.n, q):
		return reading{}, false
	}
	return value, true
}

// noneSucceeded says that a time is of operations none of which succeeded.
func (r *Run) noneSucceeded(m measure.Measure) bool {
	return m.Clock != string(store.Lag) && r.phase(m.Phase).operation(m.Operation).Outcomes["ok"] == 0
}

// phaseAt is the name of a phase at a point of its sweep.
func (r *Run) phaseAt(phase string, point *store.Point) string {
	if point == nil {
		return phase
	}
	for step, p := range r.Phases() {
		if step.Point != nil && *step.Point == *point && p.Written() == phase {
			return p.Name
		}
	}
	return phase + "@" + point.String() // which it does not have
}

// whyMissing says why a run has no value of a subject.
func (r *Run) whyMissing(s Subject) string {
	if s.PromQL != "" {
		if a := r.expressions[s.PromQL]; a.err != nil {
			return a.err.Error()
		}
		return "the expression gives no number over the measured steps"
	}
	m, err := measure.Parse(s.Measure)
	if err != nil {
		return err.Error()
	}
	m.Phase = r.phaseAt(m.Phase, s.Point)
	phase := r.phase(m.Phase)
	if m.Clock != "" && phase != nil && phase.Measured && phase.Count > 0 {
		if o := phase.operation(m.Operation); o == nil && phase.Succeeded == 0 || o != nil && o.Outcomes["ok"] == 0 {
			return "no operation succeeded"
		}
	}
	if _, known := r.value(m); known {
		return "too few operations for this percentile"
	}
	return missing(r, m)
}
