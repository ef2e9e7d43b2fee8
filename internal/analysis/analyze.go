package analysis

import (
	"context"
	"fmt"

	"plimsoll.dev/plimsoll/internal/design"
	"plimsoll.dev/plimsoll/internal/metrics"
	"plimsoll.dev/plimsoll/internal/record"
	"plimsoll.dev/plimsoll/internal/store"
)

// Analyze reads every run of an experiment and gives its result.
func Analyze(ctx context.Context, results *store.Results) (*Result, error) {
	runs, err := results.Runs()
	if err != nil {
		return nil, err
	}
	if len(runs) == 0 {
		return nil, fmt.Errorf("%s holds no run: the experiment ended before its first one began", results.Dir)
	}
	laid, unlaid := results.Design()
	result := &Result{SchemaVersion: SchemaVersion}
	for _, run := range runs {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		if result.Scenario == "" {
			result.Tool, result.Scenario, result.Title = run.Info.Tool, run.Info.Scenario, run.Info.Title
		}
		result.Runs = append(result.Runs, analyzeRun(ctx, run, laid))
	}
	result.Experiment = experimentOf(result, laid)
	if planned := results.Planned(); laid.Search == nil && planned > len(runs) {
		result.RunsPlanned = planned
	}
	if unlaid != nil {
		result.Warnings.add("design", unlaid.Error(), "the plan is damaged: all runs of a kind are taken together, and none is a baseline", "")
	}
	return result, nil
}

// AnalyzeRun reads one run of an experiment, by its index.
func AnalyzeRun(ctx context.Context, results *store.Results, index int) (*Run, error) {
	runs, err := results.Runs()
	if err != nil {
		return nil, err
	}
	for _, run := range runs {
		if run.Info.Index == index {
			return analyzeRun(ctx, run, design.Design{}), nil
		}
	}
	return nil, fmt.Errorf("%s holds no run %d", results.Dir, index)
}

func analyzeRun(ctx context.Context, stored *store.Run, laid design.Design) *Run {
	run := &Run{
		Name: stored.Info.Name, Index: stored.Info.Index, Parameters: stored.Info.Parameters, Seed: stored.Info.Seed,
		Started: stored.Info.Started, Environment: stored.Environment, Steps: []*Step{}, Cell: stored.Info.Cell,
		Block: stored.Info.Block, Probe: stored.Info.Probe, stored: stored,
	}
	if run.Environment.Components == nil {
		run.Environment.Components = []store.Component{} // null is a surprise to readers of JSON
	}
	run.Status, run.Reason = statusOf(stored)
	if stored.Unreadable != nil {
		run.Figures = newFigures(0)
		return run
	}
	run.Profiles = stored.Profiles()
	gathered := gather(stored)
	spans := spansOf(stored.Events, gathered)
	run.Duration, run.Ready = spans.end, spans.ready
	for _, info := range stored.Info.Steps {
		run.Steps = append(run.Steps, stepOf(info, spans, gathered))
	}
	run.Figures = newFigures(run.Duration)
	run.addOutcomes(gathered)
	run.addCurves()
	run.addHeatmaps(gathered)
	var reader *metrics.Reader
	if !stored.Starting() {
		reader = run.openMetrics(stored)
	}
	if reader != nil {
		defer reader.Close()
		run.addUsage(ctx, reader)
		run.addObjects(ctx, reader)
		run.addMachine(ctx, reader)
		run.addPanels(ctx, reader, laid.Panels)
		run.addClients(ctx, reader)
		run.addGraphs(ctx, reader)
	}
	expressions := run.expressionsOf(reader, stored)
	run.expressions = expressions.answers
	for _, p := range laid.Primary {
		if p.PromQL != "" {
			expressions.of(ctx, p.PromQL)
		}
	}
	for _, info := range stored.Info.Objectives {
		run.Objectives = append(run.Objectives, run.judge(ctx, expressions, stored.Info.Steps, info)...)
	}
	run.addStop(stored.Events)
	run.warn(stored)
	run.check(gathered)
	return run
}

