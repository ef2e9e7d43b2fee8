package report

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"plimsoll.dev/plimsoll/internal/analysis"
)

// newGrowthFigures draws each measure that grows: a figure per measure and
// parameter, a curve per cell.
func newGrowthFigures(result *analysis.Result) []figure {
	drawn := slices.DeleteFunc(slices.Clone(result.Growth), func(g *analysis.Growth) bool {
		return g.Binned && len(result.Runs) == 1 // the run has it second by second
	})
	var figures []figure
	for _, group := range analysis.GroupBy(drawn, func(g *analysis.Growth) [2]string { return [2]string{g.Name, g.Parameter} }) {
		if f, ok := growthFigure(result, group); ok && len(figures) < mostExploratory {
			figures = append(figures, f)
		}
	}
	return figures
}

func growthFigure(result *analysis.Result, group []*analysis.Growth) (figure, bool) {
	var xs, ys []float64
	for _, g := range group {
		for _, p := range g.Points {
			if p.Value > 0 && p.Summary.Median != nil && *p.Summary.Median > 0 {
				xs = append(xs, p.Value)
				ys = append(ys, positive(p.Summary.Min), positive(p.Summary.Max), *p.Summary.Median)
			}
		}
	}
	x, ok := around(xs, true, 62, plotWidth-14)
	y, okay := around(ys, true, 204, 10)
	if !ok || !okay {
		return figure{}, false
	}
	d := newDrawing(plotWidth, 248)
	first := group[0]
	d.frame(x, y, func(v float64) string { return brief(amount(v, analysis.Subject{})) }, writerOf(first.Unit))
	d.text("tick", "end", plotWidth-8, 242, first.Parameter+", log.")
	d.text("tick", "start", 0, 242, choose(first.Unit == "", "log.", first.Unit+", log."))
	f := figure{Title: upperName(subjectWords(first.Subject))}
	var said []string
	for i, g := range group {
		colour := growthColour(result, g, i, len(group))
		drawGrowth(d, x, y, g, colour)
		f.Legend = append(f.Legend, legendEntry{Colour: colour, Dashed: colour%2 == 1, Name: strings.TrimSpace(cellWords(g.Cell) + " " + exponentWords(g))})
		said = append(said, growthSentence(g))
	}
	f.Caption = strings.Join(said, " ")
	f.Narrow = d.svg("growth", "Growth, both axes logarithmic: "+f.Caption)
	return f, true
}

func positive(v *float64) float64 {
	if v == nil || *v <= 0 {
		return math.NaN()
	}
	return *v
}

// growthColour is that of the variant, unless several curves are of one.
func growthColour(result *analysis.Result, g *analysis.Growth, i, n int) int {
	if n == len(result.Design.Variants) {
		return variantNumber(result, g.Cell.Variant) % palette
	}
	return i % palette
}

func drawGrowth(d *drawing, x, y axis, g *analysis.Growth, colour int) {
	if g.Fit.Exponent.Value != nil && g.Fit.Scale != nil {
		d.path(fmt.Sprintf("fit c%d%s", colour, choose(colour%2 == 1, " dashed", "")), fitPath(x, y, *g.Fit.Scale, *g.Fit.Exponent.Value))
	}
	for _, p := range g.Points {
		if p.Value <= 0 || p.Summary.Median == nil || *p.Summary.Median <= 0 {
			continue
		}
		at := x.at(p.Value)
		if p.Summary.N > 1 && positive(p.Summary.Min) > 0 && positive(p.Summary.Max) > 0 {
			d.line(fmt.Sprintf("range c%d", colour), at, y.at(*p.Summary.Min), at, y.at(*p.Summary.Max))
		}
		d.dot(fmt.Sprintf("f%d", colour), at, y.at(*p.Summary.Median), 4,
			fmt.Sprintf("%s %s: %s, n = %d", g.Parameter, brief(amount(p.Value, analysis.Subject{})), amount(*p.Summary.Median, g.Subject), p.Summary.N))
	}
}

// fitPath is the line of a fit, as far as it lies in the plot.
func fitPath(x, y axis, scale, exponent float64) string {
	var b strings.Builder
	const steps = 40
	begun := false
	for i := range steps + 1 {
		v := x.lo * math.Pow(x.hi/x.lo, float64(i)/steps)
		value := scale * math.Pow(v, exponent)
		if !finite(value) || !y.holds(value) {
			continue
		}
		fmt.Fprintf(&b, "%s%.1f %.1f", choose(begun, "L", "M"), x.at(v), y.at(value))
		begun = true
	}
	return b.String()
}
