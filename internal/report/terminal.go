package report

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/jedib0t/go-pretty/v6/table"
	"github.com/jedib0t/go-pretty/v6/text"

	"plimsoll.dev/plimsoll/internal/analysis"
)

// columns is how wide a terminal may be taken to be.
const columns = 100

// Terminal writes the result as plain text.
func Terminal(w io.Writer, result *analysis.Result) error { return terminal(w, result, false) }

// TerminalInColour writes the result for a terminal that shows colours.
func TerminalInColour(w io.Writer, result *analysis.Result) error { return terminal(w, result, true) }

func terminal(w io.Writer, result *analysis.Result, colour bool) error {
	p := &printer{colour: colour}
	if len(result.Runs) == 0 && len(result.Comparisons) == 0 {
		p.line("This result holds no runs.")
	}
	if isExperiment(result) {
		p.experiment(result)
	}
	p.runs(result)
	if _, err := io.WriteString(w, strings.ReplaceAll(p.text.String(), unbrokenSpace, " ")); err != nil {
		return fmt.Errorf("print result: %w", err)
	}
	return nil
}

// printer gathers lines of a terminal.
type printer struct {
	text   strings.Builder
	colour bool
}

// runs prints the runs one by one, unless they are many and together came to something.
func (p *printer) runs(result *analysis.Result) {
	if severalRuns(result) {
		p.section("Each run by itself is in report.html and summary.csv.")
		return
	}
	for i, run := range result.Runs {
		if p.text.Len() > 0 || i > 0 {
			p.line("")
		}
		p.run(result, run)
	}
}

func (p *printer) run(result *analysis.Result, run *analysis.Run) {
	p.header(result, run)
	p.results(run)
	p.unmeasured(run)
	p.troubles(run)
	p.objectives(run)
	p.grown(run)
	p.usage(run)
	p.notes(run.Warnings)
}

func (p *printer) header(result *analysis.Result, run *analysis.Run) {
	title := titleOf(result)
	if len(result.Runs) > 1 {
		title += fmt.Sprintf(" · run %d, %s", run.Index, run.Name)
	}
	status := fmt.Sprintf("complete in %s", seconds(run.Duration))
	as := green
	if run.Stopped != "" {
		status = fmt.Sprintf("ended early, in %s", seconds(run.Duration))
	}
	if run.Status != analysis.Complete {
		status = fmt.Sprintf("%s at %s", run.Status, seconds(run.Duration))
		as = red
	}
	title = shorten(oneLine(title), columns-len(status)-3)
	p.line(p.paint(title, bold) + " · " + p.paint(status, as))
	p.line(p.paint(shorten(oneLine(machineOf(run.Environment.Host)), columns), faint))
	if run.Status != analysis.Complete && run.Reason != "" {
		p.line("")
		p.wrapped("", run.Reason)
	}
}

// results is the table of what was measured: whole operations, each with its
// parts indented under it.
func (p *printer) results(run *analysis.Run) {
	var rows []table.Row
	for _, phase := range run.Phases() {
		if !phase.Measured {
			continue
		}
		for i, operation := range phase.Operations {
			rows = append(rows, resultRow(phase, operation, i == 0))
		}
		if len(phase.Operations) == 0 {
			rows = append(rows, table.Row{phase.Name, absent, "0", absent, absent, absent, absent, absent, absent, absent})
		}
	}
	if len(rows) == 0 {
		p.section("Nothing was measured.")
		return
	}
	header := table.Row{"phase", "operation", "n", "rate", "success", "clock", "p50", "p90", "p99", "max"}
	fit(header, rows, 2)
	p.table("", header, rows, "llrrrlrrrr")
}

func resultRow(phase *analysis.Phase, operation *analysis.Operation, first bool) table.Row {
	name, d := operation.MainClock(phase)
	row := table.Row{
		choose(first, oneLine(phase.Name), ""), choose(operation.Part, "  ", "") + oneLine(operation.Name),
		count(operation.Count), rate(operation.Rate), share(operation.Outcomes["ok"], operation.Count), string(name),
	}
	if d == nil {
		return append(row, absent, absent, absent, absent)
	}
	return append(row, optionalSeconds(d.P50), optionalSeconds(d.P90), optionalSeconds(d.P99), seconds(d.Max))
}

