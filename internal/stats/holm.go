package stats

import (
	"cmp"
	"math"
	"slices"
)

// Holm adjusts the p values of several tests, so that calling those up to 0.05
// significant is wrong about any of them at most 5 times in 100 (Holm, A Simple
// Sequentially Rejective Multiple Test Procedure, 1979). The order is kept. A
// NaN is a test that was not made: it stays, and does not count.
func Holm(ps []float64) []float64 {
	adjusted := slices.Clone(ps)
	var order []int
	for i, p := range ps {
		if !math.IsNaN(p) {
			order = append(order, i)
		}
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(ps[a], ps[b]) })
	least := 0.0
	for rank, i := range order {
		least = math.Max(least, math.Min(1, float64(len(order)-rank)*ps[i]))
		adjusted[i] = least
	}
	return adjusted
}
