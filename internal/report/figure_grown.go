package report

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"plimsoll.dev/plimsoll/internal/analysis"
	"plimsoll.dev/plimsoll/internal/measure"
)

// grownView is what the page shows of a run that observed objects.
type grownView struct {
	Counts     []string
	Parameter  string
	Against    []figure // metrics against the number of objects
	Over       []figure // metrics over time
	Idle       []string // metrics that were zero all the time
	Complaints []analysis.Complaint
}

// newGrownView is nil for a run that observed no objects.
func newGrownView(result *analysis.Result, run *analysis.Run) *grownView {
	if run.Objects == nil || run.Figures == nil || run.Figures.Joined == nil {
		return nil
	}
	v := &grownView{Parameter: run.Objects.Counts[0].String(), Complaints: run.Objects.Complaints}
	for _, c := range run.Objects.Counts {
		v.Counts = append(v.Counts, countWords(c))
	}
	broke := brokenIn(result, run)
	for _, metric := range analysis.WriteUp() {
		columns := run.Figures.Joined.Of(metric)
		switch {
		case len(columns) == 0 || metric.Aside:
			continue
		case allZero(columns):
			v.Idle = append(v.Idle, metric.Title)
			continue
		}
		plot := grownPlot{run: run, metric: metric, columns: columns, broke: broke}
		if f, ok := plot.overTime(); ok {
			v.Over = append(v.Over, f)
		}
		if f, ok := plot.against(result); ok && run.Objects.Grew() {
			v.Against = append(v.Against, f)
		}
	}
	return v
}

func allZero(columns []analysis.Column) bool {
	return !slices.ContainsFunc(columns, func(c analysis.Column) bool {
		return slices.ContainsFunc(c.Values, func(v float64) bool { return finite(v) && v != 0 })
	})
}

// brokenIn is the load line that was broken in a run; nil if there is none.
func brokenIn(result *analysis.Result, run *analysis.Run) *analysis.LoadLine {
	for _, l := range result.LoadLines {
		if l.Grown && l.Broke != nil && l.Run == run.Index {
			return l
		}
	}
	return nil
}

// grownPlot draws one metric of one run.
type grownPlot struct {
	run     *analysis.Run
	metric  analysis.Metric
	columns []analysis.Column
	broke   *analysis.LoadLine // nil if nothing broke
}

// overTime draws the metric over the time of the measured steps.
func (p grownPlot) overTime() (figure, bool) {
	from, to := measuredSpan(p.run)
	at := make([]float64, len(p.run.Figures.Joined.Seconds))
	for row, second := range p.run.Figures.Joined.Seconds {
		at[row] = math.NaN()
		if int(second) >= from && int(second) <= to {
			at[row] = second
		}
	}
	x := axis{lo: float64(from), hi: math.Max(float64(to), float64(from)+1), from: 62, to: plotWidth - 14}
	var broke *float64
	if p.broke != nil {
		broke = p.broke.At
	}
	return p.draw(at, x, true, "time since the run began", clockTime, broke, nil)
}

// against draws the metric against the number of objects, with the line that was fitted.
func (p grownPlot) against(result *analysis.Result) (figure, bool) {
	most := p.run.Objects.Counts[0].Max
	x := axis{lo: 0, hi: most * 1.02, from: 62, to: plotWidth - 14}
	var broke *float64
	if p.broke != nil {
		broke = &p.broke.Broke.Value
	}
	var fits []*analysis.Growth
	for _, g := range result.Growth {
		if g.Binned && g.PromQL == p.metric.PromQL && g.Cell.Key() == p.run.Cell.Key() && slices.ContainsFunc(p.columns, func(c analysis.Column) bool { return strings.HasPrefix(g.Name, c.Family()+", ") }) {
			fits = append(fits, g)
		}
	}
	write := func(v float64) string { return brief(amount(v, analysis.Subject{})) }
	return p.draw(p.run.Objects.Numbers, x, false, p.run.Objects.Counts[0].String(), write, broke, fits)
}

// draw draws each component's values where they belong on the axis: the median of
// those that share a place, and the band from the least to the greatest.
func (p grownPlot) draw(at []float64, x axis, inTime bool, name string, writeX func(float64) string, broke *float64, fits []*analysis.Growth) (figure, bool) {
	var ribbons []ribbon
	var tops []float64
	for _, column := range p.columns {
		r := ribbonAlong(at, column.Values, x, inTime)
		ribbons, tops = append(ribbons, r), append(tops, r.hi...)
	}
	y, ok := around(append(tops, 0), false, 176, 8)
	if !ok || y.hi <= 1e-11 {
		return figure{}, false
	}
	d := newDrawing(plotWidth, 216)
	write := writerOf(p.metric.Unit)
	if p.metric.Unit == string(measure.Bytes) {
		write = usageWriter(p.metric.Unit)
	}
	d.frameOf(p.metric.Unit, x, &y, writeX, write)
	if broke != nil && x.holds(*broke) {
		d.line("broke", x.at(*broke), y.from, x.at(*broke), y.to)
	}
	f := figure{Title: upperName(p.metric.Title)}
	for i, r := range ribbons {
		r.runs = 2 // so that the band is drawn
		r.draw(d, x, y, i, write)
		f.Legend = append(f.Legend, legendEntry{Colour: i % palette, Dashed: i%2 == 1, Name: p.columns[i].Component()})
	}
	var said []string
	for _, g := range fits {
		of := slices.IndexFunc(p.columns, func(c analysis.Column) bool { return strings.HasPrefix(g.Name, c.Family()+", ") })
		d.path(fmt.Sprintf("fit c%d%s", of%palette, choose(of%2 == 1, " dashed", "")), straightPath(x, y, g))
		said = append(said, growthSentence(g))
	}
	d.text("tick", "end", plotWidth-8, 210, name)
	f.Caption = strings.Join(said, " ")
	f.Narrow = d.svg("usage", fmt.Sprintf("%s against %s: median, and the band from the least to the greatest", f.Title, name))
	return f, true
}

// straightPath is the line of what each object more costs, as far as it lies in the plot.
func straightPath(x, y axis, g *analysis.Growth) string {
	if g.Line == nil || g.Line.Slope.Value == nil || g.Line.Intercept == nil {
		return ""
	}
	value := func(v float64) float64 { return *g.Line.Intercept + *g.Line.Slope.Value*v }
	if !y.holds(value(x.lo)) || !y.holds(value(x.hi)) {
		return ""
	}
	return fmt.Sprintf("M%.1f %.1fL%.1f %.1f", x.at(x.lo), y.at(value(x.lo)), x.at(x.hi), y.at(value(x.hi)))
}
