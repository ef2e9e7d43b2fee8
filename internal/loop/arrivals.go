package loop

import (
	"iter"
	"math/rand/v2"
	"time"
)

// Arrivals yields the intended starts of operations as offsets from the
// phase's start, in order. It is pure: the same arguments yield the same starts.
type Arrivals = iter.Seq[time.Duration]

// Constant yields starts at a constant rate per second, from 0 until duration
// (for ever, if duration is 0).
func Constant(rate float64, duration time.Duration) Arrivals {
	return func(yield func(time.Duration) bool) {
		for i := 0; ; i++ {
			at := time.Duration(float64(i) / rate * float64(time.Second))
			if duration > 0 && at >= duration || !yield(at) {
				return
			}
		}
	}
}

// Poisson yields the starts of a Poisson process with the given mean rate per
// second, until duration (for ever, if duration is 0): the arrivals of many
// users who know nothing of each other.
func Poisson(rate float64, duration time.Duration, random *rand.Rand) Arrivals {
	return func(yield func(time.Duration) bool) {
		var at float64 // seconds; a Duration would round every gap
		for {
			at += random.ExpFloat64() / rate
			start := time.Duration(at * float64(time.Second))
			if duration > 0 && start >= duration || !yield(start) {
				return
			}
		}
	}
}
