package analysis

import (
	"context"
	"fmt"

	"plimsoll.dev/plimsoll/internal/measure"
	"plimsoll.dev/plimsoll/internal/store"
)

// judge says whether the run kept a bound; at every point, if it is on a phase
// that a sweep repeats.
func (r *Run) judge(ctx context.Context, expressions *expressions, steps []store.StepInfo, info store.ObjectiveInfo) []Objective {
	if info.PromQL != "" {
		return []Objective{r.judgeExpression(ctx, expressions, info)}
	}
	var objectives []Objective
	for _, at := range atPoints(steps, info) {
		objectives = append(objectives, judgeMeasure(r, at))
	}
	return objectives
}

// atPoints gives a bound on a phase that a sweep repeats as a bound for each
// point of it, also those that the run did not come to.
func atPoints(steps []store.StepInfo, info store.ObjectiveInfo) []store.ObjectiveInfo {
	m, err := measure.Parse(info.Measure)
	if err != nil {
		return []store.ObjectiveInfo{info}
	}
	var all []store.ObjectiveInfo
	for _, step := range steps {
		if step.Point == nil {
			continue
		}
		for _, phase := range step.Phases {
			if writtenName(phase.Name) == m.Phase {
				at, there := info, m
				there.Phase = phase.Name
				at.Measure, at.Name = there.String(), info.Name+" at "+step.Point.String()
				all = append(all, at)
			}
		}
	}
	if all == nil {
		all = []store.ObjectiveInfo{info}
	}
	return all
}

func judgeMeasure(run *Run, info store.ObjectiveInfo) Objective {
	o := Objective{ObjectiveInfo: info}
	m, err := measure.Parse(info.Measure)
	if err != nil {
		o.Note = err.Error()
		return o
	}
	o.Unit = string(m.Unit())
	r, ok := run.value(m)
	if !ok {
		o.Note = missing(run, m)
		return o
	}
	o.Value, o.N = &r.value, r.n
	o.Held = !info.Past(r.value)
	if q, ok := measure.Quantile(m.Statistic); ok && q > 50 && !enough(r.n, q) {
		o.Note = fmt.Sprintf("fewer than %d of %d samples lie beyond this percentile", tail, r.n)
	}
	if r.atLeast > 0 {
		o.judgeLowerBound(m, r)
	}
	return o
}

// judgeLowerBound judges a time that may have been longer, had plimsoll waited.
// A percentile or an extreme then stands for nothing but the timeout; a mean or
// a deviation still rests on all the others.
func (o *Objective) judgeLowerBound(m measure.Measure, r reading) {
	o.Note = fmt.Sprintf("a lower bound: %d of %d operations timed out", r.atLeast, r.n)
	if o.Held && o.Max != nil && m.Statistic != "mean" && m.Statistic != "stddev" {
		o.Held = false
		o.Note += ", so it cannot be said to have held: set a timeout longer than the bound"
	}
}

// missing says why the run does not have a measure.
func missing(run *Run, m measure.Measure) string {
	if m.Component != "" {
		return "no process of " + m.Component + " was sampled"
	}
	switch phase := run.phase(m.Phase); {
	case phase == nil:
		return fmt.Sprintf("the run has no phase %s", m.Phase)
	case !phase.Measured:
		return fmt.Sprintf("phase %s is in a step that is not measured", m.Phase)
	case phase.End == 0:
		return fmt.Sprintf("phase %s did not begin", m.Phase)
	}
	return "the run has no such measure: no operation of it was recorded"
}

// reading is the value of a measure and the number of operations that it rests on.
type reading struct {
	value float64
	n     int64
	// atLeast is how many of the operations timed out and make the value a lower bound.
	atLeast int64
}

// value reads a measure of the run's measured steps; false says that the run
// does not have it.
func (r *Run) value(m measure.Measure) (reading, bool) {
	if m.Component != "" {
		return r.used(m)
	}
	phase := r.phase(m.Phase)
	if phase == nil || !phase.Measured || phase.End == 0 {
		return reading{}, false
	}
	whole := &Operation{Count: phase.Count, Outcomes: map[string]int64{"ok": phase.Succeeded}}
	if m.Operation != "" {
		if whole = phase.operation(m.Operation); whole == nil {
			return reading{}, false
		}
	}
	if m.Clock != "" {
		return whole.time(m)
	}
	return whole.sum(m, phase.Seconds())
}

// used reads a measure of a component.
func (r *Run) used(m measure.Measure) (reading, bool) {
	for _, usage := range r.Components {
		if usage.Component == m.Component {
			values := map[string]float64{
				measure.MaxRSS: usage.MaxRSS, measure.EndRSS: usage.EndRSS, measure.MeanCPU: usage.MeanCPU, measure.MaxCPU: usage.MaxCPU,
			}
			return reading{value: values[m.Statistic], n: 1}, true
		}
	}
	return reading{}, false
}

// sum reads a measure that needs no times.
func (o *Operation) sum(m measure.Measure, seconds float64) (reading, bool) {
	succeeded := o.Outcomes["ok"]
	switch m.Statistic {
	case "success":
		return reading{value: float64(succeeded) / float64(o.Count), n: o.Count}, o.Count > 0
	case "rate":
		return reading{value: float64(succeeded) / seconds, n: succeeded}, seconds > 0
	case "count":
		return reading{value: float64(o.Count), n: o.Count}, true
	case "bytes":
		return reading{value: float64(o.Bytes), n: o.Count}, true
	case "items":
		return reading{value: float64(o.Items), n: o.Count}, true
	}
	return reading{}, false
}

// time reads a statistic of one of the operation's times.
func (o *Operation) time(m measure.Measure) (reading, bool) {
	d := o.clock(store.Clock(m.Clock))
	if d == nil {
		return reading{}, false
	}
	value, atLeast := d.statistic(m.Statistic)
	r := reading{value: value, n: d.Count}
	if atLeast {
		r.atLeast = d.LowerBounds
	}
	return r, true
}

// addStop takes in what ended the load: an objective, or the guard, which is
// an objective from then on.
func (r *Run) addStop(events []store.Event) {
	for _, e := range events {
		if e.Kind != store.Stopped {
			continue
		}
		r.Stopped = e.Message
		if e.Bound != nil {
			r.Objectives = append(r.Objectives, Objective{ObjectiveInfo: *e.Bound, Value: e.Value, N: 1, Note: e.Message, Stopped: &e.At})
		}
		for i := range r.Objectives {
			if r.Objectives[i].Name == e.Name {
				r.Objectives[i].Stopped = &e.At
			}
		}
	}
}

// guards says that it is the guard's, and about the machine rather than about an expression or a phase.
func (o Objective) guards() bool { return o.Measure == "" && o.PromQL == "" }
