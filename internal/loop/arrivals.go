package loop

import (
	"iter"
	"math"
	"math/rand/v2"
	"time"
)

// Arrivals yields the intended starts of operations as offsets from the
// phase's start, in order. It is pure: the same arguments yield the same starts.
type Arrivals = iter.Seq[time.Duration]

// Profile is a rate per second that changes evenly from From to To over a
// duration; with a duration of 0 it stays at From for ever.
type Profile struct {
	From, To float64
	Duration time.Duration
}

// Constant yields starts whose number up to any moment is just what the rate
// asks for, from 0 on: with a constant rate, evenly spaced ones.
func (p Profile) Constant() Arrivals {
	return func(yield func(time.Duration) bool) {
		for count := 0.0; p.yield(count, yield); count++ {
		}
	}
}

// Poisson yields the starts of a Poisson process with the profile as its mean
// rate: the arrivals of many users who know nothing of each other.
func (p Profile) Poisson(random *rand.Rand) Arrivals {
	return func(yield func(time.Duration) bool) {
		for count := random.ExpFloat64(); p.yield(count, yield); count += random.ExpFloat64() {
		}
	}
}

// yield hands on the moment at which the mean number of arrivals reaches
// count; false ends the series.
func (p Profile) yield(count float64, yield func(time.Duration) bool) bool {
	seconds := count / p.From
	if total := p.Duration.Seconds(); total > 0 && p.From != p.To {
		// The mean number after t is From·t + slope·t²/2; this is its inverse, in the form that does
		// not cancel for small slopes.
		slope := (p.To - p.From) / total
		seconds = 2 * count / (p.From + math.Sqrt(p.From*p.From+2*slope*count))
	}
	// Past the vertex of a falling ramp the root is not a number: such a count is never reached.
	if total := p.Duration.Seconds(); total > 0 && !(seconds < total) {
		return false
	}
	return yield(time.Duration(seconds * float64(time.Second)))
}
