package analysis

import (
	"iter"
	"math"
)

// pool puts the times of a cell's runs together, for each measured operation that
// is not in the background.
func (g *group) pool() {
	if g.searched() {
		return // each run is under another load
	}
	found := map[CellTimes]*CellTimes{}
	for step, phase := range g.measuredPhases() {
		for _, o := range phase.Operations {
			clock, d := o.MainClock(phase)
			if d == nil || d.histogram == nil || phase.Background {
				continue
			}
			key := CellTimes{Phase: phase.Name, Operation: o.Name, Part: o.Part, Clock: string(clock)}
			times := found[key]
			if times == nil {
				times = &CellTimes{Phase: phase.Written(), Operation: o.Name, Part: o.Part, Clock: string(clock), Point: step.Point}
				found[key] = times
				g.Times = append(g.Times, times)
			}
			times.Distribution = times.Distribution.with(d)
		}
	}
}

// with merges two distributions; the first may be nil.
func (d *Distribution) with(other *Distribution) *Distribution {
	if d == nil {
		d = &Distribution{exactBelow: math.Inf(1)}
	}
	all := summarize(merge(other.histogram.Clone(), d.histogram), nil)
	all.LowerBounds = d.LowerBounds + other.LowerBounds
	all.exactBelow = min(d.exactBelow, other.exactBelow)
	return all
}

// measuredPhases are those of all runs, each with its step.
func (g *group) measuredPhases() iter.Seq2[*Step, *Phase] {
	return func(yield func(*Step, *Phase) bool) {
		for _, run := range g.runs {
			for step, phase := range run.Phases() {
				if phase.Measured && !yield(step, phase) {
					return
				}
			}
		}
	}
}
