package report

import (
	"fmt"
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

// loadWords is short: vai: 1,200/s held, 1,500/s broke.
func loadWords(l *analysis.LoadLine) string {
	words := ""
	if where := cellWords(l.Cell); where != "" {
		words = where + ": "
	}
	switch {
	case l.Held == nil:
		return words + fmt.Sprintf("%s broke already", pointText(l.Broke))
	case l.Broke == nil:
		return words + fmt.Sprintf("%s held, the most that was tried", pointText(l.Held))
	}
	return words + fmt.Sprintf("%s held, %s broke", pointText(l.Held), pointText(l.Broke))
}
