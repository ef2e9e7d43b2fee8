package report

import (
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
	time := func(value func(*analysis.Distribution) float64) func(sweepRow) string {
		return func(r sweepRow) string { return choose(r.times.Count > 0, number(value(r.times)), "") }
	}
	each := func(sum func(*analysis.Operation) int64) func(sweepRow) string {
		return func(r sweepRow) string {
			ok := r.operation.Outcomes["ok"]
			return choose(ok > 0, number(float64(sum(r.operation))/float64(ok)), "")
		}
	}
	columns := slices.Concat([]column[sweepRow]{
		{"scenario", func(sweepRow) string { return result.Scenario }},
		{"run", func(r sweepRow) string { return strconv.Itoa(r.run.Index) }},
		{"variant", func(r sweepRow) string { return r.run.Cell.Variant }},
		{"block", func(r sweepRow) string { return strconv.Itoa(r.run.Block) }},
	}, axisColumns(result, "", func(r sweepRow) map[string]string { return r.run.Cell.Axes }), []column[sweepRow]{
		{"phase", func(r sweepRow) string { return r.phase.Name }},
		{"operation", func(r sweepRow) string { return r.operation.Name }},
		{"parameter", func(r sweepRow) string { return r.step.Point.Parameter }},
		{"resources", func(r sweepRow) string { return number(r.step.Point.Value) }},
		{"mean runtime (s)", time(func(d *analysis.Distribution) float64 { return d.Mean })},
		{"stdev (s)", time(func(d *analysis.Distribution) float64 { return d.Stddev })},
		{"stdev (%)", time(func(d *analysis.Distribution) float64 { return d.Stddev / d.Mean * 100 })},
		{"bytes", each(func(o *analysis.Operation) int64 { return o.Bytes })},
		{"errors", func(r sweepRow) string { return whole(r.operation.Count - r.operation.Outcomes["ok"]) }},
		{"repetitions", func(r sweepRow) string { return whole(r.operation.Outcomes["ok"]) }},
		{"p50 (s)", func(r sweepRow) string { return known(r.times.P50) }},
		{"p95 (s)", func(r sweepRow) string { return known(r.times.P95) }},
		{"max (s)", time(func(d *analysis.Distribution) float64 { return d.Max })},
		{"mean first byte (s)", func(r sweepRow) string {
			first := partOf(r.phase, "first-byte")
			return choose(first != nil, number(orEmpty(first).Mean), "")
		}},
		{"items", each(func(o *analysis.Operation) int64 { return o.Items })},
	})
	return writeCSV(w, "sweep", columns, sweepRows(result))
}

// Swept says whether the result has a sweep.
func Swept(result *analysis.Result) bool {
	return slices.ContainsFunc(result.Runs, func(r *analysis.Run) bool {
		return slices.ContainsFunc(r.Steps, func(s *analysis.Step) bool { return s.Point != nil })
	})
}

// sweepRow is the first whole operation of a phase at a point.
type sweepRow struct {
	run       *analysis.Run
	step      *analysis.Step
	phase     *analysis.Phase
	operation *analysis.Operation
	times     *analysis.Distribution // empty if there are none
}

func sweepRows(result *analysis.Result) []sweepRow {
	var rows []sweepRow
	for _, run := range result.Runs {
		for step, phase := range run.Phases() {
			at := slices.IndexFunc(phase.Operations, func(o *analysis.Operation) bool { return !o.Part })
			if at >= 0 && step.Point != nil && phase.Measured && !phase.Background {
				_, times := phase.Operations[at].MainClock(phase)
				rows = append(rows, sweepRow{run, step, phase, phase.Operations[at], orEmpty(times)})
			}
		}
	}
	return rows
}

func orEmpty(d *analysis.Distribution) *analysis.Distribution {
	if d == nil {
		return &analysis.Distribution{}
	}
	return d
}
