package analysis

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"

	"plimsoll.dev/plimsoll/internal/store"
)

// tryGrowth says how a run fared while it grew: the largest number of objects
// before anything broke, which it held, and the number at which an objective
// broke first, which it did not. A run that did not grow has no trials, and
// neither has one with no objective that can be told second by second.
//
// An objective is broken in the seconds in which its expression is past its
// bound, for a moment or for good; how long a breach must last to count is for
// the expression to say, with the window that it looks at. What was held is
// counted before the first breach, however short, as that is what can be relied
// on; and where everything held again after it is told beside it.
func (r *Run) tryGrowth() []trial {
	if !r.grew() || r.Status == Invalid {
		return nil
	}
	within := r.measured()
	breaches := r.breaches(within)
	held := trial{run: r, grown: true, held: true, within: within, judged: r.momentary(), untold: r.missedAsAWhole()}
	if len(held.judged) == 0 || !held.measured() {
		return nil
	}
	broke := trial{run: r, grown: true, within: within, judged: held.judged, untold: held.untold}
	var failed bool
	switch {
	case len(breaches) > 0:
		broke.breaks = r.breaksOf(breaches, within)
		first := breaches[0]
		broke.broke, broke.at = &first.objective, &first.at[0]
		broke.lastHeld = r.heldAgain(breaches, within)
	case r.Status == Failed:
		broke, failed = r.diedIn(broke)
		if !failed || broke.at == nil {
			return nil
		}
	default:
		held.point = r.pointOf(r.Objects.Counts[0].Max)
		return []trial{held}
	}
	count, known := r.Objects.countAt(*broke.at)
	if !known {
		return nil
	}
	broke.point = r.pointOf(count)
	if failed {
		broke.note = "Run " + r.Name + " failed at " + broke.point.String() + ": " + r.Reason + "."
	}
	trials := []trial{broke}
	if before, any := r.Objects.mostBefore(*broke.at, count, within); any {
		held.point = r.pointOf(before)
		trials = append(trials, held)
	}
	return trials
}

// pointOf is a number of objects as a value of the load.
func (r *Run) pointOf(count float64) store.Point {
	return store.Point{Parameter: r.Objects.Counts[0].String(), Value: count}
}

// momentary are the objectives that can be told second by second: those in
// PromQL, and the guard's, which is known by when it ended the load.
func (r *Run) momentary() []Objective {
	return slices.DeleteFunc(slices.Clone(r.Objectives), func(o Objective) bool { return o.PromQL == "" && !o.guards() })
}

// missedAsAWhole says which other objectives the run missed: those on measures,
// which are about all of a phase, so that it cannot be told at which number of
// objects they broke.
func (r *Run) missedAsAWhole() []string {
	var all []string
	for _, o := range r.Objectives {
		if o.PromQL == "" && !o.guards() && !o.Held && !r.unmeasured(o) {
			all = append(all, fmt.Sprintf("%s was missed in run %d, over its phase as a whole: at how many %s cannot be told, so the load line is that of the objectives in PromQL.", o.Name, r.Index, r.Objects.Counts[0]))
		}
	}
	return all
}

// breach is an objective with the moments at which it was broken, in seconds
// from the run's start, and its values then.
type breach struct {
	objective Objective // with the value at its first breach
	at        []float64
}

// breaches are those of all objectives that broke, the first one first.
func (r *Run) breaches(within span) []breach {
	var all []breach
	for _, o := range r.momentary() {
		b := breach{objective: o}
		if o.guards() {
			if o.Stopped != nil {
				b.at = []float64{*o.Stopped}
				all = append(all, b)
			}
			continue
		}
		past := r.past(o, within)
		if b.at = slices.Sorted(maps.Keys(past)); b.at != nil {
			b.objective.Value, b.objective.Held = number(past[b.at[0]]), false
			all = append(all, b)
		}
	}
	slices.SortStableFunc(all, func(a, b breach) int { return cmp.Compare(a.at[0], b.at[0]) })
	return all
}

// breaksOf says when, at how many objects and for how much of the time each objective broke.
func (r *Run) breaksOf(breaches []breach, within span) []Break {
	var all []Break
	for _, b := range breaches {
		count, _ := r.Objects.countAt(b.at[0])
		seconds := math.Max(1, math.Floor(within.end-b.at[0])+1)
		one := Break{
			Objective: b.objective.Name, Bound: b.objective.Text, Unit: b.objective.Unit,
			Point: r.pointOf(count), At: b.at[0], Share: math.Min(1, float64(len(b.at))/seconds),
		}
		if b.objective.Value != nil { // not an infinite one
			one.Value = *b.objective.Value
		}
		all = append(all, one)
	}
	return all
}

// heldAgain is the largest number of objects at which nothing was broken, after
// the first breach; nil if there was no such second.
func (r *Run) heldAgain(breaches []breach, within span) *store.Point {
	broken := map[float64]bool{} // seconds next to a moment at which something was
	for _, b := range breaches {
		for _, at := range b.at {
			broken[math.Floor(at)], broken[math.Ceil(at)] = true, true
		}
	}
	var again *store.Point
	for second := math.Ceil(breaches[0].at[0]); second <= within.end; second++ {
		if count, known := r.Objects.countAt(second); known && !broken[second] && (again == nil || count > again.Value) {
			p := r.pointOf(count)
			again = &p
		}
	}
	return again
}

// mostBefore is the largest number of objects before a moment that is less than
// the number at it.
func (o *Objects) mostBefore(at, less float64, within span) (most float64, any bool) {
	for row, second := range o.joined.Seconds {
		if v := o.main.Values[row]; second >= within.start && second < at && v < less && (!any || v > most) {
			most, any = v, true
		}
	}
	return most, any
}
