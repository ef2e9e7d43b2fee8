package stats

import (
	"cmp"
	"math"
	"slices"
)

// exactLimit is the number of values up to which null distributions are counted
// out; beyond it the normal distribution is as good.
const exactLimit = 100

// signedRankP is the two-sided p value of Wilcoxon's signed-rank test: among all
// ways to flip the signs of d, the share whose sum of positive ranks lies at
// least as far from the middle. Equal sizes share their mean rank; zeros are
// ranked, but have no sign (Pratt, Remarks on Zeros and Ties in the Wilcoxon
// Signed Rank Procedures, 1959), which is what counting the pairs whose average
// is above zero comes to, and so agrees with the interval.
func signedRankP(d []float64) float64 {
	ranks, positive := doubledRanks(d)
	total := 0
	for _, r := range ranks {
		total += r
	}
	distance := abs(2*positive - total)
	if len(d) > exactLimit {
		return signedRankNormalP(ranks, float64(distance))
	}
	p := 0.0
	for sum, probability := range sumDistribution(ranks) {
		if abs(2*sum-total) >= distance {
			p += probability
		}
	}
	return math.Min(p, 1)
}

// signedRankNormalP takes the sum of the doubled ranks, each with a fair sign, to
// be normal: its variance is the sum of their squares. It moves in steps of 4 if
// there are no ties; half a step is the usual correction for continuity.
func signedRankNormalP(ranks []int, distance float64) float64 {
	variance := 0.0
	for _, r := range ranks {
		variance += float64(r) * float64(r)
	}
	if variance == 0 {
		return 1
	}
	return math.Erfc(math.Max(0, distance-2) / math.Sqrt(2*variance))
}

// signedRankInterval is the exact interval of the centre of symmetry of n
// values, of whose Walsh averages it is an inner range.
func signedRankInterval(averages []float64, n int) interval {
	ranks := make([]int, n)
	for i := range ranks {
		ranks[i] = i + 1
	}
	var k int
	var tail float64
	if n > exactLimit {
		m, variance := float64(len(averages)), float64(n)*float64(n+1)*float64(2*n+1)/24
		k, tail = normalRank(m/2, math.Sqrt(variance))
	} else {
		k, tail = rankOf(sumDistribution(ranks))
	}
	return interval{averages[k-1], averages[len(averages)-k], 1 - 2*tail}
}

// rankOf is the largest k for which a statistic is below k with a probability of
// at most alpha/2, and that probability. It is 0 if there is no such k.
func rankOf(distribution []float64) (k int, tail float64) {
	for _, probability := range distribution {
		if tail+probability > alpha/2 {
			break
		}
		tail += probability
		k++
	}
	return k, tail
}

// normalRank does the same for a whole statistic that is nearly normal.
func normalRank(mean, deviation float64) (k int, tail float64) {
	k = max(1, int(math.Floor(mean-normalQuantile*deviation+0.5)))
	return k, alpha / 2
}

// normalQuantile is the 97.5th percentile of the standard normal distribution.
const normalQuantile = 1.959963984540054

// walshAverages are the averages of every two values, each with itself too, sorted.
func walshAverages(values []float64) []float64 {
	averages := make([]float64, 0, len(values)*(len(values)+1)/2)
	for i, x := range values {
		for _, y := range values[i:] {
			averages = append(averages, x/2+y/2)
		}
	}
	slices.Sort(averages)
	return averages
}

// doubledRanks are twice the ranks of the sizes of the values that are not zero,
// and their sum over those above zero. Doubled, the mean rank of ties is whole.
func doubledRanks(values []float64) (ranks []int, positive int) {
	bySize := slices.Clone(values)
	slices.SortFunc(bySize, func(x, y float64) int { return cmp.Compare(math.Abs(x), math.Abs(y)) })
	for from := 0; from < len(bySize); {
		to := from + 1
		for to < len(bySize) && math.Abs(bySize[to]) == math.Abs(bySize[from]) {
			to++
		}
		rank := from + 1 + to
		for _, x := range bySize[from:to] {
			if x != 0 {
				ranks = append(ranks, rank)
			}
			if x > 0 {
				positive += rank
			}
		}
		from = to
	}
	return ranks, positive
}

// sumDistribution gives, for every s, the probability that the numbers chosen by
// a fair coin each add up to s.
func sumDistribution(numbers []int) []float64 {
	distribution := []float64{1}
	for _, number := range numbers {
		next := make([]float64, len(distribution)+number)
		for sum, probability := range distribution {
			next[sum] += probability / 2
			next[sum+number] += probability / 2
		}
		distribution = next
	}
	return distribution
}

func abs(x int) int { return max(x, -x) }