// openMetrics opens the run's metrics; nil says that there are none, of which
// the run has a warning.
func (r *Run) openMetrics(stored *store.Run) *metrics.Reader {
	reader, err := metrics.Open(stored.MetricsDir())
	if err != nil {
		r.Warnings.add("metrics", err.Error(), "", "")
		return nil
	}
	return reader
}

// MeasuredSpan is from the start of a run's first measured step to the end of
// its last, as offsets in seconds; false says that none began.
func MeasuredSpan(stored *store.Run) (start, end float64, ok bool) {
	counted := gathered{} // of times nothing is needed, and they are long to read
	stored.Counters(func(i record.Interval) { counted.at(i).add(i) })
	spans := spansOf(stored.Events, counted)
	run := &Run{}
	for _, info := range stored.Info.Steps {
		run.Steps = append(run.Steps, stepOf(info, spans, counted))
	}
	all := run.measured()
	return all.start, all.end, all.end > 0
}

func statusOf(stored *store.Run) (Status, string) {
	if stored.Unreadable != nil {
		return Incomplete, stored.Unreadable.Error()
	}
	ended := false
	for _, e := range stored.Events {
		switch e.Kind {
		case store.RunFailed:
			return Failed, e.Message
		case store.Interrupted:
			return Incomplete, e.Message
		case store.RunEnded:
			ended = true
		}
	}
	switch {
	case stored.Complete:
		return Complete, ""
	case ended:
		return Incomplete, "the run came to its end, but its target could not be stopped or its results not be written"
	}
	return Incomplete, "it is still running, or was killed"
}

func stepOf(info store.StepInfo, s spans, g gathered) *Step {
	step := &Step{Name: info.Name, Measured: info.Measured, Point: info.Point, Phases: []*Phase{}}
	for _, p := range info.Phases {
		phase := &Phase{
			Name: p.Name, Background: p.Background, Measured: info.Measured, Verified: p.Verified, Loop: p.Loop, Load: p.Load,
			Workload: p.Workload, Clients: p.Clients, Connections: p.Connections, Operations: []*Operation{},
		}
		phase.Start, phase.End = s.of("phase "+p.Name, g.span(p.Name))
		g.fill(phase)
		step.Phases = append(step.Phases, phase)
	}
	step.Start, step.End = s.of("step "+info.Name, around(step.Phases))
	return step
}

// span is from when to when something went on, as offsets in seconds. What
// never began has an end of zero.
type span struct{ start, end float64 }

// around is the span of all phases that began.
func around(phases []*Phase) (all span) {
	for _, phase := range phases {
		if phase.End > 0 {
			all = all.with(span{phase.Start, phase.End})
		}
	}
	return all
}

func (s span) with(other span) span {
	if s.end == 0 {
		return other
	}
	return span{min(s.start, other.start), max(s.end, other.end)}
}

// spans are what a run's events say of when things began and ended.
type spans struct {
	start, stop map[string]float64 // by "step NAME" and "phase NAME"
	ready, end  float64
}

func spansOf(events []store.Event, g gathered) spans {
	s := spans{start: map[string]float64{}, stop: map[string]float64{}}
	ended := false
	for _, e := range events {
		s.end = max(s.end, e.At)
		switch e.Kind {
		case store.TargetReady:
			s.ready = e.At
		case store.StepStarted:
			s.start["step "+e.Name] = e.At
		case store.StepEnded:
			s.stop["step "+e.Name] = e.At
		case store.PhaseStarted:
			s.start["phase "+e.Name] = e.At
		case store.PhaseEnded:
			s.stop["phase "+e.Name] = e.At
		case store.RunEnded:
			ended = true
		}
	}
	if !ended {
		// A run that was killed went on at least to the last second that it recorded.
		for key := range g {
			s.end = max(s.end, g.span(key.phase).end)
		}
	}
	return s
}

// of gives the span of a thing. One that never ended ends with the run; one
// whose beginning the events don't know has the span that was recorded of it.
func (s spans) of(thing string, recorded span) (start, end float64) {
	start, began := s.start[thing]
	stop, ended := s.stop[thing]
	switch {
	case began && ended:
		return start, max(start, stop)
	case began:
		return start, s.end
	}
	return recorded.start, recorded.end
}
