package stats

import (
	"math"
	"slices"

	"golang.org/x/perf/benchmath"
)

// Unpaired compares values of runs that were not made in blocks, such as those
// of two old results directories. It cannot tell what the variant changed from
// what the machine changed between the two; whoever shows it should say so.
//
// The p value is that of the Mann-Whitney test. The ratio is the median of
// head/base over all pairs of a run of each side, the Hodges-Lehmann estimate of
// the shift in logarithms, and the interval is made of those ratios that the
// same test would not reject (Hollander, Wolfe and Chicken, 2014, sections 4.1
// to 4.3). Like the ratio of the medians it is not moved by a mad run, but its
// interval is exact; see TestWhyTheIntervalsAreNotBootstrapped.
//
// If the runs are too few for the test (less than 4 on both sides), there is no
// p value and the interval is Welch's over logarithms, which takes these to be
// normal. Zeros and negative values leave the p value and Cliff's delta.
func Unpaired(base, head []float64) Comparison {
	b, h := finites(base), finites(head)
	c := Comparison{N1: len(b), N2: len(h)}
	if missing := len(base) + len(head) - len(b) - len(h); missing > 0 {
		c.Warnings.Add("%d of %d runs gave no value, and are left out.", missing, len(base)+len(head))
	}
	if len(b) == 0 || len(h) == 0 {
		c.Warnings.Add("There are no values on one side at least.")
		return c
	}
	c.CliffsDelta = CliffsDelta(b, h)
	k, confidence := rankSumRank(len(b), len(h))
	if k > 0 {
		c.P = mannWhitney(b, h)
	}
	if slices.Min(b) <= 0 || slices.Min(h) <= 0 {
		c.Warnings.Add("Some values are zero or negative, so there is no ratio.")
		return c
	}
	logs := logRatios(b, h)
	if !c.setRatio(median(logs)) {
		return c
	}
	if k == 0 {
		c.welch(b, h)
		return c
	}
	c.setInterval("Hodges-Lehmann ratio and Mann-Whitney interval over runs", interval{logs[k-1], logs[len(logs)-k], confidence})
	if sameEverywhere(logs) {
		c.Warnings.Add("The values do not vary on either side, and the interval has no width.")
	}
	return c
}

// mannWhitney is the two-sided p value. Equal values everywhere are no evidence.
func mannWhitney(base, head []float64) *float64 {
	thresholds := benchmath.DefaultThresholds
	// NewSample sorts what it is given, so it gets copies.
	s1 := benchmath.NewSample(slices.Clone(base), &thresholds)
	s2 := benchmath.NewSample(slices.Clone(head), &thresholds)
	p := benchmath.AssumeNothing.Compare(s1, s2).P
	return finite(math.Max(0, math.Min(p, 1)))
}

// welch gives Welch's interval of the difference of the mean logarithms (Welch,
// The Generalization of Student's Problem, 1947).
func (c *Comparison) welch(base, head []float64) {
	const fewest = 4
	if len(base) < 2 || len(head) < 2 {
		c.Warnings.Add("There is one run only on one side, so nothing is known about how much runs differ; %d on each side are needed.", fewest)
		return
	}
	m1, s1 := meanAndDeviation(logsOf(base))
	m2, s2 := meanAndDeviation(logsOf(head))
	v1, v2 := s1*s1/float64(len(base)), s2*s2/float64(len(head))
	if v1+v2 == 0 {
		c.Warnings.Add("The values do not vary, and are too few to say how much runs differ; %d on each side are needed.", fewest)
		return
	}
	// The smaller of the two degrees of freedom is Welch's lower bound; his
	// estimate is too high when it rests on two or three runs.
	half := tQuantile(min(len(base), len(head))-1) * math.Sqrt(v1+v2)
	c.setRatio(m2 - m1)
	c.setInterval("mean log ratio and Welch's interval over runs", interval{m2 - m1 - half, m2 - m1 + half, Level})
	c.Warnings.Add("With %d and %d runs the interval rests on the assumption that the noise is normal, and there is no p value; %d on each side are needed.",
		len(base), len(head), fewest)
}

// CliffsDelta is how often a value of the head is above one of the base less how
// often it is below, over all pairs: from -1 to 1, nil if a side is empty
// (Cliff, Dominance Statistics, 1993).
func CliffsDelta(base, head []float64) *float64 {
	sum := 0
	for _, b := range base {
		for _, h := range head {
			sum += sign(h - b)
		}
	}
	return finite(float64(sum) / (float64(len(base)) * float64(len(head))))
}

// logRatios are ln(head/base) of all pairs, sorted.
func logRatios(base, head []float64) []float64 {
	logs := make([]float64, 0, len(base)*len(head))
	for _, b := range logsOf(base) {
		for _, h := range logsOf(head) {
			logs = append(logs, h-b)
		}
	}
	slices.Sort(logs)
	return logs
}

func logsOf(values []float64) []float64 {
	logs := make([]float64, len(values))
	for i, x := range values {
		logs[i] = math.Log(x)
	}
	return logs
}

// rankSumRank says which of the sorted differences bound the interval that
// inverts the Mann-Whitney test, counted from either end, and its confidence;
// 0 if the runs are too few for one.
func rankSumRank(n1, n2 int) (k int, confidence float64) {
	var tail float64
	if n1+n2 > exactLimit {
		product := float64(n1) * float64(n2)
		k, tail = normalRank(product/2, math.Sqrt(product*float64(n1+n2+1)/12))
		if min(n1, n2) == 1 && 2/float64(n1+n2) > alpha {
			return 0, 0
		}
	} else {
		k, tail = rankOf(rankSumDistribution(n1, n2))
	}
	return k, 1 - 2*tail
}

// rankSumDistribution is the null distribution of the Mann-Whitney U: choose n1
// of n1+n2 ranks; U is their sum less the least that it can be.
func rankSumDistribution(n1, n2 int) []float64 {
	// ways[c][u] is the number of ways to choose c of the ranks so far, as a share
	// of all ways to choose n1 of them at the end.
	ways := make([][]float64, n1+1)
	for c := range ways {
		ways[c] = make([]float64, n1*n2+1)
	}
	ways[0][0] = 1
	for rank := 1; rank <= n1+n2; rank++ {
		for c := min(rank, n1); c >= 1; c-- {
			step := rank - c // how far the c-th chosen lies above its least rank
			for u := n1 * n2; u >= step; u-- {
				ways[c][u] += ways[c-1][u-step]
			}
		}
	}
	total := 0.0
	for _, w := range ways[n1] {
		total += w
	}
	for u := range ways[n1] {
		ways[n1][u] /= total
	}
	return ways[n1]
}
