package report

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/jedib0t/go-pretty/v6/table"
	"github.com/jedib0t/go-pretty/v6/text"

	"plimsoll.dev/plimsoll/internal/analysis"
	"plimsoll.dev/plimsoll/internal/measure"
	"plimsoll.dev/plimsoll/internal/stats"
)

// mostExploratory is how many exploratory comparisons a report shows at once.
const mostExploratory = 12

// experiment prints what all runs came to.
func (p *printer) experiment(result *analysis.Result) {
	if severalRuns(result) {
		p.experimentHeader(result)
		p.line("")
	}
	for _, s := range answer(result).Sentences {
		p.told("", s)
	}
	p.clients(result)
	p.comparisons(result)
	if len(result.Comparisons) == 0 && severalRuns(result) {
		p.cells(result)
	}
	if severalRuns(result) {
		p.times(result)
	}
	p.checks(result)
	p.growth(result)
	p.breaks(result)
	p.tries(result)
	p.loadLogs(result)
	p.references(result)
	if severalRuns(result) {
		p.objectivesOver(result)
	}
	p.excluded(result)
	p.notes(result.Warnings)
}

func (p *printer) experimentHeader(result *analysis.Result) {
	title := shorten(oneLine(titleOf(result)), columns-30)
	p.line(p.paint(title, bold) + " · " + designWords(result))
	if len(result.Runs) > 0 {
		p.line(p.paint(shorten(oneLine(machineOf(result.Runs[0].Environment.Host)), columns), faint))
	}
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

// comparisons prints a table for each variant: primary measures, then what else was found.
func (p *printer) comparisons(result *analysis.Result) {
	primary, exploratory := primaryFirst(result)
	shown := shownOf(result)
	for _, compared := range analysis.GroupBy(result.Comparisons, func(c *analysis.Comparison) string { return c.Variant }) {
		variant := compared[0].Variant
		of := func(all []*analysis.Comparison) []*analysis.Comparison {
			return slices.DeleteFunc(slices.Clone(all), func(c *analysis.Comparison) bool { return c.Variant != variant })
		}
		first, rest := of(primary), of(shown)
		rows := append(comparisonRows(p, byPlace(first)), exploratoryRows(p, rest, len(first) > 0)...)
		base := result.Comparisons[0].Baseline
		header := table.Row{"measure", shorten(oneLine(base), 18), shorten(oneLine(variant), 18), ratioHead(result.Comparisons), "verdict", "n"}
		fit(header, rows, 1)
		p.table("", header, rows, "lrrrlr")
	}
	p.comparisonNotes(result, len(exploratory)-len(shown))
}

func exploratoryRows(p *printer, comparisons []*analysis.Comparison, titled bool) []table.Row {
	rows := comparisonRows(p, byPlace(comparisons))
	if len(rows) > 0 && titled {
		rows = append([]table.Row{{p.paint("exploratory", faint), "", "", "", "", ""}}, rows...)
	}
	return rows
}

// byPlace puts comparisons at the same values of axes together.
func byPlace(comparisons []*analysis.Comparison) []*analysis.Comparison {
	return slices.Concat(analysis.GroupBy(comparisons, func(c *analysis.Comparison) string { return whereWords(c.Axes, c.Point) })...)
}

// comparisonRows groups the rows by the values of the axes.
func comparisonRows(p *printer, comparisons []*analysis.Comparison) []table.Row {
	var rows []table.Row
	group := ""
	for _, c := range comparisons {
		indent := ""
		if where := placeWords(c.Axes, c.Point); where != "" {
			indent = "  "
			if where != group {
				rows = append(rows, table.Row{oneLine(where), "", "", "", "", ""})
				group = where
			}
		}
		rows = append(rows, table.Row{
			indent + oneLine(rowName(c.Subject)), centre(c.Base, c.Subject), centre(c.Head, c.Subject),
			ratioCell(c), p.verdict(c.Verdict), pairsCell(c),
		})
	}
	return rows
}

// rowName names a subject in a table: as it is written, as there is no room for words.
func rowName(s analysis.Subject) string {
	return cmp.Or(s.Name, s.Measure, s.PromQL, absent)
}

func pairsCell(c *analysis.Comparison) string {
	if c.Pairs > 0 {
		return fmt.Sprint(c.Pairs)
	}
	return fmt.Sprintf("%d+%d", c.N1, c.N2)
}

func (p *printer) verdict(v stats.Verdict) string {
	switch v {
	case stats.Better, stats.Equivalent:
		return p.paint(string(v), green)
	case stats.Worse:
		return p.paint(string(v), red)
	case stats.Inconclusive:
		return p.paint(string(v), yellow)
	}
	return absent
}

func (p *printer) comparisonNotes(result *analysis.Result, hidden int) {
	if len(result.Comparisons) == 0 {
		return
	}
	p.line("")
	p.wrapped("", legendWords(result))
	if hidden > 0 {
		p.wrapped("", fmt.Sprintf("%s not shown: inconclusive, or smaller changes; they are in comparison.csv.",
			plural(hidden, "other exploratory comparison is", "other exploratory comparisons are")))
	}
	for _, w := range comparisonWarnings(result) {
		p.wrapped("", w)
	}
}

// legendWords says what the columns are.
func legendWords(result *analysis.Result) string {
	var confidences []float64
	for _, c := range result.Comparisons {
		confidences = append(confidences, c.Base.Confidence, c.Head.Confidence)
	}
	words := "Medians over runs, ± the wider half of the " + levelOf(confidences) + " interval"
	if slices.ContainsFunc(result.Comparisons, func(c *analysis.Comparison) bool { return c.Base.Lo == nil || c.Head.Lo == nil }) {
		words += " (?: fewer than 6 runs)"
	}
	words += "; n counts blocks"
	if slices.ContainsFunc(result.Comparisons, func(c *analysis.Comparison) bool { return c.Pairs == 0 }) {
		words += ", or runs of both sides where these are not paired"
	}
	if _, exploratory := primaryFirst(result); len(exploratory) > 0 {
		words += "; the verdicts of exploratory measures allow for their number (Holm)"
	}
	return words + "."
}

// comparisonWarnings are those of primary comparisons, each once, with what it is about.
func comparisonWarnings(result *analysis.Result) []string {
	const most = 8
	type told struct{ about, warning string }
	var all []told
	primary, _ := primaryFirst(result)
	for _, c := range primary {
		for _, w := range c.Warnings {
			if t := (told{subjectWords(c.Subject), w}); !slices.Contains(all, t) {
				all = append(all, t)
			}
		}
	}
	var sentences []string
	for _, same := range analysis.GroupBy(all, func(t told) string { return t.warning }) {
		var about []string
		for _, t := range same {
			about = append(about, t.about)
		}
		sentences = append(sentences, upperName(strings.Join(about, ", "))+": "+same[0].warning)
	}
	return sentences[:min(len(sentences), most)]
}

// cells prints the measures of an experiment that compares nothing.
func (p *printer) cells(result *analysis.Result) {
	var rows []table.Row
	for _, cell := range result.Cells {
		for i, m := range cell.Measures {
			if m.Primary || i < mostExploratory {
				rows = append(rows, table.Row{shorten(oneLine(cellAt(cell.Cell, m.Point)), 24), shorten(oneLine(rowName(m.Subject)), 34), centre(m.Summary, m.Subject), rangeCell(m), fmt.Sprint(m.Summary.N)})
			}
		}
	}
	p.table("", table.Row{"cell", "measure", "median", "range", "n"}, rows, "llrrr")
}

func rangeCell(m *analysis.CellMeasure) string {
	if m.Summary.Min == nil || m.Summary.Max == nil {
		return absent
	}
	return amount(*m.Summary.Min, m.Subject) + " … " + amount(*m.Summary.Max, m.Subject)
}

// growth says how measures grow, of those that the first paragraph did not tell of.
func (p *printer) growth(result *analysis.Result) {
	rest := result.Growth
	if len(result.Comparisons) == 0 {
		told := firstGrowth(result)
		rest = slices.DeleteFunc(slices.Clone(rest), func(g *analysis.Growth) bool { return slices.Contains(told, g) })
	}
	if len(rest) == 0 {
		return
	}
	p.section("Growth")
	for _, g := range rest[:min(len(rest), mostExploratory)] {
		p.told("  ", growthSentence(g))
	}
}

// loadLogs prints what components wrote around the moment at which the load line was passed.
func (p *printer) loadLogs(result *analysis.Result) {
	for _, l := range result.LoadLines {
		if len(l.Log) == 0 {
			continue
		}
		p.section("What components wrote when %s broke the objective%s", pointText(l.Broke), choose(len(result.LoadLines) > 1, ", "+cellWords(l.Cell), ""))
		for _, line := range l.Log[:min(len(l.Log), 6)] {
			p.line("  " + cut(oneLine(logWords(line)), logColumns))
		}
	}
}

// logColumns is how wide a line of a log may be; breaking it would make it harder to read.
const logColumns = 158

// cut keeps the beginning of a text.
func cut(text string, width int) string {
	letters := []rune(text)
	if len(letters) <= width {
		return text
	}
	return string(letters[:width-1]) + "…"
}

// tries prints what searches tried, and what is to be known of load lines.
func (p *printer) tries(result *analysis.Result) {
	for _, t := range triesOf(result) {
		header := table.Row{oneLine(t.Parameter)}
		width := max(12, (columns-30)/max(1, len(t.Objectives)))
		alignment := "r"
		for _, o := range t.Objectives {
			header = append(header, shorten(oneLine(o), width))
			alignment += "r"
		}
		var rows []table.Row
		for _, try := range t.Rows {
			row := table.Row{try.Value}
			for _, cell := range try.Cells {
				row = append(row, cell)
			}
			rows = append(rows, append(row, p.paint(try.Result, choose(try.Held, green, red)), fmt.Sprint(try.Run)))
		}
		p.table(t.Title, append(header, "", "run"), rows, alignment+"lr")
	}
	for _, note := range loadNotes(result) {
		p.section("%s", note)
	}
}

func logWords(line analysis.LogLine) string {
	at := ""
	if line.At != nil {
		at = " at " + seconds(*line.At)
	}
	return line.Component + at + ": " + line.Text
}

func (p *printer) references(result *analysis.Result) {
	var rows []table.Row
	for _, r := range referenceRows(result) {
		ours := table.Row{"  " + shorten(oneLine(r.Where), 24), "", r.Ours, string(r.Agreement), ""}
		if r.First {
			head := table.Row{text.WrapSoft(oneLine(r.Words), 26), text.WrapSoft(oneLine(r.Text), 12), "", "", text.WrapHard(oneLine(r.Source), 20)}
			if r.Span == 1 {
				head[2], head[3], ours = ours[2], ours[3], nil
			}
			rows = append(rows, head)
		}
		if ours != nil {
			rows = append(rows, ours)
		}
	}
	p.table("Published figures, and ours", table.Row{"statement", "published", "ours", "", "source"}, rows, "llrll")
}

// findingValue writes our figure as the published one is: a ratio, an exponent, or a measure in its unit.
func findingValue(r *analysis.Reference, f analysis.Finding) string {
	if f.Value == nil {
		return absent
	}
	write := ratio // also of exponents
	if m, err := measure.Parse(r.Measure); r.Ratio == "" && r.Growth == "" && err == nil {
		write = func(v float64) string { return quantity(v, string(m.Unit()), r.Text) }
	}
	words := write(*f.Value)
	if f.Lo != nil && f.Hi != nil {
		words += " [" + write(*f.Lo) + ", " + write(*f.Hi) + "]"
	}
	return words
}

// objectivesOver says in how many runs each objective held.
func (p *printer) objectivesOver(result *analysis.Result) {
	all := objectivesOver(result)
	var rows []table.Row
	for _, o := range all {
		if o.Held == o.Runs {
			continue
		}
		rows = append(rows, table.Row{
			p.paint(fmt.Sprintf("%d of %d", o.Held, o.Runs), red), text.WrapSoft(oneLine(o.Name), 36), shorten(oneLine(o.Where), 22), o.Worst, shorten(oneLine(o.Text), 14),
		})
	}
	if len(all) > 0 && len(rows) == 0 {
		p.section("Objectives: all held in all runs that count.")
	}
	p.table("Objectives: those that did not hold in all runs", table.Row{"held", "objective", "in", "worst", "bound"}, rows, "lllrl")
}

func (p *printer) excluded(result *analysis.Result) {
	if len(result.Excluded) == 0 {
		return
	}
	p.section("Left out of every comparison")
	for _, e := range result.Excluded {
		p.wrapped("  ", fmt.Sprintf("run %d, %s: %s", e.Run, e.Name, e.Rule))
	}
}
