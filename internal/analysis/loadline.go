package analysis

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"plimsoll.dev/plimsoll/internal/measure"
)

// loadLinesOf finds the largest loads at which every objective held: along each
// sweep, and with the number of objects in runs that grew, over the runs of a
// cell; and of each search, over its probes.
func loadLinesOf(groups []*group) []*LoadLine {
	var all []*LoadLine
	for _, g := range groups {
		if g.searched() {
			all = append(all, g.searchedLines()...)
			continue
		}
		var trials []trial
		for _, run := range g.all {
			for _, step := range run.Steps {
				if t, ok := run.tryStep(step); ok {
					trials = append(trials, t)
				}
			}
			trials = append(trials, run.tryGrowth()...)
		}
		for _, along := range GroupBy(trials, func(t trial) string { return t.point.Parameter }) {
			line := lineOf(along)
			line.Cell = g.Cell.Cell
			all = append(all, line)
		}
	}
	return all
}

// searchedLines are one for each block: every block searches anew.
func (g *group) searchedLines() []*LoadLine {
	byBlock := slices.SortedStableFunc(slices.Values(g.all), func(a, b *Run) int { return cmp.Compare(a.Block, b.Block) })
	var all []*LoadLine
	for _, runs := range GroupBy(byBlock, func(r *Run) int { return r.Block }) {
		var trials []trial
		var invalid []string
		for _, run := range runs {
			if t, ok := run.tryProbe(); ok {
				trials = append(trials, t)
			} else if run.Status == Invalid {
				invalid = append(invalid, fmt.Sprintf("Run %d does not count: %s.", run.Index, run.Reason))
			}
		}
		if len(trials) > 0 {
			line := lineOf(trials)
			line.Cell, line.Block, line.Tries = g.Cell.Cell, runs[0].Block, triesOf(trials)
			line.Warnings = append(line.Warnings, invalid...)
			all = append(all, line)
		}
	}
	return all
}

// lineOf draws the line through trials, of which there is one at least. A load counts as held if it held in
// every run that came to it: the line is what can be relied on, and not what was
// reached once. It ends below the first load that broke, whatever held above.
func lineOf(trials []trial) *LoadLine {
	slices.SortStableFunc(trials, func(a, b trial) int {
		return cmp.Or(cmp.Compare(place(a.point), place(b.point)), cmp.Compare(a.run.Index, b.run.Index))
	})
	line := &LoadLine{Parameter: trials[0].point.Parameter, Grown: trials[0].grown}
	for i, t := range trials {
		if !slices.Contains(line.Runs, t.run.Index) {
			line.Runs = append(line.Runs, t.run.Index)
			line.Warnings = append(line.Warnings, t.untold...)
		}
		switch {
		case line.Broke != nil:
		case !t.held:
			line.Broke = &trials[i].point
			line.explain(t)
		case !slices.ContainsFunc(trials, func(o trial) bool { return o.point == t.point && !o.held }):
			line.Held = &trials[i].point
		}
	}
	slices.Sort(line.Runs)
	line.NotMeasured = neverMeasured(trials)
	line.doubt(trials)
	if line.Broke != nil {
		line.count(trials)
	}
	return line
}

// neverMeasured names the objectives that had a value at no load.
func neverMeasured(trials []trial) []string {
	var names []string
	measured := map[string]bool{}
	for _, t := range trials {
		for _, o := range t.judged {
			name := withoutPoint(o)
			measured[name] = measured[name] || !t.run.unmeasured(o)
			if !slices.Contains(names, name) {
				names = append(names, name)
			}
		}
	}
	return slices.DeleteFunc(names, func(name string) bool { return measured[name] })
}

// withoutPoint is the name of an objective as it was declared.
func withoutPoint(o Objective) string {
	m, err := measure.Parse(o.Measure)
	if err != nil {
		return o.Name
	}
	if _, point, swept := strings.Cut(m.Phase, "@"); swept && point != "" {
		if at := strings.LastIndex(o.Name, " at "); at > 0 {
			return o.Name[:at]
		}
	}
	return o.Name
}

// doubt warns if percentiles that decide where the line is rest on too few operations.
func (l *LoadLine) doubt(trials []trial) {
	var said []string
	for _, t := range trials {
		if (l.Held == nil || t.point != *l.Held) && (l.Broke == nil || t.point != *l.Broke) {
			continue
		}
		for _, o := range t.judged {
			m, err := measure.Parse(o.Measure)
			if err != nil || o.Value == nil {
				continue
			}
			q, is := measure.Quantile(m.Statistic)
			name := withoutPoint(o)
			if !is || q <= 50 || enough(o.N, q) || slices.Contains(said, name) {
				continue
			}
			said = append(said, name)
			l.Warnings = append(l.Warnings, fmt.Sprintf(
				"%s rests on few operations (%d at %v, of which fewer than %d lie beyond the percentile), so that single ones decide where the line is; measure longer.",
				name, o.N, t.point, tail))
		}
	}
}

// triesOf are what a search tried, by value and run.
func triesOf(trials []trial) []Try {
	var tries []Try
	for _, t := range trials {
		try := Try{Point: t.point, Run: t.run.Index, Held: t.held, Note: t.note, Objectives: []TriedObjective{}}
		for _, o := range t.judged {
			try.Objectives = append(try.Objectives, TriedObjective{
				Name: o.Name, Bound: o.Text, Unit: o.Unit, Value: o.Value, Held: o.Held, NotMeasured: t.run.unmeasured(o),
			})
		}
		tries = append(tries, try)
	}
	return tries
}

// explain says what broke first.
func (l *LoadLine) explain(t trial) {
	l.Objective, l.Run, l.At = t.broke, t.run.Index, t.at
	l.Breaks, l.LastHeld = t.breaks, t.lastHeld
	if t.note != "" {
		l.Warnings = append(l.Warnings, t.note)
	}
	if t.at == nil {
		return
	}
	// The moment is known of an expression, and of a death; a measure is of all the time under the load.
	known, short := t.broke == nil || t.broke.PromQL != "", t.within
	if known {
		short = span{*t.at - secondsBefore, *t.at + secondsAfter}
	}
	l.Log, l.Bottleneck = t.run.logAround(*t.at, t.within, known), t.run.bottleneckIn(short)
}

// count warns if runs disagree about the load that broke.
func (l *LoadLine) count(trials []trial) {
	all, broke := 0, 0
	for _, t := range trials {
		if t.point == *l.Broke {
			all++
			if !t.held {
				broke++
			}
		}
	}
	if broke < all {
		l.Warnings = append(l.Warnings, fmt.Sprintf("%v broke in %d of %d runs; a load counts as held if it held in all.", *l.Broke, broke, all))
	}
}
