package report

import (
	"fmt"
	"math"
	"strings"

	"plimsoll.dev/plimsoll/internal/analysis"
)

// A heatmap is drawn with columns and shades enough to see what happened, and few enough to open quickly.
const (
	heatColumns = 110
	heatShades  = 6
)

// newHeatmaps draws when operations of a run took how long: a figure for each
// operation, measured phases first.
func newHeatmaps(run *analysis.Run, most int) []figure {
	if run.Figures == nil {
		return nil
	}
	var figures []figure
	for _, h := range run.Figures.Heatmaps {
		if f, ok := newHeatmap(h); ok && len(figures) < most {
			figures = append(figures, f)
		}
	}
	return figures
}

func newHeatmap(h analysis.Heatmap) (figure, bool) {
	h = merged(h, heatColumns)
	first, last, most := extent(h)
	if first > last || h.Width <= 0 || last+1 >= len(h.Edges) || h.Edges[first] <= 0 {
		return figure{}, false
	}
	d := newDrawing(plotWidth, 230)
	x := axis{lo: h.Start, hi: h.Start + h.Width*float64(len(h.Counts)), from: 58, to: plotWidth - 8}
	y := axis{lo: h.Edges[first], hi: h.Edges[last+1], from: 182, to: 10, log: true}
	for shade, data := range shadesOf(h, x, y, first, last, most) {
		d.path(fmt.Sprintf("heat h%d", shade+1), data)
	}
	d.frame(x, y, tickSeconds, tickSeconds)
	d.text("tick", "end", plotWidth-8, 222, "time since the run began")
	d.text("tick", "start", 0, 222, h.Clock+" time, log.")
	name := h.Phase + "." + h.Operation
	return figure{
		Title:   name,
		Caption: fmt.Sprintf("%s time. A cell is %s wide; the darkest holds %s operations.", upperName(h.Clock), seconds(h.Width), count(most)),
		Narrow:  d.svg("heatmap", fmt.Sprintf("Heatmap: %s time of %s over time; from %s to %s", h.Clock, name, seconds(h.Edges[first]), seconds(h.Edges[last+1]))),
	}, true
}

// merged adds neighbouring columns up until there are few enough.
func merged(h analysis.Heatmap, most int) analysis.Heatmap {
	n := (len(h.Counts) + most - 1) / most
	if n <= 1 {
		return h
	}
	var columns [][]int64
	for from := 0; from < len(h.Counts); from += n {
		sum := make([]int64, max(0, len(h.Edges)-1))
		for _, column := range h.Counts[from:min(from+n, len(h.Counts))] {
			for i := range min(len(sum), len(column)) {
				sum[i] += column[i]
			}
		}
		columns = append(columns, sum)
	}
	h.Counts, h.Width = columns, h.Width*float64(n)
	return h
}

// extent is the first and the last row that counts anything, and the most of a cell.
func extent(h analysis.Heatmap) (first, last int, most int64) {
	first, last = math.MaxInt, -1
	for _, column := range h.Counts {
		for row, n := range column {
			if n > 0 && row < len(h.Edges)-1 {
				first, last, most = min(first, row), max(last, row), max(most, n)
			}
		}
	}
	return first, last, most
}

// shadesOf gives each shade a path. Shades are logarithmic in counts, so that a single slow operation is seen.
func shadesOf(h analysis.Heatmap, x, y axis, first, last int, most int64) [heatShades]string {
	var paths [heatShades]strings.Builder
	wide := x.at(h.Start+h.Width) - x.at(h.Start)
	for i, column := range h.Counts {
		left := x.at(h.Start + h.Width*float64(i))
		for row := first; row <= min(last, len(column)-1); row++ {
			if column[row] <= 0 {
				continue
			}
			shade := 0
			if most > 1 {
				shade = int(math.Log(float64(column[row])) / math.Log(float64(most)) * (heatShades - 0.01))
			}
			low, high := y.at(h.Edges[row]), y.at(h.Edges[row+1])
			fmt.Fprintf(&paths[min(shade, heatShades-1)], "M%.1f %.1fh%.1fv%.1fh-%.1fz", left, high, wide, low-high, wide)
		}
	}
	var data [heatShades]string
	for i := range paths {
		data[i] = paths[i].String()
	}
	return data
}
