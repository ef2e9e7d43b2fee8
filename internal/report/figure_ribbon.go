package report

import (
	"fmt"
	"math"
	"slices"

	"plimsoll.dev/plimsoll/internal/analysis"
	"plimsoll.dev/plimsoll/internal/stats"
)

// ribbon is the median over runs and the band from the least to the greatest, by
// time since the measured steps began.
type ribbon struct {
	cell           *analysis.Cell
	at             []float64
	middle, lo, hi []float64
	runs           int
}

// measuredSpan is the seconds from the first measured step's start to the last one's end.
func measuredSpan(run *analysis.Run) (from, to int) {
	from = -1
	for _, step := range run.Steps {
		if step.Measured && step.End > step.Start {
			if from < 0 {
				from = int(step.Start)
			}
			to = int(math.Ceil(step.End))
		}
	}
	return max(from, 0), to
}

// add sums up a span of seconds: the median of the runs' means, and the extremes of all seconds.
func (r *ribbon) add(all [][]float64, from, to int) {
	var means, every []float64
	for _, line := range all {
		values := slices.DeleteFunc(slices.Clone(line[min(from, len(line)):min(to, len(line))]), func(v float64) bool { return !finite(v) })
		if len(values) > 0 {
			means, every = append(means, stats.Mean(values)), append(every, values...)
		}
	}
	if len(means) == 0 {
		r.push(float64(from), math.NaN(), math.NaN(), math.NaN())
		return
	}
	r.push(float64(from), slices.Min(every), stats.Median(means), slices.Max(every))
}

func (r *ribbon) push(at, lo, middle, hi float64) {
	r.at, r.lo, r.middle, r.hi = append(r.at, at), append(r.lo, lo), append(r.middle, middle), append(r.hi, hi)
}

func (r *ribbon) draw(d *drawing, x, y axis, variant int, write func(float64) string) {
	for _, span := range spans(r.middle) {
		at, middle := r.at[span[0]:span[1]], r.middle[span[0]:span[1]]
		if r.runs > 1 {
			around := slices.Concat(at, at)
			slices.Reverse(around[len(at):])
			edge := slices.Concat(r.hi[span[0]:span[1]], r.lo[span[0]:span[1]])
			slices.Reverse(edge[len(at):])
			d.path(fmt.Sprintf("ribbon f%d", variant%palette), pathThrough(x, y, around, edge)+"z")
		}
		if len(at) <= 2 { // a line of one point has no length
			for i, v := range middle {
				d.dot(fmt.Sprintf("f%d", variant%palette), x.at(at[i]), y.at(v), 3, write(v))
			}
		}
		d.path(fmt.Sprintf("median c%d%s", variant%palette, choose(variant%2 == 1, " dashed", "")), pathThrough(x, y, at, middle))
	}
}

// spans are the stretches without a gap, from the first to behind the last.
func spans(values []float64) [][2]int {
	var all [][2]int
	for i := 0; i < len(values); i++ {
		from := i
		for i < len(values) && finite(values[i]) {
			i++
		}
		if i > from {
			all = append(all, [2]int{from, i})
		}
	}
	return all
}

// ribbonAlong gathers values by their places on an axis, in as many steps as a
// small figure shows. In time a step without a value is a gap; among numbers of
// objects it is one that was passed over.
func ribbonAlong(at, values []float64, x axis, inTime bool) ribbon {
	n := overlayPoints
	if inTime {
		n = max(1, min(n, int(x.hi-x.lo)))
	}
	steps := make([][]float64, n)
	for i, place := range at {
		if i < len(values) && finite(values[i]) && x.holds(place) {
			step := int((place - x.lo) / (x.hi - x.lo) * float64(n))
			steps[min(step, n-1)] = append(steps[min(step, n-1)], values[i])
		}
	}
	var r ribbon
	for i, found := range steps {
		if len(found) == 0 && !inTime {
			continue
		}
		at := x.lo + (float64(i)+0.5)/float64(n)*(x.hi-x.lo)
		if len(found) == 0 {
			r.push(at, math.NaN(), math.NaN(), math.NaN())
			continue
		}
		slices.Sort(found)
		r.push(at, found[0], found[len(found)/2], found[len(found)-1])
	}
	return r
}

func newRibbon(result *analysis.Result, cell *analysis.Cell, values func(*analysis.Figures) []float64) ribbon {
	r := ribbon{cell: cell}
	var all [][]float64
	longest := 0
	for _, run := range runsOf(result, cell) {
		from, to := measuredSpan(run)
		if run.Figures == nil || to <= from {
			continue
		}
		line := values(run.Figures)
		line = line[min(from, len(line)):min(to, len(line))]
		if !slices.ContainsFunc(line, finite) {
			continue
		}
		all = append(all, line)
		longest = max(longest, len(line))
	}
	r.runs = len(all)
	bucket := max(1, (longest+overlayPoints-1)/overlayPoints)
	for from := 0; from < longest; from += bucket {
		r.add(all, from, from+bucket)
	}
	return r
}
