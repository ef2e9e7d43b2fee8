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

// judgeExpression says whether the values of a PromQL expression kept a bound,
// over time and series: the largest its upper, the smallest its lower one. What
// gives no value is missed, as a bound on nothing would always be kept.
func (r *Run) judgeExpression(ctx context.Context, expressions evaluator, info store.ObjectiveInfo) Objective {
	o := Objective{ObjectiveInfo: info}
	measured := r.measured()
	if measured.end == 0 {
		o.Note = "no measured step began"
		return o
	}
	values, err := expressions.values(ctx, info.PromQL, r.moments(measured))
	if err != nil {
		o.Note = err.Error()
		return o
	}
	lowest, highest, n := extremes(values)
	if n == 0 {
		o.Note = "the expression gives nothing but NaN over the measured steps, such as 0/0 where nothing happened"
		return o
	}
	o.N, o.Note = n, expressions.origin()
	o.judgeExtremes(lowest, highest)
	return o
}

// moments is a span as times of day.
func (r *Run) moments(s span) moments {
	at := func(offset float64) time.Time { return r.Started.Add(time.Duration(offset * float64(time.Second))) }
	return moments{at(s.start), at(s.end)}
}

type moments struct{ start, end time.Time }

// evaluator gives the values of expressions.
type evaluator interface {
	// values are those at each second of a span, and at its end. There is at least one series; if there
	// is none, the error says why.
	values(ctx context.Context, expression string, at moments) (promql.Matrix, error)
	// origin says where values are from, if not from the run itself.
	origin() string
}

// evaluatorOf gives the answers that another Prometheus gave, or was to give,
// or else the run's own metrics.
func (r *Run) evaluatorOf(reader *metrics.Reader, stored *store.Run) evaluator {
	switch {
	case stored.Queries != nil:
		r.warnUnanswered(stored)
		return kept{stored.Queries}
	case stored.Info.Prometheus != "":
		return unasked(stored.Info.Prometheus)
	case reader == nil:
		return without{}
	}
	return live{reader}
}

// warnUnanswered warns of objectives that the other Prometheus could not say anything of.
func (r *Run) warnUnanswered(stored *store.Run) {
	for _, answer := range stored.Queries.Answers {
		if len(answer.Series) == 0 {
			r.Warnings = append(r.Warnings, Warning{
				About: "prometheus", What: answer.Expression + " was not measured", Why: answer.Note,
				Mend: "ask again with plimsoll report DIR --prometheus " + stored.Queries.Prometheus,
			})
		}
	}
}

// live evaluates expressions now.
type live struct{ metrics.Source }

func (l live) values(ctx context.Context, expression string, at moments) (promql.Matrix, error) {
	values, err := l.Range(ctx, expression, at.start, at.end, time.Second)
	if err != nil {
		return nil, err
	}
	last, err := l.At(ctx, expression, at.end)
	if err != nil {
		return nil, err
	}
	if values = metrics.Join(values, last); len(values) > 0 {
		return values, nil
	}
	why, err := l.WhyNothing(ctx, expression)
	if err != nil {
		why = err.Error()
	}
	return nil, errors.New("the expression gives no value over the measured steps: " + why)
}

func (live) origin() string { return "" }

// kept has the answers that another Prometheus gave.
type kept struct{ *store.Queries }

func (k kept) values(_ context.Context, expression string, _ moments) (promql.Matrix, error) {
	answer := k.Answer(expression)
	if answer == nil {
		return nil, unasked(k.Prometheus).reason()
	}
	if values := metrics.FromModel(answer.Series); len(values) > 0 {
		return values, nil
	}
	return nil, errors.New(cmp.Or(answer.Note, "the expression gives no value over the measured steps"))
}

func (k kept) origin() string { return "evaluated by Prometheus " + k.Prometheus }

// unasked is a Prometheus that was to be asked when the run ended.
type unasked string

func (u unasked) values(context.Context, string, moments) (promql.Matrix, error) {
	return nil, u.reason()
}

func (u unasked) reason() error {
	return fmt.Errorf("not measured: Prometheus %s was not asked, as the run did not come to its end; plimsoll report DIR --prometheus %s asks it", string(u), string(u))
}

func (unasked) origin() string { return "" }

// without is a run that has no metrics.
type without struct{}

func (without) values(context.Context, string, moments) (promql.Matrix, error) {
	return nil, errors.New("the run has no metrics")
}

func (without) origin() string { return "" }

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
