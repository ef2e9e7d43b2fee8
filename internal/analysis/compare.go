package analysis

import (
	"cmp"
	"maps"
	"math"
	"slices"

	"plimsoll.dev/plimsoll/internal/design"
	"plimsoll.dev/plimsoll/internal/measure"
	"plimsoll.dev/plimsoll/internal/stats"
)

// comparisonsOf holds each variant against the baseline at the same parameters,
// primary measures first.
func comparisonsOf(laid design.Design, groups []*group, list []Subject, lines []*LoadLine) []*Comparison {
	var all []*Comparison
	for _, base := range groups {
		if base.Variant != laid.Variants[0].Name {
			continue
		}
		for _, head := range groups {
			if head.Variant == base.Variant || !maps.Equal(head.Axes, base.Axes) {
				continue
			}
			with := pairing{base: base, head: head, baseline: base.Variant, variant: head.Variant, axes: base.Axes, margin: marginsOf(laid)}
			if base.searched() || head.searched() {
				all = append(all, with.loadLines(lines))
				continue
			}
			for _, s := range list {
				if c := with.compare(s); c != nil {
					all = append(all, c)
				}
			}
		}
	}
	judge(all)
	slices.SortStableFunc(all, func(a, b *Comparison) int { return cmp.Compare(rankOf(a.Subject), rankOf(b.Subject)) })
	return all
}

// rankOf orders primary measures before others.
func rankOf(s Subject) int {
	if s.Primary {
		return 0
	}
	return 1
}

// marginsOf gives the margin of each subject: its own, or that of the design.
func marginsOf(laid design.Design) func(Subject) float64 {
	return func(s Subject) float64 {
		for _, p := range laid.Primary {
			if s.Primary && p.Name == s.Name {
				return cmp.Or(p.Margin, laid.Margin)
			}
		}
		return laid.Margin
	}
}

// pairing is two cells that are held against each other.
type pairing struct {
	base, head        *group
	baseline, variant string
	axes              map[string]string
	margin            func(Subject) float64
	// strangers are cells of different experiments: their blocks have nothing to do with each other.
	strangers bool
}

// compare is nil if neither side has anything to say of a measure that nobody asked for.
func (p pairing) compare(s Subject) *Comparison {
	base, head := p.base.values(s), p.head.values(s)
	if !s.Primary && !anyKnown(slices.Concat(base, head)) {
		return nil
	}
	c := p.comparison(s)
	c.Base, c.Head = stats.Summarise(base), stats.Summarise(head)
	switch blocks, paired := p.blocks(); {
	case paired:
		c.Blocks = blocks
		c.Comparison = stats.Paired(inBlocks(p.base, base, blocks), inBlocks(p.head, head, blocks))
	default:
		c.Comparison = stats.Unpaired(base, head)
		if !p.strangers && len(base) > 0 && len(head) > 0 {
			c.Warnings.Add("The runs were not made in blocks, so they are compared without pairing: what changed from run to run is not told from what the variant changed.")
		}
	}
	p.warnSide(c, p.base, p.baseline, "the baseline")
	p.warnSide(c, p.head, p.variant, "the variant")
	return c
}

func (p pairing) comparison(s Subject) *Comparison {
	return &Comparison{
		Subject: s, Variant: p.variant, Baseline: p.baseline, Axes: p.axes, Margin: p.margin(s), Verdict: stats.Inconclusive,
	}
}

// blocks are those of the runs; false says that the runs of both sides cannot be
// paired by them.
func (p pairing) blocks() (all []int, paired bool) {
	if p.strangers {
		return nil, false
	}
	in := map[int][2]int{}
	for side, g := range []*group{p.base, p.head} {
		for _, run := range g.runs {
			count := in[run.Block]
			count[side]++
			in[run.Block] = count
		}
	}
	for block, count := range in {
		if block <= 0 || count[0] > 1 || count[1] > 1 {
			return nil, false
		}
		paired = paired || count[0] == 1 && count[1] == 1
	}
	return slices.Sorted(maps.Keys(in)), paired
}

// inBlocks arranges values of a group's runs by block; NaN where it has none.
func inBlocks(g *group, values []float64, blocks []int) []float64 {
	arranged := make([]float64, len(blocks))
	for i, block := range blocks {
		arranged[i] = math.NaN()
		if at := slices.IndexFunc(g.runs, func(r *Run) bool { return r.Block == block }); at >= 0 {
			arranged[i] = values[at]
		}
	}
	return arranged
}

