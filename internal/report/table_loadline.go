package report

import (
	"fmt"
	"slices"
	"strings"

	"plimsoll.dev/plimsoll/internal/analysis"
)

// triesTable is what one search tried, by value.
type triesTable struct {
	Title, Parameter string
	Objectives       []string // with their bounds
	Rows             []triesRow
}

type triesRow struct {
	Value  string
	Cells  []string // a value for each objective
	Held   bool
	Result string
	Run    int
}

// triesOf are the tables of all searches.
func triesOf(result *analysis.Result) []triesTable {
	var tables []triesTable
	for _, l := range result.LoadLines {
		if len(l.Tries) == 0 {
			continue
		}
		t := triesTable{Title: "What the search tried" + ofCell(l), Parameter: l.Parameter}
		if result.Design.Blocks > 1 {
			t.Title += fmt.Sprintf(", block %d", l.Block)
		}
		for _, try := range l.Tries {
			for _, o := range try.Objectives {
				if name := triedName(o); !slices.Contains(t.Objectives, name) {
					t.Objectives = append(t.Objectives, name)
				}
			}
		}
		for _, try := range l.Tries {
			t.Rows = append(t.Rows, newTriesRow(try, t.Objectives))
		}
		tables = append(tables, t)
	}
	return tables
}

// triedName is the objective with its bound, unless its name has that.
func triedName(o analysis.TriedObjective) string {
	if strings.Contains(o.Name, o.Bound) {
		return o.Name
	}
	return o.Name + " " + o.Bound
}

func newTriesRow(try analysis.Try, objectives []string) triesRow {
	row := triesRow{
		Value: pointText(&try.Point), Cells: slices.Repeat([]string{absent}, len(objectives)), Held: try.Held,
		Result: choose(try.Held, "held", "broke"), Run: try.Run,
	}
	if try.Note != "" {
		row.Result = "failed"
	}
	for _, o := range try.Objectives {
		at := slices.Index(objectives, triedName(o))
		switch {
		case o.NotMeasured:
			row.Cells[at] = "not measured"
		case o.Value != nil:
			row.Cells[at] = quantity(*o.Value, o.Unit, o.Bound) + choose(o.Held, "", " !")
		default:
			row.Cells[at] = "none !"
		}
	}
	return row
}

// breakTable lists the objectives that broke as objects became many, the first one first.
type breakTable struct {
	Title, Parameter string
	Rows             []breakRow
}

type breakRow struct{ Objective, Bound, Objects, At, Value, Share string }

func breaksOf(result *analysis.Result) []breakTable {
	var tables []breakTable
	for _, l := range result.LoadLines {
		if len(l.Breaks) == 0 {
			continue
		}
		t := breakTable{Title: "What broke, and when" + ofCell(l), Parameter: l.Parameter}
		for _, b := range l.Breaks {
			t.Rows = append(t.Rows, breakRow{b.Objective, b.Bound, pointText(&b.Point), seconds(b.At), quantity(b.Value, b.Unit, b.Bound), wholePercent(b.Share)})
		}
		tables = append(tables, t)
	}
	return tables
}

// bottleneckTable has the figures that say what a machine was short of.
type bottleneckTable struct {
	Title   string
	Figures []analysis.Limit
}

func bottlenecksOf(result *analysis.Result) []bottleneckTable {
	var tables []bottleneckTable
	for _, l := range result.LoadLines {
		if b := l.Bottleneck; b != nil {
			tables = append(tables, bottleneckTable{fmt.Sprintf("What the machine was short of, from %s to %s%s", seconds(b.From), seconds(b.To), ofCell(l)), b.Figures})
		}
	}
	return tables
}
