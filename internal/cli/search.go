package cli

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"

	v1 "plimsoll.dev/plimsoll/api/v1alpha1"
	"plimsoll.dev/plimsoll/internal/analysis"
	"plimsoll.dev/plimsoll/internal/engine"
	"plimsoll.dev/plimsoll/internal/plan"
	"plimsoll.dev/plimsoll/internal/search"
)

// search looks for the load line of every cell, in every block: each value that
// it tries is a run of its own, on a fresh target.
func (e *experiment) search(ctx context.Context, runner *engine.Engine) error {
	next := 1
	for _, planned := range e.plan.Runs {
		if err := e.searchCell(ctx, runner, planned, &next); err != nil {
			return err
		}
	}
	return nil
}

// searchCell looks for the load line of one cell. next is the index of the next run.
func (e *experiment) searchCell(ctx context.Context, runner *engine.Engine, planned plan.Run, next *int) error {
	spec := planned.Cell.Scenario.Spec.Search
	from, unit := plan.Quantity(spec.From)
	to, _ := plan.Quantity(spec.To)
	s := search.Search{
		From: from, To: to, Factor: spec.Factor, Within: float64(spec.Within),
		Whole: unit == "" && from == math.Trunc(from),
	}
	for value, more := s.Next(); more; value, more = s.Next() {
		probe, err := e.probe(planned, v1.Point{Parameter: spec.Parameter, Value: value, Text: search.Text(value, unit)}, *next)
		if err != nil {
			return err
		}
		*next++
		held, err := e.tryProbe(ctx, runner, probe)
		if err != nil {
			return err
		}
		what := "held"
		if !held {
			what = "broke an objective"
		}
		runner.Watcher.Say("%s at %s %s", spec.Parameter, probe.Probe.Text, what)
		s.Tried(value, held)
	}
	if held, broke := s.Line(); broke == 0 {
		runner.Watcher.Say("every value held, up to %s", search.Text(held, unit))
	} else if held == 0 {
		runner.Watcher.Say("the load line is below %s, the first value", search.Text(broke, unit))
	}
	return nil
}

// probe plans the run of a cell at one value of the parameter that is searched.
func (e *experiment) probe(planned plan.Run, at v1.Point, index int) (plan.Run, error) {
	set := maps.Clone(e.plan.Set)
	if set == nil {
		set = map[string]string{}
	}
	set[at.Parameter] = at.Text
	p, err := e.flags.plan(e.document, set)
	if err != nil {
		return plan.Run{}, fmt.Errorf("%s=%s: %w", at.Parameter, at.Text, err)
	}
	if err := e.cluster.borrow(p); err != nil {
		return plan.Run{}, err
	}
	cell := p.Cells[slices.IndexFunc(p.Cells, func(c *plan.Cell) bool { return c.Cell.Key() == planned.Cell.Key() })]
	planned.Index, planned.Cell, planned.Probe = index, cell, &at
	planned.Name += "-" + plan.FileName(at.Parameter+at.Text)
	return planned, nil
}

// tryProbe carries a probe out, unless the results have it, and says whether
// every objective held. A component that dies under a load has not held it.
func (e *experiment) tryProbe(ctx context.Context, runner *engine.Engine, probe plan.Run) (held bool, err error) {
	if !e.results.Completed(probe.Index, probe.Name) {
		runner.Watcher.Say("run %d: %s", probe.Index, probe.Name)
		err := runner.RunOne(ctx, e.plan, probe, e.results)
		if errors.Is(err, engine.ErrComponent) {
			runner.Watcher.Say("%v", err)
			return false, nil
		}
		if err != nil {
			return false, err
		}
	}
	return e.heldAll(ctx, probe)
}

// heldAll says whether the run of a probe kept every objective.
func (e *experiment) heldAll(ctx context.Context, probe plan.Run) (bool, error) {
	run, err := analysis.AnalyzeRun(ctx, e.results, probe.Index)
	switch {
	case err != nil:
		return false, err
	case run.Status == analysis.Invalid:
		return false, &codedError{fmt.Errorf("the search ends at %s=%s: %s", probe.Probe.Parameter, probe.Probe.Text, run.Reason), exitInvalid}
	}
	return !missedObjective(run), nil
}
