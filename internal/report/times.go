package report

import (
	"fmt"
	"slices"

	"github.com/jedib0t/go-pretty/v6/table"

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

// gain is a ratio of times with its interval, as it is spoken of.
type gain struct{ Value, Lo, Hi *float64 }

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

// inverse turns how many times as long into how many times as fast.
func (g gain) inverse() gain {
	of := func(v *float64) *float64 {
		if v == nil || *v <= 0 {
			return nil
		}
		inverse := 1 / *v
		return &inverse
	}
	return gain{of(g.Value), of(g.Hi), of(g.Lo)}
}

// String reads: 0.58 [0.55, 0.61].
func (g gain) String() string {
	switch {
	case g.Value == nil:
		return absent
	case g.Lo == nil || g.Hi == nil:
		return ratio(*g.Value) + " [?]"
	}
	return fmt.Sprintf("%s [%s, %s]", ratio(*g.Value), ratio(*g.Lo), ratio(*g.Hi))
}

// Compared says that any row is held against a baseline.
func (t timesTable) Compared() bool {
	return slices.ContainsFunc(t.Places, func(p timesPlace) bool {
		return slices.ContainsFunc(p.Rows, func(r timesRow) bool { return r.Mean.Value != nil })
	})
}

// mostTimes is how many rows of times a terminal shows of all operations together.
const mostTimes = 48

// times prints the tables of operations that primary measures are of; without any, the first.
func (p *printer) times(result *analysis.Result) {
	tables := timesTables(result)
	wanted := primaryTraces(result)
	shown := slices.DeleteFunc(slices.Clone(tables), func(t timesTable) bool { return !slices.Contains(wanted, t.traced) })
	if len(shown) == 0 {
		shown = tables[:min(1, len(tables))]
	}
	room := mostTimes
	for _, t := range shown {
		if room -= t.rows(); room < 0 {
			p.section("%s, cell by cell, is in times.csv and report.html.", t.Title)
			continue
		}
		p.table(t.Title+", of all runs of a cell together", table.Row{"", "mean", "min", "p50", "p95", "p99", "max", "n"}, t.terminalRows(), "lrrrrrrr")
		if t.Compared() {
			p.table(fmt.Sprintf("How many times as fast as %s that is; of the fastest, how many times as long it takes", oneLine(result.Design.Variants[0].Name)),
				table.Row{"", "on average", "the slowest", "the fastest takes"}, t.gainRows(), "lrrr")
		}
	}
}

func (t timesTable) rows() (n int) {
	for _, place := range t.Places {
		n += len(place.Rows)
	}
	return n
}

func (t timesTable) terminalRows() []table.Row {
	var rows []table.Row
	for _, place := range t.Places {
		if place.Where != "" {
			rows = append(rows, table.Row{shorten(oneLine(place.Where), 40), "", "", "", "", "", "", ""})
		}
		for _, r := range place.Rows {
			rows = append(rows, table.Row{
				choose(place.Where != "", "  ", "") + shorten(oneLine(r.Variant), 22), seconds(r.CellTimes.Mean), seconds(r.Min),
				optionalSeconds(r.P50), optionalSeconds(r.P95), optionalSeconds(r.P99), seconds(r.Max), count(r.Count),
			})
		}
	}
	return rows
}

func (t timesTable) gainRows() []table.Row {
	var rows []table.Row
	for _, place := range t.Places {
		for _, r := range place.Rows {
			if r.Mean.Value == nil {
				continue
			}
			where := r.Variant
			if place.Where != "" {
				where += " (" + place.Where + ")"
			}
			rows = append(rows, table.Row{shorten(oneLine(where), 42), r.Mean.String(), r.Slowest.String(), r.Fastest.String()})
		}
	}
	return rows
}
