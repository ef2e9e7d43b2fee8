package analysis

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"plimsoll.dev/plimsoll/internal/measure"
	"plimsoll.dev/plimsoll/internal/store"
)

// trial is how one run fared at one load.
type trial struct {
	run   *Run
	point store.Point
	held  bool
	// broke is the first objective that did not hold, if it was one, and at when.
	broke *Objective
	at    *float64
	note  string
	// within is the measured time under this load.
	within span
	// judged are the objectives as they were at this load; those without a value were not measured.
	judged []Objective
	// grown says that the point is the number of objects of a run that grew.
	grown bool
	// breaks are, of a run that grew, all objectives that broke, and lastHeld where all held again.
	breaks   []Break
	lastHeld *store.Point
	// untold are, of a run that grew, sentences on what it missed at a load that is not known.
	untold []string
}

// tryStep says how a run fared at a point of a sweep; false says that nothing
// can be said: there is none, it was not reached, or has no objective, or plimsoll was the limit.
func (r *Run) tryStep(step *Step) (trial, bool) {
	if step.Point == nil || !step.Measured {
		return trial{}, false
	}
	t := trial{run: r, point: *step.Point, held: true, within: span{step.Start, step.End}}
	if r.Status == Invalid || step.End == 0 {
		return t, false
	}
	if !r.ended(step) {
		return r.diedIn(t)
	}
	for _, o := range r.Objectives {
		switch {
		case o.PromQL != "":
			o = r.expressionWithin(o, step)
		case o.guards():
			if *o.Stopped < step.Start || step.End < *o.Stopped {
				continue
			}
		case !step.has(o):
			continue
		}
		t.judge(o, func() *float64 { return r.firstPast(o, step) })
	}
	return t, t.measured()
}

// judge takes an objective into account. One that was not measured has neither
// held nor broken.
func (t *trial) judge(o Objective, at func() *float64) {
	t.judged = append(t.judged, o)
	if t.held && !o.Held && !t.run.unmeasured(o) {
		t.held, t.broke, t.at = false, &o, at()
	}
}

// measured says that the run has a word on any objective.
func (t *trial) measured() bool {
	return slices.ContainsFunc(t.judged, func(o Objective) bool { return !t.run.unmeasured(o) })
}

// unmeasured says that there is no value because nobody measured it, rather than
// because no operation succeeded.
func (r *Run) unmeasured(o Objective) bool {
	if o.Value != nil || o.Held {
		return false
	}
	m, err := measure.Parse(o.Measure)
	if o.PromQL != "" || err != nil {
		return true
	}
	phase := r.phase(m.Phase)
	if phase == nil || phase.Count == 0 {
		return true
	}
	return phase.operation(m.Operation) == nil && phase.Succeeded > 0
}

// ended says whether a step came to its end: a run that failed or was
// interrupted ends its step, too, and itself right after that.
func (r *Run) ended(step *Step) bool {
	if r.Status == Complete || r.stored == nil {
		return true
	}
	const rightAfter = 0.5 // seconds
	ended, stopped := false, math.Inf(1)
	for _, e := range r.stored.Events {
		switch e.Kind {
		case store.StepEnded:
			ended = ended || e.Name == step.Name
		case store.StepStarted:
			if e.At >= step.End && e.Name != step.Name {
				return true
			}
		case store.RunFailed, store.Interrupted:
			stopped = min(stopped, e.At)
		}
	}
	return ended && stopped > step.End+rightAfter
}

// diedIn is the trial of a load under which the run failed; a run that was
// interrupted says nothing about it.
func (r *Run) diedIn(t trial) (trial, bool) {
	if r.Status != Failed || len(r.Objectives) == 0 {
		return t, false
	}
	t.held = false
	t.note = fmt.Sprintf("Run %d failed at %v: %s.", r.Index, t.point, r.Reason)
	for _, e := range r.stored.Events {
		if e.Kind == store.RunFailed {
			t.at = &e.At
		}
	}
	return t, true
}

// tryProbe says how the run of a search fared.
func (r *Run) tryProbe() (trial, bool) {
	if r.Probe == nil || r.Status != Complete && r.Status != Failed {
		return trial{}, false
	}
	t := trial{run: r, point: *r.Probe, held: true, within: r.measured()}
	if r.Status == Failed {
		return r.diedIn(t)
	}
	for _, o := range r.Objectives {
		t.judge(o, func() *float64 { return r.firstPast(o, nil) })
	}
	return t, t.measured()
}

// has says whether an objective is about a phase of the step.
func (s *Step) has(o Objective) bool {
	m, err := measure.Parse(o.Measure)
	return err == nil && slices.ContainsFunc(s.Phases, func(p *Phase) bool { return p.Name == m.Phase })
}

// expressionWithin judges an expression over one step.
func (r *Run) expressionWithin(o Objective, step *Step) Objective {
	values := r.expressionIn(o.PromQL, span{step.Start, step.End})
	lowest, highest, n := extremes(values)
	if n == 0 {
		o.Value, o.N, o.Held = nil, 0, false
		o.Note = cmp.Or(o.Note, fmt.Sprintf("the expression gives no number at %v", *step.Point))
		return o
	}
	o.N, o.Value = n, nil
	o.judgeExtremes(lowest, highest)
	return o
}

// firstPast is when an objective was first seen broken: of an expression, its
// first value past the bound; of a measure, which is about a phase as a whole,
// the beginning of that. nil is not known.
func (r *Run) firstPast(o Objective, step *Step) *float64 {
	if o.guards() {
		return o.Stopped
	}
	if o.PromQL == "" {
		if m, err := measure.Parse(o.Measure); err == nil {
			if phase := r.phase(m.Phase); phase != nil && phase.End > 0 {
				return &phase.Start
			}
		}
		return nil
	}
	at := r.measured()
	if step != nil {
		at = span{step.Start, step.End}
	}
	first := math.Inf(1)
	for moment := range r.past(o, at) {
		first = min(first, moment)
	}
	return number(first)
}
