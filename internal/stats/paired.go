package stats

import (
	"math"
	"slices"
)

// fewestPairs is the number of blocks below which no test can keep to 5 %: of
// the 2^n ways to flip the signs of n differences, the most extreme two are
// 2/2^5 = 6 % of all with five blocks and 3 % with six.
const fewestPairs = 6

// Paired compares values of runs that ran side by side in blocks: base[i] and
// head[i] are those of block i. NaN stands for a run that gave no value.
//
// It works on d = ln(head/base) of each block, which what drifts from block to
// block does not touch. The ratio is exp of the Hodges-Lehmann estimate, the
// median of the averages of all pairs of d; the p value is that of Wilcoxon's
// signed-rank test, which flips the signs of the ranked d in all 2^n ways; the
// interval is made of those ratios that the same test would not reject. So the
// three never contradict each other, one mad run moves none of them far, and
// there is no random resampling. If the order within each block was random, the
// p value holds whatever drifts, and however the noise of neighbouring runs is
// related; the interval further takes d to be symmetric about the true ratio,
// as it is when the variant scales the measure.
//
// Sources: Hodges and Lehmann, Estimates of Location Based on Rank Tests, 1963;
// Hollander, Wolfe and Chicken, Nonparametric Statistical Methods, 3rd edition,
// 2014, sections 3.1 to 3.3. A bootstrap over blocks was tried as well: see
// TestWhyTheIntervalsAreNotBootstrapped.
//
// With fewer than 6 blocks there is no p value, and the interval is Student's
// over d, which takes d to be normal. With one block there is the ratio only.
// If a value is zero or negative, ratios have no meaning: then there is none,
// nor an interval, and the p value is that of the differences.
func Paired(base, head []float64) Comparison {
	if len(base) != len(head) {
		c := Comparison{N1: len(base), N2: len(head)}
		c.Warnings.Add("There are %d values of the base and %d of the head, so blocks cannot be made of them.", len(base), len(head))
		return c
	}
	c := Comparison{Ratios: make([]*float64, len(base))}
	var logs, differences []float64
	positive := true
	for i := range base {
		b, h := base[i], head[i]
		if !isFinite(b) || !isFinite(h) {
			continue
		}
		differences = append(differences, h-b)
		if b <= 0 || h <= 0 {
			positive = false
			continue
		}
		logs = append(logs, math.Log(h)-math.Log(b))
		c.Ratios[i] = ratioOf(logs[len(logs)-1])
	}
	c.N1, c.N2, c.Pairs = len(differences), len(differences), len(differences)
	c.CliffsDelta = dominance(differences)
	if missing := len(base) - c.Pairs; missing > 0 {
		c.Warnings.Add("%d of %d blocks lack a value on one side at least, and are left out.", missing, len(base))
	}
	switch {
	case c.Pairs == 0:
		c.Warnings.Add("There is no block with values on both sides.")
	case !positive:
		c.compareDifferences(differences)
	default:
		c.compareLogs(logs)
	}
	return c
}

func (c *Comparison) compareLogs(logs []float64) {
	averages := walshAverages(logs)
	if !c.setRatio(median(averages)) {
		return
	}
	switch n := len(logs); {
	case n == 1:
		c.Warnings.Add("There is one block only, so nothing is known about how much blocks differ; %d are needed.", fewestPairs)
	case n < fewestPairs:
		c.compareFew(logs)
	default:
		c.setInterval("Hodges-Lehmann ratio and Wilcoxon signed-rank interval over blocks", signedRankInterval(averages, n))
		c.P = finite(signedRankP(logs))
		if sameEverywhere(logs) {
			c.Warnings.Add("All %d blocks have the same ratio: the measure does not vary, and the interval has no width.", n)
		}
	}
}

// compareFew gives the interval of less blocks than a test needs.
func (c *Comparison) compareFew(logs []float64) {
	n := len(logs)
	if sameEverywhere(logs) {
		c.Warnings.Add("All %d blocks have the same ratio, and they are too few to say how much blocks differ; %d are needed.", n, fewestPairs)
		return
	}
	centre, deviation := meanAndDeviation(logs)
	half := tQuantile(n-1) * deviation / math.Sqrt(float64(n))
	c.setRatio(centre) // the interval is about the mean; another centre might lie outside
	c.setInterval("mean log ratio and Student's interval over blocks", interval{centre - half, centre + half, Level})
	c.Warnings.Add("With %d blocks the interval rests on the assumption that the noise is normal, and there is no p value; %d are needed.", n, fewestPairs)
}

// compareDifferences does what can be done where ratios have no meaning.
func (c *Comparison) compareDifferences(differences []float64) {
	if !slices.ContainsFunc(differences, func(d float64) bool { return d != 0 }) {
		c.Warnings.Add("Base and head are equal in every block, and zero or negative in some, so there is no ratio.")
		return
	}
	c.Warnings.Add("Some values are zero or negative, so there is no ratio.")
	if len(differences) < fewestPairs {
		c.Warnings.Add("There are %d blocks; a p value needs %d.", len(differences), fewestPairs)
		return
	}
	c.P = finite(signedRankP(differences))
	c.Warnings.Add("The p value is that of the differences.")
}

// dominance is Cliff's delta within pairs: the share of pairs in which the head
// is above less that in which it is below (Cliff, Ordinal Methods for
// Behavioral Data Analysis, 1996, chapter 6: d within).
func dominance(differences []float64) *float64 {
	sum := 0
	for _, d := range differences {
		sum += sign(d)
	}
	return finite(float64(sum) / float64(len(differences)))
}

func sign(x float64) int {
	switch {
	case x > 0:
		return 1
	case x < 0:
		return -1
	}
	return 0
}
