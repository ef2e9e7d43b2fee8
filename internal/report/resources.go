package report

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"plimsoll.dev/plimsoll/internal/analysis"
)

// resourcePoints is how many points of a line are drawn in a small figure.
const resourcePoints = 150

// resourceFigures draws what each component used over the measured steps: a
// figure per component, a line per cell.
func resourceFigures(result *analysis.Result, cells []*analysis.Cell) []figure {
	var figures []figure
	for _, resource := range []struct {
		title, unit string
		lines       func(*analysis.Figures) []analysis.Line
	}{
		{"CPU", "CPUs", func(f *analysis.Figures) []analysis.Line { return f.CPU }},
		{"resident memory", "bytes", func(f *analysis.Figures) []analysis.Line { return f.RSS }},
	} {
		for _, component := range componentsOf(result, cells, resource.lines) {
			f, ok := resourceFigure(result, cells, func(f *analysis.Figures) []float64 {
				for _, line := range resource.lines(f) {
					if line.Component == component {
						return line.Values
					}
				}
				return nil
			}, resource.unit)
			if ok {
				f.Title = component + ": " + resource.title
				figures = append(figures, f)
			}
		}
	}
	return figures
}

func componentsOf(result *analysis.Result, cells []*analysis.Cell, lines func(*analysis.Figures) []analysis.Line) []string {
	var names []string
	for _, cell := range cells {
		for _, run := range runsOf(result, cell) {
			if run.Figures == nil {
				continue
			}
			for _, line := range lines(run.Figures) {
				if !slices.Contains(names, line.Component) {
					names = append(names, line.Component)
				}
			}
		}
	}
	slices.Sort(names)
	return names
}

// ribbon is the median over runs and the band from the least to the greatest, by
// time since the measured steps began.
type ribbon struct {
	cell            *analysis.Cell
	at              []float64
	middle, lo, hi  []float64
	runs, lastPoint int
}

func resourceFigure(result *analysis.Result, cells []*analysis.Cell, values func(*analysis.Figures) []float64, unit string) (figure, bool) {
	var ribbons []ribbon
	var tops []float64
	longest := 0.0
	for _, cell := range cells {
		r := newRibbon(result, cell, values)
		if r.runs > 0 {
			ribbons = append(ribbons, r)
			tops = append(tops, r.hi...)
			longest = max(longest, r.at[len(r.at)-1])
		}
	}
	y, ok := around(append(tops, 0), false, 176, 8)
	if len(ribbons) == 0 || !ok {
		return figure{}, false
	}
	if unit == "bytes" {
		y.hi = math.Pow(2, math.Ceil(math.Log2(y.hi)*2)/2) // so that binary ticks fit
	}
	d := newDrawing(plotWidth, 216)
	x := axis{lo: 0, hi: max(1, longest), from: 62, to: plotWidth - 10}
	write := func(v float64) string { return choose(v == 0, "0", significantBrief(v)) }
	if unit == "bytes" {
		write = func(v float64) string { return choose(v == 0, "0", brief(memory(v))) }
		d.frameAt(x, y, binaryTicks(y), tickSeconds, write)
	} else {
		d.frame(x, y, tickSeconds, write)
	}
	var f figure
	for _, r := range ribbons {
		n := variantNumber(result, r.cell.Variant)
		r.draw(d, x, y, n)
		f.Legend = append(f.Legend, legendEntry{Colour: n % palette, Dashed: n%2 == 1, Name: fmt.Sprintf("%s (%s)", cellName(r.cell), plural(r.runs, "run", "runs"))})
	}
	d.text("tick", "end", plotWidth-8, 210, "time since measuring began")
	d.text("tick", "start", 0, 210, unit)
	f.Narrow = d.svg("usage", "Use over time: median over runs, and the band from the least to the greatest run")
	return f, true
}

func significantBrief(v float64) string { return brief(significant(v)) }

func cellName(cell *analysis.Cell) string {
	if cell.Variant == "" {
		return "all runs"
	}
	return cell.Variant
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
	bucket := max(1, (longest+resourcePoints-1)/resourcePoints)
	for from := 0; from < longest; from += bucket {
		r.add(all, from, from+bucket)
	}
	return r
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
	lo, hi := math.Inf(1), math.Inf(-1)
	var means []float64
	for _, line := range all {
		sum, n := 0.0, 0
		for i := from; i < min(to, len(line)); i++ {
			if finite(line[i]) {
				lo, hi = min(lo, line[i]), max(hi, line[i])
				sum += line[i]
				n++
			}
		}
		if n > 0 {
			means = append(means, sum/float64(n))
		}
	}
	r.at = append(r.at, float64(from))
	if len(means) == 0 {
		r.middle, r.lo, r.hi = append(r.middle, math.NaN()), append(r.lo, math.NaN()), append(r.hi, math.NaN())
		return
	}
	slices.Sort(means)
	r.middle = append(r.middle, (means[(len(means)-1)/2]+means[len(means)/2])/2)
	r.lo, r.hi = append(r.lo, lo), append(r.hi, hi)
}

func (r *ribbon) draw(d *drawing, x, y axis, variant int) {
	for _, span := range spans(r.middle) {
		var up, down, line strings.Builder
		for i := span[0]; i < span[1]; i++ {
			fmt.Fprintf(&up, "%s%.1f %.1f", choose(i == span[0], "M", "L"), x.at(r.at[i]), y.at(r.hi[i]))
			fmt.Fprintf(&line, "%s%.1f %.1f", choose(i == span[0], "M", "L"), x.at(r.at[i]), y.at(r.middle[i]))
		}
		for i := span[1] - 1; i >= span[0]; i-- {
			fmt.Fprintf(&down, "L%.1f %.1f", x.at(r.at[i]), y.at(r.lo[i]))
		}
		if r.runs > 1 {
			d.path(fmt.Sprintf("ribbon f%d", variant%palette), up.String()+down.String()+"z")
		}
		if span[1]-span[0] <= 2 { // a line of one point has no length
			for i := span[0]; i < span[1]; i++ {
				d.dot(fmt.Sprintf("f%d", variant%palette), x.at(r.at[i]), y.at(r.middle[i]), 3, significantBrief(r.middle[i]))
			}
		}
		d.path(fmt.Sprintf("median c%d%s", variant%palette, choose(variant%2 == 1, " dashed", "")), line.String())
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

// binaryTicks are powers of two, or multiples of one.
func binaryTicks(a axis) []float64 {
	step := math.Pow(2, math.Ceil(math.Log2(a.hi/5)))
	var all []float64
	for v := 0.0; v <= a.hi*1.0001; v += step {
		all = append(all, v)
	}
	return all
}
