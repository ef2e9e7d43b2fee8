package analysis

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"
	"time"

	"plimsoll.dev/plimsoll/internal/metrics"
	"plimsoll.dev/plimsoll/internal/record"
	"plimsoll.dev/plimsoll/internal/store"
)

func newFigures(duration float64) *Figures {
	f := &Figures{}
	for second := range int(math.Ceil(duration)) + 1 {
		f.Seconds = append(f.Seconds, float64(second))
	}
	return f
}

// line gives an empty line: NaN everywhere.
func (f *Figures) line() []float64 {
	values := make([]float64, len(f.Seconds))
	for i := range values {
		values[i] = math.NaN()
	}
	return values
}

// addOutcomes draws operations per second.
func (r *Run) addOutcomes(stored *store.Run) {
	type key struct{ phase, op, outcome string }
	lines := map[key][]float64{}
	stored.Counters(func(i record.Interval) {
		phase := r.phase(i.Phase)
		if phase == nil || i.Second < 0 || i.Second >= len(r.Figures.Seconds) || i.Timing == record.Dispatch && i.Outcome == record.OK {
			return
		}
		k := key{i.Phase, i.Op, i.Outcome.String()}
		if lines[k] == nil {
			lines[k] = r.Figures.line()
			for s := max(0, int(phase.Start)); s <= int(phase.End) && s < len(lines[k]); s++ {
				lines[k][s] = 0
			}
		}
		if math.IsNaN(lines[k][i.Second]) {
			lines[k][i.Second] = 0
		}
		lines[k][i.Second] += float64(i.Count)
	})
	for k, values := range lines {
		r.Figures.Outcomes = append(r.Figures.Outcomes, Line{Phase: k.phase, Operation: k.op, Outcome: k.outcome, Values: values})
	}
	slices.SortFunc(r.Figures.Outcomes, func(a, b Line) int {
		return cmp.Or(cmp.Compare(a.Phase, b.Phase), cmp.Compare(a.Operation, b.Operation), cmp.Compare(a.Outcome, b.Outcome))
	})
}

// addCurves draws the percentile curves of what was measured.
func (r *Run) addCurves(g gathered) {
	for _, step := range r.Steps {
		if !step.Measured {
			continue
		}
		for _, phase := range step.Phases {
			for _, operation := range phase.Operations {
				clock, d := "response", operation.Response
				if d == nil {
					clock, d = "service", operation.Service
				}
				if d != nil {
					r.Figures.Curves = append(r.Figures.Curves, Curve{
						Phase: phase.Name, Operation: operation.Name, Clock: clock, Count: d.Count, Points: curve(d),
					})
				}
			}
		}
	}
}

// curve samples a distribution evenly over the logarithm of 1/(1−quantile), up
// to the quantile that a single sample stands for.
func curve(d *Distribution) []Point {
	const perDecade = 30
	var points []Point
	decades := math.Log10(float64(d.Count))
	for i := 0; float64(i) <= decades*perDecade; i++ {
		q := 1 - math.Pow(10, -float64(i)/perDecade)
		points = append(points, Point{q, seconds(d.histogram.ValueAtQuantile(q * 100))})
	}
	return points
}

// addUsage reads what processes used.
func (r *Run) addUsage(ctx context.Context, stored *store.Run) {
	reader, err := metrics.Open(stored.MetricsDir())
	if err != nil {
		r.Warnings = append(r.Warnings, Warning{About: "metrics", What: err.Error()})
		return
	}
	defer reader.Close()
	begin, end := r.measuredSpan()
	query := func(expression string, from, to float64) []Line {
		at := func(offset float64) time.Time {
			return r.Started.Add(time.Duration(offset * float64(time.Second))).Truncate(time.Second)
		}
		matrix, err := reader.Range(ctx, expression, at(from), at(to), time.Second)
		if err != nil {
			r.Warnings = append(r.Warnings, Warning{About: "metrics", What: err.Error()})
			return nil
		}
		var lines []Line
		for _, series := range matrix {
			line := Line{Component: series.Metric.Get("component"), Values: r.Figures.line()}
			for _, p := range series.Floats {
				second := int(math.Round(float64(p.T-r.Started.UnixMilli()) / 1000))
				if second >= 0 && second < len(line.Values) {
					line.Values[second] = p.F
				}
			}
			lines = append(lines, line)
		}
		slices.SortFunc(lines, func(a, b Line) int { return cmp.Compare(a.Component, b.Component) })
		return lines
	}
	r.Figures.CPU = query(`sum by (component) (irate(process_cpu_seconds_total[5s]))`, 0, r.Duration)
	r.Figures.RSS = query(`sum by (component) (process_resident_memory_bytes)`, 0, r.Duration)
	for _, cpu := range r.Figures.CPU {
		u := Usage{Component: cpu.Component}
		u.MeanCPU, u.MaxCPU, _ = over(cpu.Values, begin, end)
		for _, rss := range r.Figures.RSS {
			if rss.Component == cpu.Component {
				_, u.MaxRSS, u.EndRSS = over(rss.Values, begin, end)
			}
		}
		r.Components = append(r.Components, u)
	}
}

