package analysis

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"

	"plimsoll.dev/plimsoll/internal/measure"
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
	result := &Result{
		SchemaVersion: SchemaVersion,
		Tool:          runs[0].Info.Tool,
		Scenario:      runs[0].Info.Scenario,
		Title:         runs[0].Info.Title,
	}
	for _, run := range runs {
		result.Runs = append(result.Runs, analyzeRun(ctx, run))
	}
	return result, nil
}

func analyzeRun(ctx context.Context, stored *store.Run) *Run {
	run := &Run{
		Name: stored.Info.Name, Index: stored.Info.Index, Parameters: stored.Info.Parameters, Seed: stored.Info.Seed,
		Started: stored.Info.Started, Environment: stored.Environment,
	}
	spans := spansOf(stored.Events)
	run.Duration, run.Ready = spans.end, spans.ready
	run.Steps = stepsOf(stored.Info.Steps, spans)
	run.Figures = newFigures(run.Duration)
	operations := gather(stored)
	for _, step := range run.Steps {
		for _, phase := range step.Phases {
			operations.fill(phase)
		}
	}
	run.addOutcomes(stored)
	run.addCurves(operations)
	run.addUsage(ctx, stored)
	run.Status, run.Reason = statusOf(stored)
	for _, info := range stored.Info.Objectives {
		run.Objectives = append(run.Objectives, judge(run, info))
	}
	run.warn(stored)
	return run
}

// spans are the offsets, in seconds, at which things began and ended.
type spans struct {
	start, stop map[string]float64 // by "step NAME" and "phase NAME"
	ready, end  float64
}

func spansOf(events []store.Event) spans {
	s := spans{start: map[string]float64{}, stop: map[string]float64{}}
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
		}
	}
	return s
}

// of gives the span of a thing; one that never ended ends with the run, one
// that never began has no length.
func (s spans) of(name string) (float64, float64) {
	start, began := s.start[name]
	if !began {
		return 0, 0
	}
	if stop, ended := s.stop[name]; ended {
		return start, stop
	}
	return start, s.end
}

func stepsOf(infos []store.StepInfo, s spans) []*Step {
	var steps []*Step
	for _, info := range infos {
		step := &Step{Name: info.Name, Measured: info.Measured}
		step.Start, step.End = s.of("step " + info.Name)
		for _, p := range info.Phases {
			phase := &Phase{
				Name: p.Name, Background: p.Background, Measured: info.Measured, Loop: p.Loop, Load: p.Load,
				Workload: p.Workload, Clients: p.Clients, Connections: p.Connections,
			}
			phase.Start, phase.End = s.of("phase " + p.Name)
			step.Phases = append(step.Phases, phase)
		}
		steps = append(steps, step)
	}
	return steps
}

func statusOf(stored *store.Run) (Status, string) {
	for _, e := range stored.Events {
		switch e.Kind {
		case store.RunFailed:
			return Failed, e.Message
		case store.Interrupted:
			return Incomplete, e.Message
		}
	}
	if !stored.Complete {
		return Incomplete, "plimsoll was killed, or is still running"
	}
	return Complete, ""
}

// gathered is every series of a run, merged over time.
type gathered map[seriesKey]*merged

type seriesKey struct {
	phase, op string
	timing    record.Timing
	outcome   record.Outcome
}

type merged struct {
	count, bytes, items    int64
	reasons                map[string]int64
	service, response, lag *hdrhistogram.Histogram
}

func gather(stored *store.Run) gathered {
	g := gathered{}
	at := func(i record.Interval) *merged {
		key := seriesKey{i.Phase, i.Op, i.Timing, i.Outcome}
		if g[key] == nil {
			g[key] = &merged{reasons: map[string]int64{}}
		}
		return g[key]
	}
	stored.Counters(func(i record.Interval) {
		m := at(i)
		m.count += i.Count
		m.bytes += i.Bytes
		m.items += i.Items
		for reason, n := range i.Reasons {
			m.reasons[reason] += n
		}
	})
	stored.Histograms(func(i record.Interval) {
		m := at(i)
		m.service = merge(m.service, i.Service)
		m.response = merge(m.response, i.Response)
		m.lag = merge(m.lag, i.Lag)
	})
	return g
}

// merge adds b to a; either may be nil.
func merge(a, b *hdrhistogram.Histogram) *hdrhistogram.Histogram {
	if b == nil {
		return a
	}
	if a == nil {
		a = record.NewHistogram()
	}
	a.Merge(b)
	return a
}

