package analysis

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"math"
	"path/filepath"
	"slices"
	"strings"

	"plimsoll.dev/plimsoll/internal/design"
	"plimsoll.dev/plimsoll/internal/store"
)

// ErrIncomparable is the error of experiments that have nothing in common to compare.
var ErrIncomparable = errors.New("cannot be compared")

// Compare holds the runs of one results directory against those of another, cell
// by cell: those of the same parameters and the same variant or, if each
// directory has one variant only, these. The result has no runs of its own, and
// its variants are the directories; where these have several each, the axis
// "variant" of a comparison says which it is about.
//
// The runs were not made side by side, so they are compared without pairing, and
// what else differs between the directories is a warning each.
func Compare(ctx context.Context, base, head *store.Results) (*Result, error) {
	b, err := sideOf(ctx, base)
	if err != nil {
		return nil, err
	}
	h, err := sideOf(ctx, head)
	if err != nil {
		return nil, err
	}
	b.label, h.label = labelsOf(base.Dir, head.Dir)
	if b.result.Scenario != h.result.Scenario {
		return nil, fmt.Errorf("%s and %s %w: one is of scenario %s, the other of %s", b.label, h.label, ErrIncomparable, b.result.Scenario, h.result.Scenario)
	}
	pairs := matched(b, h)
	if len(pairs) == 0 {
		return nil, fmt.Errorf("%s and %s %w: they have no variant with the same parameters in common; %s has %s, %s has %s",
			b.label, h.label, ErrIncomparable, b.label, b.cells(), h.label, h.cells())
	}
	result := &Result{SchemaVersion: SchemaVersion, Tool: h.result.Tool, Scenario: h.result.Scenario, Title: h.result.Title, Runs: []*Run{}}
	e := &result.Experiment
	e.Design = design.Design{
		Variants: []design.Variant{{Name: b.label, Title: base.Dir}, {Name: h.label, Title: head.Dir}},
		Axes:     b.result.Design.Axes, Margin: cmp.Or(b.result.Design.Margin, h.result.Design.Margin), Primary: primaryOf(b, h),
	}
	list := subjectsOf(e.Design.Primary, slices.Concat(b.result.Runs, h.result.Runs))
	for _, p := range pairs {
		p.baseline, p.variant, p.margin, p.strangers = b.label, h.label, marginsOf(e.Design), true
		for _, s := range list {
			if c := p.compare(s); c != nil {
				e.Comparisons = append(e.Comparisons, c)
			}
		}
	}
	if !slices.ContainsFunc(e.Comparisons, func(c *Comparison) bool { return c.N1 > 0 && c.N2 > 0 }) {
		return nil, fmt.Errorf("%s and %s %w: %s", b.label, h.label, ErrIncomparable, nothingInCommon(b, h))
	}
	judge(e.Comparisons)
	slices.SortStableFunc(e.Comparisons, func(x, y *Comparison) int { return cmp.Compare(rankOf(x.Subject), rankOf(y.Subject)) })
	for _, s := range []side{b, h} {
		for _, run := range s.result.Runs {
			named := *run
			named.Name = s.label + "/" + run.Name
			result.Compared = append(result.Compared, &named)
		}
		for _, x := range s.result.Excluded {
			x.Name = s.label + "/" + x.Name
			e.Excluded = append(e.Excluded, x)
		}
		for _, g := range s.groups {
			g.measure(list)
			cell := *g.Cell
			cell.Axes = axesWith(g, len(s.result.Design.Variants) > 1)
			cell.Variant = s.label
			e.Cells = append(e.Cells, &cell)
		}
	}
	e.warnOfStrangers(b, h, pairs)
	return result, nil
}

// side is one of two directories.
type side struct {
	label  string
	result *Result
	groups []*group
}

func sideOf(ctx context.Context, results *store.Results) (side, error) {
	result, err := Analyze(ctx, results)
	if err != nil {
		return side{}, err
	}
	groups := groupsOf(result.Design, result.Runs)
	for _, g := range groups {
		if g.searched() {
			return side{}, fmt.Errorf("%s %w with another directory: it is a search for a load line, whose runs are each under another load; compare its variants in one experiment", results.Dir, ErrIncomparable)
		}
	}
	return side{result: result, groups: groups}, nil
}

// labelsOf are the names of two directories, as short as tells them apart.
func labelsOf(base, head string) (string, string) {
	if b, h := filepath.Base(base), filepath.Base(head); b != h {
		return b, h
	}
	if base == head {
		return base, head + " (again)"
	}
	return base, head
}

func (s side) cells() string {
	var names []string
	for _, g := range s.groups {
		names = append(names, g.name())
	}
	return strings.Join(names, ", ")
}

// matched pairs the cells that are alike.
func matched(b, h side) []pairing {
	single := len(b.variants()) == 1 && len(h.variants()) == 1
	var pairs []pairing
	for _, base := range b.groups {
		for _, head := range h.groups {
			if maps.Equal(base.Axes, head.Axes) && (single || base.Variant == head.Variant) {
				pairs = append(pairs, pairing{base: base, head: head, axes: axesWith(base, !single)})
			}
		}
	}
	return pairs
}

