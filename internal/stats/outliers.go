package stats

import "math"

// outlying is the modified z-score above which a run is flagged, as recommended
// by Iglewicz and Hoaglin, How to Detect and Handle Outliers, 1993.
const outlying = 3.5

// Outliers flags the runs that lie far from the others, to be shown and
// explained; nothing in this package leaves them out. A run is flagged if its
// modified z-score, 0.6745 (x - median) / MAD, exceeds 3.5. If more than half of
// the values are equal, MAD is 0, and 1.2533 times the mean absolute deviation
// stands in for it. A missing value is never flagged, nor are less than 5 values.
func Outliers(values []float64) []bool {
	flags := make([]bool, len(values))
	known := sorted(finites(values))
	if len(known) < 5 {
		return flags
	}
	middle := median(known)
	scale := deviationAround(middle, known)
	for i, x := range values {
		flags[i] = isFinite(x) && math.Abs(x-middle) > outlying*scale
	}
	return flags
}

// deviationAround estimates a standard deviation without being moved by outliers.
func deviationAround(middle float64, values []float64) float64 {
	distances := make([]float64, len(values))
	mean := 0.0
	for i, x := range values {
		distances[i] = math.Abs(x - middle)
		mean += distances[i] / float64(len(values))
	}
	if mad := median(sorted(distances)); mad > 0 {
		return mad / 0.6745
	}
	return 1.253314 * mean
}
