package report

import (
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
