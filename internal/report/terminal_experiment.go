package report

import (
	"fmt"
	"slices"
	"strings"

	"github.com/jedib0t/go-pretty/v6/table"
	"github.com/jedib0t/go-pretty/v6/text"

	"plimsoll.dev/plimsoll/internal/analysis"
	"plimsoll.dev/plimsoll/internal/stats"
)

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
		rows = append([]table.Row{{p.paint("exploratory", faint)}}, rows...)
	}
	return rows
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
				rows = append(rows, table.Row{oneLine(where)})
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

func (p *printer) references(result *analysis.Result) {
	var rows []table.Row
	for _, r := range referenceRows(result) {
		words, source := oneLine(r.Words), oneLine(r.Source)
		switch {
		case r.Span == 1:
			rows = append(rows, table.Row{text.WrapSoft(words, 26), text.WrapSoft(oneLine(r.Text), 12), r.Ours, string(r.Agreement), text.WrapHard(source, 20)})
			continue
		case r.First:
			rows = append(rows, table.Row{text.WrapSoft(words+" · published "+oneLine(r.Text)+" · "+source, columns)})
		}
		rows = append(rows, table.Row{"  " + shorten(withoutParameters(result, r.Where), 30), "", r.Ours, string(r.Agreement), ""})
	}
	p.table("Published figures, and ours", table.Row{"statement", "published", "ours", "", "source"}, rows, "llrll")
}

// withoutParameters turns "vai (cluster = local, objects = 100)" into "vai (local, 100)".
func withoutParameters(result *analysis.Result, where string) string {
	for _, axis := range result.Design.Axes {
		where = strings.ReplaceAll(where, axis.Parameter+" = ", "")
	}
	return oneLine(where)
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

// clients prints who got what.
func (p *printer) clients(result *analysis.Result) {
	v := newClientsView(result)
	if v == nil {
		return
	}
	header, alignment := table.Row{"429s, of requests"}, "l"
	for _, cell := range v.Cells {
		header, alignment = append(header, shorten(oneLine(cell), 30)), alignment+"r"
	}
	var rows []table.Row
	for _, r := range v.Rows {
		if r.Role != "" {
			rows = append(rows, table.Row{p.paint(r.Role, faint)})
		}
		row := table.Row{choose(r.Part, "    ", "  ") + r.Name}
		for _, c := range r.Cells {
			row = append(row, choose(c.Known, count(int64(c.Rejected))+" of "+count(int64(c.Requests.Requests)), absent))
		}
		rows = append(rows, row)
		rows = append(rows, r.failures()...)
	}
	p.table("", header, rows, alignment)
	rows = nil
	for _, w := range v.Work {
		row := table.Row{choose(w.Step, "", "  ") + w.Name}
		for _, value := range w.Values {
			row = append(row, value)
		}
		rows = append(rows, row)
	}
	header[0] = "time, and work done"
	p.table("", header, rows, alignment)
	for _, note := range v.Notes {
		p.wrapped("  ", note)
	}
}

// failures are rows for errors of the server and missing answers, if there were any.
func (r clientRow) failures() []table.Row {
	var rows []table.Row
	for _, o := range otherOutcomes()[1:] {
		row, any := table.Row{"      " + o.name}, false
		for _, c := range r.Cells {
			n := o.of(c)
			row, any = append(row, choose(n > 0, count(int64(n)), "")), any || n > 0
		}
		if any {
			rows = append(rows, row)
		}
	}
	return rows
}

// breaks prints the objectives that broke as objects became many.
func (p *printer) breaks(result *analysis.Result) {
	for _, t := range breaksOf(result) {
		var rows []table.Row
		for _, b := range t.Rows {
			rows = append(rows, table.Row{text.WrapSoft(oneLine(b.Objective), 40), shorten(oneLine(b.Bound), 14), b.Objects, b.At, b.Value, b.Share})
		}
		p.table(t.Title, table.Row{"objective", "bound", oneLine(t.Parameter), "first after", "it was", "broken since"}, rows, "llrrrr")
	}
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
			rows = append(rows, table.Row{oneLine(place.Where)})
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
		headed := place.Where == ""
		for _, r := range place.Rows {
			if r.Mean.Value == nil {
				continue
			}
			if !headed {
				rows = append(rows, table.Row{oneLine(place.Where)})
				headed = true
			}
			rows = append(rows, table.Row{choose(place.Where != "", "  ", "") + shorten(oneLine(r.Variant), 40), r.Mean.String(), r.Slowest.String(), r.Fastest.String()})
		}
	}
	return rows
}
