package report

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"

	"plimsoll.dev/plimsoll/internal/analysis"
	"plimsoll.dev/plimsoll/internal/measure"
	"plimsoll.dev/plimsoll/internal/stats"
)

// overlay is one quantity over time, of which every variant is drawn on the same axes.
type overlay struct {
	title, unit string // unit as in measure.Unit
	// line is a run's, by second of the run; nil if it has none.
	line func(*analysis.Figures) []float64
}

// Bounds of what is drawn.
const (
	overlayPoints = 150 // of a line
	mostSeries    = 8   // of a panel
)

// overlaysOf lists what there is to draw of cells: the panels that the scenario
// asks for, and then what each component used.
func overlaysOf(result *analysis.Result, cells []*analysis.Cell) []overlay {
	var all []overlay
	for i, p := range result.Design.Panels {
		lines := func(f *analysis.Figures) []analysis.Line {
			if i >= len(f.Panels) {
				return nil
			}
			return f.Panels[i].Lines
		}
		for _, labels := range highest(peaksOf(result, cells, lines, labelsOf), mostSeries) {
			title := p.Title + choose(labels != "", ": "+labels, "")
			all = append(all, overlay{title, p.Unit, pick(lines, labelsOf, labels)})
		}
	}
	for _, resource := range []struct {
		title string
		unit  measure.Unit
		lines func(*analysis.Figures) []analysis.Line
	}{
		{"CPU", measure.CPUs, func(f *analysis.Figures) []analysis.Line { return f.CPU }},
		{"resident memory", measure.Bytes, func(f *analysis.Figures) []analysis.Line { return f.RSS }},
	} {
		for _, component := range slices.Sorted(maps.Keys(peaksOf(result, cells, resource.lines, componentOf))) {
			all = append(all, overlay{component + ": " + resource.title, string(resource.unit), pick(resource.lines, componentOf, component)})
		}
	}
	return all
}

func labelsOf(l analysis.Line) string    { return l.Labels }
func componentOf(l analysis.Line) string { return l.Component }

// pick finds the line of a name.
func pick(lines func(*analysis.Figures) []analysis.Line, nameOf func(analysis.Line) string, name string) func(*analysis.Figures) []float64 {
	return func(f *analysis.Figures) []float64 {
		for _, line := range lines(f) {
			if nameOf(line) == name {
				return line.Values
			}
		}
		return nil
	}
}

// peaksOf gives the names of all runs' lines, with the largest value of each.
func peaksOf(result *analysis.Result, cells []*analysis.Cell, lines func(*analysis.Figures) []analysis.Line, nameOf func(analysis.Line) string) map[string]float64 {
	peaks := map[string]float64{}
	for _, cell := range cells {
		for _, run := range runsOf(result, cell) {
			if run.Figures == nil {
				continue
			}
			for _, line := range lines(run.Figures) {
				peak := peaks[nameOf(line)]
				for _, v := range line.Values {
					if finite(v) {
						peak = max(peak, v)
					}
				}
				peaks[nameOf(line)] = peak
			}
		}
	}
	return peaks
}

// highest keeps the names of the highest peaks, in the order of the alphabet.
func highest(peaks map[string]float64, most int) []string {
	names := slices.Sorted(maps.Keys(peaks))
	slices.SortStableFunc(names, func(a, b string) int { return cmp.Compare(peaks[b], peaks[a]) })
	names = names[:min(most, len(names))]
	slices.Sort(names)
	return names
}

// overlayFigures draws overlays of cells, a line per cell, all on the same axis
// of time from the beginning of the first measured step.
func overlayFigures(result *analysis.Result, cells []*analysis.Cell, overlays []overlay) []figure {
	var ribbons [][]ribbon
	longest := 1.0
	for _, o := range overlays {
		var of []ribbon
		for _, cell := range cells {
			if r := newRibbon(result, cell, o.line); r.runs > 0 {
				of = append(of, r)
				longest = max(longest, r.at[len(r.at)-1])
			}
		}
		ribbons = append(ribbons, of)
	}
	var figures []figure
	for i, o := range overlays {
		if f, ok := o.draw(result, ribbons[i], longest); ok {
			figures = append(figures, f)
		}
	}
	return figures
}

func (o overlay) draw(result *analysis.Result, ribbons []ribbon, longest float64) (figure, bool) {
	var tops []float64
	for _, r := range ribbons {
		tops = append(tops, r.hi...)
	}
	y, ok := around(append(tops, 0), false, 176, 8)
	if len(ribbons) == 0 || !ok {
		return figure{}, false
	}
	d := newDrawing(plotWidth, 216)
	x := axis{lo: 0, hi: longest, from: 62, to: plotWidth - 10}
	write := usageWriter(o.unit)
	d.frameOf(o.unit, x, &y, tickSeconds, write)
	f := figure{Title: o.title}
	for _, r := range ribbons {
		n := variantNumber(result, r.cell.Variant)
		r.draw(d, x, y, n, write)
		f.Legend = append(f.Legend, legendEntry{Colour: n % palette, Dashed: n%2 == 1, Name: fmt.Sprintf("%s (%s)", cellName(r.cell), plural(r.runs, "run", "runs"))})
	}
	d.text("tick", "end", plotWidth-8, 210, "time since measuring began")
	d.text("tick", "start", 0, 210, o.unit)
	f.Narrow = d.svg("usage", o.title+" over time: median over runs, and the band from the least to the greatest run")
	return f, true
}

func cellName(cell *analysis.Cell) string {
	if cell.Variant == "" {
		return "all runs"
	}
	return cell.Variant
}

// ribbon is the median over runs and the band from the least to the greatest, by
// time since the measured steps began.
type ribbon struct {
	cell           *analysis.Cell
	at             []float64
	middle, lo, hi []float64
	runs           int
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
