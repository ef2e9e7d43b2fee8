package report

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"plimsoll.dev/plimsoll/internal/analysis"
	"plimsoll.dev/plimsoll/internal/design"
	"plimsoll.dev/plimsoll/internal/measure"
	"plimsoll.dev/plimsoll/internal/store"
)

// clientCellName is the variant and the values of the axes, and over how many runs counts are summed up.
func clientCellName(cell analysis.ClientCell) string {
	name := cellWords(cell.Cell)
	switch {
	case len(cell.Runs) != 1:
		name = strings.TrimSpace(name + fmt.Sprintf(", %d runs", len(cell.Runs)))
	case name == "":
		name = "this run"
	}
	return strings.TrimPrefix(name, ", ")
}

// rejectedWords names the priority levels that rejected, those that did most first.
func rejectedWords(by map[string]int64) string {
	var words []string
	for _, level := range tallies(by, "") {
		words = append(words, count(level.Count)+" by "+level.Name)
	}
	return strings.Join(words, ", ")
}

// designWords reads: 2 variants × 2 cells × 8 blocks.
func designWords(result *analysis.Result) string {
	var parts []string
	if n := len(result.Design.Variants); n > 1 {
		parts = append(parts, plural(n, "variant", "variants"))
	}
	for _, axis := range result.Design.Axes {
		parts = append(parts, fmt.Sprintf("%d %s", len(axis.Values), oneLine(axis.Parameter)))
	}
	if result.Design.Blocks > 1 {
		parts = append(parts, plural(result.Design.Blocks, "block", "blocks"))
	}
	runs := plural(len(result.Runs), "run", "runs")
	if len(parts) == 0 {
		return runs
	}
	return strings.Join(parts, " × ") + ", " + runs
}

// rowName names a subject in a table: as it is written, as there is no room for words.
func rowName(s analysis.Subject) string {
	return cmp.Or(s.Name, s.Measure, s.PromQL, absent)
}

func countWords(c analysis.ObjectCount) string {
	return fmt.Sprintf("%s: %s at first, %s at most", c, count(int64(c.First)), count(int64(c.Max)))
}

func cellName(cell *analysis.Cell) string {
	if cell.Variant == "" {
		return "all runs"
	}
	return cell.Variant
}

// reasonWords reads: http-429 × 61, timeout × 12.
func reasonWords(reasons []tally) string {
	var words []string
	for _, r := range reasons {
		words = append(words, r.Name+" × "+count(r.Count))
	}
	return strings.Join(words, ", ")
}

// machineOf is the machine in one line.
func machineOf(host store.Host) string {
	var parts []string
	add := func(known bool, part string) {
		if known {
			parts = append(parts, part)
		}
	}
	cpus := fmt.Sprintf("%d CPUs", host.CPUs)
	if host.CPULimit > 0 {
		cpus = fmt.Sprintf("%s of %d CPUs", brief(significant(host.CPULimit)), host.CPUs)
	}
	ram := brief(memory(float64(host.MemoryBytes)))
	if host.MemoryLimit > 0 && host.MemoryLimit < host.MemoryBytes {
		ram = brief(memory(float64(host.MemoryLimit))) + " of " + ram
	}
	add(host.CPUs > 0, cpus)
	add(host.CPUModel != "", host.CPUModel)
	add(host.MemoryBytes > 0, ram)
	add(host.FileSystem != "", host.FileSystem)
	add(host.Platform != "", host.Platform)
	add(host.Virtual != "", host.Virtual)
	if len(parts) == 0 {
		return "machine unknown"
	}
	return strings.Join(parts, " · ")
}

// measureWords puts a measure into words: p99(gets.get.response) is the p99
// response time of gets.get. Other expressions stand as they were written.
func measureWords(text string) string {
	m, err := measure.Parse(text)
	if err != nil {
		return text
	}
	subject := m.Phase
	if m.Operation != "" {
		subject += "." + m.Operation
	}
	statistic := m.Statistic
	if words := map[string]string{
		measure.MaxRSS: "the largest resident memory", measure.EndRSS: "the resident memory at the end", measure.MeanCPU: "mean CPU", measure.MaxCPU: "the CPU in the busiest second",
	}[statistic]; words != "" {
		return words + " of " + m.Component
	}
	if words := map[string]string{
		"success": "the success rate", "count": "the number", "rate": "the rate", "items": "the number of items",
		"bytes": "the number of bytes", "min": "the shortest", "max": "the longest", "stddev": "the standard deviation of the",
	}[statistic]; words != "" {
		statistic = words
	}
	switch m.Clock {
	case "":
		return statistic + " of " + subject
	case "lag":
		return statistic + " lag of " + subject
	}
	return statistic + " " + m.Clock + " time of " + subject
}

// plural writes a number and the word that goes with it.
func plural(n int, one, many string) string {
	return fmt.Sprintf("%d %s", n, choose(n == 1, one, many))
}

func choose[T any](first bool, a, b T) T {
	if first {
		return a
	}
	return b
}

// upperFirst begins a sentence, but leaves p99 and promql() as they are written.
func upperFirst(s string) string {
	if rest, found := strings.CutPrefix(s, "the "); found {
		return "The " + rest
	}
	if rest, found := strings.CutPrefix(s, "mean "); found {
		return "Mean " + rest
	}
	return s
}

// subjectWords names what was measured.
func subjectWords(s analysis.Subject) string {
	if s.Name != "" && s.Name != s.Measure {
		return s.Name
	}
	if s.Measure != "" {
		return measureWords(s.Measure)
	}
	return s.PromQL
}

// upperName begins a sentence with what is a word, not with p99 or a name.
func upperName(s string) string {
	if first, _, _ := strings.Cut(s, " "); len(s) > 0 && strings.IndexFunc(first, func(r rune) bool { return r < 'a' || r > 'z' }) < 0 {
		return strings.ToUpper(s[:1]) + s[1:]
	}
	return upperFirst(s)
}

// placeWords say at which values: "objects = 1000, page = 100".
func placeWords(axes map[string]string, point *store.Point) string {
	var parts []string
	for _, name := range slices.Sorted(maps.Keys(axes)) {
		parts = append(parts, name+" = "+axes[name])
	}
	if point != nil {
		name, value, _ := strings.Cut(point.String(), "=")
		parts = append(parts, name+" = "+value)
	}
	return strings.Join(parts, ", ")
}

// whereWords are the same to follow a name: " (objects = 1000)"; nothing, if there is nothing to say.
func whereWords(axes map[string]string, point *store.Point) string {
	words := placeWords(axes, point)
	return choose(words == "", "", " ("+words+")")
}

// cellWords name a cell: "vai (objects = 1000)".
func cellWords(c design.Cell) string {
	return strings.TrimSpace(strings.TrimSpace(c.Variant) + whereWords(c.Axes, nil))
}

// cellAt names a cell and a point of a sweep in it.
func cellAt(c design.Cell, point *store.Point) string {
	return strings.TrimSpace(cellWords(c) + whereWords(nil, point))
}
