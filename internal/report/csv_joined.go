package report

import (
	"cmp"
	"encoding/csv"
	"fmt"
	"io"
	"maps"
	"math"
	"slices"
	"strconv"
	"time"

	"plimsoll.dev/plimsoll/internal/analysis"
)

// Joined writes a table with a row for each second: when it was, and a column
// for each series. Of several runs each row also says which one it is of. What
// has no value is empty; numbers are as exact as they are.
func Joined(w io.Writer, runs []*analysis.Joined) error {
	headings, place := headingsOf(runs)
	header := append([]string{"time", "seconds"}, headings...)
	if len(runs) > 1 {
		header = append([]string{"run", "variant"}, header...)
	}
	out := csv.NewWriter(w)
	if err := out.Write(header); err != nil {
		return fmt.Errorf("write table: %w", err)
	}
	for _, run := range runs {
		values := make([][]float64, len(headings)) // nil where the run has no such column
		for _, column := range run.Columns {
			values[place[column.Heading()]] = column.Values
		}
		for row, second := range run.Seconds {
			cells := joinedCells(run, row, second, values)
			if len(runs) > 1 {
				cells = append([]string{strconv.Itoa(run.Run.Index), run.Run.Cell.Variant}, cells...)
			}
			if err := out.Write(cells); err != nil {
				return fmt.Errorf("write table: %w", err)
			}
		}
	}
	out.Flush()
	if err := out.Error(); err != nil {
		return fmt.Errorf("write table: %w", err)
	}
	return nil
}

// headingsOf lists the columns of all runs, in the order of the metrics, and where each stands.
func headingsOf(runs []*analysis.Joined) ([]string, map[string]int) {
	metric := map[string]int{}
	for _, run := range runs {
		for _, column := range run.Columns {
			metric[column.Heading()] = column.Place
		}
	}
	headings := slices.SortedFunc(maps.Keys(metric), func(a, b string) int { return cmp.Or(cmp.Compare(metric[a], metric[b]), cmp.Compare(a, b)) })
	place := map[string]int{}
	for i, heading := range headings {
		place[heading] = i
	}
	return headings, place
}

func joinedCells(run *analysis.Joined, row int, second float64, values [][]float64) []string {
	at := run.Started.Add(time.Duration(second * float64(time.Second)))
	cells := []string{at.UTC().Format("2006-01-02T15:04:05.000Z"), strconv.FormatFloat(second, 'f', -1, 64)}
	for _, column := range values {
		if column == nil || math.IsNaN(column[row]) {
			cells = append(cells, "")
			continue
		}
		cells = append(cells, strconv.FormatFloat(column[row], 'f', -1, 64))
	}
	return cells
}
