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
	EndX, EndY     float64
	LabelX, LabelY float64
	Label          string // empty where the figure has no room for names
}

// letter is about how wide a letter of a label is.
const letter = 6.6

// newCurveFigure draws the curves of a run; nil if it has none. Names stand
// beside the curves where the figure is wide enough.
func newCurveFigure(run *analysis.Run, colours colours, width, height float64) *curveFigure {
	if run.Figures == nil {
		return nil
	}
	curves := slices.DeleteFunc(slices.Clone(run.Figures.Curves), func(c analysis.Curve) bool { return len(c.Points) == 0 })
	if len(curves) == 0 {
		return nil
	}
	f := &curveFigure{Width: width, Height: height, Left: 58, Right: width - 12, Top: 12, Bottom: height - 44}
	named := width > 600
	if named {
		f.Right -= f.labelRoom(curves)
	}
	scale := f.scale(curves)
	for _, c := range curves {
		line := curveLine{Name: c.Phase + "." + c.Operation, Clock: c.Clock, Count: c.Count, Colour: colours.of(c.Phase, c.Operation)}
		line.Path, line.EndX, line.EndY = scale.path(c.Points)
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

// curveScale maps quantiles and times to the plot.
type curveScale struct {
	figure           *curveFigure
	nines            float64 // at the right edge
	lowest, highest  float64 // logarithms of the times at the lower and upper edge
	perNine, perTime float64
}

func (f *curveFigure) scale(curves []analysis.Curve) curveScale {
	s := curveScale{figure: f, nines: 1, lowest: math.Inf(1), highest: math.Inf(-1)}
	for _, c := range curves {
		for _, p := range c.Points {
			s.nines = max(s.nines, nines(p.Quantile))
			s.lowest = min(s.lowest, math.Log10(timeFloor(p.Seconds)))
			s.highest = max(s.highest, math.Log10(timeFloor(p.Seconds)))
		}
	}
	s.lowest, s.highest = roundDown(s.lowest), roundUp(s.highest)
	s.perNine = (f.Right - f.Left) / s.nines
	s.perTime = (f.Bottom - f.Top) / (s.highest - s.lowest)
	s.grid()
	return s
}

// nines is the number of nines in a quantile: 1 for 90 %, 2 for 99 %.
func nines(quantile float64) float64 { return -math.Log10(max(1-quantile, 1e-9)) }

// timeFloor keeps times on a logarithmic axis; nothing real is faster.
func timeFloor(s float64) float64 { return max(s, 1e-7) }

// roundDown and roundUp move a logarithm to the next 1, 2 or 5.
func roundDown(logarithm float64) float64 {
	decade := math.Floor(logarithm)
	for _, m := range []float64{5, 2, 1} {
		if edge := decade + math.Log10(m); edge <= logarithm {
			return edge
		}
	}
	return decade
}

func roundUp(logarithm float64) float64 {
	decade := math.Floor(logarithm)
	for _, m := range []float64{1, 2, 5, 10} {
		if edge := decade + math.Log10(m); edge > logarithm {
			return edge
		}
	}
	return decade + 1
}

func (s curveScale) x(quantile float64) float64 { return s.figure.Left + nines(quantile)*s.perNine }
func (s curveScale) y(time float64) float64 {
	return s.figure.Bottom - (math.Log10(timeFloor(time))-s.lowest)*s.perTime
}

// grid rules the figure. Only decades are labelled where they are narrow.
func (s curveScale) grid() {
	f := s.figure
	for _, percentile := range []string{"50 %", "90 %", "99 %", "99.9 %", "99.99 %", "99.999 %", "99.9999 %", "99.99999 %"} {
		var p float64
		_, _ = fmt.Sscanf(percentile, "%f", &p)
		if x := s.x(p / 100); x <= f.Right+0.5 {
			f.Columns = append(f.Columns, gridline{x, percentile})
		}
	}
	for decade := math.Floor(s.lowest); decade <= s.highest; decade++ {
		for _, m := range []float64{1, 2, 5} {
			at := decade + math.Log10(m)
			if at < s.lowest-1e-9 || at > s.highest+1e-9 {
				continue
			}
			line := gridline{At: f.Bottom - (at-s.lowest)*s.perTime}
			if m == 1 || s.perTime > 60 {
				line.Label = brief(seconds(m * math.Pow(10, decade)))
			}
			f.Rows = append(f.Rows, line)
		}
	}
}

func (s curveScale) path(points []analysis.Point) (path string, x, y float64) {
	var b strings.Builder
	for i, p := range points {
		x, y = s.x(p.Quantile), s.y(p.Seconds)
		fmt.Fprintf(&b, "%s%.1f %.1f", choose(i == 0, "M", "L"), x, y)
	}
	return b.String(), x, y
}

// placeLabels puts each curve's name beside its end, and moves names that would
// stand on each other apart.
func (f *curveFigure) placeLabels() {
	const height = 15
	byHeight := make([]*curveLine, len(f.Curves))
	for i := range f.Curves {
		c := &f.Curves[i]
		c.LabelX, c.LabelY = c.EndX+9, c.EndY
		byHeight[i] = c
	}
	slices.SortFunc(byHeight, func(a, b *curveLine) int { return cmp.Compare(a.EndY, b.EndY) })
	overlap := func(a, b *curveLine) bool {
		return a.LabelX < b.LabelX+float64(len(b.Label))*letter && b.LabelX < a.LabelX+float64(len(a.Label))*letter
	}
	for i, c := range byHeight {
		for _, above := range byHeight[:i] {
			if overlap(above, c) {
				c.LabelY = max(c.LabelY, above.LabelY+height)
			}
		}
	}
	for i := len(byHeight) - 1; i >= 0; i-- {
		c := byHeight[i]
		c.LabelY = min(c.LabelY, f.Bottom-4)
		for _, below := range byHeight[i+1:] {
			if overlap(below, c) {
				c.LabelY = min(c.LabelY, below.LabelY-height)
			}
		}
	}
}
