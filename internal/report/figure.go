package report

import (
	"fmt"
	"html/template"
	"math"
	"strings"

	"plimsoll.dev/plimsoll/internal/analysis"
	"plimsoll.dev/plimsoll/internal/measure"
)

// drawing gathers the marks of an SVG figure. Text and titles are escaped; class
// names come from this package, and colours from style.css.
type drawing struct {
	marks         strings.Builder
	width, height float64
	data          int // marks that show a number
}

func newDrawing(width, height float64) *drawing { return &drawing{width: width, height: height} }

// svg is the whole figure; alt says what it shows to whoever does not see it.
func (d *drawing) svg(class, alt string) template.HTML {
	return template.HTML(fmt.Sprintf(`<svg class="plot %s" viewBox="0 0 %.0f %.0f" role="img" aria-label="%s" data-marks="%d">%s</svg>`,
		class, d.width, d.height, template.HTMLEscapeString(plain(alt)), d.data, d.marks.String()))
}

func (d *drawing) line(class string, x1, y1, x2, y2 float64) {
	fmt.Fprintf(&d.marks, `<line class="%s" x1="%.1f" y1="%.1f" x2="%.1f" y2="%.1f"/>`, class, x1, y1, x2, y2)
}

func (d *drawing) rect(class string, x, y, width, height float64) {
	fmt.Fprintf(&d.marks, `<rect class="%s" x="%.1f" y="%.1f" width="%.1f" height="%.1f"/>`, class, x, y, max(0, width), max(0, height))
}

// dot is a mark with a title that a pointer shows.
func (d *drawing) dot(class string, x, y, radius float64, title string) {
	d.data++
	fmt.Fprintf(&d.marks, `<circle class="%s" cx="%.1f" cy="%.1f" r="%.1f"><title>%s</title></circle>`, class, x, y, radius, template.HTMLEscapeString(plain(title)))
}

func (d *drawing) path(class, data string) {
	if data == "" {
		return
	}
	d.data++
	fmt.Fprintf(&d.marks, `<path class="%s" d="%s"/>`, class, data)
}

// text writes at a place; anchor is start, middle or end.
func (d *drawing) text(class, anchor string, x, y float64, text string) {
	fmt.Fprintf(&d.marks, `<text class="%s" text-anchor="%s" x="%.1f" y="%.1f">%s</text>`, class, anchor, x, y, template.HTMLEscapeString(plain(text)))
}

// axis maps values to places.
type axis struct {
	lo, hi   float64 // values
	from, to float64 // places
	log      bool
}

func (a axis) at(v float64) float64 {
	lo, hi := a.lo, a.hi
	if a.log {
		lo, hi, v = math.Log(lo), math.Log(hi), math.Log(v)
	}
	if hi == lo {
		return (a.from + a.to) / 2
	}
	return a.from + (v-lo)/(hi-lo)*(a.to-a.from)
}

// holds says whether the value is on the axis.
func (a axis) holds(v float64) bool {
	return !math.IsNaN(v) && v >= a.lo-1e-9*math.Abs(a.lo) && v <= a.hi+1e-9*math.Abs(a.hi)
}

// ticks are round values on the axis, as many as there is room for.
func (a axis) ticks(room float64) []float64 {
	most := max(2, math.Abs(a.to-a.from)/room)
	if !a.log {
		return linearTicks(a.lo, a.hi, most)
	}
	for _, steps := range [][]float64{{1, 1.1, 1.2, 1.3, 1.4, 1.5, 1.6, 1.7, 1.8, 1.9, 2, 2.5, 3, 4, 5, 6, 7, 8, 9}, {1, 1.2, 1.5, 2, 3, 4, 5, 6, 8}, {1, 1.5, 2, 3, 5, 8}, {1, 2, 5}, {1, 3}, {1}} {
		if all := logTicks(a, steps, 1); float64(len(all)) <= most && (len(all) >= 2 || len(steps) > 6) {
			return all
		}
	}
	for decades := 2.0; ; decades++ {
		if all := logTicks(a, []float64{1}, decades); float64(len(all)) <= most {
			return all
		}
	}
}

func logTicks(a axis, steps []float64, decades float64) []float64 {
	var all []float64
	for decade := decades * math.Floor(math.Log10(a.lo)/decades); decade <= math.Log10(a.hi); decade += decades {
		for _, m := range steps {
			if v := m * math.Pow(10, decade); a.holds(v) {
				all = append(all, v)
			}
		}
	}
	return all
}

func linearTicks(lo, hi, most float64) []float64 {
	if !(hi > lo) {
		return []float64{lo}
	}
	step := math.Pow(10, math.Floor(math.Log10((hi-lo)/most)))
	for _, m := range []float64{1, 2, 5, 10} {
		if (hi-lo)/(step*m) <= most {
			step *= m
			break
		}
	}
	var all []float64
	for v := math.Ceil(lo/step-1e-9) * step; v <= hi+step*1e-9; v += step {
		all = append(all, math.Round(v/step)*step)
	}
	return all
}