func (s side) variants() map[string]bool {
	names := map[string]bool{}
	for _, g := range s.groups {
		names[g.Variant] = true
	}
	return names
}

// axesWith are a cell's axes, with its variant as one more if there are several.
func axesWith(g *group, variant bool) map[string]string {
	axes := maps.Clone(g.Axes)
	if variant {
		if axes == nil {
			axes = map[string]string{}
		}
		axes["variant"] = g.Variant
	}
	return axes
}

// primaryOf are the primary measures of both, those of the first before others.
func primaryOf(b, h side) []design.Primary {
	primary := slices.Clone(b.result.Design.Primary)
	for _, p := range h.result.Design.Primary {
		if !slices.ContainsFunc(primary, func(o design.Primary) bool { return o.Measure == p.Measure && o.PromQL == p.PromQL }) {
			primary = append(primary, p)
		}
	}
	return primary
}

func nothingInCommon(b, h side) string {
	for _, s := range []side{b, h} {
		if !slices.ContainsFunc(s.groups, func(g *group) bool { return len(g.runs) > 0 }) {
			return fmt.Sprintf("no run of %s is whole", s.label)
		}
	}
	return fmt.Sprintf("they measured nothing alike; %s has phases %s, %s has %s", b.label, b.phases(), h.label, h.phases())
}

func (s side) phases() string {
	var names []string
	for _, run := range s.result.Runs {
		for name := range phasesOf(run) {
			if !slices.Contains(names, name) {
				names = append(names, name)
			}
		}
	}
	slices.Sort(names)
	return cmp.Or(strings.Join(names, ", "), "none")
}

// phasesOf are the measured phases of a run, with what they do.
func phasesOf(run *Run) facts {
	f := facts{}
	for _, p := range run.Phases() {
		if p.Measured {
			f[p.Name] = fmt.Sprintf("%s, %s, %d connections", p.Workload, p.Load, p.Connections)
		}
	}
	return f
}

// warnOfStrangers names what the directories warn of, each for itself, and what
// differs between them.
func (e *Experiment) warnOfStrangers(b, h side, pairs []pairing) {
	e.Warnings.add("directories", "the runs of both were not made side by side",
		"what the machine did to the one and not to the other looks like a difference; pairs of runs in blocks would not show it",
		"make both alternatives variants of one scenario")
	for _, s := range []side{b, h} {
		e.warnOf(s, slices.DeleteFunc(slices.Clone(s.result.Warnings), func(w Warning) bool { return w.About == "design" }))
	}
	for _, s := range []side{b, h} {
		if len(s.result.Runs) == 1 { // of several, the experiment has them
			e.warnOf(s, noiseIn(s.result.Runs, s.groups))
		}
	}
	fewest := math.MaxInt
	for _, p := range pairs {
		fewest = min(fewest, len(p.base.runs), len(p.head.runs))
		if len(p.base.runs) > 0 && len(p.head.runs) > 0 {
			e.warnOfDifferences(p.base.runs[0], p.head.runs[0], b.label, h.label)
		}
	}
	if fewest < 4 {
		e.Warnings.add("design", fmt.Sprintf("of 4 runs that are needed on each side there are %d", fewest), "with fewer there is no p value, and of one run nothing is known about how much runs differ", "run both with --repetitions 10")
	}
}

// warnOf takes over the warnings of a side.
func (e *Experiment) warnOf(s side, warnings []Warning) {
	for _, w := range warnings {
		e.Warnings.add(s.label+": "+w.About, w.What, w.Why, w.Mend)
	}
}

// warnOfDifferences names, each once, what differs between a run of the one
// directory and a run of the other.
func (e *Experiment) warnOfDifferences(x, y *Run, base, head string) {
	differ := func(about, what string) {
		w := Warning{about, "they differ in " + what, "the comparison shows this difference as well as any other", "make the experiments alike, but for what is compared"}
		if !slices.Contains(e.Warnings, w) {
			e.Warnings = append(e.Warnings, w)
		}
	}
	for _, f := range []struct {
		about string
		of    func(*Run) facts
	}{
		{"parameters", func(r *Run) facts { return r.Parameters }}, {"phases", phasesOf}, {"components", versionsOf},
		{"machine", func(r *Run) facts { return machineOf(r.Environment.Host) }},
	} {
		for _, what := range differing([]facts{f.of(x), f.of(y)}) {
			differ(f.about, what)
		}
	}
	lacking := func(has, lacks *Run, label string) {
		for _, name := range slices.Sorted(maps.Keys(phasesOf(has))) {
			if _, both := phasesOf(lacks)[name]; !both {
				differ("phases", "phase "+name+", which "+label+" does not have")
			}
		}
	}
	lacking(x, y, head)
	lacking(y, x, base)
}
