package analysis

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"time"

	"github.com/prometheus/prometheus/promql"

	"plimsoll.dev/plimsoll/internal/metrics"
	"plimsoll.dev/plimsoll/internal/store"
)

// evaluate gives the values of an expression at each second of a span, and at
// its end. There is at least one series; if there is none, the error says why.
type evaluate func(ctx context.Context, expression string, at moments) (promql.Matrix, error)

// expressions evaluates each once, over the measured steps of a run.
type expressions struct {
	evaluate evaluate
	// origin says where values are from, if not from the run itself.
	origin  string
	at      moments
	answers map[string]answer
}

// answer is what an expression gave.
type answer struct {
	values promql.Matrix
	err    error
}

func (e *expressions) of(ctx context.Context, expression string) answer {
	a, known := e.answers[expression]
	if !known {
		a.values, a.err = e.evaluate(ctx, expression, e.at)
		e.answers[expression] = a
	}
	return a
}

// expressionsOf gives the answers that another Prometheus gave, or was to give,
// or else the run's own metrics; without a reader it has none.
func (r *Run) expressionsOf(reader *metrics.Reader, stored *store.Run) *expressions {
	e := &expressions{at: r.moments(r.measured()), answers: map[string]answer{}}
	switch {
	case stored.Queries != nil:
		r.warnUnanswered(stored.Queries)
		e.evaluate, e.origin = kept(stored.Queries), "evaluated by Prometheus "+stored.Queries.Prometheus
	case stored.Info.Prometheus != "":
		e.evaluate = fails(unasked(stored.Info.Prometheus))
	case reader == nil:
		e.evaluate = fails(errors.New("the run has no metrics"))
	default:
		e.evaluate = live(reader)
	}
	return e
}

// warnUnanswered warns of objectives that the other Prometheus could not say anything of.
func (r *Run) warnUnanswered(queries *store.Queries) {
	for _, answer := range queries.Answers {
		if len(answer.Series) == 0 {
			r.Warnings.add("prometheus", answer.Expression+" was not measured", answer.Note,
				"ask again with plimsoll report DIR --prometheus "+queries.Prometheus)
		}
	}
}

// live evaluates expressions now.
func live(source metrics.Source) evaluate {
	return func(ctx context.Context, expression string, at moments) (promql.Matrix, error) {
		values, err := source.Range(ctx, expression, at.start, at.end, time.Second)
		if err != nil {
			return nil, err
		}
		last, err := source.At(ctx, expression, at.end)
		if err != nil {
			return nil, err
		}
		if values = metrics.Join(values, last); len(values) > 0 {
			return values, nil
		}
		why, err := source.WhyNothing(ctx, expression)
		if err != nil {
			why = err.Error()
		}
		return nil, errors.New("the expression gives no value over the measured steps: " + why)
	}
}

// kept has the answers that another Prometheus gave.
func kept(queries *store.Queries) evaluate {
	return func(_ context.Context, expression string, _ moments) (promql.Matrix, error) {
		answer := queries.Answer(expression)
		if answer == nil {
			return nil, unasked(queries.Prometheus)
		}
		if values := metrics.FromModel(answer.Series); len(values) > 0 {
			return values, nil
		}
		return nil, errors.New(cmp.Or(answer.Note, "the expression gives no value over the measured steps"))
	}
}

// unasked is the error of a Prometheus that was to be asked when the run ended.
func unasked(prometheus string) error {
	return fmt.Errorf("not measured: Prometheus %s was not asked, as the run did not come to its end; plimsoll report DIR --prometheus %s asks it", prometheus, prometheus)
}

func fails(err error) evaluate {
	return func(context.Context, string, moments) (promql.Matrix, error) { return nil, err }
}

// judgeExpression says whether the values of a PromQL expression kept a bound,
// over time and series: the largest its upper, the smallest its lower one. What
// gives no value is missed, as a bound on nothing would always be kept.
func (r *Run) judgeExpression(ctx context.Context, expressions *expressions, info store.ObjectiveInfo) Objective {
	o := Objective{ObjectiveInfo: info}
	if r.measured().end == 0 {
		o.Note = "no measured step began"
		return o
	}
	a := expressions.of(ctx, info.PromQL)
	if a.err != nil {
		o.Note = a.err.Error()
		return o
	}
	lowest, highest, n := extremes(a.values)
	if n == 0 {
		o.Note = "the expression gives nothing but NaN over the measured steps, such as 0/0 where nothing happened"
		return o
	}
	o.N, o.Note = n, expressions.origin
	o.judgeExtremes(lowest, highest)
	return o
}

// moments is a span as times of day.
func (r *Run) moments(s span) moments {
	at := func(offset float64) time.Time { return r.Started.Add(time.Duration(offset * float64(time.Second))) }
	return moments{at(s.start), at(s.end)}
}

type moments struct{ start, end time.Time }

// expressionIn gives the values of an expression in a span, whose ends count.
func (r *Run) expressionIn(expression string, within span) promql.Matrix {
	at := r.moments(within)
	var kept promql.Matrix
	for _, series := range r.expressions[expression].values {
		part := promql.Series{Metric: series.Metric}
		for _, p := range series.Floats {
			if p.T >= at.start.UnixMilli() && p.T <= at.end.UnixMilli() {
				part.Floats = append(part.Floats, p)
			}
		}
		if part.Floats != nil {
			kept = append(kept, part)
		}
	}
	return kept
}

// past are the moments in a span, in seconds from the run's start, at which an
// expression was past its bound, each with the worst value of all series then.
func (r *Run) past(o Objective, within span) map[float64]float64 {
	worst := map[float64]float64{}
	for _, series := range r.expressionIn(o.PromQL, within) {
		for _, p := range series.Floats {
			at := float64(p.T-r.Started.UnixMilli()) / 1000
			known, any := worst[at]
			if o.Past(p.F) && (!any || o.Max != nil && p.F > known || o.Max == nil && p.F < known) {
				worst[at] = p.F
			}
		}
	}
	return worst
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
	o.Held = !o.Past(highest.F) && !o.Past(lowest.F)
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
