package analysis

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"plimsoll.dev/plimsoll/internal/measure"
	"plimsoll.dev/plimsoll/internal/stats"
	"plimsoll.dev/plimsoll/internal/store"
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
		t.breakAt(o, at())
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

func (t *trial) breakAt(o Objective, at *float64) {
	t.held, t.broke, t.at = false, &o, at
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

// Of the logs around a moment, so much is shown.
const (
	logSeconds = 5.0
	logLines   = 10
	logWidth   = 130 // letters of a line; with its component and time it then fits into 160
)

// logAround is what the components wrote while a load was measured: what tells of
// overload before other warnings and worse, these before others, and what is near
// a moment before what is far. Of a moment
// that is known, what is farther than a few seconds has nothing to do with it.
func (r *Run) logAround(at float64, within span, known bool) []LogLine {
	if r.stored == nil {
		return nil
	}
	var near []store.LogLine
	r.stored.LogLines(func(l store.LogLine) {
		if within.start <= l.At && l.At <= within.end && (!known || math.Abs(l.At-at) <= logSeconds) {
			near = append(near, l)
		}
	})
	slices.SortStableFunc(near, func(a, b store.LogLine) int {
		return cmp.Or(cmp.Compare(rankOfLine(a), rankOfLine(b)), cmp.Compare(math.Abs(a.At-at), math.Abs(b.At-at)))
	})
	near = near[:min(len(near), logLines)]
	slices.SortStableFunc(near, func(a, b store.LogLine) int { return cmp.Compare(a.At, b.At) })
	var lines []LogLine
	for _, l := range near {
		lines = append(lines, LogLine{l.Component, &l.At, l.Brief(logWidth)})
	}
	return lines
}

func rankOfLine(l store.LogLine) int {
	switch {
	case overloadIn(l.Text) != "":
		return 0
	case l.Grave:
		return 1
	}
	return 2
}

// loadLines compares what searches found, block by block.
func (p pairing) loadLines(lines []*LoadLine) *Comparison {
	s := Subject{Name: "load line", Primary: true, Better: measure.Higher}
	var blocks []int
	for _, line := range lines {
		if key := line.Cell.Key(); key == p.base.Key() || key == p.head.Key() {
			s.Name, s.Measure = "load line of "+line.Parameter, "loadline("+line.Parameter+")"
			blocks = append(blocks, line.Block)
		}
	}
	slices.Sort(blocks)
	blocks = slices.Compact(blocks)
	c := p.comparison(s)
	base, head := c.foundIn(p.base, lines, blocks), c.foundIn(p.head, lines, blocks)
	warnings := c.Warnings
	c.Base, c.Head = stats.Summarise(base), stats.Summarise(head)
	c.Blocks, c.Comparison = blocks, stats.Paired(base, head)
	c.Warnings = append(c.Warnings, warnings...)
	return c
}

// foundIn is the load that was held in each block of a cell, NaN where none was;
// it warns of searches that found no end.
func (c *Comparison) foundIn(g *group, lines []*LoadLine, blocks []int) []float64 {
	below, above := 0, 0
	var values []float64
	for _, block := range blocks {
		v := math.NaN()
		at := slices.IndexFunc(lines, func(l *LoadLine) bool { return l.Cell.Key() == g.Key() && l.Block == block })
		if at >= 0 && lines[at].Held == nil {
			below++
		} else if at >= 0 {
			v = place(*lines[at].Held)
			if lines[at].Broke == nil {
				above++
			}
		}
		values = append(values, v)
	}
	if below > 0 {
		c.Warnings.Add("%s: in %d of %d blocks the smallest load that was tried broke already; search from a smaller one.", g.Variant, below, len(blocks))
	}
	if above > 0 {
		c.Warnings.Add("%s: in %d of %d blocks no load that was tried broke, so the line lies higher; search to a larger one.", g.Variant, above, len(blocks))
	}
	return values
}
