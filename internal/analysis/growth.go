package analysis

import (
	"cmp"
	"slices"

	"plimsoll.dev/plimsoll/internal/design"
	"plimsoll.dev/plimsoll/internal/measure"
	"plimsoll.dev/plimsoll/internal/stats"
	"plimsoll.dev/plimsoll/internal/store"
)

// fewestPoints is how many values of a parameter a curve takes; through fewer any would pass.
const fewestPoints = 3

// growthOf says how measures grow along sweeps and along axes of numbers: the
// primary ones, and the mean of every operation's times; and how the write-up's
// metrics grow with the number of objects.
func growthOf(laid design.Design, groups []*group, list []Subject) []*Growth {
	var all []*Growth
	for _, s := range list {
		if !s.Primary && !isMeanTime(s) {
			continue
		}
		for _, g := range groups {
			if s.Point != nil && g.firstOfSweep(s, list) {
				all = appendGrowth(all, g.alongSweep(s, list))
			}
		}
		for _, axis := range laid.Axes {
			for _, line := range linesAlong(axis, groups) {
				all = appendGrowth(all, line.along(s))
			}
		}
	}
	slices.SortStableFunc(all, func(a, b *Growth) int { return cmp.Compare(rankOf(a.Subject), rankOf(b.Subject)) })
	return append(all, alongObjects(groups)...)
}

func appendGrowth(all []*Growth, g *Growth) []*Growth {
	if g == nil {
		return all
	}
	return append(all, g)
}

// isMeanTime says that a measure is the mean of the times of an operation.
func isMeanTime(s Subject) bool {
	m, err := measure.Parse(s.Measure)
	return err == nil && m.Statistic == "mean"
}

// firstOfSweep says that a subject is at the first point of its sweep: those of
// one sweep follow each other, and make one growth.
func (g *group) firstOfSweep(s Subject, list []Subject) bool {
	for _, other := range list {
		if other.sameSweep(s) {
			return *other.Point == *s.Point
		}
	}
	return false
}

func (s Subject) sameSweep(other Subject) bool {
	return s.Point != nil && other.Point != nil && s.Measure == other.Measure && s.Point.Parameter == other.Point.Parameter
}

// valueAt is the value of a measure in a run at a value of the parameter.
type valueAt struct {
	at    float64
	text  string
	value float64
	run   int
}

// alongSweep is how a measure grows along the sweep in each run; nil if it has
// too few points.
func (g *group) alongSweep(s Subject, list []Subject) *Growth {
	if g.searched() {
		return nil
	}
	var samples []valueAt
	for _, at := range list {
		if !at.sameSweep(s) {
			continue
		}
		for i, v := range g.values(at) {
			samples = append(samples, valueAt{place(*at.Point), at.Point.Text, v, g.runs[i].Index})
		}
	}
	parameter := s.Point.Parameter
	s.Point = nil
	return grown(s, g.Cell.Cell, parameter, samples, g.all)
}

// line is the cells that differ in one axis of numbers alone.
type line struct {
	axis   design.Axis
	values []float64 // of the axis, in its order
	groups []*group
}

// linesAlong gives the lines along an axis; none, if its values are no numbers.
func linesAlong(axis design.Axis, groups []*group) []line {
	values, areNumbers := numbersOf(axis.Values)
	if !areNumbers {
		return nil
	}
	var lines []line
	unsearched := slices.DeleteFunc(slices.Clone(groups), (*group).searched)
	for _, along := range GroupBy(unsearched, func(g *group) string { return g.without(axis.Parameter).Key() }) {
		lines = append(lines, line{axis, values, along})
	}
	return lines
}

// without is the cell without one of its axes.
func (g *group) without(parameter string) design.Cell {
	cell := design.Cell{Variant: g.Variant, Axes: map[string]string{}}
	for name, value := range g.Axes {
		if name != parameter {
			cell.Axes[name] = value
		}
	}
	return cell
}

