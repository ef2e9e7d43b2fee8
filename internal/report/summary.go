package report

import (
	"encoding/csv"
	"fmt"
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
	parameters := parametersOf(result)
	columns := append(summaryColumns(parameters), placeColumns(result)...)
	rows := [][]string{make([]string, len(columns))}
	for i, c := range columns {
		rows[0][i] = c.name
	}
	for _, line := range summaryLines(result) {
		row := make([]string, len(columns))
		for i, c := range columns {
			row[i] = c.cell(line)
		}
		rows = append(rows, row)
	}
	if err := csv.NewWriter(w).WriteAll(rows); err != nil {
		return fmt.Errorf("write summary: %w", err)
	}
	return nil
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

type column struct {
	name string
	cell func(summaryLine) string
}

func summaryColumns(parameters []string) []column {
	columns := []column{
		{"run", func(l summaryLine) string { return strconv.Itoa(l.run.Index) }},
		{"run_name", func(l summaryLine) string { return l.run.Name }},
		{"status", func(l summaryLine) string { return string(l.run.Status) }},
	}
	for _, name := range parameters {
		columns = append(columns, column{"param_" + name, func(l summaryLine) string { return l.run.Parameters[name] }})
	}
	return slices.Concat(columns, phaseColumns(), operationColumns(), timeColumns())
}

func phaseColumns() []column {
	return []column{
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

func operationColumns() []column {
	outcome := func(name string) func(summaryLine) string {
		return func(l summaryLine) string { return strconv.FormatInt(l.operation.Outcomes[name], 10) }
	}
	return []column{
		{"operation", func(l summaryLine) string { return l.operation.Name }},
		{"part", func(l summaryLine) string { return strconv.FormatBool(l.operation.Part) }},
		{"count", func(l summaryLine) string { return strconv.FormatInt(l.operation.Count, 10) }},
		{"ok", outcome("ok")},
		{"rejected", outcome("rejected")},
		{"timed_out", outcome("timed-out")},
		{"failed", outcome("failed")},
		{"dropped", outcome("dropped")},
		{"ok_per_second", func(l summaryLine) string { return number(l.operation.Rate) }},
		{"bytes", func(l summaryLine) string { return strconv.FormatInt(l.operation.Bytes, 10) }},
		{"items", func(l summaryLine) string { return strconv.FormatInt(l.operation.Items, 10) }},
	}
}

func timeColumns() []column {
	of := func(value func(*analysis.Distribution) string) func(summaryLine) string {
		return func(l summaryLine) string {
			if l.clock.Distribution == nil {
				return ""
			}
			return value(l.clock.Distribution)
		}
	}
	at := func(value func(*analysis.Distribution) *float64) func(summaryLine) string {
		return of(func(d *analysis.Distribution) string {
			if v := value(d); v != nil {
				return number(*v)
			}
			return ""
		})
	}
	return []column{
		{"clock", func(l summaryLine) string { return l.clock.Name }},
		{"times", of(func(d *analysis.Distribution) string { return strconv.FormatInt(d.Count, 10) })},
		{"lower_bounds", of(func(d *analysis.Distribution) string { return strconv.FormatInt(d.LowerBounds, 10) })},
		{"min_seconds", of(func(d *analysis.Distribution) string { return number(d.Min) })},
		{"mean_seconds", of(func(d *analysis.Distribution) string { return number(d.Mean) })},
		{"stddev_seconds", of(func(d *analysis.Distribution) string { return number(d.Stddev) })},
		{"p50_seconds", at(func(d *analysis.Distribution) *float64 { return d.P50 })},
		{"p90_seconds", at(func(d *analysis.Distribution) *float64 { return d.P90 })},
		{"p95_seconds", at(func(d *analysis.Distribution) *float64 { return d.P95 })},
		{"p99_seconds", at(func(d *analysis.Distribution) *float64 { return d.P99 })},
		{"p99.9_seconds", at(func(d *analysis.Distribution) *float64 { return d.P999 })},
		{"max_seconds", of(func(d *analysis.Distribution) string { return number(d.Max) })},
	}
}

// placeColumns say where in the design a run stands; there are none if that has one cell only.
func placeColumns(result *analysis.Result) []column {
	if len(result.Cells) < 2 {
		return nil
	}
	columns := []column{{"variant", func(l summaryLine) string { return l.run.Cell.Variant }}}
	for _, axis := range axesOf(result) {
		columns = append(columns, column{"axis_" + axis, func(l summaryLine) string { return l.run.Cell.Axes[axis] }})
	}
	return append(columns, column{"block", func(l summaryLine) string {
		if l.run.Block > 0 {
			return strconv.Itoa(l.run.Block)
		}
		return ""
	}})
}

// number writes a value without an exponent, with nine digits at the most: more
// than any clock gives, and few enough to hide the noise of floating point.
func number(v float64) string {
	v, _ = strconv.ParseFloat(strconv.FormatFloat(v, 'g', 9, 64), 64)
	return strconv.FormatFloat(v, 'f', -1, 64)
}
