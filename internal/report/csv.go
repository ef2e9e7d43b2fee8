package report

import (
	"encoding/csv"
	"fmt"
	"io"
	"strconv"

	"plimsoll.dev/plimsoll/internal/analysis"
	"plimsoll.dev/plimsoll/internal/store"
)

// column is one of a table for a spreadsheet, whose rows are each about a T.
type column[T any] struct {
	name string
	cell func(T) string
}

// writeCSV writes a table: its head, and a row for each. Numbers are in base
// units, with nine digits at the most; what is not known is empty.
func writeCSV[T any](w io.Writer, name string, columns []column[T], rows []T) error {
	records := [][]string{make([]string, len(columns))}
	for i, c := range columns {
		records[0][i] = c.name
	}
	for _, row := range rows {
		record := make([]string, len(columns))
		for i, c := range columns {
			record[i] = c.cell(row)
		}
		records = append(records, record)
	}
	if err := csv.NewWriter(w).WriteAll(records); err != nil {
		return fmt.Errorf("write %s: %w", name, err)
	}
	return nil
}

// axisColumns have the values of the design's axes.
func axisColumns[T any](result *analysis.Result, prefix string, of func(T) map[string]string) []column[T] {
	var columns []column[T]
	for _, axis := range result.Design.Axes {
		columns = append(columns, column[T]{prefix + axis.Parameter, func(row T) string { return of(row)[axis.Parameter] }})
	}
	return columns
}

// pointColumns have the parameter and the value of a sweep's point, if there is one.
func pointColumns[T any](of func(T) *store.Point) []column[T] {
	cell := func(write func(*store.Point) string) func(T) string {
		return func(row T) string {
			if point := of(row); point != nil {
				return write(point)
			}
			return ""
		}
	}
	return []column[T]{
		{"point_parameter", cell(func(p *store.Point) string { return p.Parameter })},
		{"point_value", cell(func(p *store.Point) string { return number(p.Value) })},
	}
}

// number writes a value without an exponent, with nine digits at the most: more
// than any clock gives, and few enough to hide the noise of floating point.
func number(v float64) string {
	v, _ = strconv.ParseFloat(strconv.FormatFloat(v, 'g', 9, 64), 64)
	return strconv.FormatFloat(v, 'f', -1, 64)
}

// known is a number that there may be none of.
func known(v *float64) string {
	if v == nil {
		return ""
	}
	return number(*v)
}

func whole(n int64) string { return strconv.FormatInt(n, 10) }

// positiveOrNone is a number that counts from 1; 0 is not known.
func positiveOrNone(n int) string {
	if n > 0 {
		return strconv.Itoa(n)
	}
	return ""
}
