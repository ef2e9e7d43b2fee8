package report

import (
	"io"
	"slices"
	"strconv"
	"strings"

	"plimsoll.dev/plimsoll/internal/analysis"
	"plimsoll.dev/plimsoll/internal/stats"
	"plimsoll.dev/plimsoll/internal/store"
)

// Comparison writes comparison.csv: a row for each comparison, primary measures
// first. Figures are in the unit that the row names: seconds, bytes, per second,
// fraction or count. What is not known is empty.
func Comparison(w io.Writer, result *analysis.Result) error {
	columns := slices.Concat([]column[*analysis.Comparison]{
		{"name", func(c *analysis.Comparison) string { return c.Name }},
		{"measure", func(c *analysis.Comparison) string { return c.Measure }},
		{"promql", func(c *analysis.Comparison) string { return c.PromQL }},
		{"primary", func(c *analysis.Comparison) string { return strconv.FormatBool(c.Primary) }},
		{"unit", func(c *analysis.Comparison) string { return c.Unit }},
		{"better", func(c *analysis.Comparison) string { return c.Better }},
		{"baseline", func(c *analysis.Comparison) string { return c.Baseline }},
		{"variant", func(c *analysis.Comparison) string { return c.Variant }},
	},
		axisColumns(result, "axis_", func(c *analysis.Comparison) map[string]string { return c.Axes }),
		pointColumns(func(c *analysis.Comparison) *store.Point { return c.Point }),
		sideColumns("baseline", func(c *analysis.Comparison) stats.Summary { return c.Base }),
		sideColumns("variant", func(c *analysis.Comparison) stats.Summary { return c.Head }),
		verdictColumns())
	return writeCSV(w, "comparison", columns, result.Comparisons)
}

func sideColumns(side string, of func(*analysis.Comparison) stats.Summary) []column[*analysis.Comparison] {
	figure := func(name string, value func(stats.Summary) *float64) column[*analysis.Comparison] {
		return column[*analysis.Comparison]{side + "_" + name, func(c *analysis.Comparison) string { return known(value(of(c))) }}
	}
	return []column[*analysis.Comparison]{
		{side + "_runs", func(c *analysis.Comparison) string { return strconv.Itoa(of(c).N) }},
		figure("median", func(s stats.Summary) *float64 { return s.Median }),
		figure("median_lo", func(s stats.Summary) *float64 { return s.Lo }),
		figure("median_hi", func(s stats.Summary) *float64 { return s.Hi }),
		figure("mean", func(s stats.Summary) *float64 { return s.Mean }),
		figure("stddev", func(s stats.Summary) *float64 { return s.StdDev }),
	}
}

func verdictColumns() []column[*analysis.Comparison] {
	return []column[*analysis.Comparison]{
		{"ratio", func(c *analysis.Comparison) string { return known(c.Ratio) }},
		{"ratio_lo", func(c *analysis.Comparison) string { return known(c.Lo) }},
		{"ratio_hi", func(c *analysis.Comparison) string { return known(c.Hi) }},
		{"confidence", func(c *analysis.Comparison) string { return number(c.Confidence) }},
		{"p", func(c *analysis.Comparison) string { return known(c.P) }},
		{"adjusted_p", func(c *analysis.Comparison) string { return known(c.AdjustedP) }},
		{"cliffs_delta", func(c *analysis.Comparison) string { return known(c.CliffsDelta) }},
		{"blocks", func(c *analysis.Comparison) string { return strconv.Itoa(c.Pairs) }},
		{"margin", func(c *analysis.Comparison) string { return number(c.Margin) }},
		{"verdict", func(c *analysis.Comparison) string { return string(c.Verdict) }},
		{"blocks_needed", func(c *analysis.Comparison) string { return positiveOrNone(c.BlocksNeeded) }},
		{"method", func(c *analysis.Comparison) string { return c.Method }},
		{"warnings", func(c *analysis.Comparison) string { return strings.Join(c.Warnings, " ") }},
	}
}
