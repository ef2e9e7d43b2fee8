package report

import (
	"io"
	"slices"
	"strconv"

	"plimsoll.dev/plimsoll/internal/analysis"
	"plimsoll.dev/plimsoll/internal/store"
)

// Times writes times.csv: a row for each cell, operation and point, with the
// times of all its runs' operations together, in seconds, and how they stand to
// the baseline, by runs. What is not known is empty.
func Times(w io.Writer, result *analysis.Result) error {
	columns := slices.Concat(
		[]column[timesRow]{{"variant", func(r timesRow) string { return r.Cell.Variant }}},
		axisColumns(result, "axis_", func(r timesRow) map[string]string { return r.Cell.Axes }),
		pointColumns(func(r timesRow) *store.Point { return r.Point }),
		[]column[timesRow]{
			{"phase", func(r timesRow) string { return r.Phase }},
			{"operation", func(r timesRow) string { return r.Operation }},
			{"clock", func(r timesRow) string { return r.Clock }},
			{"runs", func(r timesRow) string { return strconv.Itoa(len(r.Cell.Runs)) }},
			{"count", func(r timesRow) string { return whole(r.Count) }},
			{"mean_seconds", func(r timesRow) string { return number(r.Distribution.Mean) }},
			{"min_seconds", func(r timesRow) string { return number(r.Min) }},
			{"p50_seconds", func(r timesRow) string { return known(r.P50) }},
			{"p90_seconds", func(r timesRow) string { return known(r.P90) }},
			{"p95_seconds", func(r timesRow) string { return known(r.P95) }},
			{"p99_seconds", func(r timesRow) string { return known(r.P99) }},
			{"p99.9_seconds", func(r timesRow) string { return known(r.P999) }},
			{"max_seconds", func(r timesRow) string { return number(r.Max) }},
			{"lower_bounds", func(r timesRow) string { return whole(r.LowerBounds) }},
		},
		gainColumns("speedup_mean", func(r timesRow) gain { return r.Mean }),
		gainColumns("speedup_max", func(r timesRow) gain { return r.Slowest }),
		gainColumns("slowdown_min", func(r timesRow) gain { return r.Fastest }))
	var rows []timesRow
	for _, t := range timesTables(result) {
		for _, place := range t.Places {
			rows = append(rows, place.Rows...)
		}
	}
	return writeCSV(w, "times", columns, rows)
}

func gainColumns(name string, of func(timesRow) gain) []column[timesRow] {
	return []column[timesRow]{
		{name, func(r timesRow) string { return known(of(r).Value) }},
		{name + "_lo", func(r timesRow) string { return known(of(r).Lo) }},
		{name + "_hi", func(r timesRow) string { return known(of(r).Hi) }},
	}
}