// measuredSpan is the span from the first measured step to the last.
func (r *Run) measuredSpan() (begin, end float64) {
	begin = math.Inf(1)
	for _, step := range r.Steps {
		if step.Measured && step.End > 0 {
			begin, end = min(begin, step.Start), max(end, step.End)
		}
	}
	if end == 0 {
		return 0, r.Duration
	}
	return begin, end
}

// over gives mean, maximum and last of the values within a span of seconds.
func over(values []float64, begin, end float64) (mean, highest, last float64) {
	n := 0
	for second, v := range values {
		if float64(second) < begin || float64(second) > end+1 || math.IsNaN(v) {
			continue
		}
		mean += v
		highest = max(highest, v)
		last = v
		n++
	}
	if n > 0 {
		mean /= float64(n)
	}
	return mean, highest, last
}

// warn adds what a reader of the numbers must know.
func (r *Run) warn(stored *store.Run) {
	for _, damage := range stored.Damage {
		r.Warnings = append(r.Warnings, Warning{About: "run directory", What: damage, Why: "the file is damaged or was cut short", Mend: "what could be read is shown; run again for whole results"})
	}
	for _, step := range r.Steps {
		for _, phase := range step.Phases {
			if step.Measured && phase.End > 0 {
				r.warnPhase(phase)
			}
		}
	}
	for _, e := range stored.Events {
		if e.Kind == store.SamplingFailed {
			r.Warnings = append(r.Warnings, Warning{About: "metrics", What: e.Message, Why: "some seconds have no values"})
		}
	}
}

// lateDispatch is how late arrivals may be handed over, at the 99th percentile,
// before the generator counts as a limit: 2 ms, or a tenth of the median
// response time (METHOD: the generator must be late, not the target).
const lateDispatch = 2e-3

func (r *Run) warnPhase(phase *Phase) {
	warn := func(what, why, mend string) {
		r.Warnings = append(r.Warnings, Warning{About: phase.Name, What: what, Why: why, Mend: mend})
	}
	if phase.Count == 0 {
		warn("no operation ended", "the phase was cut short, or its first operations were still under way", "give it more time, or look at the components' logs")
		return
	}
	if phase.Dropped > 0 {
		warn(fmt.Sprintf("%d of %d operations were dropped", phase.Dropped, phase.Count),
			"the backlog was full: the target did not keep up with the rate", "lower the rate; response times are of the operations that ran, and so too good")
	}
	if bad := phase.Count - phase.Succeeded - phase.Dropped; bad > 0 {
		warn(fmt.Sprintf("%d of %d operations did not succeed", bad, phase.Count), "", "see outcomes and reasons in the table; times are of operations that succeeded or timed out")
	}
	for _, operation := range phase.Operations {
		if operation.Reasons["limit-ignored"] > 0 {
			warn(fmt.Sprintf("the server ignored limit in %d answers", operation.Reasons["limit-ignored"]), "", "compare whole walks, not pages")
		}
		if d := phase.Dispatch; d != nil && d.P99 != nil && operation.Response != nil && operation.Response.P50 != nil {
			if *d.P99 > max(lateDispatch, *operation.Response.P50/10) {
				warn(fmt.Sprintf("the generator handed operations over late: %.1f ms at p99", *d.P99*1000),
					"plimsoll did not get the CPU in time", "lower the rate, or give plimsoll a CPU of its own; response times include this delay")
			}
		}
	}
}
