package report

import (
	"cmp"
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"plimsoll.dev/plimsoll/internal/analysis"
	"plimsoll.dev/plimsoll/internal/measure"
	"plimsoll.dev/plimsoll/internal/store"
)

// Benchfmt writes bench.txt, which benchstat reads: a line for each run, and for
// each point of a sweep; scenario, variant and axes are configuration, so that
// benchstat -col variant bench.txt compares them.
func Benchfmt(w io.Writer, result *analysis.Result) error {
	var b strings.Builder
	for _, unit := range benchUnits(result) {
		fmt.Fprintln(&b, unit)
	}
	for _, cell := range result.Cells {
		fmt.Fprintf(&b, "\nscenario: %s\n", configValue(result.Scenario))
		fmt.Fprintf(&b, "variant: %s\n", configValue(cell.Variant))
		for _, axis := range axesOf(result) {
			fmt.Fprintf(&b, "%s: %s\n", configKey(axis), configValue(cell.Axes[axis]))
		}
		for i := range cell.Runs {
			benchRun(&b, result.Scenario, cell, i)
		}
	}
	if _, err := io.WriteString(w, b.String()); err != nil {
		return fmt.Errorf("write bench.txt: %w", err)
	}
	return nil
}

// benchUnits are the lines that say which way each unit is better.
func benchUnits(result *analysis.Result) []string {
	lines := map[string]bool{}
	for _, cell := range result.Cells {
		for _, m := range cell.Measures {
			lines[fmt.Sprintf("Unit %s better=%s", benchUnit(m.Subject), choose(m.Better == measure.Higher, "higher", "lower"))] = true
		}
	}
	return slices.Sorted(maps.Keys(lines))
}

// benchRun writes the lines of a cell's run: one for what is of the whole run,
// and one for each point.
func benchRun(b *strings.Builder, scenario string, cell *analysis.Cell, run int) {
	measured := slices.DeleteFunc(slices.Clone(cell.Measures), func(m *analysis.CellMeasure) bool {
		return run >= len(m.Values) || m.Values[run] == nil
	})
	for _, line := range analysis.GroupBy(measured, func(m *analysis.CellMeasure) string { return benchName(scenario, m.Point) }) {
		fmt.Fprintf(b, "%s 1", benchName(scenario, line[0].Point))
		for _, m := range line {
			fmt.Fprintf(b, " %s %s", strconv.FormatFloat(*m.Values[run], 'g', 9, 64), benchUnit(m.Subject))
		}
		fmt.Fprintln(b)
	}
}

func benchName(scenario string, point *store.Point) string {
	name := []rune(benchWord(scenario))
	if len(name) > 0 {
		name[0] = unicode.ToUpper(name[0])
	}
	if point == nil {
		return "Benchmark" + string(name)
	}
	return "Benchmark" + string(name) + "/" + benchWord(point.String())
}

// benchUnit is a subject as a unit. A hyphen would begin a new part of it, which
// could be taken for ns or MB.
func benchUnit(s analysis.Subject) string {
	suffix := map[measure.Unit]string{
		measure.Seconds: "-sec", measure.Bytes: "-B", measure.PerSecond: "/sec", measure.Fraction: "-fraction", measure.Count: "-count",
	}[measure.Unit(s.Unit)]
	return strings.ReplaceAll(benchWord(cmp.Or(s.Measure, s.Name)), "-", "_") + suffix
}

// benchWord keeps what can stand in a word of the format.
func benchWord(text string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsLetter(r) || unicode.IsDigit(r) || strings.ContainsRune("_-.()=@", r) {
			return r
		}
		return '_'
	}, text)
}

// configKey is a parameter as the format has keys: no capitals, and a letter first.
func configKey(name string) string {
	key := strings.ToLower(strings.ReplaceAll(benchWord(name), "-", "_"))
	if key == "" || key[0] < 'a' || key[0] > 'z' {
		key = "axis" + key
	}
	return key
}

func configValue(text string) string {
	return cmp.Or(oneLine(text), "-")
}
