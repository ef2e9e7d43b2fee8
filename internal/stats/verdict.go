package stats

import "math"

// Direction says which way a measure is better.
type Direction string

// The directions of measures.
const (
	LowerIsBetter  Direction = "lower"  // response times, CPU, memory
	HigherIsBetter Direction = "higher" // throughput
)

// Verdict is what a comparison comes to.
type Verdict string

// The verdicts. Inconclusive is not Equivalent: it says that more blocks are
// needed, not that there is no difference.
const (
	Better       Verdict = "better"
	Worse        Verdict = "worse"
	Equivalent   Verdict = "equivalent"
	Inconclusive Verdict = "inconclusive"
)

// Verdict judges the interval against a margin: 0.05 says that a change of up
// to 5 % does not matter. The margins are 1+margin and 1/(1+margin), symmetric in
// logarithms, so that swapping base and head swaps better and worse.
//
// An interval beyond a margin is better or worse; one between both margins is
// equivalent; any other is inconclusive. That both bounds of a 95 % interval lie
// inside is the two one-sided tests procedure (Schuirmann, 1987) at 2.5 %, which
// is stricter than its usual 5 %. Without a margin (0) nothing is equivalent.
//
// Better and worse also need p <= 0.05 where there is a p value; so a P that was
// replaced by Holm's keeps the rate of false alarms over several measures.
func (c Comparison) Verdict(margin float64, direction Direction) Verdict {
	if c.Lo == nil || c.Hi == nil || !(margin >= 0) || math.IsInf(margin, 0) {
		return Inconclusive
	}
	upper, lower := 1+margin, 1/(1+margin)
	significant := c.P == nil || *c.P <= alpha
	switch {
	case *c.Lo > upper && significant:
		return judged(direction == HigherIsBetter)
	case *c.Hi < lower && significant:
		return judged(direction != HigherIsBetter)
	case margin > 0 && *c.Lo > lower && *c.Hi < upper:
		return Equivalent
	}
	return Inconclusive
}

func judged(better bool) Verdict {
	if better {
		return Better
	}
	return Worse
}

// mostBlocks is where BlocksNeeded stops: no experiment has more.
const mostBlocks = 10_000

// BlocksNeeded estimates how many blocks (runs of each side if not paired) an
// experiment should have to come to a verdict about this margin four times in
// five, if the true ratio and the noise are as found here. It is a rough guide
// for the plan of the next experiment: the ratio found is itself uncertain, and
// adding blocks until the verdict pleases is no experiment. False says that it
// cannot be told: there is no spread, or the ratio lies right on the margin.
//
// It is the usual sample size for Student's test, with the Wilcoxon tests'
// efficiency of 3/pi under normal noise (Hollander, Wolfe and Chicken, 2014).
func (c Comparison) BlocksNeeded(margin float64) (blocks int, known bool) {
	spread := c.spread()
	if c.Ratio == nil || !(spread > 0) || !(margin >= 0) {
		return 0, false
	}
	distance := math.Abs(math.Abs(math.Log(*c.Ratio)) - math.Log1p(margin))
	shifts := distance / spread * math.Sqrt(3/math.Pi)
	if !(shifts*math.Sqrt(mostBlocks) > normalQuantile+normalPower) {
		return 0, false
	}
	for blocks = fewestPairs; shifts*math.Sqrt(float64(blocks)) < needed(blocks); blocks++ {
	}
	return blocks, true
}

// normalPower is the 80th percentile of the standard normal distribution.
const normalPower = 0.8416212335729143

// needed is how many standard errors off zero the truth must be.
func needed(n int) float64 {
	if n > 200 { // by then Student's distribution is the normal one
		return normalQuantile + normalPower
	}
	return tQuantile(n-1) + normalPower
}

// spread is the standard deviation of the log ratios of blocks or, if not
// paired, the one that an interval of this width comes from.
func (c Comparison) spread() float64 {
	var logs []float64
	for _, ratio := range c.Ratios {
		if ratio != nil {
			logs = append(logs, math.Log(*ratio))
		}
	}
	if len(logs) >= 2 {
		_, deviation := meanAndDeviation(logs)
		return deviation
	}
	n := min(c.N1, c.N2)
	if c.Lo == nil || c.Hi == nil || n < 2 {
		return 0
	}
	return (math.Log(*c.Hi) - math.Log(*c.Lo)) / 2 / tQuantile(2*n-2) * math.Sqrt(float64(n))
}
