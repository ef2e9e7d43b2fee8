package report

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"plimsoll.dev/plimsoll/internal/analysis"
)

// curveFigure is the percentile curves of a run, laid out for a width. x is the
// logarithm of 1/(1−quantile), so that every further nine takes the same room;
// y is the logarithm of time.
type curveFigure struct {
	Width, Height            float64
	Left, Right, Top, Bottom float64 // edges of the plot
	Columns, Rows            []gridline
	Curves                   []curveLine
}

// gridline is a line of the grid and what stands at its end.
type gridline struct {
	At    float64
	Label string // empty for a minor line
}

// curveLine is one curve, drawn and named.
type curveLine struct {
	Name, Clock    string
	Count          int64
	Colour         int
	Path           string
	trace          []point
	EndX, EndY     float64
	LabelX, LabelY float64
	Label          string // empty where the figure has no room for names
}

// letter is about how wide a letter of a label is.
const letter = 6.6

// newCurveFigure draws the curves of a run, coarsely where a page has many; nil if it has none. Names stand
// beside the curves where the figure is wide enough.
func newCurveFigure(run *analysis.Run, colours colours, width, height float64, coarse bool) *curveFigure {
	if run.Figures == nil {
		return nil
	}
	curves := slices.DeleteFunc(slices.Clone(run.Figures.Curves), func(c analysis.Curve) bool { return len(c.Points) == 0 })
	if len(curves) == 0 {
		return nil
	}
	if coarse {
		for i := range curves {
			curves[i].Points = thinned(curves[i].Points)
		}
	}
	f := &curveFigure{Width: width, Height: height, Left: 58, Right: width - 12, Top: 12, Bottom: height - 44}
	named := width > 600
	if named {
		f.Right -= f.labelRoom(curves)
	}
	scale := f.scale(curves)
	for _, c := range curves {
		line := curveLine{Name: c.Phase + "." + c.Operation, Clock: c.Clock, Count: c.Count, Colour: colours.of(c.Phase, c.Operation)}
		line.trace = scale.trace(c.Points)
		line.Path = path(line.trace)
		line.EndX, line.EndY = line.trace[len(line.trace)-1].x, line.trace[len(line.trace)-1].y
		if named {
			line.Label = shorten(curveLabel(c), int(width*0.3/letter))
		}
		f.Curves = append(f.Curves, line)
	}
	f.placeLabels()
	return f
}

func curveLabel(c analysis.Curve) string { return c.Phase + "." + c.Operation }

// labelRoom is the room that names need to the right of the plot. The name of a
// curve that ends early stands inside.
func (f *curveFigure) labelRoom(curves []analysis.Curve) float64 {
	most := 1.0
	for _, c := range curves {
		most = max(most, nines(c.Points[len(c.Points)-1].Quantile))
	}
	room, plot := 0.0, 0.6*f.Width
	for _, c := range curves {
		inside := plot * (1 - nines(c.Points[len(c.Points)-1].Quantile)/most)
		room = max(room, float64(len([]rune(curveLabel(c))))*letter+16-inside)
	}
	return min(room, f.Width*0.3)
}

// curveScale maps quantiles, by their nines, and times to the plot.
type curveScale struct{ nines, times axis }

func (f *curveFigure) scale(curves []analysis.Curve) curveScale {
	s := curveScale{
		nines: axis{hi: 1, from: f.Left, to: f.Right},
		times: axis{lo: math.Inf(1), hi: math.Inf(-1), from: f.Bottom, to: f.Top, log: true},
	}
	for _, c := range curves {
		for _, p := range c.Points {
			s.nines.hi = max(s.nines.hi, nines(p.Quantile))
			s.times.lo, s.times.hi = min(s.times.lo, timeFloor(p.Seconds)), max(s.times.hi, timeFloor(p.Seconds))
		}
	}
	s.times.lo, s.times.hi = roundDown(s.times.lo), roundUp(s.times.hi)
	f.grid(s)
	return s
}

// nines is the number of nines in a quantile: 1 for 90 %, 2 for 99 %.
func nines(quantile float64) float64 { return -math.Log10(max(1-quantile, 1e-9)) }

// timeFloor keeps times on a logarithmic axis; nothing real is faster.
func timeFloor(s float64) float64 { return max(s, 1e-7) }

// roundDown and roundUp move a value to the next 1, 2 or 5.
func roundDown(v float64) float64 {
	decade := math.Pow(10, math.Floor(math.Log10(v)))
	for _, m := range []float64{5, 2} {
		if m*decade <= v {
			return m * decade
		}
	}
	return decade
}

