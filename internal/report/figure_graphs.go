package report

import (
	"fmt"
	"html/template"
	"math"
	"slices"

	"plimsoll.dev/plimsoll/internal/analysis"
	"plimsoll.dev/plimsoll/internal/stats"
)

// graphRow is one quantity over time: a figure for each cell, side by side, on
// the same axes, and one legend for all.
type graphRow struct {
	Title   string
	Figures []figure
	Legend  []legendEntry
}

// Bounds of what is drawn.
const (
	graphPoints = 200 // of a line
	mostLines   = 7   // of a graph, which is as many as there are colours
	// besideWidth is the width of one of two figures side by side; more have that of all small figures.
	besideWidth = 560
)

// graphRows draws how the control plane fared, over the time from the first
// measured step on; the time axis is the same in all figures.
func graphRows(result *analysis.Result) []graphRow {
	if len(result.Clients) == 0 {
		return nil
	}
	cells := graphCells(result)
	longest := 0.0
	var all []analysis.Graph
	for _, cell := range cells {
		for _, graphs := range cell.runs {
			all = append(all, graphs...)
		}
	}
	for _, g := range all {
		for _, l := range g.Lines {
			longest = max(longest, float64(len(l.Values)-1)*analysis.GraphStep)
		}
	}
	slices.SortStableFunc(all, func(a, b analysis.Graph) int { return a.Place - b.Place })
	var rows []graphRow
	for _, same := range analysis.GroupBy(all, func(g analysis.Graph) string { return g.Title }) {
		rows = append(rows, newGraphRow(same[0], cells, longest))
	}
	return rows
}

// graphCell is a cell with the graphs of each of its runs.
type graphCell struct {
	name string
	runs [][]analysis.Graph
}

func graphCells(result *analysis.Result) []graphCell {
	var cells []graphCell
	for _, c := range result.Clients[0].Cells {
		cell := graphCell{name: clientCellName(c)}
		for _, run := range result.Runs {
			if slices.Contains(c.Runs, run.Index) && run.Figures != nil {
				cell.runs = append(cell.runs, run.Figures.Graphs)
			}
		}
		cells = append(cells, cell)
	}
	return cells
}

// newGraphRow draws the median over the runs of each cell.
func newGraphRow(g analysis.Graph, cells []graphCell, longest float64) graphRow {
	row := graphRow{Title: g.Title}
	bucket := max(1, int(math.Ceil(longest/analysis.GraphStep/graphPoints)))
	drawn := make([][]analysis.GraphLine, len(cells))
	peaks := map[string]float64{}
	for i, cell := range cells {
		drawn[i] = cell.lines(g.Title, bucket)
		for _, l := range drawn[i] {
			for _, v := range l.Values {
				if finite(v) {
					peaks[l.Name] = max(peaks[l.Name], v)
				}
			}
		}
	}
	names := highest(peaks, mostLines)
	var tops []float64
	for _, name := range names {
		tops = append(tops, peaks[name])
	}
	for i, name := range names {
		row.Legend = append(row.Legend, legendEntry{Colour: i % palette, Name: name})
	}
	if left := len(peaks) - len(names); left > 0 {
		row.Legend = append(row.Legend, legendEntry{Colour: palette - 1, Dashed: true, Name: fmt.Sprintf("%d lower lines are not drawn", left)})
	}
	for i, cell := range cells {
		draw := func(class string, width float64) template.HTML {
			return drawGraph(g, cell.name, class, drawn[i], names, tops, axis{hi: longest, to: width}, float64(bucket))
		}
		f := figure{Title: cell.name, Narrow: draw("usage", plotWidth)}
		if len(cells) <= 2 {
			f.Wide, f.Narrow = draw("wide", besideWidth), draw("narrow", plotWidth)
		}
		row.Figures = append(row.Figures, f)
	}
	return row
}

// lines are the medians over the runs of means of so many values each. A line
// that a run does not have was nothing in it.
func (c graphCell) lines(title string, bucket int) []analysis.GraphLine {
	found := make([][]analysis.GraphLine, len(c.runs))
	longest := 0
	for i, graphs := range c.runs {
		at := slices.IndexFunc(graphs, func(g analysis.Graph) bool { return g.Title == title })
		if at >= 0 {
			found[i] = graphs[at].Lines
			longest = max(longest, len(found[i][0].Values))
		}
	}
	var medians []analysis.GraphLine
	for _, same := range analysis.GroupBy(slices.Concat(found...), func(l analysis.GraphLine) string { return l.Name }) {
		line := analysis.GraphLine{Name: same[0].Name}
		for from := 0; from < longest; from += bucket {
			var means []float64
			for _, lines := range found {
				values := valuesOf(lines, line.Name)
				means = append(means, stats.Mean(values[min(from, len(values)):min(from+bucket, len(values))]))
			}
			line.Values = append(line.Values, stats.Median(means))
		}
		medians = append(medians, line)
	}
	return medians
}

// valuesOf are those of a line of a graph; all of them 0, if only others were more.
func valuesOf(lines []analysis.GraphLine, name string) []float64 {
	for _, l := range lines {
		if l.Name == name {
			return l.Values
		}
	}
	if len(lines) == 0 {
		return nil
	}
	return make([]float64, len(lines[0].Values))
}

// drawGraph draws the lines of a cell, over a time and as wide as the axis says.
func drawGraph(g analysis.Graph, cell, class string, lines []analysis.GraphLine, names []string, tops []float64, time axis, bucket float64) template.HTML {
	d := newDrawing(time.to, 196)
	x := axis{lo: 0, hi: max(1, time.hi), from: 58, to: time.to - 12}
	y, _ := around(append(tops, 0), false, 160, 8)
	d.frameOf(g.Unit, x, &y, tickSeconds, usageWriter(g.Unit))
	if len(lines) == 0 {
		d.path("one", fmt.Sprintf("M%.1f %.1fL%.1f %.1f", x.from, y.at(0), x.to, y.at(0)))
		d.text("tick", "middle", (x.from+x.to)/2, 88, "nothing")
	}
	for i, name := range names {
		at := slices.IndexFunc(lines, func(l analysis.GraphLine) bool { return l.Name == name })
		if at < 0 {
			continue
		}
		for _, span := range spans(lines[at].Values) {
			var moments []float64
			for j := span[0]; j < span[1]; j++ {
				moments = append(moments, float64(j)*bucket*analysis.GraphStep)
			}
			d.path(fmt.Sprintf("median c%d", i%palette), pathThrough(x, y, moments, lines[at].Values[span[0]:span[1]]))
		}
	}
	return d.svg(class, g.Title+" over time, "+cell)
}
