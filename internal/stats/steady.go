package stats

import "math"

// Trend says how a series, such as the throughput of each second, changed.
type Trend struct {
	// Change is that of the least-squares line from the first to the last value, as a share of the mean.
	Change *float64
	// Steady says that Change is known, and within the limit.
	Steady bool
}

// Steadiness looks for a trend in a series of evenly spaced values; NaN stands
// for one that is missing. The series is steady if the line through it changes
// by at most limit (0.1 is 10 %) of its mean. That says the same as the slope which
// fio compares with steadystate=iops_slope, without depending on the length. It takes three values, of a mean other than zero. A
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
	change := finite(line.coefficient * float64(len(values)-1))
	if !ok || change == nil {
		return Trend{}
	}
	return Trend{Change: change, Steady: math.Abs(*change) <= limit}
}
