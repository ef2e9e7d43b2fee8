package report

import (
	"cmp"
	"math"
	"slices"
	"strconv"
	"strings"

	"plimsoll.dev/plimsoll/internal/analysis"
)

// charts is what the page's script draws over time, as data.
type charts struct {
	Seconds series  `json:"seconds"`
	Steps   []band  `json:"steps"`
	Panels  []panel `json:"panels"`
	// Bucket is how many seconds are drawn as one pair of points; 1 if every second is drawn.
	Bucket int `json:"bucket"`
}

// band is a step on the time axis.
type band struct {
	Name     string  `json:"name"`
	Measured bool    `json:"measured"`
	Start    float64 `json:"start"`
	End      float64 `json:"end"`
}

// panel is one chart; all panels share the time axis.
type panel struct {
	Title  string       `json:"-"`
	Unit   string       `json:"unit"` // rate, cpus or bytes
	Series []namedLines `json:"series"`
}

// namedLines is one line of a panel.
type namedLines struct {
	Name   string `json:"name"`
	Colour int    `json:"colour"`
	// Outcome of operations that did not succeed, which are coloured by it.
	Outcome string `json:"outcome,omitempty"`
	Values  series `json:"values"`
}

// series is written to JSON with four digits; what is not a number is null, so
// that gaps stay gaps.
type series []float64

// MarshalJSON implements json.Marshaler.
func (s series) MarshalJSON() ([]byte, error) {
	out := []byte{'['}
	for i, v := range s {
		if i > 0 {
			out = append(out, ',')
		}
		if math.IsNaN(v) || math.IsInf(v, 0) {
			out = append(out, "null"...)
			continue
		}
		if math.Abs(v) >= 1 && math.Abs(v) < 1e4 {
			out = strconv.AppendFloat(out, math.Round(v*1000)/1000, 'f', -1, 64)
			continue
		}
		out = strconv.AppendFloat(out, v, 'g', 4, 64)
	}
	return append(out, ']'), nil
}

// newCharts gathers what there is to draw over time, with so many points to a
// line at the most; nil if there is nothing.
func newCharts(run *analysis.Run, colours colours, points int) *charts {
	f := run.Figures
	if f == nil || len(f.Seconds) < 2 {
		return nil
	}
	c := &charts{Seconds: f.Seconds, Bucket: 1}
	for _, step := range run.Steps {
		if step.End > 0 {
			c.Steps = append(c.Steps, band{step.Name, step.Measured, step.Start, step.End})
		}
	}
	c.Panels = outcomePanels(run, colours)
	for _, usage := range []struct {
		title, unit string
		lines       []analysis.Line
	}{{"CPU per component, in CPUs", "cpus", f.CPU}, {"Resident memory per component", "bytes", f.RSS}} {
		if len(usage.lines) > 0 {
			c.Panels = append(c.Panels, usagePanel(usage.title, usage.unit, usage.lines))
		}
	}
	if len(c.Panels) == 0 {
		return nil
	}
	c.downsample(points)
	return c
}

func usagePanel(title, unit string, lines []analysis.Line) panel {
	p := panel{Title: title, Unit: unit}
	for i, line := range lines {
		p.Series = append(p.Series, namedLines{Name: line.Component, Colour: i % palette, Values: line.Values})
	}
	return p
}

// outcomePanels gives a panel to each group of phases that have the same
// operations, so that phases of one kind stand on one scale, one after the
// other. What did not succeed has a panel and a scale of its own under it.
func outcomePanels(run *analysis.Run, colours colours) []panel {
	type group struct {
		phases            []string
		succeeded, others panel
	}
	var groups []*group
	byKind := map[string]*group{}
	for _, phase := range run.Phases() {
		lines := linesOf(run.Figures, phase)
		if len(lines) == 0 {
			continue
		}
		kind := operationsKey(phase)
		g := byKind[kind]
		if g == nil {
			g = &group{}
			byKind[kind] = g
			groups = append(groups, g)
		}
		g.phases = append(g.phases, phase.Name)
		for _, line := range lines {
			if line.Outcome == "ok" {
				g.succeeded.add(line, colours)
			} else {
				g.others.add(line, colours)
			}
		}
	}
	var panels []panel
	for _, g := range groups {
		phases := shorten(strings.Join(g.phases, ", "), 60)
		g.succeeded.Title = phases + ": operations that succeeded, per second"
		g.others.Title = phases + ": operations that did not succeed, per second"
		for _, p := range []panel{g.succeeded, g.others} {
			if len(p.Series) > 0 {
				p.Unit = "rate"
				panels = append(panels, p)
			}
		}
	}
	return panels
}

