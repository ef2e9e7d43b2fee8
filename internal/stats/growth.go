package stats

import (
	"math"
	"slices"
)

// Point is what one run measured at one value of a swept parameter.
type Point struct {
	X, Y float64
	// Run tells the runs apart: points of one run share what was peculiar to it.
	Run int
}

// Estimate is a number with its interval; nil is not known.
type Estimate struct {
	Value *float64 `json:"value,omitempty"`
	Lo    *float64 `json:"lo,omitempty"`
	Hi    *float64 `json:"hi,omitempty"`
}

// Bend says which way a curve leaves the straight line in logarithms.
type Bend string

// The bends.
const (
	Straight  Bend = ""
	Upwards   Bend = "upwards"   // the exponent grows along the range
	Downwards Bend = "downwards" // it falls
)

// Growth says how y grows with x.
type Growth struct {
	// Points and Runs are the numbers used.
	Points int `json:"points"`
	Runs   int `json:"runs"`
	// Exponent is that of the whole range. Scale is the a of y = a x^k, with which
	// its line can be drawn; R2 is the share of the variance that the line explains.
	Exponent Estimate `json:"exponent"`
	Scale    *float64 `json:"scale,omitempty"`
	R2       *float64 `json:"r2,omitempty"`
	// Low and High are the exponents of the lower and the upper half of the range.
	// A fixed cost hides growth at small x: High is the one to extrapolate with.
	Low  Estimate `json:"low"`
	High Estimate `json:"high"`
	// Bends is set if the exponent changes, and BendP is the p value of that.
	Bends    Bend     `json:"bends,omitempty"`
	BendP    *float64 `json:"bendP,omitempty"`
	Warnings Warnings `json:"warnings,omitempty"`
}

// leastBend is the change of the exponent over the range that is called a bend.
// With little noise, bends that nobody would care about are significant.
const leastBend = 0.1

// LogLog fits y = a x^k by least squares in logarithms.
//
// If there are several runs with several points each, k is fitted to each run,
// and the interval is Student's over the runs: points of one run are not
// independent. If there is one run, or one point per run, the interval is that
// of the regression over the points. Points that are not above zero have no
// logarithm and are left out.
func LogLog(points []Point) Growth {
	var g Growth
	xs := g.keep(&points)
	if len(xs) < 2 {
		g.Warnings.Add("Growth needs at least two different x with a y above zero, and there are %d.", len(xs))
		return g
	}
	half := len(xs)/2 + 1
	g.Exponent = exponentOf(points)
	g.Low = exponentOf(between(points, xs[0], xs[half-1]))
	g.High = exponentOf(between(points, xs[len(xs)-half], xs[len(xs)-1]))
	g.describeLine(points)
	if len(xs) < 3 {
		g.Warnings.Add("There are two different x only, through which any curve could pass.")
	} else {
		g.findBend(points, xs)
	}
	if g.Runs == 1 && g.Exponent.Lo != nil {
		g.Warnings.Add("All points are of one run: the interval says how well a line fits them, not how much runs differ.")
	}
	return g
}

// FirstPast is the least x at which y is past a bound: above it if lower is
// better, below it if higher is. Of several y at one x the median counts. False
// says that no y is.
func FirstPast(xs, ys []float64, bound float64, direction Direction) (x float64, past bool) {
	at := map[float64][]float64{}
	for i := range min(len(xs), len(ys)) {
		if !math.IsNaN(xs[i]) && !math.IsNaN(ys[i]) {
			at[xs[i]] = append(at[xs[i]], ys[i])
		}
	}
	for candidate, values := range at {
		y := median(sorted(values))
		isPast := y > bound
		if direction == HigherIsBetter {
			isPast = y < bound
		}
		if isPast && (!past || candidate < x) {
			x, past = candidate, true
		}
	}
	return x, past
}

// keep leaves out the points that have no logarithm, and gives the different x, sorted.
func (g *Growth) keep(points *[]Point) []float64 {
	var kept []Point
	var xs []float64
	runs := map[int]bool{}
	for _, p := range *points {
		if isFinite(p.X) && isFinite(p.Y) && p.X > 0 && p.Y > 0 {
			kept, xs, runs[p.Run] = append(kept, p), append(xs, p.X), true
		}
	}
	if left := len(*points) - len(kept); left > 0 {
		g.Warnings.Add("%d of %d points are missing, zero or negative, and are left out.", left, len(*points))
	}
	g.Points, g.Runs, *points = len(kept), len(runs), kept
	slices.Sort(xs)
	return slices.Compact(xs)
}

// describeLine gives what is needed to draw the line, and how well it fits.
func (g *Growth) describeLine(points []Point) {
	if g.Exponent.Value == nil {
		return
	}
	xs, ys := logarithms(points)
	meanX, _ := meanAndDeviation(xs)
	meanY, _ := meanAndDeviation(ys)
	g.Scale, g.R2 = ratioOf(meanY-*g.Exponent.Value*meanX), explained(xs, ys)
}

// findBend tests whether a parabola fits better than a line.
func (g *Growth) findBend(points []Point, xs []float64) {
	bend, ok := overRuns(points, logarithms, fitBend)
	if !ok || bend.degreesOfFreedom == 0 {
		g.Warnings.Add("There are too few points to tell whether the exponent changes along the range.")
		return
	}
	// The slope of a parabola changes by twice its coefficient per unit of x.
	change := 2 * bend.coefficient * math.Log(xs[len(xs)-1]/xs[0])
	if math.Abs(change) < 1e-9 { // rounding
		g.BendP = finite(1)
		return
	}
	g.BendP = finite(tTest(bend.coefficient, bend.standardError, bend.degreesOfFreedom))
	if g.BendP == nil || *g.BendP > alpha || math.Abs(change) < leastBend {
		return
	}
	g.Bends = Upwards
	if change < 0 {
		g.Bends = Downwards
	}
	g.Warnings.Add("The exponent changes along the range, so no single one describes it.")
}

func exponentOf(points []Point) Estimate {
	slope, ok := overRuns(points, logarithms, fitLine)
	if !ok {
		return Estimate{}
	}
	return slope.estimate()
}

// overRuns fits every run for itself, and takes the coefficients of the runs as
// the sample; so no assumption is needed about how the points of a run hang
// together (the summary measures of Matthews and others, Analysis of Serial
// Measurements in Medical Research, 1990). If some run cannot be fitted alone,
// all points are fitted together.
func overRuns(points []Point, read func([]Point) (xs, ys []float64), fit func(xs, ys []float64) (fitted, bool)) (fitted, bool) {
	byRun := map[int][]Point{}
	for _, p := range points {
		byRun[p.Run] = append(byRun[p.Run], p)
	}
	var coefficients []float64
	for _, of := range byRun {
		if f, ok := fit(read(of)); ok {
			coefficients = append(coefficients, f.coefficient)
		}
	}
	if len(byRun) < 2 || len(coefficients) < len(byRun) {
		return fit(read(points))
	}
	slices.Sort(coefficients) // a map's order must not reach the rounding
	mean, deviation := meanAndDeviation(coefficients)
	n := len(coefficients)
	return fitted{mean, deviation / math.Sqrt(float64(n)), n - 1}, true
}

func logarithms(points []Point) (xs, ys []float64) {
	for _, p := range points {
		xs, ys = append(xs, math.Log(p.X)), append(ys, math.Log(p.Y))
	}
	return xs, ys
}

func between(points []Point, lo, hi float64) []Point {
	var kept []Point
	for _, p := range points {
		if lo <= p.X && p.X <= hi {
			kept = append(kept, p)
		}
	}
	return kept
}
