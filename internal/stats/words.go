package stats

import (
	"fmt"
	"math"
)

// nearly is how far an exponent may be from 0 or 1 to be called constant or linear.
const nearly = 0.1

// Words says how y grows in words that follow it in a sentence: "grows linearly
// (x^1.02)". If the curve bends, they are about the upper half of the range. They
// claim what the interval supports: an exponent whose interval is both wide and
// around 1 "cannot be told from linear".
func (g Growth) Words() string {
	switch {
	case g.Exponent.Value == nil:
		return "is not known to grow or not"
	case g.Bends == Straight || g.Low.Value == nil || g.High.Value == nil:
		return g.Exponent.words()
	}
	how := "ever more slowly"
	if g.Bends == Upwards {
		how = "ever more steeply"
	}
	return fmt.Sprintf("changes %s: x^%.2f over the lower half of the range; over the upper half it %s", how, *g.Low.Value, g.High.words())
}

func (e Estimate) words() string {
	if e.Value == nil {
		return "is not known to grow or not"
	}
	power := fmt.Sprintf("(x^%.2f)", *e.Value)
	if e.Lo == nil || e.Hi == nil {
		return "seems to follow " + power[1:len(power)-1] + ", of unknown certainty"
	}
	lo, hi := *e.Lo, *e.Hi
	switch {
	case math.Abs(lo) <= nearly && math.Abs(hi) <= nearly:
		return "does not grow " + power
	case math.Abs(lo-1) <= nearly && math.Abs(hi-1) <= nearly:
		return "grows linearly " + power
	case lo > 1:
		return "grows faster than linearly " + power
	case hi < 0:
		return "shrinks " + power
	case lo > 0 && hi < 1:
		return "grows more slowly than linearly " + power
	case lo > 0:
		return "grows in a way that cannot be told from linear " + power
	case hi < 1:
		return "grows more slowly than linearly, if at all " + power
	}
	return "cannot be told to grow or not " + power
}
