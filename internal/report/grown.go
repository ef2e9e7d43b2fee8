package report

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/jedib0t/go-pretty/v6/table"
	"github.com/jedib0t/go-pretty/v6/text"

	"plimsoll.dev/plimsoll/internal/analysis"
	"plimsoll.dev/plimsoll/internal/measure"
)

// grownWords say up to how many objects every objective held, after a name.
func grownWords(l *analysis.LoadLine) string {
	held := ": every objective held up to " + pointText(l.Held) + " " + l.Parameter
	switch {
	case l.Held == nil && l.Broke == nil:
		return ": it is not known: no number of " + l.Parameter + " was measured."
	case l.Held == nil:
		held = ": below " + pointText(l.Broke) + " " + l.Parameter
	case l.Broke == nil:
		return held + ", as many as there came to be."
	}
	words := fmt.Sprintf("%s; at %s%s, %s", held, pointText(l.Broke), atWords(l), brokeFirstWords(l))
	if l.LastHeld != nil {
		words += fmt.Sprintf("; everything held again at up to %s", pointText(l.LastHeld))
	}
	return words + "." + bottleneckWords(l.Bottleneck)
}

func atWords(l *analysis.LoadLine) string {
	if l.At == nil {
		return ""
	}
	return choose(len(l.Runs) < 2, ", after "+seconds(*l.At), fmt.Sprintf(", %s into run %d", seconds(*l.At), l.Run))
}

func brokeFirstWords(l *analysis.LoadLine) string {
	if l.Objective == nil {
		return "the run failed"
	}
	words := "the first to break was: " + l.Objective.Name
	if l.Objective.Value != nil {
		words += fmt.Sprintf(" (it was %s, bound %s)", quantity(*l.Objective.Value, l.Objective.Unit, l.Objective.Text), l.Objective.Text)
	}
	if len(l.Breaks) > 0 && l.Breaks[0].Share < 1 {
		words += fmt.Sprintf(", which was broken %s of the time from then on", wholePercent(l.Breaks[0].Share))
	}
	return words
}

// bottleneckWords say what the machine was short of, with the numbers that this rests on.
func bottleneckWords(b *analysis.Bottleneck) string {
	if b == nil {
		return ""
	}
	var figures []string
	for _, f := range b.Figures {
		if f.Value != nil && (f.Max != nil || f.Min != nil) && (f.Past || len(b.AtLimit) == 0) {
			figures = append(figures, fmt.Sprintf("%s %s, bound %s", f.Name, limitValue(f), limitBound(f)))
		}
	}
	switch {
	case len(figures) == 0:
		return " What the machine was short of is not known: it was not observed."
	case len(b.AtLimit) == 0:
		return fmt.Sprintf(" No resource of the machine was at its limit then (%s), so what limited lies within the components.", strings.Join(figures, "; "))
	}
	return fmt.Sprintf(" At its limit then: %s (%s).", strings.Join(resourceNames(b.AtLimit), " and "), strings.Join(figures, "; "))
}

func resourceNames(resources []string) []string {
	var names []string
	for _, r := range resources {
		names = append(names, map[string]string{"cpu": "CPU", "disk": "disk", "memory": "memory", "quota": "etcd’s quota"}[r])
	}
	return names
}

func limitValue(f analysis.Limit) string {
	switch {
	case f.Value == nil:
		return "not measured"
	case f.Unit == string(measure.Fraction):
		return wholePercent(*f.Value)
	}
	return quantity(*f.Value, f.Unit, "")
}

func limitBound(f analysis.Limit) string {
	switch {
	case f.Max != nil:
		return "< " + percent(*f.Max)
	case f.Min != nil:
		return "> " + percent(*f.Min)
	}
	return absent
}

// straight is the share of the variance that a line explains of what is called one.
const straight = 0.9

// eachWords say what each object more costs: 2.31 KiB per pod (95 % 2.2 … 2.4 KiB) beside 61 MiB; nothing, of what has no line.
func eachWords(g *analysis.Growth) string {
	if g.Line == nil || g.Line.Slope.Value == nil || g.Line.Intercept == nil {
		return ""
	}
	slope := g.Line.Slope
	words := fmt.Sprintf("%s per %s", signedMemory(*slope.Value), singular(g.Parameter))
	if slope.Lo != nil && slope.Hi != nil {
		words += fmt.Sprintf(" (95 %% %s … %s)", signedMemory(*slope.Lo), signedMemory(*slope.Hi))
	}
	words += fmt.Sprintf(" beside %s that are there without any", signedMemory(*g.Line.Intercept))
	if g.Line.R2 != nil && *g.Line.R2 < straight {
		words += fmt.Sprintf("; a straight line explains no more than %s of it", wholePercent(*g.Line.R2))
	}
	return words
}

