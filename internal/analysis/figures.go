package analysis

import (
	"cmp"
	"context"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/model/labels"

	"plimsoll.dev/plimsoll/internal/design"
	"plimsoll.dev/plimsoll/internal/metrics"
	"plimsoll.dev/plimsoll/internal/record"
)

func newFigures(duration float64) *Figures {
	f := &Figures{}
	for second := range int(math.Ceil(duration)) + 1 {
		f.Seconds = append(f.Seconds, float64(second))
	}
	return f
}

// gaps are so many values that are not known yet.
func gaps(n int) []float64 { return slices.Repeat([]float64{math.NaN()}, n) }

// addOutcomes draws operations per second.
func (r *Run) addOutcomes(g gathered) {
	for key, s := range g {
		phase := r.phase(key.phase)
		if phase == nil || key.timing == record.Dispatch && key.outcome == record.OK {
			continue
		}
		line := Line{Phase: key.phase, Operation: key.op, Outcome: key.outcome.String(), Values: gaps(len(r.Figures.Seconds))}
		for second := int(phase.Start); second <= int(phase.End) && second < len(line.Values); second++ {
			line.Values[second] = 0
		}
		for second, n := range s.perSecond {
			if second < len(line.Values) {
				line.Values[second] = float64(n)
			}
		}
		r.Figures.Outcomes = append(r.Figures.Outcomes, line)
	}
	slices.SortFunc(r.Figures.Outcomes, func(a, b Line) int {
		return cmp.Or(cmp.Compare(a.Phase, b.Phase), cmp.Compare(a.Operation, b.Operation), cmp.Compare(a.Outcome, b.Outcome))
	})
}

// addCurves draws the percentile curves of what was measured.
func (r *Run) addCurves() {
	for _, phase := range r.Phases() {
		for _, operation := range phase.Operations {
			if clock, d := operation.MainClock(phase); d != nil && phase.Measured {
				r.Figures.Curves = append(r.Figures.Curves, Curve{
					Phase: phase.Name, Operation: operation.Name, Clock: string(clock), Count: d.Count, Points: curve(d),
				})
			}
		}
	}
}

// addUsage reads what processes used.
func (r *Run) addUsage(ctx context.Context, reader *metrics.Reader) {
	r.Figures.CPU = r.componentLines(ctx, reader, `sum by (component) (irate(process_cpu_seconds_total[5s]))`)
	r.Figures.RSS = r.componentLines(ctx, reader, `sum by (component) (process_resident_memory_bytes)`)
	measured := r.measuredSeconds()
	mean := func(expression string) *float64 {
		for _, line := range r.lines(ctx, reader, expression) {
			if s, known := over(line.Values, measured); known {
				return &s.mean
			}
		}
		return nil
	}
	r.idle = mean(`sum(irate(node_cpu_seconds_total{mode=~"idle|iowait"}[5s]))`)
	if pausing := mean(`sum(irate(go_gc_pauses_seconds_total{component="plimsoll"}[5s]))`); pausing != nil {
		r.pausing = *pausing
	}
	if waiting := mean(`sum(irate(process_schedstat_waiting_seconds_total{component="plimsoll"}[5s]))`); waiting != nil {
		r.waiting = *waiting
	}
	for _, cpu := range r.Figures.CPU {
		rss := slices.IndexFunc(r.Figures.RSS, func(l Line) bool { return l.Component == cpu.Component })
		if rss < 0 {
			continue
		}
		c, inCPU := over(cpu.Values, measured)
		m, inRSS := over(r.Figures.RSS[rss].Values, measured)
		if inCPU && inRSS { // a process that was not sampled did not use nothing
			r.Components = append(r.Components, Usage{
				Component: cpu.Component, MeanCPU: c.mean, MaxCPU: c.highest, MaxRSS: m.highest, EndRSS: m.last,
			})
		}
	}
}

// addPanels evaluates what the scenario asks to be shown over time.
func (r *Run) addPanels(ctx context.Context, reader *metrics.Reader, panels []design.Panel) {
	for _, p := range panels {
		r.Figures.Panels = append(r.Figures.Panels, Panel{Panel: p, Lines: r.lines(ctx, reader, p.PromQL)})
	}
}

// componentLines gives a line for every component.
func (r *Run) componentLines(ctx context.Context, reader *metrics.Reader, expression string) []Line {
	lines := r.lines(ctx, reader, expression)
	slices.SortFunc(lines, func(a, b Line) int { return cmp.Compare(a.Component, b.Component) })
	return lines
}

// lines evaluates an expression at every second of the run, and gives a line for
// every series.
func (r *Run) lines(ctx context.Context, reader *metrics.Reader, expression string) []Line {
	end := r.Started.Add(time.Duration(len(r.Figures.Seconds)-1) * time.Second)
	matrix, err := reader.Range(ctx, expression, r.Started, end, time.Second)
	if err != nil {
		r.Warnings.add("metrics", err.Error(), "", "")
		return nil
	}
	var lines []Line
	for _, series := range matrix {
		line := Line{Component: series.Metric.Get("component"), Labels: labelsText(series.Metric), Values: gaps(len(r.Figures.Seconds))}
		for _, p := range series.Floats {
			second := (p.T - r.Started.UnixMilli()) / 1000
			if second >= 0 && second < int64(len(line.Values)) && !math.IsInf(p.F, 0) {
				line.Values[second] = p.F
			}
		}
		lines = append(lines, line)
	}
	slices.SortFunc(lines, func(a, b Line) int { return cmp.Compare(a.Labels, b.Labels) })
	return lines
}

// labelsText writes the labels of a series but its name: verb=LIST, code=200.
func labelsText(all labels.Labels) string {
	var parts []string
	all.Range(func(l labels.Label) {
		if l.Name != model.MetricNameLabel {
			parts = append(parts, l.Name+"="+l.Value)
		}
	})
	return strings.Join(parts, ", ")
}

// measuredSeconds are the spans of the measured steps that began; without any,
// that of the run.
func (r *Run) measuredSeconds() []span {
	if spans := r.measuredSteps(); spans != nil {
		return spans
	}
	return []span{{0, r.Duration}}
}

func (r *Run) measuredSteps() (spans []span) {
	for _, step := range r.Steps {
		if step.Measured && step.End > 0 {
			spans = append(spans, span{step.Start, step.End})
		}
	}
	return spans
}

// measured is from the start of the first measured step to the end of the last;
// its end is zero if none began.
func (r *Run) measured() (all span) {
	for _, step := range r.measuredSteps() {
		all = all.with(step)
	}
	return all
}

// summary of a line within some spans.
type summary struct{ mean, highest, last float64 }

// over summarises the values within spans; false says that there are none. The
// value at a second is of the time up to it, so a span has those from its
// beginning to the first after its end.
func over(values []float64, spans []span) (summary, bool) {
	var s summary
	n := 0.0
	for second, v := range values {
		if !within(float64(second), spans) || math.IsNaN(v) {
			continue
		}
		n++
		s.mean += (v - s.mean) / n
		s.highest = max(s.highest, v)
		s.last = v
	}
	return s, n > 0
}
