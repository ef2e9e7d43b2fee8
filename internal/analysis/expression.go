package analysis

import (
	"context"
	"fmt"
	"math"
	"time"

	"github.com/prometheus/prometheus/promql"

	"plimsoll.dev/plimsoll/internal/metrics"
	"plimsoll.dev/plimsoll/internal/store"
)

// judgeExpression says whether the values of a PromQL expression kept a bound,
// over time and series: the largest its upper, the smallest its lower one. What
// gives no value is missed, as a bound on nothing would always be kept.
func (r *Run) judgeExpression(ctx context.Context, reader *metrics.Reader, info store.ObjectiveInfo) Objective {
	o := Objective{ObjectiveInfo: info}
	if reader == nil {
		o.Note = "the run has no metrics"
		return o
	}
	measured := r.measured()
	if measured.end == 0 {
		o.Note = "no measured step began"
		return o
	}
	values, err := r.evaluate(ctx, reader, info.PromQL, measured)
	if err != nil {
		o.Note = err.Error()
		return o
	}
	lowest, highest, n := extremes(values)
	if n == 0 {
		o.Note = nothing(ctx, reader, info.PromQL, values)
		return o
	}
	o.N = n
	o.judgeExtremes(lowest, highest)
	return o
}

// evaluate gives an expression's values at each second of a span, and at its end.
func (r *Run) evaluate(ctx context.Context, reader *metrics.Reader, expression string, s span) (promql.Matrix, error) {
	at := func(offset float64) time.Time { return r.Started.Add(time.Duration(offset * float64(time.Second))) }
	values, err := reader.Range(ctx, expression, at(s.start), at(s.end), time.Second)
	if err != nil {
		return nil, err
	}
	last, err := reader.At(ctx, expression, at(s.end))
	return append(values, last...), err
}

// extremes are the values nearest to breaking a bound, and how many there are;
// NaN is none.
func extremes(values promql.Matrix) (lowest, highest promql.FPoint, n int64) {
	for _, series := range values {
		for _, p := range series.Floats {
			if math.IsNaN(p.F) {
				continue
			}
			if n == 0 || p.F < lowest.F {
				lowest = p
			}
			if n == 0 || p.F > highest.F {
				highest = p
			}
			n++
		}
	}
	return lowest, highest, n
}

// judgeExtremes holds the largest value against the upper bound and the
// smallest against the lower one; the one that breaks its bound is shown.
func (o *Objective) judgeExtremes(lowest, highest promql.FPoint) {
	o.Held = (o.Max == nil || highest.F <= *o.Max) && (o.Min == nil || lowest.F >= *o.Min)
	shown := highest
	if o.Max == nil || o.Min != nil && highest.F <= *o.Max && lowest.F < *o.Min {
		shown = lowest
	}
	if math.IsInf(shown.F, 0) { // which JSON cannot say
		o.Held = false
		o.Note = fmt.Sprintf("a value is %+g", shown.F)
		return
	}
	o.Value = &shown.F
}

// nothing says why an expression has no value.
func nothing(ctx context.Context, reader *metrics.Reader, expression string, values promql.Matrix) string {
	if len(values) > 0 {
		return "the expression gives nothing but NaN over the measured steps, such as 0/0 where nothing happened"
	}
	why, err := reader.WhyNothing(ctx, expression)
	if err != nil {
		why = err.Error()
	}
	return "the expression gives no value over the measured steps: " + why
}
