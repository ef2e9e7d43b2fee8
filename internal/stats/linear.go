package stats

// Line is y = a + b x: what each x more costs, and what is there without any.
type Line struct {
	// Points and Runs are the numbers used.
	Points int `json:"points"`
	Runs   int `json:"runs"`
	// Slope is the b, and Intercept the a.
	Slope     Estimate `json:"slope"`
	Intercept *float64 `json:"intercept,omitempty"`
	// R2 is the share of the variance that the line explains.
	R2       *float64 `json:"r2,omitempty"`
	Warnings Warnings `json:"warnings,omitempty"`
}

// Linear fits y = a + b x by least squares. Where the interval of the slope comes
// from is as with LogLog: from the runs, if there are several with several
// points each, or else from the points.
func Linear(points []Point) Line {
	var l Line
	runs := map[int]bool{}
	var kept []Point
	for _, p := range points {
		if isFinite(p.X) && isFinite(p.Y) {
			kept, runs[p.Run] = append(kept, p), true
		}
	}
	l.Points, l.Runs = len(kept), len(runs)
	slope, ok := overRuns(kept, coordinates, fitLine)
	if !ok {
		l.Warnings.Add("A line needs points at two different x at least.")
		return l
	}
	l.Slope = slope.estimate()
	xs, ys := coordinates(kept)
	meanX, _ := meanAndDeviation(xs)
	meanY, _ := meanAndDeviation(ys)
	l.Intercept, l.R2 = finite(meanY-slope.coefficient*meanX), explained(xs, ys)
	if l.Runs == 1 && l.Slope.Lo != nil {
		l.Warnings.Add("All points are of one run: the interval says how well a line fits them, not how much runs differ.")
	}
	return l
}

func coordinates(points []Point) (xs, ys []float64) {
	for _, p := range points {
		xs, ys = append(xs, p.X), append(ys, p.Y)
	}
	return xs, ys
}