// fit shortens the names in the first columns, the longest first, until the rows
// fit the terminal. Headings, which are rows of one cell, have it to themselves.
func fit(header table.Row, rows []table.Row, names int) {
	const least = 5
	rows = slices.DeleteFunc(slices.Clone(rows), func(row table.Row) bool { return len(row) == 1 })
	widths := make([]int, len(header))
	for _, row := range append([]table.Row{header}, rows...) {
		for i, cell := range row {
			widths[i] = max(widths[i], text.StringWidthWithoutEscSequences(cell.(string)))
		}
	}
	over := -columns
	for _, width := range widths {
		over += width + len(gap)
	}
	for ; over > 0 && slices.Max(widths[:names]) > least; over-- {
		widths[slices.Index(widths, slices.Max(widths[:names]))]--
	}
	for _, row := range rows {
		for i := range names {
			row[i] = shorten(row[i].(string), widths[i])
		}
	}
}

func (p *printer) unmeasured(run *analysis.Run) {
	for _, step := range run.Steps {
		if step.Measured {
			continue
		}
		var parts []string
		for _, phase := range step.Phases {
			parts = append(parts, fmt.Sprintf("%s (%s of %s operations succeeded in %s)",
				phase.Name, count(phase.Succeeded), count(phase.Count), seconds(phase.Seconds())))
		}
		p.section("Not measured: %s: %s.", step.Name, strings.Join(parts, ", "))
	}
}

func (p *printer) troubles(run *analysis.Run) {
	troubles := troublesOf(run)
	if len(troubles) == 0 {
		return
	}
	p.section("Not ok")
	for _, t := range troubles {
		subject := t.Phase
		if t.Operation != "" {
			subject += "." + t.Operation
		}
		if !t.Measured {
			subject += " (not measured)"
		}
		p.wrapped("  ", troubleLine(subject, t))
	}
}

// troubleLine reads: gets.get: 12 rejected, 3 timed-out of 6,000 (http-429 × 12, timeout × 3).
func troubleLine(subject string, t trouble) string {
	var outcomes []string
	for _, o := range t.Outcomes {
		outcomes = append(outcomes, count(o.Count)+" "+o.Name)
	}
	line := subject + ": " + choose(len(outcomes) > 0, strings.Join(outcomes, ", "), "none") + " of " + count(t.Count)
	if len(t.Reasons) > 0 {
		line += " (" + reasonWords(t.Reasons) + ")"
	}
	return line
}

func (p *printer) objectives(run *analysis.Run) {
	var rows []table.Row
	for _, o := range run.Objectives {
		result := p.paint("pass", green)
		switch {
		case !o.Held && o.Value == nil:
			result = p.paint("none", yellow)
		case !o.Held:
			result = p.paint("FAIL", red)
		}
		rows = append(rows, table.Row{result, text.WrapSoft(oneLine(o.Name), 50), objectiveValue(o), shorten(oneLine(o.Text), 20), count(o.N)})
	}
	missed := missedOf(run)
	measured := slices.DeleteFunc(slices.Clone(missed), func(o analysis.Objective) bool { return o.Value == nil })
	title := "Objectives: all " + held(run)
	if len(missed) > 0 {
		title = fmt.Sprintf("Objectives: %d of %d missed", len(measured), len(run.Objectives))
	}
	if unmeasured := len(missed) - len(measured); unmeasured > 0 {
		title += fmt.Sprintf(", %d not measured, which does not count as held", unmeasured)
	}
	p.table(title, table.Row{"", "objective", "value", "bound", "n"}, rows, "llrlr")
	for _, o := range run.Objectives {
		if o.Note != "" {
			p.wrapped("  ", o.Name+": "+o.Note)
		}
	}
}

func (p *printer) usage(run *analysis.Run) {
	var rows []table.Row
	for _, u := range run.Components {
		rows = append(rows, table.Row{shorten(oneLine(u.Component), 40), cpus(u.MeanCPU), cpus(u.MaxCPU), memory(u.MaxRSS), memory(u.EndRSS)})
	}
	p.table("", table.Row{"component", "mean CPUs", "max CPUs", "max RSS", "RSS at end"}, rows, "lrrrr")
}

