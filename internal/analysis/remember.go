package analysis

import (
	"context"
	"math"

	"github.com/prometheus/prometheus/promql"
)

// answer is what an evaluator gave for an expression.
type answer struct {
	values promql.Matrix
	err    error
}

// remembering asks an evaluator once for each expression; all are about the
// measured steps.
type remembering struct {
	evaluator
	answers map[string]answer
}

func (m *remembering) values(ctx context.Context, expression string, at moments) (promql.Matrix, error) {
	a, known := m.answers[expression]
	if !known {
		a.values, a.err = m.evaluator.values(ctx, expression, at)
		m.answers[expression] = a
	}
	return a.values, a.err
}

// within keeps the values of a span, whose ends count.
func (a answer) within(m moments) promql.Matrix {
	var kept promql.Matrix
	for _, series := range a.values {
		part := promql.Series{Metric: series.Metric}
		for _, p := range series.Floats {
			if p.T >= m.start.UnixMilli() && p.T <= m.end.UnixMilli() {
				part.Floats = append(part.Floats, p)
			}
		}
		if part.Floats != nil {
			kept = append(kept, part)
		}
	}
	return kept
}

// largest is the largest value of an expression over the measured steps, over
// time and series, as that of an objective; and how many values there are.
func (a answer) largest() (reading, bool) {
	_, highest, n := extremes(a.values)
	if n == 0 || math.IsInf(highest.F, 0) {
		return reading{}, false
	}
	return reading{value: highest.F, n: n}, true
}
