package stats

import (
	"fmt"
	"math"
	"slices"
)

// Comparison says how the head, the variant in question, differs from the base.
// A nil number is one that cannot be given; Warnings then says why.
type Comparison struct {
	// Method names the statistics behind the interval, for a report's small print.
	Method string `json:"method,omitempty"`
	// Ratio is head over base: 1.1 is a head 10 % above the base.
	Ratio *float64 `json:"ratio,omitempty"`
	// Lo and Hi bound the interval around Ratio.
	Lo *float64 `json:"lo,omitempty"`
	Hi *float64 `json:"hi,omitempty"`
	// Confidence is the actual confidence of the interval. Exact intervals move in
	// jumps, so it is Level or a little more; it is 0 if there is no interval.
	Confidence float64 `json:"confidence,omitempty"`
	// P is the two-sided p value of "the variant makes no difference".
	P *float64 `json:"p,omitempty"`
	// N1 and N2 are the numbers of values used of the base and of the head.
	N1 int `json:"n1"`
	N2 int `json:"n2"`
	// Pairs is the number of blocks used; 0 if the comparison is not paired.
	Pairs int `json:"pairs,omitempty"`
	// CliffsDelta is how often the head is above the base less how often it is
	// below, from -1 to 1; within blocks if paired, over all pairs of runs if not.
	CliffsDelta *float64 `json:"cliffsDelta,omitempty"`
	// Ratios has head over base of every block given, in order; null where there is none.
	Ratios   []*float64 `json:"ratios,omitempty"`
	Warnings Warnings   `json:"warnings,omitempty"`
}

// Warnings are sentences for whoever reads the numbers.
type Warnings []string

// Add adds one.
func (w *Warnings) Add(format string, arguments ...any) {
	*w = append(*w, fmt.Sprintf(format, arguments...))
}

// setRatio gives the ratio whose logarithm is known.
func (c *Comparison) setRatio(logarithm float64) bool {
	c.Ratio = ratioOf(logarithm)
	if c.Ratio == nil {
		c.Warnings.Add("The values of base and head are too far apart for a ratio.")
	}
	return c.Ratio != nil
}

// setInterval gives the interval whose bounds' logarithms are known.
func (c *Comparison) setInterval(method string, i interval) {
	lo, hi := ratioOf(i.lo), ratioOf(i.hi)
	if lo == nil || hi == nil {
		c.Warnings.Add("The ratios differ too much from each other for an interval.")
		return
	}
	c.Method, c.Lo, c.Hi, c.Confidence = method, lo, hi, i.confidence
}

// interval is a range that holds the true value with a confidence.
type interval struct{ lo, hi, confidence float64 }

// ratioOf is the ratio with a logarithm, or nil if no float64 can hold it.
func ratioOf(logarithm float64) *float64 {
	ratio := math.Exp(logarithm)
	if ratio == 0 {
		return nil
	}
	return finite(ratio)
}

// finite points to a number, or is nil if JSON could not hold it.
func finite(x float64) *float64 {
	if !isFinite(x) {
		return nil
	}
	return &x
}

func isFinite(x float64) bool { return !math.IsNaN(x) && !math.IsInf(x, 0) }

// finites are the finite ones of some values, in a slice of its own.
func finites(values []float64) []float64 {
	var kept []float64
	for _, x := range values {
		if isFinite(x) {
			kept = append(kept, x)
		}
	}
	return kept
}

// median is the middle of sorted values, of which there is at least one.
func median(sorted []float64) float64 {
	n := len(sorted)
	if n%2 == 1 {
		return sorted[n/2]
	}
	return sorted[n/2-1]/2 + sorted[n/2]/2 // halved first: the sum of two large numbers may overflow
}

// sorted is a sorted copy.
func sorted(values []float64) []float64 {
	values = slices.Clone(values)
	slices.Sort(values)
	return values
}

// sameEverywhere says that values differ by rounding at most.
func sameEverywhere(values []float64) bool {
	lo, hi := slices.Min(values), slices.Max(values)
	return hi-lo <= 1e-12*math.Max(math.Abs(lo), math.Abs(hi))
}