// around is an axis that holds all values, with some room, for marks from one place to the other.
func around(values []float64, log bool, from, to float64) (axis, bool) {
	a := axis{lo: math.Inf(1), hi: math.Inf(-1), from: from, to: to, log: log}
	for _, v := range values {
		if math.IsNaN(v) || math.IsInf(v, 0) || log && v <= 0 {
			continue
		}
		a.lo, a.hi = min(a.lo, v), max(a.hi, v)
	}
	switch {
	case a.lo > a.hi:
		return a, false
	case log:
		pad := max(math.Pow(a.hi/a.lo, 0.06), 1.03)
		a.lo, a.hi = a.lo/pad, a.hi*pad
	case a.lo >= 0:
		a.lo, a.hi = 0, max(a.hi*1.06, 1e-12)
	}
	return a, true
}

// frame rules a plot: horizontal lines with their values at the left, and marks under it.
func (d *drawing) frame(x, y axis, writeX, writeY func(float64) string) {
	d.frameAt(x, y, y.ticks(34), writeX, writeY)
}

// frameOf is frame for values of a unit from zero on: those in bytes have binary
// ticks, for which the axis is stretched.
func (d *drawing) frameOf(unit string, x axis, y *axis, writeX, writeY func(float64) string) {
	if unit != string(measure.Bytes) {
		d.frame(x, *y, writeX, writeY)
		return
	}
	y.hi = math.Pow(2, math.Ceil(math.Log2(y.hi)*2)/2)
	step := math.Pow(2, math.Ceil(math.Log2(y.hi/5)))
	var ticks []float64
	for v := 0.0; v <= y.hi*1.0001; v += step {
		ticks = append(ticks, v)
	}
	d.frameAt(x, *y, ticks, writeX, writeY)
}

func (d *drawing) frameAt(x, y axis, ticks []float64, writeX, writeY func(float64) string) {
	for _, v := range ticks {
		at := y.at(v)
		d.line("rule", x.from, at, x.to, at)
		d.text("tick", "end", x.from-6, at+4, writeY(v))
	}
	for _, v := range x.ticks(64) {
		at := x.at(v)
		d.line("rule", at, y.from, at, y.from+4)
		label := writeX(v)
		half := max(16, 4.4*float64(len(label))) // of its width, about
		d.text("tick", "middle", min(at, d.width-half), y.from+17, label)
	}
	d.line("edge", x.from, y.from, x.to, y.from)
}

// figure is one drawing for wide screens and one for narrow ones; Narrow alone
// serves both where the figure is small.
type figure struct {
	Title, Caption string
	Wide, Narrow   template.HTML
	Legend         []legendEntry
}

// legendEntry is a line of a legend.
type legendEntry struct {
	Colour int
	Dashed bool
	Name   string
}

// pathThrough joins points from one place of an axis to the next.
func pathThrough(x, y axis, at, values []float64) string {
	var b strings.Builder
	for i, v := range values {
		fmt.Fprintf(&b, "%s%.1f %.1f", choose(i == 0, "M", "L"), x.at(at[i]), y.at(v))
	}
	return b.String()
}

// tickSeconds writes a time on an axis.
func tickSeconds(v float64) string { return brief(seconds(v)) }

// writerOf writes values of a subject on an axis.
func writerOf(unit string) func(float64) string {
	return func(v float64) string { return brief(amount(v, analysis.Subject{Unit: unit})) }
}

// usageWriter writes on an axis what there is at a moment: bytes that are held,
// and numbers that, as means, need not be whole.
func usageWriter(unit string) func(float64) string {
	return func(v float64) string {
		switch {
		case v == 0:
			return "0"
		case unit == string(measure.Bytes):
			return brief(memory(v))
		case unit == string(measure.CPUs), unit == string(measure.Count):
			return brief(significant(v))
		}
		return writerOf(unit)(v)
	}
}

// palette is the number of colours; style.css names them.
const palette = 7

// colours give an operation of a phase the same colour in every figure.
type colours map[string]int

// coloursOf deals colours out: first to what was measured, then to what was not,
// which takes the colour of a measured operation of the same name.
func coloursOf(run *analysis.Run) colours {
	c := colours{}
	dealt, byName := 0, map[string]int{}
	for _, measured := range []bool{true, false} {
		for _, phase := range run.Phases() {
			if phase.Measured != measured {
				continue
			}
			for _, o := range phase.Operations {
				colour, known := byName[o.Name]
				if measured || !known {
					colour = dealt % palette
					dealt++
				}
				c[phase.Name+"."+o.Name] = colour
				byName[o.Name] = colour
			}
		}
	}
	return c
}

func (c colours) of(phase, operation string) int { return c[phase+"."+operation] }

// finite says whether a number can be drawn.
func finite(v float64) bool { return !math.IsNaN(v) && !math.IsInf(v, 0) }

// plotWidth is the width that small figures are drawn for: a phone's; wider
// screens show several in a row.
const plotWidth = 360.0