func signedMemory(bytes float64) string {
	if bytes < 0 {
		return "−" + memory(-bytes)
	}
	return memory(bytes)
}

// singular is one of what is counted: pod, of running pods.
func singular(counted string) string {
	words := strings.Fields(counted)
	if len(words) == 0 {
		return "object"
	}
	name := words[len(words)-1]
	if stem, ies := strings.CutSuffix(name, "ies"); ies {
		return stem + "y"
	}
	return strings.TrimSuffix(name, "s")
}

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

func countWords(c analysis.ObjectCount) string {
	return fmt.Sprintf("%s: %s at first, %s at most", c, count(int64(c.First)), count(int64(c.Max)))
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
		if g.Binned && g.PromQL == p.metric.PromQL && g.Cell.Key() == p.run.Cell.Key() && slices.ContainsFunc(p.columns, func(c analysis.Column) bool { return strings.HasPrefix(g.Name, familyOf(c)+", ") }) {
			fits = append(fits, g)
		}
	}
	write := func(v float64) string { return brief(amount(v, analysis.Subject{})) }
	return p.draw(p.run.Objects.Numbers(), x, false, p.run.Objects.Counts[0].String(), write, broke, fits)
}

func familyOf(c analysis.Column) string { return strings.TrimRight(c.Component(), "-0123456789") }

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
		of := slices.IndexFunc(p.columns, func(c analysis.Column) bool { return strings.HasPrefix(g.Name, familyOf(c)+", ") })
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

// breakTable lists the objectives that broke as objects became many, the first one first.
type breakTable struct {
	Title, Parameter string
	Rows             []breakRow
}

type breakRow struct{ Objective, Bound, Objects, At, Value, Share string }

func breaksOf(result *analysis.Result) []breakTable {
	var tables []breakTable
	for _, l := range result.LoadLines {
		if len(l.Breaks) == 0 {
			continue
		}
		t := breakTable{Title: "What broke, and when" + ofCell(l), Parameter: l.Parameter}
		for _, b := range l.Breaks {
			t.Rows = append(t.Rows, breakRow{b.Objective, b.Bound, pointText(&b.Point), seconds(b.At), quantity(b.Value, b.Unit, b.Bound), wholePercent(b.Share)})
		}
		tables = append(tables, t)
	}
	return tables
}

// bottleneckTable has the figures that say what a machine was short of.
type bottleneckTable struct {
	Title   string
	Figures []analysis.Limit
}

func bottlenecksOf(result *analysis.Result) []bottleneckTable {
	var tables []bottleneckTable
	for _, l := range result.LoadLines {
		if b := l.Bottleneck; b != nil {
			tables = append(tables, bottleneckTable{fmt.Sprintf("What the machine was short of, from %s to %s%s", seconds(b.From), seconds(b.To), ofCell(l)), b.Figures})
		}
	}
	return tables
}

func ofCell(l *analysis.LoadLine) string {
	if where := cellWords(l.Cell); where != "" {
		return ", " + where
	}
	return ""
}

// objectsText is a number of objects that may not be known.
func objectsText(n *float64) string {
	return optional(n, func(v float64) string { return count(int64(v)) })
}

// grown prints what a run observed of objects, and what components said of overload.
func (p *printer) grown(run *analysis.Run) {
	if run.Objects == nil {
		return
	}
	var counts []string
	for _, c := range run.Objects.Counts {
		counts = append(counts, countWords(c))
	}
	p.section("Objects: %s", strings.Join(counts, "; "))
	var rows []table.Row
	for _, c := range run.Objects.Complaints {
		rows = append(rows, table.Row{shorten(oneLine(c.Component), 20), c.Text, count(int64(c.Count)), seconds(c.First), objectsText(c.Objects)})
	}
	p.table("What components said of overload", table.Row{"component", "words", "lines", "first after", oneLine(run.Objects.Counts[0].String())}, rows, "llrrr")
}

// breaks prints the objectives that broke as objects became many.
func (p *printer) breaks(result *analysis.Result) {
	for _, t := range breaksOf(result) {
		var rows []table.Row
		for _, b := range t.Rows {
			rows = append(rows, table.Row{text.WrapSoft(oneLine(b.Objective), 40), shorten(oneLine(b.Bound), 14), b.Objects, b.At, b.Value, b.Share})
		}
		p.table(t.Title, table.Row{"objective", "bound", oneLine(t.Parameter), "first after", "it was", "broken since"}, rows, "llrrrr")
	}
}
