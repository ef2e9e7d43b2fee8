package report

import (
	"fmt"
	"slices"

	"plimsoll.dev/plimsoll/internal/analysis"
	"plimsoll.dev/plimsoll/internal/design"
	"plimsoll.dev/plimsoll/internal/measure"
)

// timesTable says how long the operations of one kind took, cell by cell.
type timesTable struct {
	traced
	Title  string
	Places []timesPlace
}

// timesPlace has a row for each variant at the same values of the axes, and of a sweep's point.
type timesPlace struct {
	Where string
	Rows  []timesRow
}

type timesRow struct {
	*analysis.CellTimes
	Cell *analysis.Cell
	// Variant is the name of the row.
	Variant string
	// Against the baseline, by runs: how many times as fast the mean and the slowest were, and how many times as long the fastest took.
	Mean, Slowest, Fastest gain
}

// timesTables lists operations, those that primary measures are of first.
func timesTables(result *analysis.Result) []timesTable {
	var tables []timesTable
	for _, cell := range result.Cells {
		for _, t := range cell.Times {
			kind := traced{t.Phase, t.Operation, t.Clock}
			at := slices.IndexFunc(tables, func(table timesTable) bool { return table.traced == kind })
			if at < 0 {
				at = len(tables)
				tables = append(tables, timesTable{traced: kind, Title: fmt.Sprintf("%s.%s: %s time", t.Phase, t.Operation, t.Clock)})
			}
			tables[at].add(result, cell, t)
		}
	}
	wanted := primaryTraces(result)
	rank := func(t timesTable) int {
		if at := slices.Index(wanted, t.traced); at >= 0 {
			return at
		}
		return len(wanted)
	}
	slices.SortStableFunc(tables, func(a, b timesTable) int { return rank(a) - rank(b) })
	return tables
}

func (t *timesTable) add(result *analysis.Result, cell *analysis.Cell, times *analysis.CellTimes) {
	where := placeWords(cell.Axes, times.Point)
	at := slices.IndexFunc(t.Places, func(p timesPlace) bool { return p.Where == where })
	if at < 0 {
		at = len(t.Places)
		t.Places = append(t.Places, timesPlace{Where: where})
	}
	row := timesRow{CellTimes: times, Cell: cell, Variant: cellName(cell)}
	for statistic, target := range map[string]*gain{"mean": &row.Mean, "max": &row.Slowest, "min": &row.Fastest} {
		m := measure.Measure{Statistic: statistic, Phase: times.Phase, Operation: times.Operation, Clock: times.Clock}
		if c := comparisonOf(result, cell, times, m.String()); c != nil {
			*target = gain{c.Ratio, c.Lo, c.Hi}
			if statistic != "min" {
				*target = target.inverse()
			}
		}
	}
	t.Places[at].Rows = append(t.Places[at].Rows, row)
}

// comparisonOf is the comparison of a cell's measure with the baseline; nil of the baseline itself.
func comparisonOf(result *analysis.Result, cell *analysis.Cell, times *analysis.CellTimes, measure string) *analysis.Comparison {
	place := design.Cell{Axes: cell.Axes}.Key()
	for _, c := range result.Comparisons {
		samePoint := (c.Point == nil) == (times.Point == nil) && (c.Point == nil || *c.Point == *times.Point)
		if c.Variant == cell.Variant && c.Measure == measure && samePoint && (design.Cell{Axes: c.Axes}).Key() == place {
			return c
		}
	}
	return nil
}

// Compared says that any row is held against a baseline.
func (t timesTable) Compared() bool {
	return slices.ContainsFunc(t.Places, func(p timesPlace) bool {
		return slices.ContainsFunc(p.Rows, func(r timesRow) bool { return r.Mean.Value != nil })
	})
}
