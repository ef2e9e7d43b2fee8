package analysis

import (
	"maps"
	"math"
	"slices"

	"plimsoll.dev/plimsoll/internal/design"
	"plimsoll.dev/plimsoll/internal/stats"
	"plimsoll.dev/plimsoll/internal/store"
)

// referencesOf puts our figures beside published ones.
func referencesOf(laid design.Design, groups []*group) []*Reference {
	var all []*Reference
	for _, published := range laid.References {
		r := &Reference{Reference: published, Findings: []Finding{}}
		for _, g := range groups {
			if g.Variant == r.Variant && !g.searched() && r.Growth == "" {
				r.findIn(g, groups)
			}
		}
		if r.Growth != "" {
			r.findGrowth(laid, groups)
		}
		if len(r.Findings) == 0 {
			r.Findings = append(r.Findings, Finding{Cell: design.Cell{Variant: r.Variant}, Agreement: NotMeasured})
		}
		all = append(all, r)
	}
	return all
}

// findIn looks for a measure, or for a ratio, in a cell, at the points that the
// reference is about.
func (r *Reference) findIn(g *group, groups []*group) {
	written := r.Measure
	if r.Ratio != "" {
		written = r.Ratio
	}
	list := subjects{seen: map[string]bool{}}
	list.addMeasure(Subject{Name: written, Measure: written, Primary: true}, g.all)
	for _, s := range list.all {
		if !r.about(g, s.Point) {
			continue
		}
		f := Finding{Cell: g.Cell.Cell, Point: s.Point}
		if r.Ratio != "" {
			r.ratio(&f, g, groups, s)
		} else {
			summary := stats.Summarise(g.values(s))
			f.Value, f.Lo, f.Hi, f.N = summary.Median, summary.Lo, summary.Hi, summary.N
		}
		r.add(f)
	}
}

func (r *Reference) ratio(f *Finding, g *group, groups []*group, s Subject) {
	for _, versus := range groups {
		if versus.Variant != r.Versus || !maps.Equal(versus.Axes, g.Axes) {
			continue
		}
		with := pairing{base: versus, head: g, margin: func(Subject) float64 { return 0 }}
		if c := with.compare(s); c != nil {
			f.Value, f.Lo, f.Hi, f.N = c.Ratio, c.Lo, c.Hi, min(c.N1, c.N2)
		}
	}
}

// about says whether the reference is about a cell, at a point of a sweep: every
// value that it names must be that of the axis, of the point, or of the
// parameter in all runs.
func (r *Reference) about(g *group, point *store.Point) bool {
	for name, value := range r.When {
		switch actual, isAxis := g.Axes[name]; {
		case point != nil && point.Parameter == name:
			if !sameQuantity(value, point.Text, point.Value) {
				return false
			}
		case isAxis:
			if !sameQuantity(value, actual, math.NaN()) {
				return false
			}
		case slices.ContainsFunc(g.all, func(run *Run) bool { return !sameQuantity(value, run.Parameters[name], math.NaN()) }):
			return false
		}
	}
	return true
}

// sameQuantity compares quantities however they are written: 1000 and 1e3, 1s and 1000ms.
func sameQuantity(wanted, text string, value float64) bool {
	if wanted == text {
		return true
	}
	if text == "" {
		numbers, ok := numbersOf([]string{wanted})
		return ok && numbers[0] == value
	}
	numbers, ok := numbersOf([]string{wanted, text})
	return ok && numbers[0] == numbers[1]
}

// findGrowth looks for the exponent of a measure along a sweep, or along an axis.
func (r *Reference) findGrowth(laid design.Design, groups []*group) {
	var runs []*Run
	for _, g := range groups {
		runs = append(runs, g.all...)
	}
	list := subjects{seen: map[string]bool{}}
	list.addMeasure(Subject{Name: r.Growth, Measure: r.Growth, Primary: true}, runs)
	of := slices.DeleteFunc(slices.Clone(groups), func(g *group) bool { return g.Variant != r.Variant || !r.about(g, nil) && !r.aboutSweep(g) })
	for _, growth := range growthOf(laid, of, list.all) {
		r.add(Finding{
			Cell: growth.Cell, Value: growth.Fit.Exponent.Value, Lo: growth.Fit.Exponent.Lo, Hi: growth.Fit.Exponent.Hi,
			N: growth.Fit.Runs,
		})
	}
}

// aboutSweep says that what the reference names beside the cell's own values is
// the parameter of a sweep, along which the measure grows.
func (r *Reference) aboutSweep(g *group) bool {
	swept := map[string]bool{}
	for _, run := range g.all {
		for _, step := range run.Steps {
			if step.Point != nil {
				swept[step.Point.Parameter] = true
			}
		}
	}
	rest := Reference{Reference: design.Reference{When: map[string]string{}}}
	for name, value := range r.When {
		if !swept[name] {
			rest.When[name] = value
		}
	}
	return rest.about(g, nil)
}

func (r *Reference) add(f Finding) {
	f.Agreement = r.agreement(f)
	r.Findings = append(r.Findings, f)
}

// agreement holds a figure of ours against the published range: its interval, or
// without one the figure itself.
func (r *Reference) agreement(f Finding) Agreement {
	lo, hi := math.Inf(-1), math.Inf(1)
	if r.Min != nil {
		lo = *r.Min
	}
	if r.Max != nil {
		hi = *r.Max
	}
	switch {
	case f.Value == nil:
		return NotMeasured
	case lo == hi:
		return Beside
	}
	from, to := *f.Value, *f.Value
	if f.Lo != nil && f.Hi != nil {
		from, to = *f.Lo, *f.Hi
	}
	switch {
	case lo <= from && to <= hi:
		return Agrees
	case to < lo || from > hi:
		return Differs
	}
	return Unclear
}