func roundUp(v float64) float64 {
	decade := math.Pow(10, math.Floor(math.Log10(v)))
	for _, m := range []float64{1, 2, 5} {
		if m*decade > v {
			return m * decade
		}
	}
	return 10 * decade
}

func (s curveScale) x(quantile float64) float64 { return s.nines.at(nines(quantile)) }
func (s curveScale) y(time float64) float64     { return s.times.at(timeFloor(time)) }

// grid rules the figure. Only decades are labelled where they are narrow.
func (f *curveFigure) grid(s curveScale) {
	for _, percentile := range []string{"50 %", "90 %", "99 %", "99.9 %", "99.99 %", "99.999 %", "99.9999 %", "99.99999 %"} {
		var p float64
		_, _ = fmt.Sscanf(percentile, "%f", &p)
		if x := s.x(p / 100); x <= f.Right+0.5 {
			f.Columns = append(f.Columns, gridline{x, percentile})
		}
	}
	decades := logTicks(s.times, []float64{1}, 1)
	wide := s.times.at(s.times.lo)-s.times.at(10*s.times.lo) > 60
	for _, v := range logTicks(s.times, []float64{1, 2, 5}, 1) {
		line := gridline{At: s.times.at(v)}
		if wide || slices.Contains(decades, v) {
			line.Label = brief(seconds(v))
		}
		f.Rows = append(f.Rows, line)
	}
}

// point is a place in the figure.
type point struct{ x, y float64 }

func (s curveScale) trace(points []analysis.Point) []point {
	var places []point
	for _, p := range points {
		places = append(places, point{s.x(p.Quantile), s.y(p.Seconds)})
	}
	return places
}

func path(trace []point) string {
	var b strings.Builder
	for i, p := range trace {
		fmt.Fprintf(&b, "%s%.1f %.1f", choose(i == 0, "M", "L"), p.x, p.y)
	}
	return b.String()
}

// labelHeight is how much room a name needs from top to bottom.
const labelHeight = 15

// placeLabels puts each curve's name beside its end, as near as there is a place
// where it stands on no other name, on the same side of it as its curve, and if
// possible on no curve. It begins at the top or at the bottom, whichever ends better.
func (f *curveFigure) placeLabels() {
	down := make([]*curveLine, len(f.Curves))
	for i := range f.Curves {
		down[i] = &f.Curves[i]
	}
	slices.SortStableFunc(down, func(a, b *curveLine) int { return cmp.Compare(a.EndY, b.EndY) })
	up := slices.Clone(down)
	slices.Reverse(up)
	if f.placeInOrder(up) >= f.placeInOrder(down) {
		return
	}
	f.placeInOrder(up)
}

func (f *curveFigure) placeInOrder(curves []*curveLine) (price float64) {
	const nudge, furthest = 3, 120
	for i, c := range curves {
		c.LabelX = c.EndX + 9
		least := math.Inf(1)
		for away := 0.0; away <= furthest; away += nudge {
			for _, y := range []float64{c.EndY - away, c.EndY + away} {
				if p := away/nudge + f.clash(c, y, curves[:i]); p < least {
					least, c.LabelY = p, y
				}
			}
		}
		price += least
	}
	return price
}

// clash is how bad it would be to write a curve's name at a height.
func (f *curveFigure) clash(c *curveLine, y float64, placed []*curveLine) float64 {
	left, price := c.LabelX, 0.0
	right := left + labelWidth(c)
	if y < f.Top || y > f.Bottom-4 {
		price += 200
	}
	for _, other := range placed {
		if left >= other.LabelX+labelWidth(other) || other.LabelX >= right {
			continue
		}
		if math.Abs(other.LabelY-y) < labelHeight || (other.LabelY < y) != (other.EndY < c.EndY) {
			price += 100
		}
	}
	for i := range f.Curves {
		if f.Curves[i].crosses(left, right, y) {
			price += 10
		}
	}
	return price
}

func labelWidth(c *curveLine) float64 { return float64(len([]rune(c.Label))) * letter }

// crosses says whether the curve goes through a name that is written at y.
func (c *curveLine) crosses(left, right, y float64) bool {
	return slices.ContainsFunc(c.trace, func(p point) bool {
		return p.x >= left-6 && p.x <= right && math.Abs(p.y-y) < labelHeight/2
	})
}
