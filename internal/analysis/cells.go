package analysis

import (
	"cmp"
	"math"
	"slices"
	"strings"

	"plimsoll.dev/plimsoll/internal/design"
	"plimsoll.dev/plimsoll/internal/stats"
)

// experimentOf says what all runs together came to.
func experimentOf(result *Result, laid design.Design) Experiment {
	if len(laid.Variants) == 0 { // of before there were any, or of a damaged plan
		laid.Variants = []design.Variant{{Title: cmp.Or(result.Title, result.Scenario)}}
	}
	e := Experiment{Design: laid}
	e.exclude(result.Runs)
	groups := groupsOf(laid, result.Runs)
	list := subjectsOf(laid.Primary, result.Runs)
	for _, g := range groups {
		g.measure(list)
		g.pool()
		e.Cells = append(e.Cells, g.Cell)
	}
	e.LoadLines = loadLinesOf(groups)
	e.Comparisons = comparisonsOf(laid, groups, list, e.LoadLines)
	e.Growth = growthOf(laid, groups, list)
	e.Clients = clientsOf(groups)
	e.References = referencesOf(laid, groups)
	check(groups)
	e.warnOfDesign(groups)
	if len(result.Runs) > 1 { // one run says it itself
		e.warnOfLists(groups)
	}
	e.warnOfResidue(groups)
	if noise := noiseIn(result.Runs, groups); len(result.Runs) == 1 {
		result.Runs[0].Warnings = append(result.Runs[0].Warnings, noise...)
	} else {
		e.Warnings = append(e.Warnings, noise...)
	}
	return e
}

// exclude names the runs that are in no comparison. The rules are fixed, and ask
// how a run went and never what it measured.
func (e *Experiment) exclude(runs []*Run) {
	for _, run := range runs {
		if rule := run.excludedBy(); rule != "" {
			if reason, _, _ := strings.Cut(run.Reason, "\n"); reason != "" { // a log's last lines may follow it
				rule += ": " + reason
			}
			e.Excluded = append(e.Excluded, Exclusion{run.Index, run.Name, rule})
		}
	}
}

// excludedBy is the rule by which a run is in no comparison; empty if it is.
func (r *Run) excludedBy() string {
	if r.lost() {
		return "a run that is damaged is left out"
	}
	switch r.Status {
	case Failed:
		return "a run that failed is left out"
	case Incomplete:
		return "a run that did not come to its end is left out"
	case Invalid:
		return "a run in which plimsoll was the limit, and not the target, is left out"
	}
	return ""
}

// lost says that it is not known what the run was of.
func (r *Run) lost() bool { return r.stored != nil && r.stored.Unreadable != nil }

// group is a cell with its runs.
type group struct {
	*Cell
	runs []*Run // by block, in the order of Cell.Runs
	all  []*Run // also those that are excluded
}

// groupsOf puts the runs of each cell together, in the order of the design.
func groupsOf(laid design.Design, runs []*Run) []*group {
	known := slices.DeleteFunc(slices.Clone(runs), (*Run).lost)
	var groups []*group
	for _, all := range GroupBy(known, func(r *Run) string { return r.Cell.Key() }) {
		g := &group{Cell: &Cell{Cell: all[0].Cell, Runs: []int{}, Measures: []*CellMeasure{}}, all: all}
		g.runs = slices.DeleteFunc(slices.Clone(all), func(r *Run) bool { return r.excludedBy() != "" })
		slices.SortStableFunc(g.runs, func(a, b *Run) int { return cmp.Compare(a.Block, b.Block) })
		for _, run := range g.runs {
			g.Runs = append(g.Runs, run.Index)
		}
		groups = append(groups, g)
	}
	slices.SortStableFunc(groups, func(a, b *group) int {
		if c := cmp.Compare(variantRank(laid, a.Variant), variantRank(laid, b.Variant)); c != 0 {
			return c
		}
		for _, axis := range laid.Axes {
			x, y := slices.Index(axis.Values, a.Axes[axis.Parameter]), slices.Index(axis.Values, b.Axes[axis.Parameter])
			if x != y {
				return cmp.Compare(x, y)
			}
		}
		return 0
	})
	return groups
}

func variantRank(laid design.Design, name string) int {
	at := slices.IndexFunc(laid.Variants, func(v design.Variant) bool { return v.Name == name })
	if at < 0 {
		return len(laid.Variants)
	}
	return at
}

// searched says that the runs are those of a search: each under another load, so
// that they have nothing in common that could be summed up.
func (g *group) searched() bool {
	return slices.ContainsFunc(g.all, func(r *Run) bool { return r.Probe != nil })
}

// measure sums the runs up: the primary measures always, others where a run has a value.
func (g *group) measure(list []Subject) {
	if g.searched() {
		return
	}
	for _, s := range list {
		m := &CellMeasure{Subject: s, Values: []*float64{}}
		values := g.values(s)
		for _, v := range values {
			m.Values = append(m.Values, number(v))
		}
		if !anyKnown(values) && !s.Primary {
			continue
		}
		m.Summary = stats.Summarise(values)
		if outliers := stats.Outliers(values); slices.Contains(outliers, true) {
			m.Outliers = outliers
		}
		g.Measures = append(g.Measures, m)
	}
}

// values are those of the runs; NaN where a run has none.
func (g *group) values(s Subject) []float64 {
	values := make([]float64, len(g.runs))
	for i, run := range g.runs {
		values[i] = math.NaN()
		if read, ok := run.read(s); ok {
			values[i] = read.value
		}
	}
	return values
}

func anyKnown(values []float64) bool {
	return slices.ContainsFunc(values, func(v float64) bool { return !math.IsNaN(v) })
}

// number is nil for what JSON cannot say.
func number(v float64) *float64 {
	if math.IsNaN(v) || math.IsInf(v, 0) {
		return nil
	}
	return &v
}

// GroupBy puts things of the same key together, in the order in which these first come up.
func GroupBy[T any, K comparable](things []T, key func(T) K) [][]T {
	at := map[K]int{}
	var groups [][]T
	for _, thing := range things {
		k := key(thing)
		if _, known := at[k]; !known {
			at[k] = len(groups)
			groups = append(groups, nil)
		}
		groups[at[k]] = append(groups[at[k]], thing)
	}
	return groups
}
