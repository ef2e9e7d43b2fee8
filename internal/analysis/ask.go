package analysis

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"plimsoll.dev/plimsoll/internal/design"
	"plimsoll.dev/plimsoll/internal/metrics"
	"plimsoll.dev/plimsoll/internal/store"
)

// Ask has another Prometheus evaluate every objective and primary measure in
// PromQL over the measured steps of every run, and keeps the answers in the runs' directories:
// from then on they are what the objectives are judged by. The error tells of
// what could not be asked or kept; an answer that is kept already is not lost
// for it.
func Ask(ctx context.Context, results *store.Results, prometheus *metrics.Remote) error {
	runs, err := results.Runs()
	if err != nil {
		return err
	}
	laid, _ := results.Design() // without one there are no primary measures to ask for
	var errs []error
	for _, run := range runs {
		if run.Unreadable == nil {
			errs = append(errs, ask(ctx, run, expressionsOf(run, laid), prometheus))
		}
	}
	return errors.Join(errs...)
}

// expressionsOf are the objectives and the primary measures that are in PromQL.
func expressionsOf(run *store.Run, laid design.Design) []string {
	var expressions []string
	for _, objective := range run.Info.Objectives {
		expressions = append(expressions, objective.PromQL)
	}
	for _, primary := range laid.Primary {
		expressions = append(expressions, primary.PromQL)
	}
	return slices.DeleteFunc(expressions, func(e string) bool { return e == "" })
}

func ask(ctx context.Context, run *store.Run, expressions []string, prometheus *metrics.Remote) error {
	start, end, measured := MeasuredSpan(run)
	at := (&Run{Started: run.Info.Started}).moments(span{start, end})
	queries := store.Queries{Prometheus: prometheus.URL(), Asked: time.Now().UTC()}
	var errs []error
	for _, expression := range expressions {
		if queries.Answer(expression) != nil || !measured {
			continue
		}
		answer := store.Answer{Expression: expression}
		values, err := live(prometheus)(ctx, expression, at)
		if answer.Series = metrics.Model(values); err != nil {
			answer.Note = "not measured: " + err.Error()
			errs = append(errs, err)
			if before := run.Queries.Answer(expression); before != nil && len(before.Series) > 0 {
				answer = *before
			}
		}
		queries.Answers = append(queries.Answers, answer)
	}
	// A run that its own metrics judge is not to lose that for a question in vain.
	if queries.Answers == nil || errs != nil && run.Info.Prometheus == "" && run.Queries == nil {
		return errors.Join(errs...)
	}
	if err := run.WriteQueries(queries); err != nil {
		return fmt.Errorf("keep the answers of Prometheus %s: %w", prometheus.URL(), err)
	}
	return errors.Join(errs...)
}