// fill gives a phase its operations.
func (g gathered) fill(phase *Phase) {
	timed := map[string]*times{}
	for key, m := range g {
		if key.phase != phase.Name {
			continue
		}
		if key.timing == record.Dispatch {
			if key.outcome == record.Dropped {
				phase.Dropped += m.count
				phase.Count += m.count
			} else {
				phase.Dispatch = summarize(m.lag, 0)
			}
			continue
		}
		operation := phase.operation(key.op)
		if operation == nil {
			operation = &Operation{Name: key.op, Part: key.timing == record.Part, Outcomes: map[string]int64{}, Reasons: map[string]int64{}}
			phase.Operations = append(phase.Operations, operation)
			timed[key.op] = &times{}
		}
		operation.add(phase, key, m)
		timed[key.op].add(operation, key.outcome, m)
	}
	for _, operation := range phase.Operations {
		timed[operation.Name].close(operation)
	}
	// Whole operations first; the parts of one follow it.
	slices.SortFunc(phase.Operations, func(a, b *Operation) int {
		if a.Part != b.Part {
			if b.Part {
				return -1
			}
			return 1
		}
		return cmp.Compare(a.Name, b.Name)
	})
}

func (o *Operation) add(phase *Phase, key seriesKey, m *merged) {
	o.Count += m.count
	o.Bytes += m.bytes
	o.Items += m.items
	o.Outcomes[key.outcome.String()] += m.count
	for reason, n := range m.reasons {
		o.Reasons[reason] += n
	}
	if key.outcome == record.OK && phase.Seconds() > 0 {
		o.Rate = float64(m.count) / phase.Seconds()
	}
	if !o.Part {
		phase.Count += m.count
		if key.outcome == record.OK {
			phase.Succeeded += m.count
		}
	}
}

// times merges the histograms of an operation's outcomes: a timeout is a lower
// bound of how long the answer would have taken, any other error is not.
type times struct {
	service, response, lag *hdrhistogram.Histogram
	lowerBounds            int64
}

func (t *times) add(o *Operation, outcome record.Outcome, m *merged) {
	t.lag = merge(t.lag, m.lag)
	switch outcome {
	case record.TimedOut:
		t.lowerBounds += m.count
		fallthrough
	case record.OK:
		t.service = merge(t.service, m.service)
		t.response = merge(t.response, m.response)
	default:
		if o.Unsuccessful == nil {
			o.Unsuccessful = map[string]*Distribution{}
		}
		o.Unsuccessful[outcome.String()] = summarize(m.service, 0)
	}
}

func (t *times) close(o *Operation) {
	o.Service = summarize(t.service, t.lowerBounds)
	o.Response = summarize(t.response, t.lowerBounds)
	o.Lag = summarize(t.lag, 0)
}

// tail is how many samples must lie beyond a percentile for it to be told.
const tail = 10

func summarize(h *hdrhistogram.Histogram, lowerBounds int64) *Distribution {
	if h == nil || h.TotalCount() == 0 {
		return nil
	}
	d := &Distribution{
		Count: h.TotalCount(), Min: seconds(h.Min()), Mean: h.Mean() / 1e9, Stddev: h.StdDev() / 1e9,
		Max: seconds(h.Max()), LowerBounds: lowerBounds, histogram: h,
	}
	for i, target := range []**float64{&d.P50, &d.P90, &d.P95, &d.P99, &d.P999} {
		q := measure.Quantiles()[i]
		if q == 50 || float64(d.Count)*(1-q/100) >= tail {
			v := seconds(h.ValueAtQuantile(q))
			*target = &v
		}
	}
	return d
}

func (d *Distribution) statistic(name string) (float64, bool) {
	switch name {
	case "min":
		return d.Min, true
	case "mean":
		return d.Mean, true
	case "stddev":
		return d.Stddev, true
	case "max":
		return d.Max, true
	}
	q, ok := measure.Quantile(name)
	return seconds(d.histogram.ValueAtQuantile(q)), ok
}

func seconds(nanoseconds int64) float64 { return time.Duration(nanoseconds).Seconds() }

// judge says whether the run kept a bound.
func judge(run *Run, info store.ObjectiveInfo) Objective {
	o := Objective{ObjectiveInfo: info}
	m, err := measure.Parse(info.Measure)
	if err != nil {
		o.Note = err.Error()
		return o
	}
	o.Unit = string(m.Unit())
	value, n, ok := run.value(m)
	if !ok {
		o.Note = "the run has no such measure: no operation of it was recorded"
		return o
	}
	o.Value, o.N = &value, n
	o.Held = (info.Max == nil || value <= *info.Max) && (info.Min == nil || value >= *info.Min)
	if q, ok := measure.Quantile(m.Statistic); ok && float64(n)*(1-q/100) < tail {
		o.Note = fmt.Sprintf("fewer than %d of %d samples lie beyond this percentile", tail, n)
	}
	return o
}
