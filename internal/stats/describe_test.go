package stats

import (
	"math"
	"slices"
	"testing"
)

// From R: p.adjust(c(0.01, 0.04, 0.03, 0.005), "holm").
func TestHolm(t *testing.T) {
	nan := math.NaN()
	for _, row := range []struct {
		name     string
		ps, want []float64
	}{
		{"the order is kept", []float64{0.01, 0.04, 0.03, 0.005}, []float64{0.03, 0.06, 0.06, 0.02}},
		{"one test is not adjusted", []float64{0.04}, []float64{0.04}},
		{"none is beyond 1", []float64{0.6, 0.9}, []float64{1, 1}},
		{"a test that was not made does not count", []float64{0.01, nan, 0.04}, []float64{0.02, nan, 0.04}},
		{"no tests", nil, nil},
	} {
		got := Holm(row.ps)
		if !slices.EqualFunc(got, row.want, func(a, b float64) bool { return same(a, b) || math.Abs(a-b) < 1e-12 }) {
			t.Errorf("%s: %v, not %v", row.name, got, row.want)
		}
	}
}

func TestOutliers(t *testing.T) {
	nan := math.NaN()
	for _, row := range []struct {
		name   string
		values []float64
		want   []int
	}{
		{"a run far above", []float64{10, 11, 10, 12, 11, 30}, []int{5}},
		{"a run far below", []float64{10, 11, 1, 10, 12, 11}, []int{2}},
		{"two, which would hide each other from a plain z-score", []float64{2.1, 2.6, 2.4, 2.5, 2.3, 2.1, 2.3, 2.6, 8.2, 8.3}, []int{8, 9}},
		{"ordinary noise", []float64{10, 11, 10, 12, 11, 9}, nil},
		{"all equal but one", []float64{5, 5, 5, 5, 5, 5, 6}, []int{6}},
		{"all equal", times(9, 5), nil},
		{"too few to tell", []float64{1, 1, 1, 100}, nil},
		{"missing values", []float64{10, nan, 11, 10, 12, math.Inf(1), 11, 30}, []int{7}},
	} {
		var flagged []int
		for i, flag := range Outliers(row.values) {
			if flag {
				flagged = append(flagged, i)
			}
		}
		if !slices.Equal(flagged, row.want) {
			t.Errorf("%s: %v, not %v", row.name, flagged, row.want)
		}
	}
}

func TestSummarise(t *testing.T) {
	// Of ten values the 2nd and the 9th bound the median at 97.9 % (Hollander, Wolfe
	// and Chicken, table of the sign test).
	s := Summarise([]float64{10, 9, 8, 7, 6, 5, 4, 3, 2, 1})
	maybe(t, "the median", s.Median, 5.5)
	maybe(t, "the lower bound", s.Lo, 2.)
	maybe(t, "the upper bound", s.Hi, 9.)
	about(t, "the confidence", s.Confidence, 0.978515625, 1e-12)
	maybe(t, "the mean", s.Mean, 5.5)
	maybe(t, "the deviation", s.StdDev, math.Sqrt(82.5/9))
	maybe(t, "the least", s.Min, 1.)
	maybe(t, "the greatest", s.Max, 10.)
	warned(t, s.Warnings, "")
}

func TestSummariseFewOrStrangeValues(t *testing.T) {
	for _, row := range []struct {
		name    string
		values  []float64
		median  any
		stdDev  any
		warning string
	}{
		{"five", []float64{1, 2, 3, 4, 5}, 3., math.Sqrt(2.5), "With 5 runs there is no interval"},
		{"one", []float64{7}, 7., "none", "one run only"},
		{"none", nil, "none", "none", "no values"},
		{"missing ones", []float64{math.NaN(), 7, math.Inf(1)}, 7., "none", "2 of 3 runs"},
		{"a deviation beyond float64", []float64{-math.MaxFloat64, math.MaxFloat64}, 0., "none", "With 2 runs"},
	} {
		t.Run(row.name, func(t *testing.T) {
			s := Summarise(row.values)
			maybe(t, "the median", s.Median, row.median)
			maybe(t, "the deviation", s.StdDev, row.stdDev)
			maybe(t, "the interval", s.Lo, "none")
			warned(t, s.Warnings, row.warning)
		})
	}
}

func TestSteadiness(t *testing.T) {
	nan := math.NaN()
	for _, row := range []struct {
		name   string
		values []float64
		change any
		steady bool
	}{
		{"a flat series", times(10, 5), 0., true},
		{"one that rises by a fifth", []float64{9, 10, 11}, 0.2, false},
		{"one that falls by a fifth", []float64{11, 10, 9}, -0.2, false},
		{"one that rises a little", []float64{99, 100, 101}, 0.02, true},
		{"one with a gap", []float64{9, nan, 11, 12, 13, 14}, 5 / 11.8, false},
		{"noise around a level", []float64{10, 11, 9, 11, 9, 10}, -2 / 17.5 * 5 / 10, true},
		{"two values", []float64{1, 2}, "none", false},
		{"zeros only", times(5, 0), "none", false},
	} {
		t.Run(row.name, func(t *testing.T) {
			trend := Steadiness(row.values, 0.1)
			maybe(t, "the change", trend.Change, row.change)
			if trend.Steady != row.steady {
				t.Errorf("steady is %v", trend.Steady)
			}
		})
	}
}

// Percentiles of Student's distribution as every table has them.
func TestStudentsDistribution(t *testing.T) {
	for degrees, want := range map[int]float64{1: 12.706, 2: 4.303, 4: 2.776, 9: 2.262, 30: 2.042} {
		about(t, "the 97.5th percentile", tQuantile(degrees), want, 0.0005)
		about(t, "its p value", tTest(want, 1, degrees), 0.05, 0.00005)
	}
}