func (p *printer) notes(warnings []analysis.Warning) {
	if len(warnings) == 0 {
		return
	}
	p.line("")
	p.line(p.paint("Warnings", yellow))
	for _, w := range warnings {
		p.wrapped("  ", w.About+": "+w.What)
		if w.Why != "" {
			p.wrapped("    ", "why: "+w.Why)
		}
		if w.Mend != "" {
			p.wrapped("    ", "mend: "+w.Mend)
		}
	}
}

// gap stands between the columns of a table.
const gap = "  "

// table prints rows, if there are any, under their title; alignment has a letter,
// l or r, for each column. A row of one cell is a heading over all columns.
func (p *printer) table(title string, header table.Row, rows []table.Row, alignment string) {
	if len(rows) == 0 {
		return
	}
	p.line("")
	if title != "" {
		p.wrapped("", title)
	}
	t := table.NewWriter()
	t.SetStyle(table.Style{
		Box:     table.BoxStyle{PaddingRight: gap, MiddleHorizontal: "─"},
		Format:  table.FormatOptions{Header: text.FormatDefault},
		Options: table.Options{SeparateHeader: true},
	})
	var configs []table.ColumnConfig
	for i, letter := range alignment {
		align := text.AlignLeft
		if letter == 'r' {
			align = text.AlignRight
		}
		configs = append(configs, table.ColumnConfig{Number: i + 1, Align: align, AlignHeader: align})
	}
	t.SetColumnConfigs(configs)
	t.AppendHeader(header)
	for _, row := range rows {
		if len(row) == 1 {
			t.AppendRow(slices.Repeat(row, len(alignment)), table.RowConfig{AutoMerge: true, AutoMergeAlign: text.AlignLeft})
			continue
		}
		t.AppendRow(row)
	}
	for line := range strings.Lines(t.Render()) {
		p.line(strings.TrimRight(line, " \n"))
	}
}

func (p *printer) line(s string) {
	p.text.WriteString(s)
	p.text.WriteByte('\n')
}

func (p *printer) section(format string, args ...any) {
	p.line("")
	p.wrapped("", fmt.Sprintf(format, args...))
}

// wrapped prints text from elsewhere within the terminal's width, its later lines indented.
func (p *printer) wrapped(indent, s string) {
	for i, paragraph := range strings.Split(strings.TrimSpace(plain(s)), "\n") {
		wrapped := text.WrapSoft(paragraph, columns-len(indent)-2)
		for j, line := range strings.Split(wrapped, "\n") {
			p.line(indent + choose(i+j > 0, "  ", "") + strings.TrimRight(line, " "))
		}
	}
}

// unbrokenSpace stands for a space at which no line may end; wrapping would break at U+00A0.
const unbrokenSpace = "\ue000"

// told prints a sentence of the report's own, in which numbers stay with their units.
func (p *printer) told(indent, sentence string) {
	p.wrapped(indent, strings.ReplaceAll(unbroken(plain(sentence)), "\u00a0", unbrokenSpace))
}

// shade is the number of an ANSI colour or weight.
type shade int

const (
	bold   shade = 1
	faint  shade = 2
	red    shade = 31
	green  shade = 32
	yellow shade = 33
)

func (p *printer) paint(s string, as shade) string {
	if !p.colour {
		return s
	}
	return fmt.Sprintf("\x1b[%dm%s\x1b[0m", as, s)
}

// oneLine makes a text from elsewhere fit to stand in a line of a terminal.
func oneLine(s string) string { return strings.Join(strings.Fields(plain(s)), " ") }

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

// grown prints what a run observed of objects, and what components said of overload.
func (p *printer) grown(run *analysis.Run) {
	if run.Objects == nil {
		return
	}
	var counts []string
	for _, c := range run.Objects.Counts {
		counts = append(counts, countWords(c))
	}
	p.section("Objects: %s", strings.Join(counts, "; "))
	var rows []table.Row
	for _, c := range run.Objects.Complaints {
		rows = append(rows, table.Row{shorten(oneLine(c.Component), 20), c.Text, count(int64(c.Count)), seconds(c.First), objectsText(c.Objects)})
	}
	p.table("What components said of overload", table.Row{"component", "words", "lines", "first after", oneLine(run.Objects.Counts[0].String())}, rows, "llrrr")
}
