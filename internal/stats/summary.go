package stats

import (
	"math"

	"github.com/aclements/go-moremath/stats"
	"golang.org/x/perf/benchmath"
)

// Summary describes the values that the runs of one variant gave. A nil number
// is one that cannot be given.
type Summary struct {
	N      int      `json:"n"`
	Median *float64 `json:"median,omitempty"`
	// Lo and Hi bound the interval of the median, which assumes nothing about the
	// distribution; Confidence is its actual confidence.
	Lo         *float64 `json:"lo,omitempty"`
	Hi         *float64 `json:"hi,omitempty"`
	Confidence float64  `json:"confidence,omitempty"`
	Mean       *float64 `json:"mean,omitempty"`
	StdDev     *float64 `json:"stdDev,omitempty"`
	Min        *float64 `json:"min,omitempty"`
	Max        *float64 `json:"max,omitempty"`
	Warnings   Warnings `json:"warnings,omitempty"`
}

// Summarise describes values, one per run. With less than 6 runs the median has
// no interval: even from the least to the greatest value is less than 95 %.
func Summarise(values []float64) Summary {
	known := sorted(finites(values))
	s := Summary{N: len(known)}
	if missing := len(values) - len(known); missing > 0 {
		s.Warnings.Add("%d of %d runs gave no value, and are left out.", missing, len(values))
	}
	if s.N == 0 {
		s.Warnings.Add("There are no values.")
		return s
	}
	mean, deviation := meanAndDeviation(known)
	s.Median, s.Mean = finite(median(known)), finite(mean)
	s.Min, s.Max = finite(known[0]), finite(known[s.N-1])
	if s.N == 1 {
		s.Warnings.Add("There is one run only, so nothing is known about how much runs differ.")
		return s
	}
	s.StdDev = finite(deviation)
	if s.N < fewestPairs {
		s.Warnings.Add("With %d runs there is no interval of the median; %d are needed.", s.N, fewestPairs)
		return s
	}
	sample := benchmath.NewSample(known, &benchmath.DefaultThresholds)
	summary := benchmath.AssumeNothing.Summary(sample, Level)
	s.Lo, s.Hi, s.Confidence = finite(summary.Lo), finite(summary.Hi), summary.Confidence
	return s
}

// Spread is the wider half of the median's interval, as a share of the median;
// false says that there is none.
func (s Summary) Spread() (share float64, known bool) {
	if s.Median == nil || s.Lo == nil || s.Hi == nil || *s.Median == 0 {
		return 0, false
	}
	return math.Max(*s.Hi-*s.Median, *s.Median-*s.Lo) / math.Abs(*s.Median), true
}

// Mean is that of the finite ones among values; NaN if there are none.
func Mean(values []float64) float64 {
	sum, n := 0.0, 0.0
	for _, x := range values {
		if isFinite(x) {
			sum, n = sum+x, n+1
		}
	}
	return sum / n
}

// Median is that of the finite ones among values; NaN if there are none.
func Median(values []float64) float64 {
	if values = sorted(finites(values)); len(values) > 0 {
		return median(values)
	}
	return math.NaN()
}

// meanAndDeviation are the mean and the sample standard deviation; the latter is
// 0 for one value. They are infinite only if the deviation is beyond float64.
func meanAndDeviation(values []float64) (mean, deviation float64) {
	n := float64(len(values))
	for _, x := range values {
		mean += x / n // divided first: the sum may overflow
	}
	for _, x := range values {
		deviation = math.Hypot(deviation, x-mean) // the squares may overflow, too
	}
	return mean, deviation / math.Sqrt(math.Max(1, n-1))
}

// tQuantile is the 97.5th percentile of Student's distribution: half the width
// of a 95 % interval, in standard errors.
func tQuantile(degreesOfFreedom int) float64 {
	return stats.InvCDF(stats.TDist{V: float64(degreesOfFreedom)})(1 - alpha/2)
}

// tTest is the two-sided p value of an estimate being zero but for its error.
func tTest(estimate, standardError float64, degreesOfFreedom int) float64 {
	if estimate == 0 {
		return 1
	}
	t := math.Abs(estimate / standardError)
	if math.IsInf(t, 0) {
		return 0
	}
	return 2 * stats.TDist{V: float64(degreesOfFreedom)}.CDF(-t)
}
