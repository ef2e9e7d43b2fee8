package stats

import "math"

// fitted is a coefficient of a least-squares fit.
type fitted struct {
	coefficient, standardError float64
	degreesOfFreedom           int // 0 if the fit is exact of necessity, and the error unknown
}

// fitLine gives the slope of the line through points; false says that all lie at one x.
func fitLine(xs, ys []float64) (fitted, bool) {
	return coefficientOf(residuals(xs), residuals(ys), len(xs)-2)
}

// fitBend gives the quadratic coefficient of the parabola through points; false
// says that they lie at less than three x. What a parabola adds to a line is the
// slope of what a line leaves over of y against what it leaves over of x squared
// (Frisch and Waugh, 1933; Lovell, 1963).
func fitBend(xs, ys []float64) (fitted, bool) {
	centred := residuals(xs)
	squares := make([]float64, len(xs))
	for i, x := range centred {
		squares[i] = x * x
	}
	return coefficientOf(residuals(squares, centred), residuals(ys, centred), len(xs)-3)
}

// coefficientOf regresses y on x, of both of which all other terms are taken out.
func coefficientOf(xs, ys []float64, degreesOfFreedom int) (fitted, bool) {
	xx, xy := dot(xs, xs), dot(xs, ys)
	if !(xx > 1e-18) { // x is a logarithm or a count: less is rounding
		return fitted{}, false
	}
	f := fitted{coefficient: xy / xx}
	rest := 0.0
	for i := range xs {
		r := ys[i] - f.coefficient*xs[i]
		rest += r * r
	}
	if degreesOfFreedom > 0 {
		f.degreesOfFreedom = degreesOfFreedom
		f.standardError = math.Sqrt(rest / float64(degreesOfFreedom) / xx)
	}
	return f, true
}

// explained is the share of the variance that the line through points explains; nil if nothing varies.
func explained(xs, ys []float64) *float64 {
	line, ok := fitLine(xs, ys)
	if _, deviation := meanAndDeviation(ys); !ok || !(deviation > 1e-12) {
		return nil
	}
	x, y := residuals(xs), residuals(ys)
	return finite(math.Min(1, line.coefficient*line.coefficient*dot(x, x)/dot(y, y)))
}

// estimate is the coefficient with its interval, which is Student's.
func (f fitted) estimate() Estimate {
	e := Estimate{Value: finite(f.coefficient)}
	if f.degreesOfFreedom > 0 {
		half := tQuantile(f.degreesOfFreedom) * f.standardError
		e.Lo, e.Hi = finite(f.coefficient-half), finite(f.coefficient+half)
	}
	return e
}

// residuals is what the mean, and terms of mean zero that are orthogonal to each
// other, leave over.
func residuals(values []float64, terms ...[]float64) []float64 {
	mean, _ := meanAndDeviation(values)
	rest := make([]float64, len(values))
	for i, x := range values {
		rest[i] = x - mean
	}
	for _, term := range terms {
		if tt := dot(term, term); tt > 0 {
			share := dot(rest, term) / tt
			for i := range rest {
				rest[i] -= share * term[i]
			}
		}
	}
	return rest
}

func dot(xs, ys []float64) float64 {
	sum := 0.0
	for i := range xs {
		sum += xs[i] * ys[i]
	}
	return sum
}
