package stats

import (
	"math"
	"math/bits"
	"slices"
	"testing"
)

// Permeability of membranes at term and earlier, from Hollander and Wolfe, 1973,
// table 4.1; also the example of R's wilcox.test, with W = 35 and a two-sided
// p = 0.2544; the book's estimate of the difference is 0.305.
func TestRankSumsAgreeWithHollanderAndWolfe(t *testing.T) {
	term := []float64{0.80, 0.83, 1.89, 1.04, 1.45, 1.38, 1.91, 1.64, 0.73, 1.46}
	earlier := []float64{1.15, 0.88, 0.90, 0.74, 1.21}
	about(t, "the p value", *mannWhitney(earlier, term), 0.2544, 0.00005)
	about(t, "Cliff's delta, (2W - mn) / mn", *CliffsDelta(earlier, term), 0.4, 1e-12)

	// On exponentials, so that ratios become differences.
	c := Unpaired(exponentials(earlier), exponentials(term))
	about(t, "the difference", math.Log(*c.Ratio), 0.305, 0.0005)
	// Of the 50 sorted differences the 9th from either end, as the critical value
	// of U at 5 % for 5 and 10 is 8 (Mann and Whitney's table).
	about(t, "the lower bound", math.Log(*c.Lo), -0.15, 1e-9)
	about(t, "the upper bound", math.Log(*c.Hi), 0.76, 1e-9)
}

func TestRankSumsAgreeWithChoosingInAllWays(t *testing.T) {
	const n1, n2 = 4, 6
	counts, all := make([]float64, n1*n2+1), 0.0
	for chosen := range uint(1 << (n1 + n2)) {
		if bits.OnesCount(chosen) != n1 {
			continue
		}
		u := -n1 * (n1 - 1) / 2
		for rank := range n1 + n2 {
			u += rank * int(chosen>>rank&1)
		}
		counts[u]++
		all++
	}
	for u, probability := range rankSumDistribution(n1, n2) {
		about(t, "a probability", probability, counts[u]/all, 1e-12)
	}
}

// Critical values of U, two-sided at 5 %, from the usual tables (Mann and Whitney,
// 1947; Milton, 1964). U at or below them is significant, so the interval's rank
// is one more.
func TestCriticalValuesAgreeWithTheTables(t *testing.T) {
	for _, row := range []struct{ n1, n2, critical int }{
		{4, 4, 0}, {5, 5, 2}, {6, 6, 5}, {7, 7, 8}, {8, 8, 13}, {10, 10, 23}, {20, 20, 127}, {5, 10, 8},
	} {
		if k, _ := rankSumRank(row.n1, row.n2); k != row.critical+1 {
			t.Errorf("%d and %d runs: %d, not %d", row.n1, row.n2, k-1, row.critical)
		}
	}
	for n, critical := range map[int]int{6: 0, 7: 2, 8: 3, 9: 5, 10: 8, 15: 25, 20: 52} { // Wilcoxon's signed ranks
		ranks := make([]int, n)
		for i := range ranks {
			ranks[i] = i + 1
		}
		if k, _ := rankOf(sumDistribution(ranks)); k != critical+1 {
			t.Errorf("%d blocks: %d, not %d", n, k-1, critical)
		}
	}
}

func TestUnpaired(t *testing.T) {
	low, high := []float64{10, 11, 12, 13}, []float64{20, 22, 24, 26}
	for _, row := range []struct {
		name       string
		base, head []float64
		ratio      any
		interval   bool
		p          any
		warning    string
	}{
		{"two apart sets of four", low, high, 2., true, 2. / 70, ""},
		{"the same values everywhere", times(5, 7), times(5, 7), 1., true, 1., "do not vary"},
		{"three runs each", low[:3], high[:3], 2., true, "none", "rests on the assumption"},
		{"three equal runs each", times(3, 1), times(3, 2), 2., false, "none", "do not vary"},
		{"one run on a side", low[:1], high, "any", false, "none", "one run only"},
		{"nothing on a side", nil, high, "none", false, "none", "no values on one side"},
		{"runs without a value", append([]float64{math.NaN()}, low...), high, 2., true, 2. / 70, "1 of 9 runs gave no value"},
		{"errors that were none before", times(4, 0), high, "none", false, 2. / 70, "zero or negative"},
		{"ratios beyond float64", times(4, 1e-308), times(4, 1e308), "none", false, 2. / 70, "too far apart"},
	} {
		t.Run(row.name, func(t *testing.T) {
			base, head := slices.Clone(row.base), slices.Clone(row.head)
			c := Unpaired(row.base, row.head)
			if row.ratio != "any" {
				maybe(t, "the ratio", c.Ratio, row.ratio)
			}
			maybe(t, "the p value", c.P, row.p)
			if (c.Lo != nil) != row.interval {
				t.Errorf("interval: %v to %v", c.Lo, c.Hi)
			}
			warned(t, c.Warnings, row.warning)
			if !slices.EqualFunc(base, row.base, same) || !slices.EqualFunc(head, row.head, same) {
				t.Error("the arguments have been changed")
			}
		})
	}
}

func same(a, b float64) bool { return a == b || math.IsNaN(a) && math.IsNaN(b) }

func exponentials(values []float64) []float64 {
	out := make([]float64, len(values))
	for i, x := range values {
		out[i] = math.Exp(x)
	}
	return out
}
