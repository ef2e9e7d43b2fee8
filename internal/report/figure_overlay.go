package report

import (
	"cmp"
	"fmt"
	"maps"
	"slices"

	"plimsoll.dev/plimsoll/internal/analysis"
	"plimsoll.dev/plimsoll/internal/measure"
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
