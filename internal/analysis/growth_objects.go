package analysis

import (
	"cmp"
	"math"
	"slices"
	"strings"

	"plimsoll.dev/plimsoll/internal/measure"
	"plimsoll.dev/plimsoll/internal/stats"
)

// mostBins is into how many steps of the number of objects a growing run is parted at the most.
const mostBins = 50

// alongObjects says how each metric of the write-up grows with the number of
// objects, of the cells whose runs have grown. Of several members of etcd the one
// that has most counts.
func alongObjects(groups []*group) []*Growth {
	var all []*Growth
	for _, metric := range WriteUp() {
		if metric.Aside {
			continue
		}
		for _, component := range componentsWith(groups, metric) {
			for _, g := range groups {
				all = appendGrowth(all, g.alongObjects(metric, component))
			}
		}
	}
	slices.SortStableFunc(all, func(a, b *Growth) int { return cmp.Compare(rankOfUse(a), rankOfUse(b)) })
	return all
}

// rankOfUse sets what was asked about, the datastore and the API server, before
// other components, and what each object costs before how the rest grows.
func rankOfUse(g *Growth) int {
	rank := 0
	if g.Line == nil {
		rank = 1
	}
	if !slices.ContainsFunc(askedAbout(), func(name string) bool { return strings.HasPrefix(g.Name, name+", ") }) {
		rank += 2
	}
	return rank
}

func askedAbout() []string { return []string{"etcd", "kine", "kube-apiserver"} }

// componentsWith are those that a metric is of, without the numbers of members:
// first datastores, then API servers, then the others.
func componentsWith(groups []*group, metric Metric) []string {
	var names []string
	for _, g := range groups {
		for _, run := range g.runs {
			if !run.grew() {
				continue
			}
			for _, column := range run.Objects.joined.Of(metric) {
				if name := column.Family(); !slices.Contains(names, name) {
					names = append(names, name)
				}
			}
		}
	}
	rank := func(name string) int {
		if at := slices.Index(askedAbout(), name); at >= 0 {
			return at
		}
		return len(askedAbout())
	}
	slices.SortFunc(names, func(a, b string) int { return cmp.Or(cmp.Compare(rank(a), rank(b)), cmp.Compare(a, b)) })
	return names
}

// alongObjects is how a metric of a component grows in the runs of a cell; nil if
// they have not grown, or have no such metric.
func (g *group) alongObjects(metric Metric, component string) *Growth {
	highest, parameter := 0.0, ""
	for _, run := range g.runs {
		if run.grew() {
			highest, parameter = max(highest, run.Objects.Counts[0].Max), run.Objects.Counts[0].String()
		}
	}
	width := binWidth(highest)
	var samples []valueAt
	for _, run := range g.runs {
		if run.grew() {
			samples = append(samples, run.binned(metric, component, width)...)
		}
	}
	if !slices.ContainsFunc(samples, func(v valueAt) bool { return v.value > 0 }) {
		return nil
	}
	subject := Subject{Name: component + ", " + metric.Title, PromQL: metric.PromQL, Unit: metric.Unit, Better: measure.Lower}
	positive := slices.DeleteFunc(slices.Clone(samples), func(v valueAt) bool { return v.at <= 0 }) // a logarithm has no zero
	growth := grown(subject, g.Cell.Cell, parameter, positive, g.all)
	if growth == nil {
		return nil
	}
	growth.Binned = true
	if metric.Unit == string(measure.Bytes) {
		line := stats.Linear(statsPoints(samples))
		growth.Line = &line
	}
	return growth
}

func statsPoints(samples []valueAt) []stats.Point {
	var points []stats.Point
	for _, s := range samples {
		points = append(points, stats.Point{X: s.at, Y: s.value, Run: s.run})
	}
	return points
}

// binWidth is a round number of objects, as wide as it takes for few bins.
func binWidth(highest float64) float64 {
	for width := 1.0; ; width *= 10 {
		for _, m := range []float64{1, 2, 5} {
			if highest/(width*m) < mostBins {
				return width * m
			}
		}
	}
}

// binned is the mean of a metric by the number of objects, each with those
// seconds in which there were about as many.
func (r *Run) binned(metric Metric, component string, width float64) []valueAt {
	most := r.Objects.mostOf(metric, component)
	bins := map[float64][]float64{}
	for row, n := range r.Objects.Numbers {
		if number(n) != nil && number(most[row]) != nil {
			at := width * math.Round(n/width)
			bins[at] = append(bins[at], most[row])
		}
	}
	var values []valueAt
	for at, bin := range bins {
		values = append(values, valueAt{at: at, value: stats.Mean(bin), run: r.Index})
	}
	slices.SortFunc(values, func(a, b valueAt) int { return cmp.Compare(a.at, b.at) })
	return values
}
