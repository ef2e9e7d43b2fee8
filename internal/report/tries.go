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

// loadNotes are what a reader must know of load lines, each once.
func loadNotes(result *analysis.Result) []string {
	var notes []string
	add := func(note string) {
		if !slices.Contains(notes, note) {
			notes = append(notes, note)
		}
	}
	for _, l := range result.LoadLines {
		for _, name := range l.NotMeasured {
			add(fmt.Sprintf("%s was never measured, so it neither held nor broke: the load line is that of the other objectives.", name))
		}
		for _, w := range l.Warnings {
			add("Load line" + strings.TrimRight(" of "+cellWords(l.Cell), " of") + ": " + w)
		}
	}
	return notes
}
