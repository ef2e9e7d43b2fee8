package report

import (
	"fmt"
	"html/template"

	"plimsoll.dev/plimsoll/internal/analysis"
)

// mostForest is how many comparisons the figure of ratios shows.
const mostForest = 40

// newForest draws the ratio of each comparison with its interval, the blocks
// that it comes from, and the margin within which a change does not matter.
func newForest(result *analysis.Result) *figure {
	primary, _ := primaryFirst(result)
	var shown []*analysis.Comparison
	for _, c := range append(byPlace(primary), byPlace(shownOf(result))...) {
		if c.Ratio != nil && *c.Ratio > 0 && len(shown) < mostForest {
			shown = append(shown, c)
		}
	}
	if len(shown) == 0 {
		return nil
	}
	return &figure{
		Title: "How many times as much: ratios to the baseline",
		Caption: "A square is the ratio of the variant to the baseline, the line through it its 95 % interval, and each dot below it one block. " +
			"The shaded band is the margin within which a change does not matter. The axis is logarithmic: half and double are equally far from 1.",
		Wide:   forest{comparisons: shown, wide: true, width: 1160}.draw(),
		Narrow: forest{comparisons: shown, width: 360}.draw(),
	}
}

// forest is a drawing of comparisons at a width.
type forest struct {
	comparisons []*analysis.Comparison
	wide        bool
	width       float64
}

func (f forest) draw() (svg template.HTML) {
	const top, foot = 8.0, 46.0
	row := choose(f.wide, 38.0, 64.0)
	d := newDrawing(f.width, top+row*float64(len(f.comparisons))+foot)
	a := f.axis()
	bottom := top + row*float64(len(f.comparisons))
	for i, c := range f.comparisons {
		f.margin(d, a, c, top+row*float64(i), row)
	}
	for _, v := range a.ticks(58) {
		d.line(choose(v == 1, "one", "rule"), a.at(v), top, a.at(v), bottom)
		d.text("tick", "middle", a.at(v), bottom+16, trimmed(ratio(v))+"×")
	}
	if a.holds(1) {
		d.line("one", a.at(1), top, a.at(1), bottom)
	}
	d.text("tick", "middle", (a.from+a.to)/2, bottom+37, choose(f.wide, "ratio of the variant to the baseline, logarithmic: left of 1 the variant has less", "ratio to the baseline (left of 1: less)"))
	for i, c := range f.comparisons {
		f.row(d, a, c, top+row*float64(i), row, i > 0 && f.comparisons[i-1].Primary && !c.Primary)
	}
	return d.svg(choose(f.wide, "wide", "narrow"), "Ratios of variants to the baseline with their intervals: "+f.alt())
}

// axis holds every ratio, interval, block and margin.
func (f forest) axis() axis {
	values := []float64{1}
	for _, c := range f.comparisons {
		values = append(values, *c.Ratio, 1+c.Margin, 1/(1+c.Margin))
		for _, v := range append([]*float64{c.Lo, c.Hi}, c.Ratios...) {
			if v != nil {
				values = append(values, max(*c.Ratio/8, min(*c.Ratio*8, *v)))
			}
		}
	}
	from, to := 20.0, f.width-20
	if f.wide {
		from, to = 330, f.width-300
	}
	a, _ := around(values, true, from, to)
	return a
}

func (f forest) margin(d *drawing, a axis, c *analysis.Comparison, y, row float64) {
	if c.Margin > 0 {
		from := choose(f.wide, y, y+30)
		d.rect("margin", a.at(1/(1+c.Margin)), from, a.at(1+c.Margin)-a.at(1/(1+c.Margin)), y+row-from)
	}
}

func (f forest) row(d *drawing, a axis, c *analysis.Comparison, y, row float64, first bool) {
	if first {
		d.line("parting", 0, y, f.width, y)
	}
	name := rowName(c.Subject)
	where := c.Variant + whereWords(c.Axes, c.Point)
	middle := y + row/2 - 4
	if f.wide {
		d.text("name", "start", 0, y+15, shorten(name, 46))
		d.text("tick", "start", 0, y+31, shorten(where+choose(c.Primary, "", ", exploratory"), 50))
		d.text("name", "start", a.to+24, y+23, ratioCell(c))
		d.text("said "+string(toneOf(c.Verdict)), "end", f.width, y+23, verdictMark(c.Verdict))
	} else {
		d.text("name", "start", 0, y+13, shorten(name, 34))
		d.text("said "+string(toneOf(c.Verdict)), "end", f.width, y+13, verdictMark(c.Verdict))
		d.text("tick", "start", 0, y+28, shorten(where, 30))
		d.text("tick", "end", f.width, y+28, ratioCell(c))
		middle = y + 42
	}
	f.interval(d, a, c, middle)
}

func (f forest) interval(d *drawing, a axis, c *analysis.Comparison, y float64) {
	inside := func(v float64) float64 { return max(a.from-14, min(a.to+14, a.at(v))) }
	tone := string(toneOf(c.Verdict))
	for i, r := range c.Ratios {
		if r != nil && *r > 0 {
			block := i + 1
			if i < len(c.Blocks) {
				block = c.Blocks[i]
			}
			d.dot("block", inside(*r), y+11, 2.4, fmt.Sprintf("block %d: %s", block, ratio(*r)))
		}
	}
	if c.Lo != nil && c.Hi != nil && *c.Lo > 0 {
		d.line("interval "+tone, inside(*c.Lo), y, inside(*c.Hi), y)
		d.line("interval "+tone, inside(*c.Lo), y-4, inside(*c.Lo), y+4)
		d.line("interval "+tone, inside(*c.Hi), y-4, inside(*c.Hi), y+4)
	}
	d.data++
	d.rect("centre "+tone, inside(*c.Ratio)-4.5, y-4.5, 9, 9)
}

func (f forest) alt() string {
	words := ""
	for i, c := range f.comparisons {
		words += choose(i > 0, "; ", "") + rowName(c.Subject) + whereWords(c.Axes, c.Point) + ", " + c.Variant + " " + ratioCell(c) + " " + string(c.Verdict)
	}
	return words
}
