package stats

import (
	"math"
	"math/rand/v2"
)

// world is what simulated runs take place in. Runs follow each other; each has
// noise in its logarithm, and the machine drifts over the experiment as a whole.
type world struct {
	ratio  float64 // the true head/base
	noise  float64 // standard deviation of a run
	drift  float64 // what the machine gets slower by from the first run to the last
	memory float64 // AR(1) coefficient of the noise of neighbouring runs
	shape  func(*rand.Rand) float64
}

// experiment makes the runs of n blocks, in a random order within each block.
func (w world) experiment(r *rand.Rand, n int) (base, head []float64) {
	base, head = make([]float64, n), make([]float64, n)
	shape := w.shape
	if shape == nil {
		shape = (*rand.Rand).NormFloat64
	}
	state := shape(r)
	run := func(position int) float64 {
		state = w.memory*state + math.Sqrt(1-w.memory*w.memory)*shape(r)
		return 100 * (1 + w.drift*float64(position)/float64(2*n-1)) * math.Exp(w.noise*state)
	}
	for block := range n {
		first, second := run(2*block), run(2*block+1)
		if r.IntN(2) == 0 {
			first, second = second, first
		}
		base[block], head[block] = first, second*w.ratio
	}
	return base, head
}

// heavyTailed is Student's t with 3 degrees of freedom, scaled to a deviation of
// 1: now and then a run is far off.
func heavyTailed(r *rand.Rand) float64 {
	square := 0.0
	for range 3 {
		z := r.NormFloat64()
		square += z * z
	}
	return r.NormFloat64() / math.Sqrt(square)
}

// skewed is exponential: most runs are alike, and some are slower.
func skewed(r *rand.Rand) float64 { return r.ExpFloat64() - 1 }

// share is the part of some experiments in which something holds; the seed is
// fixed, so it is always the same.
func share(experiments int, holds func(r *rand.Rand) bool) float64 {
	r := rand.New(rand.NewPCG(1, 2))
	count := 0
	for range experiments {
		if holds(r) {
			count++
		}
	}
	return float64(count) / float64(experiments)
}

// tolerance is three standard errors of a share of 5 % (or 95 %).
func tolerance(experiments int) float64 { return 3 * math.Sqrt(0.05*0.95/float64(experiments)) }
