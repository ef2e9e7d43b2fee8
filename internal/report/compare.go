package report

import (
	"encoding/csv"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"plimsoll.dev/plimsoll/internal/analysis"
	"plimsoll.dev/plimsoll/internal/stats"
)

// Comparison writes comparison.csv: a row for each comparison, primary measures
// first. Figures are in the unit that the row names: seconds, bytes, per second,
// fraction or count. What is not known is empty.
func Comparison(w io.Writer, result *analysis.Result) error {
	columns := comparisonColumns(axesOf(result))
	rows := [][]string{make([]string, len(columns))}
	for i, c := range columns {
		rows[0][i] = c.name
	}
	for _, comparison := range result.Comparisons {
		row := make([]string, len(columns))
		for i, c := range columns {
			row[i] = c.cell(comparison)
		}
		rows = append(rows, row)
	}
	if err := csv.NewWriter(w).WriteAll(rows); err != nil {
		return fmt.Errorf("write comparison: %w", err)
	}
	return nil
}

type comparisonColumn struct {
	name string
	cell func(*analysis.Comparison) string
}

func comparisonColumns(axes []string) []comparisonColumn {
	columns := []comparisonColumn{
		{"name", func(c *analysis.Comparison) string { return c.Name }},
		{"measure", func(c *analysis.Comparison) string { return c.Measure }},
		{"promql", func(c *analysis.Comparison) string { return c.PromQL }},
		{"primary", func(c *analysis.Comparison) string { return strconv.FormatBool(c.Primary) }},
		{"unit", func(c *analysis.Comparison) string { return c.Unit }},
		{"better", func(c *analysis.Comparison) string { return c.Better }},
		{"baseline", func(c *analysis.Comparison) string { return c.Baseline }},
		{"variant", func(c *analysis.Comparison) string { return c.Variant }},
	}
	for _, axis := range axes {
		columns = append(columns, comparisonColumn{"axis_" + axis, func(c *analysis.Comparison) string { return c.Axes[axis] }})
	}
	columns = append(columns,
		comparisonColumn{"point_parameter", func(c *analysis.Comparison) string {
			if c.Point == nil {
				return ""
			}
			return c.Point.Parameter
		}},
		comparisonColumn{"point_value", func(c *analysis.Comparison) string {
			if c.Point == nil {
				return ""
			}
			return number(c.Point.Value)
		}})
	base := func(c *analysis.Comparison) stats.Summary { return c.Base }
	head := func(c *analysis.Comparison) stats.Summary { return c.Head }
	return slices.Concat(columns, figureColumns("baseline", base), figureColumns("variant", head), verdictColumns())
}

func figureColumns(side string, of func(*analysis.Comparison) stats.Summary) []comparisonColumn {
	figure := func(name string, value func(stats.Summary) *float64) comparisonColumn {
		return comparisonColumn{side + "_" + name, func(c *analysis.Comparison) string { return known(value(of(c))) }}
	}
	return []comparisonColumn{
		{side + "_runs", func(c *analysis.Comparison) string { return strconv.Itoa(of(c).N) }},
		figure("median", func(s stats.Summary) *float64 { return s.Median }),
		figure("median_lo", func(s stats.Summary) *float64 { return s.Lo }),
		figure("median_hi", func(s stats.Summary) *float64 { return s.Hi }),
		figure("mean", func(s stats.Summary) *float64 { return s.Mean }),
		figure("stddev", func(s stats.Summary) *float64 { return s.StdDev }),
	}
}

func verdictColumns() []comparisonColumn {
	return []comparisonColumn{
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
		{"blocks_needed", func(c *analysis.Comparison) string {
			if c.BlocksNeeded == 0 {
				return ""
			}
			return strconv.Itoa(c.BlocksNeeded)
		}},
		{"method", func(c *analysis.Comparison) string { return c.Method }},
		{"warnings", func(c *analysis.Comparison) string { return strings.Join(c.Warnings, " ") }},
	}
}

func known(v *float64) string {
	if v == nil {
		return ""
	}
	return number(*v)
}