// warnSide says what a reader must know of one side's values: why there are
// none, and what else than whole and successful operations they are made of.
func (p pairing) warnSide(c *Comparison, g *group, name, role string) {
	side := role
	if name != "" {
		side = name
	}
	if len(g.runs) == 0 {
		c.Warnings.Add("No run of %s is left to compare.", side)
		return
	}
	missing, lowerBounds, few := 0, 0, 0
	why := ""
	m, notOfLanguage := measure.Parse(c.Measure)
	q, isQuantile := measure.Quantile(m.Statistic)
	for _, run := range g.runs {
		read, ok := run.read(c.Subject)
		switch {
		case !ok:
			missing++
			why = run.whyMissing(c.Subject)
		case read.atLeast > 0:
			lowerBounds++
		}
		if ok && isQuantile && q > 50 && notOfLanguage == nil && !enough(read.n, q) {
			few++
		}
	}
	runs := len(g.runs)
	if missing > 0 {
		c.Warnings.Add("%s has no value in %d of %d runs: %s.", side, missing, runs, why)
	}
	if lowerBounds > 0 {
		c.Warnings.Add("In %d of %d runs of %s operations timed out, so the value is a lower bound.", lowerBounds, runs, side)
	}
	if few > 0 {
		c.Warnings.Add("In %d of %d runs of %s fewer than %d operations lie beyond this percentile, so that single ones decide it.", few, runs, side, tail)
	}
	if notOfLanguage == nil && m.Statistic != "success" {
		g.warnErrors(c, side)
	}
}

// warnErrors says that not all operations of a measure's phase succeeded.
func (g *group) warnErrors(c *Comparison, side string) {
	m, _ := measure.Parse(c.Measure)
	var all, succeeded int64
	for _, run := range g.runs {
		if phase := run.phase(run.phaseAt(m.Phase, c.Point)); phase != nil {
			all, succeeded = all+phase.Count, succeeded+phase.Succeeded
		}
	}
	if succeeded < all {
		c.Warnings.Add("%s: %d of %d operations of %s did not succeed (%.3g %%); times are of those that did, or that timed out.",
			side, all-succeeded, all, m.Phase, 100*float64(all-succeeded)/float64(all))
	}
}

// judge gives every comparison its verdict. A primary measure was declared
// before the runs and stands for itself. All others are one family, whose p
// values Holm adjusts, so that among many measures one does not look better or
// worse by chance; a measure that was the same in every run is not in it, as it
// cannot come out wrong.
func judge(all []*Comparison) {
	var family []*Comparison
	var ps []float64
	for _, c := range all {
		if c.Primary {
			c.Verdict = c.Comparison.Verdict(c.Margin, stats.Direction(c.Better))
			c.foresee()
			continue
		}
		family = append(family, c)
		p := math.NaN()
		if c.P != nil && !c.constant() {
			p = *c.P
		}
		ps = append(ps, p)
	}
	for i, p := range stats.Holm(ps) {
		family[i].explore(p)
	}
}

// constant says that the measure was the same on both sides in every run.
func (c *Comparison) constant() bool {
	values := []*float64{c.Base.Min, c.Base.Max, c.Head.Min, c.Head.Max}
	for _, v := range values {
		if v == nil || values[0] == nil || *v != *values[0] {
			return false
		}
	}
	return true
}

// explore judges an exploratory measure by its adjusted p value; without one it
// can be neither better nor worse.
func (c *Comparison) explore(p float64) {
	adjusted := c.Comparison
	if !math.IsNaN(p) {
		c.AdjustedP = &p
		adjusted.P = &p
	}
	c.Verdict = adjusted.Verdict(c.Margin, stats.Direction(c.Better))
	if adjusted.P == nil && c.Verdict != stats.Equivalent {
		c.Verdict = stats.Inconclusive
	}
}

// foresee says how many blocks would decide what this one leaves open.
func (c *Comparison) foresee() {
	if c.Verdict != stats.Inconclusive {
		return
	}
	if blocks, known := c.Comparison.BlocksNeeded(c.Margin); known {
		c.BlocksNeeded = max(blocks, max(c.Pairs, min(c.N1, c.N2))+1)
	}
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
