package stats

import (
	"fmt"
	"math"
)

const (
	// toldPoints is how many values of a parameter it takes to say how a measure grows.
	toldPoints = 4
	// nearly is how far an exponent may be from 0 or 1 to be called constant or linear.
	nearly = 0.1
)

// Words say how a measure grows with a parameter, of which it is known at so many
// values, in words that follow its name. They claim what the interval of the
// exponent supports. If the curve bends, they are about the upper half of the range.
func (g Growth) Words(parameter string, points int) string {
	e := g.Exponent
	switch {
	case e.Value == nil:
		return "is not known to grow with " + parameter + " or not"
	case points < toldPoints:
		return fmt.Sprintf("too few points to tell how it grows with %s (exponent %.2f)", parameter, *e.Value)
	case g.Bends == Straight || g.Low.Value == nil || g.High.Value == nil:
		return e.words(parameter)
	}
	how := "ever more slowly"
	if g.Bends == Upwards {
		how = "ever more steeply"
	}
	return fmt.Sprintf("changes %s with %s: exponent %.2f over the lower half of the range; over the upper half it %s",
		how, parameter, *g.Low.Value, g.High.words(parameter))
}

func (e Estimate) words(parameter string) string {
	if e.Lo == nil || e.Hi == nil {
		return fmt.Sprintf("seems to follow the exponent %.2f of %s, of unknown certainty", *e.Value, parameter)
	}
	with, lo, hi := " with "+parameter, *e.Lo, *e.Hi
	numbers := fmt.Sprintf(" (exponent %.2f, 95 %% %.2f … %.2f)", *e.Value, lo, hi)
	switch {
	case math.Abs(lo) <= nearly && math.Abs(hi) <= nearly:
		return "does not grow" + with + numbers
	case math.Abs(lo-1) <= nearly && math.Abs(hi-1) <= nearly:
		return "grows linearly" + with + numbers
	case lo > 1:
		return "grows faster than linearly" + with + numbers
	case hi < 0:
		return "shrinks" + with + numbers
	case lo > 0 && hi < 1:
		return "grows more slowly than linearly" + with + numbers
	case lo > 0:
		return "grows in step" + with + ", as far as these points can tell" + numbers
	case hi < 1:
		return "grows more slowly than linearly, if at all," + with + numbers
	}
	return "cannot be told to grow" + with + " or not" + numbers
}
