package report

import (
	"github.com/jedib0t/go-pretty/v6/table"

	"plimsoll.dev/plimsoll/internal/analysis"
)

// checkRow says how true the lists of a phase were in a cell.
type checkRow struct {
	*analysis.CellCheck
	Where string
}

func checkRows(result *analysis.Result) []checkRow {
	var rows []checkRow
	for _, cell := range result.Cells {
		for _, c := range cell.Checks {
			rows = append(rows, checkRow{c, cellAt(cell.Cell, c.Point)})
		}
	}
	return rows
}

// OfChecked writes a number of walks; of walks that were not checked nothing is known.
func (r checkRow) OfChecked(n int64) string {
	if r.Checked == 0 {
		return absent
	}
	return count(n)
}

// checks prints whether lists showed what they should.
func (p *printer) checks(result *analysis.Result) {
	var rows []table.Row
	for _, r := range checkRows(result) {
		rows = append(rows, table.Row{
			shorten(oneLine(r.Where), 44), oneLine(r.Phase), count(r.Checked), r.OfChecked(r.Missing), r.OfChecked(r.Duplicates), count(r.Pages), count(r.LimitIgnored),
		})
	}
	p.table("Whether lists were true: walks that were checked, how many of them lacked objects that existed throughout, and how many showed some twice; and pages that held more than was asked for",
		table.Row{"cell", "phase", "walks", "missing", "duplicate", "pages", "oversize"}, rows, "llrrrrr")
}
