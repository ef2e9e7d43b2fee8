package stats

import "math"

// Trend says how a series, such as the throughput of each second, changed.
type Trend struct {
	// PerStep is the least-squares slope per value, as a share of the mean.
	PerStep *float64 `json:"perStep,omitempty"`
	// Change is the same line's change from the first to the last value.
	Change *float64 `json:"change,omitempty"`
	// Steady says that Change is known, and within the limit.
	Steady bool `json:"steady"`
}

// Steadiness looks for a trend in a series of evenly spaced values; NaN stands
// for one that is missing. The series is steady if the line through it changes
// by at most limit (0.1 is 10 %) of its mean. PerStep is what fio compares with
// steadystate=iops_slope; the change over the whole series says the same without
// depending on its length. It takes three values, of a mean other than zero. A
// steady verdict is no proof: a series that rises and falls again has no slope.
func Steadiness(values []float64, limit float64) Trend {
	var xs, ys []float64
	for i, y := range values {
		if isFinite(y) {
			xs, ys = append(xs, float64(i)), append(ys, y)
		}
	}
	if len(ys) < 3 {
		return Trend{}
	}
	mean, _ := meanAndDeviation(ys)
	if mean == 0 {
		return Trend{}
	}
	for i := range ys {
		ys[i] /= mean
	}
	line, ok := fitLine(xs, ys)
	slope, change := finite(line.coefficient), finite(line.coefficient*float64(len(values)-1))
	if !ok || slope == nil || change == nil {
		return Trend{}
	}
	return Trend{PerStep: slope, Change: change, Steady: math.Abs(*change) <= limit}
}