// along is how a measure grows along an axis. Runs of one block stand for one
// run over all values of the axis: what was peculiar to the block they share.
func (l line) along(s Subject) *Growth {
	var samples []valueAt
	var runs []*Run
	for _, g := range l.groups {
		at := slices.Index(l.axis.Values, g.Axes[l.axis.Parameter])
		runs = append(runs, g.all...)
		for i, v := range g.values(s) {
			if at >= 0 {
				samples = append(samples, valueAt{l.values[at], l.axis.Values[at], v, cmp.Or(g.runs[i].Block, -g.runs[i].Index)})
			}
		}
	}
	return grown(s, l.groups[0].without(l.axis.Parameter), l.axis.Parameter, samples, runs)
}

// grown fits samples; nil if they are at too few values of the parameter.
func grown(s Subject, cell design.Cell, parameter string, samples []valueAt, runs []*Run) *Growth {
	g := &Growth{Subject: s, Cell: cell, Parameter: parameter, Points: []GrowthPoint{}}
	slices.SortStableFunc(samples, func(a, b valueAt) int { return cmp.Compare(a.at, b.at) })
	var xs, ys []float64
	for _, same := range GroupBy(samples, func(v valueAt) float64 { return v.at }) {
		var values []float64
		for _, p := range same {
			values = append(values, p.value)
			xs, ys = append(xs, p.at), append(ys, p.value)
		}
		if anyKnown(values) {
			g.Points = append(g.Points, GrowthPoint{same[0].at, beside(same[0].text), stats.Summarise(values)})
		}
	}
	if len(g.Points) < fewestPoints {
		return nil
	}
	g.Fit = stats.LogLog(statsPoints(samples))
	g.InWords = g.Fit.Words(parameter, len(g.Points))
	for _, b := range boundsOn(s, runs) {
		g.FirstPast = append(g.FirstPast, b.crossing(xs, ys, g.Points))
	}
	return g
}

// lineBound is a bound that a curve may pass.
type lineBound struct {
	text      string
	value     float64
	direction stats.Direction
}

// boundsOn are those that objectives set on a measure or, of a time without any,
// one second: what a user notices, and the Kubernetes SLO for a single object.
func boundsOn(s Subject, runs []*Run) []lineBound {
	var bounds []lineBound
	add := func(b lineBound) {
		known := slices.ContainsFunc(bounds, func(o lineBound) bool { return o.value == b.value && o.direction == b.direction })
		if !known {
			bounds = append(bounds, b)
		}
	}
	for _, run := range runs {
		if run.stored == nil {
			continue
		}
		for _, o := range run.stored.Info.Objectives {
			if !s.boundBy(o) {
				continue
			}
			if o.Max != nil {
				add(lineBound{o.Text, *o.Max, stats.LowerIsBetter})
			}
			if o.Min != nil {
				add(lineBound{o.Text, *o.Min, stats.HigherIsBetter})
			}
		}
	}
	m, err := measure.Parse(s.Measure)
	if len(bounds) == 0 && err == nil && m.Unit() == measure.Seconds && slices.Contains([]string{"mean", "p50", "p99"}, m.Statistic) {
		add(lineBound{"≤ 1s", 1, stats.LowerIsBetter})
	}
	return bounds
}

// boundBy says whether an objective is about the subject, whatever its point.
func (s Subject) boundBy(o store.ObjectiveInfo) bool {
	if s.PromQL != "" || o.PromQL != "" {
		return s.PromQL == o.PromQL
	}
	m, err := measure.Parse(o.Measure)
	return err == nil && m.String() == s.Measure
}

func (b lineBound) crossing(xs, ys []float64, points []GrowthPoint) Crossing {
	crossing := Crossing{Bound: b.text}
	x, past := stats.FirstPast(xs, ys, b.value, b.direction)
	if !past {
		return crossing
	}
	crossing.At = &x
	for _, p := range points {
		if p.Value == x {
			crossing.Text = p.Text
		}
	}
	return crossing
}
