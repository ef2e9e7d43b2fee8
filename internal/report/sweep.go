package report

import (
	"encoding/csv"
	"io"
	"slices"
	"strconv"

	"plimsoll.dev/plimsoll/internal/analysis"
)

// Sweep writes how whole operations went at each point of the sweeps, a row for
// each run and point: first the columns of the published list benchmarks
// (rancher/dartboard, 20221128 - API load benchmarks), where a repetition is an
// operation, and bytes are those of one; then ours.
func Sweep(w io.Writer, result *analysis.Result) error {
	axes := axesOf(result)
	head := append([]string{"scenario", "run", "variant", "block"}, axes...)
	head = append(head, "phase", "operation", "parameter",
		"resources", "mean runtime (s)", "stdev (s)", "stdev (%)", "bytes", "errors",
		"repetitions", "p50 (s)", "p95 (s)", "max (s)", "mean first byte (s)", "items")
	table := csv.NewWriter(w)
	if err := table.Write(head); err != nil {
		return err
	}
	for _, run := range result.Runs {
		before := []string{result.Scenario, strconv.Itoa(run.Index), run.Cell.Variant, strconv.Itoa(run.Block)}
		for _, axis := range axes {
			before = append(before, run.Cell.Axes[axis])
		}
		for step, phase := range run.Phases() {
			if row := sweepRow(step, phase); row != nil {
				if err := table.Write(append(slices.Clone(before), row...)); err != nil {
					return err
				}
			}
		}
	}
	table.Flush()
	return table.Error()
}

// Swept says whether the result has a sweep.
func Swept(result *analysis.Result) bool {
	return slices.ContainsFunc(result.Runs, func(r *analysis.Run) bool {
		return slices.ContainsFunc(r.Steps, func(s *analysis.Step) bool { return s.Point != nil })
	})
}

// sweepRow is the row of a phase at a point; nil, if it is at none, or has no whole operation.
func sweepRow(step *analysis.Step, phase *analysis.Phase) []string {
	at := slices.IndexFunc(phase.Operations, func(o *analysis.Operation) bool { return !o.Part })
	if at < 0 || phase.Background || step.Point == nil || !phase.Measured {
		return nil
	}
	o := phase.Operations[at]
	_, d := o.MainClock(phase)
	if d == nil {
		d = &analysis.Distribution{}
	}
	ok := o.Outcomes["ok"]
	row := []string{phase.Name, o.Name, step.Point.Parameter, number(step.Point.Value)}
	if d.Count == 0 {
		row = append(row, "", "", "")
	} else {
		row = append(row, number(d.Mean), number(d.Stddev), number(d.Stddev/d.Mean*100))
	}
	longest := ""
	if d.Count > 0 {
		longest = number(d.Max)
	}
	row = append(row, each(o.Bytes, ok), strconv.FormatInt(o.Count-ok, 10), strconv.FormatInt(ok, 10),
		percentile(d.P50), percentile(d.P95), longest, "", each(o.Items, ok))
	if first := slices.IndexFunc(phase.Operations, func(o *analysis.Operation) bool { return o.Name == "first-byte" }); first >= 0 {
		if s := phase.Operations[first].Service; s != nil {
			row[len(row)-2] = number(s.Mean)
		}
	}
	return row
}

// each is a sum divided among n; nothing of nothing.
func each(sum, n int64) string {
	if n == 0 {
		return ""
	}
	return number(float64(sum) / float64(n))
}

// percentile writes one that there may be too few samples for.
func percentile(v *float64) string {
	if v == nil {
		return ""
	}
	return number(*v)
}
