package report

import (
	"cmp"
	"fmt"
	"html/template"
	"slices"
	"strings"

	"plimsoll.dev/plimsoll/internal/analysis"
	"plimsoll.dev/plimsoll/internal/design"
	"plimsoll.dev/plimsoll/internal/measure"
)

// place is the figures of the cells at the same values of the axes.
type place struct {
	Where  string
	Curves []figure
	Usage  []figure
}

// Figures of a comparison are bounded, so that the page of a large experiment opens quickly.
const (
	mostCurves     = 8 // operations, at each place
	curvePoints    = 60
	mostPlaces     = 12
	placesOfCurves = 40 // runs whose curves are drawn one by one in a figure
)

// newPlaces draws the figures that hold variants against each other, for each
// combination of the axes' values.
func newPlaces(result *analysis.Result) []place {
	groups := analysis.GroupBy(result.Cells, func(c *analysis.Cell) string { return design.Cell{Axes: c.Axes}.Key() })
	var places []place
	for _, group := range groups[:min(len(groups), mostPlaces)] {
		at := place{Where: placeWords(group[0].Axes, nil), Curves: curveFigures(result, group)}
		if !searched(result) { // of different loads there is nothing to sum up
			at.Usage = overlayFigures(result, group, overlaysOf(result, group))
		}
		places = append(places, at)
	}
	return places
}

// searched says that the runs are each under a load of their own.
func searched(result *analysis.Result) bool {
	return slices.ContainsFunc(result.Runs, func(r *analysis.Run) bool { return r.Probe != nil })
}

// traced is an operation by one clock.
type traced struct{ phase, operation, clock string }

// curveFigures draws the percentile curves of operations: those that primary measures are of, first.
func curveFigures(result *analysis.Result, cells []*analysis.Cell) []figure {
	var all []traced
	for _, cell := range cells {
		for _, run := range runsOf(result, cell) {
			if run.Figures == nil {
				continue
			}
			for _, c := range run.Figures.Curves {
				t := traced{c.Phase, c.Operation, c.Clock}
				if len(c.Points) > 0 && !slices.Contains(all, t) {
					all = append(all, t)
				}
			}
		}
	}
	wanted := primaryTraces(result)
	slices.SortStableFunc(all, func(a, b traced) int {
		return choose(slices.Contains(wanted, a), 0, 1) - choose(slices.Contains(wanted, b), 0, 1)
	})
	var figures []figure
	for _, t := range all[:min(len(all), mostCurves)] {
		figures = append(figures, curvesOf(result, cells, t))
	}
	return figures
}

func primaryTraces(result *analysis.Result) []traced {
	var wanted []traced
	for _, p := range result.Design.Primary {
		if m, err := measure.Parse(p.Measure); err == nil && m.Clock != "" {
			wanted = append(wanted, traced{m.Phase, m.Operation, m.Clock})
		}
	}
	return wanted
}

// curvesOf draws the curve of each run, thin, in the colour of its variant.
func curvesOf(result *analysis.Result, cells []*analysis.Cell, t traced) figure {
	f := figure{Title: t.phase + "." + t.operation + ": " + t.clock + " time"}
	var curves []analysis.Curve
	var numbers []int
	var names []string
	for _, cell := range cells {
		n, drawn, samples := variantNumber(result, cell.Variant), 0, int64(0)
		for _, run := range byProbe(runsOf(result, cell)) {
			if c, ok := curveOf(run, t); ok && run.Probe != nil && drawn < placesOfCurves {
				n := len(curves)
				name := strings.TrimSpace(cell.Variant + " " + run.Probe.String())
				curves, numbers, names = append(curves, c), append(numbers, n), append(names, name)
				f.Legend = append(f.Legend, legendEntry{n % palette, n%2 == 1, fmt.Sprintf("%s (n = %s)", name, count(c.Count))})
				continue
			} else if ok && drawn < placesOfCurves {
				curves, numbers = append(curves, c), append(numbers, n)
				names = append(names, fmt.Sprintf("%s, run %d", cellName(cell), run.Index))
				drawn++
				samples += c.Count
			}
		}
		if drawn > 0 {
			f.Legend = append(f.Legend, legendEntry{n % palette, n%2 == 1, fmt.Sprintf("%s (%s, n = %s)", cellName(cell), plural(drawn, "run", "runs"), count(samples))})
		}
	}
	f.Narrow = drawCurves(curves, numbers, names, f.Title)
	return f
}

// byProbe orders the runs of a search by the value that they tried.
func byProbe(runs []*analysis.Run) []*analysis.Run {
	sorted := slices.Clone(runs)
	slices.SortStableFunc(sorted, func(a, b *analysis.Run) int {
		if a.Probe == nil || b.Probe == nil {
			return 0
		}
		return cmp.Compare(a.Probe.Value, b.Probe.Value)
	})
	return sorted
}

func curveOf(run *analysis.Run, t traced) (analysis.Curve, bool) {
	if run.Figures != nil {
		for _, c := range run.Figures.Curves {
			if (traced{c.Phase, c.Operation, c.Clock}) == t && len(c.Points) > 0 {
				c.Points = thinned(c.Points)
				return c, true
			}
		}
	}
	return analysis.Curve{}, false
}

// thinned keeps points that lie evenly along the axis of nines, and the last.
func thinned(points []analysis.Point) []analysis.Point {
	if len(points) <= curvePoints {
		return points
	}
	step := nines(points[len(points)-1].Quantile) / curvePoints
	var kept []analysis.Point
	next := 0.0
	for i, p := range points {
		if at := nines(p.Quantile); at >= next || i == len(points)-1 {
			kept = append(kept, p)
			next = at + step
		}
	}
	return kept
}

func drawCurves(curves []analysis.Curve, numbers []int, names []string, title string) template.HTML {
	f := &curveFigure{Width: plotWidth, Height: 262, Left: 58, Right: plotWidth - 12, Top: 8, Bottom: 218}
	scale := f.scale(curves)
	d := newDrawing(f.Width, f.Height)
	for _, row := range f.Rows {
		d.line(choose(row.Label == "", "rule minor", "rule"), f.Left, row.At, f.Right, row.At)
		if row.Label != "" {
			d.text("tick", "end", f.Left-6, row.At+4, row.Label)
		}
	}
	last := -100.0
	for _, column := range f.Columns {
		d.line("rule", column.At, f.Top, column.At, f.Bottom)
		if column.At-last > 46 {
			d.text("tick", "middle", min(column.At, f.Width-22), f.Bottom+17, column.Label)
			last = column.At
		}
	}
	for i, c := range curves {
		trace := scale.trace(c.Points)
		class := fmt.Sprintf("thin c%d%s", numbers[i]%palette, choose(numbers[i]%2 == 1, " dashed", ""))
		d.path(class, path(trace))
		end := trace[len(trace)-1]
		d.dot(fmt.Sprintf("f%d", numbers[i]%palette), end.x, end.y, 2.2, fmt.Sprintf("%s: slowest %s", names[i], seconds(c.Points[len(c.Points)-1].Seconds)))
	}
	d.text("tick", "end", f.Width-8, f.Height-4, "percentile of operations")
	d.text("tick", "start", 0, f.Height-4, "time, log.")
	return d.svg("curves", "Percentile curves of "+title+", a line per run, coloured by variant")
}
