package report

import (
	"io"
	"maps"
	"slices"
	"strconv"

	"plimsoll.dev/plimsoll/internal/analysis"
)

// Summary writes summary.csv: a row for each run, phase, operation and clock,
// in base units, with a unit in the name of each column that has one. What is
// absent is empty.
func Summary(w io.Writer, result *analysis.Result) error {
	columns := []column[summaryLine]{
		{"run", func(l summaryLine) string { return strconv.Itoa(l.run.Index) }},
		{"run_name", func(l summaryLine) string { return l.run.Name }},
		{"status", func(l summaryLine) string { return string(l.run.Status) }},
	}
	for _, name := range parametersOf(result) {
		columns = append(columns, column[summaryLine]{"param_" + name, func(l summaryLine) string { return l.run.Parameters[name] }})
	}
	columns = slices.Concat(columns, phaseColumns(), operationColumns(), timeColumns())
	if len(result.Cells) > 1 {
		columns = append(columns, column[summaryLine]{"variant", func(l summaryLine) string { return l.run.Cell.Variant }})
		columns = append(columns, axisColumns(result, "axis_", func(l summaryLine) map[string]string { return l.run.Cell.Axes })...)
		columns = append(columns, column[summaryLine]{"block", func(l summaryLine) string { return positiveOrNone(l.run.Block) }})
	}
	return writeCSV(w, "summary", columns, summaryLines(result))
}

// summaryLine is what one row is about. A line without a clock is of an
// operation that has no times.
type summaryLine struct {
	run       *analysis.Run
	phase     *analysis.Phase
	operation *analysis.Operation
	clock     clock
}

func summaryLines(result *analysis.Result) []summaryLine {
	var lines []summaryLine
	for _, run := range result.Runs {
		for _, phase := range run.Phases() {
			for _, operation := range append(slices.Clone(phase.Operations), dispatchOf(phase)...) {
				clocks := clocksOf(operation)
				if len(clocks) == 0 {
					clocks = []clock{{}}
				}
				for _, c := range clocks {
					lines = append(lines, summaryLine{run, phase, operation, c})
				}
			}
		}
	}
	return lines
}

// dispatchOf gives the handing over of a phase's arrivals the form of an operation.
func dispatchOf(phase *analysis.Phase) []*analysis.Operation {
	if phase.Dispatch == nil && phase.Dropped == 0 {
		return nil
	}
	dispatch := &analysis.Operation{Name: "dispatch", Count: phase.Dropped, Outcomes: map[string]int64{"dropped": phase.Dropped}, Lag: phase.Dispatch}
	if phase.Dispatch != nil {
		dispatch.Count += phase.Dispatch.Count
		dispatch.Outcomes["ok"] = phase.Dispatch.Count
		dispatch.Rate = float64(phase.Dispatch.Count) / phase.Seconds()
	}
	return []*analysis.Operation{dispatch}
}

// parametersOf lists the names of all runs' parameters.
func parametersOf(result *analysis.Result) []string {
	names := map[string]bool{}
	for _, run := range result.Runs {
		for name := range run.Parameters {
			names[name] = true
		}
	}
	return slices.Sorted(maps.Keys(names))
}

func phaseColumns() []column[summaryLine] {
	return []column[summaryLine]{
		{"phase", func(l summaryLine) string { return l.phase.Name }},
		{"measured", func(l summaryLine) string { return strconv.FormatBool(l.phase.Measured) }},
		{"background", func(l summaryLine) string { return strconv.FormatBool(l.phase.Background) }},
		{"loop", func(l summaryLine) string { return l.phase.Loop }},
		{"clients", func(l summaryLine) string { return strconv.Itoa(l.phase.Clients) }},
		{"connections", func(l summaryLine) string { return strconv.Itoa(l.phase.Connections) }},
		{"phase_start_seconds", func(l summaryLine) string { return number(l.phase.Start) }},
		{"phase_end_seconds", func(l summaryLine) string { return number(l.phase.End) }},
	}
}

func operationColumns() []column[summaryLine] {
	outcome := func(name string) func(summaryLine) string {
		return func(l summaryLine) string { return whole(l.operation.Outcomes[name]) }
	}
	return []column[summaryLine]{
		{"operation", func(l summaryLine) string { return l.operation.Name }},
		{"part", func(l summaryLine) string { return strconv.FormatBool(l.operation.Part) }},
		{"count", func(l summaryLine) string { return whole(l.operation.Count) }},
		{"ok", outcome("ok")},
		{"rejected", outcome("rejected")},
		{"timed_out", outcome("timed-out")},
		{"failed", outcome("failed")},
		{"dropped", outcome("dropped")},
		{"ok_per_second", func(l summaryLine) string { return number(l.operation.Rate) }},
		{"bytes", func(l summaryLine) string { return whole(l.operation.Bytes) }},
		{"items", func(l summaryLine) string { return whole(l.operation.Items) }},
	}
}

func timeColumns() []column[summaryLine] {
	of := func(value func(*analysis.Distribution) string) func(summaryLine) string {
		return func(l summaryLine) string {
			if l.clock.Distribution == nil {
				return ""
			}
			return value(l.clock.Distribution)
		}
	}
	return []column[summaryLine]{
		{"clock", func(l summaryLine) string { return l.clock.Name }},
		{"times", of(func(d *analysis.Distribution) string { return whole(d.Count) })},
		{"lower_bounds", of(func(d *analysis.Distribution) string { return whole(d.LowerBounds) })},
		{"min_seconds", of(func(d *analysis.Distribution) string { return number(d.Min) })},
		{"mean_seconds", of(func(d *analysis.Distribution) string { return number(d.Mean) })},
		{"stddev_seconds", of(func(d *analysis.Distribution) string { return number(d.Stddev) })},
		{"p50_seconds", of(func(d *analysis.Distribution) string { return known(d.P50) })},
		{"p90_seconds", of(func(d *analysis.Distribution) string { return known(d.P90) })},
		{"p95_seconds", of(func(d *analysis.Distribution) string { return known(d.P95) })},
		{"p99_seconds", of(func(d *analysis.Distribution) string { return known(d.P99) })},
		{"p99.9_seconds", of(func(d *analysis.Distribution) string { return known(d.P999) })},
		{"max_seconds", of(func(d *analysis.Distribution) string { return number(d.Max) })},
	}
}
