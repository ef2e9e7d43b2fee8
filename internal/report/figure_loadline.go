package report

import (
	"html/template"
	"slices"

	"plimsoll.dev/plimsoll/internal/analysis"
)

// drawLoadLines draws a bar for each load line: its words stand over it.
func drawLoadLines(lines []*analysis.LoadLine, values []float64, width float64, class string) template.HTML {
	const row, top = 54.0, 4.0
	d := newDrawing(width, top+row*float64(len(lines))+44)
	x := axis{lo: 0, hi: 1.12 * slices.Max(values), from: 2, to: width - 24}
	bottom := top + row*float64(len(lines))
	for _, v := range x.ticks(80) {
		d.line("rule", x.at(v), top, x.at(v), bottom)
		d.text("tick", choose(v == 0, "start", "middle"), x.at(v), bottom+16, brief(amount(v, analysis.Subject{})))
	}
	d.text("tick", "end", width-2, bottom+36, lines[0].Parameter)
	alt := "Load lines: "
	for i, l := range lines {
		y := top + row*float64(i)
		words := loadWords(l)
		d.text("name", "start", 2, y+15, shorten(words, int(width/6.9)))
		if l.Held != nil {
			d.data++
			d.rect("held", x.from, y+24, x.at(l.Held.Value)-x.from, 16)
		}
		if l.Broke != nil {
			d.data++
			at := x.at(l.Broke.Value)
			d.line("broke", at-6, y+26, at+6, y+38)
			d.line("broke", at-6, y+38, at+6, y+26)
		}
		alt += loadLineSentence(l, true) + " "
	}
	return d.svg("loadline "+class, alt)
}

// newLoadFigure draws the load lines: what held, and what broke.
func newLoadFigure(result *analysis.Result) *figure {
	var values []float64
	var lines []*analysis.LoadLine
	for _, l := range result.LoadLines {
		if l.Held != nil && l.Held.Value > 0 {
			values = append(values, l.Held.Value)
		}
		if l.Broke != nil && l.Broke.Value > 0 {
			values = append(values, l.Broke.Value)
		}
		if l.Held != nil || l.Broke != nil {
			lines = append(lines, l)
		}
	}
	if len(values) == 0 {
		return nil
	}
	f := &figure{
		Title:   "Load line: the largest load at which every objective held",
		Caption: "A bar reaches to the largest load at which every objective held; the cross stands at the least load above it at which one broke.",
	}
	f.Wide, f.Narrow = drawLoadLines(lines, values, 1160, "wide"), drawLoadLines(lines, values, plotWidth, "narrow")
	return f
}