// linesOf lists the lines of a phase: those of operations that succeeded, in
// the order of the tables, then the others; none that has no point.
func linesOf(f *analysis.Figures, phase *analysis.Phase) []analysis.Line {
	lines := slices.DeleteFunc(slices.Clone(f.Outcomes), func(l analysis.Line) bool {
		return l.Phase != phase.Name || !slices.ContainsFunc(l.Values, func(v float64) bool { return !math.IsNaN(v) })
	})
	place := func(l analysis.Line) int {
		return slices.IndexFunc(phase.Operations, func(o *analysis.Operation) bool { return o.Name == l.Operation })
	}
	slices.SortStableFunc(lines, func(a, b analysis.Line) int {
		return cmp.Or(
			cmp.Compare(choose(a.Outcome == "ok", "", a.Outcome), choose(b.Outcome == "ok", "", b.Outcome)),
			cmp.Compare(place(a), place(b)))
	})
	return lines
}

func operationsKey(phase *analysis.Phase) string {
	var names []string
	for _, o := range phase.Operations {
		names = append(names, o.Name)
	}
	return strings.Join(names, " ")
}

// add draws a line in the panel: as the continuation of one with its name if
// that one has ended by then, else under a name of its own.
func (p *panel) add(line analysis.Line, colours colours) {
	n := namedLines{Name: line.Operation, Colour: colours.of(line.Phase, line.Operation), Values: slices.Clone(line.Values)}
	switch {
	case line.Outcome == "dropped":
		n.Name, n.Outcome = "dropped", "dropped"
	case line.Outcome != "ok":
		n.Name, n.Outcome = line.Operation+" "+line.Outcome, line.Outcome
	}
	for i := range p.Series {
		if p.Series[i].Name == n.Name && p.Series[i].continues(n.Values) {
			return
		}
	}
	if slices.ContainsFunc(p.Series, func(s namedLines) bool { return s.Name == n.Name }) {
		n.Name = line.Phase + "." + n.Name
	}
	p.Series = append(p.Series, n)
}

// continues joins values to the line if the two share a second at the most, the
// one in which one phase ended and the next began.
func (n *namedLines) continues(values []float64) bool {
	shared := 0
	for i, v := range values {
		if !math.IsNaN(v) && !math.IsNaN(n.Values[i]) {
			shared++
		}
	}
	if shared > 1 {
		return false
	}
	for i, v := range values {
		switch {
		case math.IsNaN(v):
		case math.IsNaN(n.Values[i]):
			n.Values[i] = v
		default:
			n.Values[i] += v
		}
	}
	return true
}

// maxPoints is how many points of a line are drawn: more than a screen is wide.
const maxPoints = 1500

// pointsPerLine shares the points that a page can hold out among the lines of all
// runs, so that many runs open as quickly as one.
func pointsPerLine(result *analysis.Result) int {
	const all, fewest = 80_000, 120
	lines := 0
	for _, run := range result.Runs {
		if f := run.Figures; f != nil {
			lines += len(f.Outcomes) + len(f.CPU) + len(f.RSS) + 1
		}
	}
	return max(fewest, min(maxPoints, all/max(1, lines)))
}

// downsample keeps the lowest and the highest value of each of equal spans of
// time, in their order, so that no peak is lost.
func (c *charts) downsample(most int) {
	n := len(c.Seconds)
	if n <= most {
		return
	}
	c.Bucket = (2*n + most - 1) / most
	at := c.Seconds
	c.Seconds = nil
	for from := 0; from < n; from += c.Bucket {
		c.Seconds = append(c.Seconds, at[from], (at[from]+at[min(from+c.Bucket, n)-1])/2)
	}
	for _, p := range c.Panels {
		for i := range p.Series {
			p.Series[i].Values = extremes(p.Series[i].Values, c.Bucket)
		}
	}
}

// extremes gives two values for each bucket, NaN where it has none.
func extremes(values []float64, bucket int) []float64 {
	var out []float64
	for from := 0; from < len(values); from += bucket {
		lowest, highest := -1, -1
		for i := from; i < min(from+bucket, len(values)); i++ {
			if math.IsNaN(values[i]) {
				continue
			}
			if lowest < 0 || values[i] < values[lowest] {
				lowest = i
			}
			if highest < 0 || values[i] > values[highest] {
				highest = i
			}
		}
		if lowest < 0 {
			out = append(out, math.NaN(), math.NaN())
			continue
		}
		out = append(out, values[min(lowest, highest)], values[max(lowest, highest)])
	}
	return out
}
