package report

import (
	"cmp"
	"fmt"
	"slices"

	"plimsoll.dev/plimsoll/internal/analysis"
)

// experimentView is what the page shows of all runs together.
type experimentView struct {
	*analysis.Result
	Answer      verdict
	Design      string
	Groups      []comparisonGroup // primary, then exploratory
	Hidden      []comparisonRow   // exploratory ones that are not notable
	Notes       []string
	Legend      string
	Forest      *figure
	Measures    []cellRow // of an experiment that compares nothing
	Times       []timesTable
	Checks      []checkRow
	Profiled    []*analysis.Run // runs in which components were profiled
	Load        *figure
	Tries       []triesTable
	Breaks      []breakTable
	Bottlenecks []bottleneckTable
	LoadNotes   []string
	Ratio       string // heads the column of ratios
	Logs        []logGroup
	Growth      []figure
	Places      []place
	Objectives  []*overRuns
	References  []referenceRow
	Clients     *clientsView
	Graphs      []graphRow
	Machine     *runView // whose environment is shown
	Command     string
}

// comparisonGroup is a part of the table of comparisons.
type comparisonGroup struct {
	Title string
	Rows  []comparisonRow
}

type comparisonRow struct {
	*analysis.Comparison
	Measured, Where string
	Tone            tone
	Mark            string
}

type cellRow struct {
	*analysis.CellMeasure
	Where, Range string
	Far          []string // outliers
}

// logGroup is what components wrote around a moment.
type logGroup struct {
	Title string
	Lines []analysis.LogLine
}

type referenceRow struct {
	*analysis.Reference
	Words, Where, Ours string
	Agreement          analysis.Agreement
	Tone               tone
	First              bool
	Span               int
}

// newExperimentView is nil for a result that is its runs and nothing more.
func newExperimentView(result *analysis.Result, runs []runView) *experimentView {
	if !isExperiment(result) {
		return nil
	}
	v := &experimentView{
		Result: result, Answer: answer(result), Design: designWords(result), Notes: comparisonWarnings(result),
		Forest: newForest(result), Load: newLoadFigure(result), Logs: logsOf(result), Tries: triesOf(result), Breaks: breaksOf(result), Bottlenecks: bottlenecksOf(result), LoadNotes: loadNotes(result), Ratio: upperRatio(result), Growth: newGrowthFigures(result),
		References: referenceRows(result), Clients: newClientsView(result), Graphs: graphRows(result),
	}
	v.compare(result)
	v.Checks = checkRows(result)
	if severalRuns(result) {
		v.Times = timesTables(result)
		v.Profiled = slices.DeleteFunc(slices.Clone(result.Runs), func(r *analysis.Run) bool { return len(r.Profiles) == 0 })
		v.Places, v.Objectives, v.Command = newPlaces(result), objectivesOver(result), experimentCommand(result)
		v.Machine = &runs[0]
		if len(result.Comparisons) == 0 {
			v.Measures = measureRows(result)
		}
	}
	return v
}

func upperRatio(result *analysis.Result) string {
	return "R" + ratioHead(result.Comparisons)[1:]
}

// UsageShown says that any place has figures of what components used.
func (v *experimentView) UsageShown() bool {
	return slices.ContainsFunc(v.Places, func(p place) bool { return len(p.Usage) > 0 })
}

func (v *experimentView) compare(result *analysis.Result) {
	if len(result.Comparisons) == 0 {
		return
	}
	v.Legend = legendWords(result)
	primary, exploratory := primaryFirst(result)
	shown := shownOf(result)
	v.group("Primary measures", byPlace(primary))
	v.group("Exploratory measures: declared by nobody before, so to be confirmed", byPlace(shown))
	for _, c := range exploratory {
		if !slices.Contains(shown, c) {
			v.Hidden = append(v.Hidden, newComparisonRow(c))
		}
	}
	v.Hidden = v.Hidden[:min(len(v.Hidden), 100)]
}

func (v *experimentView) group(title string, comparisons []*analysis.Comparison) {
	if len(comparisons) == 0 {
		return
	}
	g := comparisonGroup{Title: title}
	for _, c := range comparisons {
		g.Rows = append(g.Rows, newComparisonRow(c))
	}
	v.Groups = append(v.Groups, g)
}

func newComparisonRow(c *analysis.Comparison) comparisonRow {
	measured := cmp.Or(c.Measure, c.PromQL)
	if measured == rowName(c.Subject) {
		measured = ""
	}
	return comparisonRow{Comparison: c, Measured: measured, Where: placeWords(c.Axes, c.Point), Tone: toneOf(c.Verdict), Mark: verdictMark(c.Verdict)}
}

func measureRows(result *analysis.Result) []cellRow {
	var rows []cellRow
	for _, cell := range result.Cells {
		for _, m := range cell.Measures {
			row := cellRow{CellMeasure: m, Where: cellAt(cell.Cell, m.Point), Range: rangeCell(m)}
			for i, far := range m.Outliers {
				if far && i < len(cell.Runs) {
					row.Far = append(row.Far, fmt.Sprintf("run %d", cell.Runs[i]))
				}
			}
			rows = append(rows, row)
		}
	}
	return rows[:min(len(rows), 200)]
}

func logsOf(result *analysis.Result) []logGroup {
	var groups []logGroup
	for _, l := range result.LoadLines {
		if len(l.Log) > 0 {
			groups = append(groups, logGroup{"What components wrote when " + pointText(l.Broke) + " broke an objective" + ofCell(l), l.Log})
		}
	}
	return groups
}

func referenceRows(result *analysis.Result) []referenceRow {
	tones := map[analysis.Agreement]tone{analysis.Agrees: good, analysis.Differs: bad, analysis.Unclear: caution}
	var rows []referenceRow
	for _, r := range result.References {
		for i, f := range r.Findings {
			rows = append(rows, referenceRow{
				Reference: r, Words: r.Statement + whereWords(r.When, nil), Where: cellAt(f.Cell, f.Point), Ours: findingValue(r, f),
				Agreement: f.Agreement, Tone: cmp.Or(tones[f.Agreement], neutral), First: i == 0, Span: len(r.Findings),
			})
		}
	}
	return rows
}

// experimentCommand does the whole experiment again: with its parameters, as far
// as they are the same in every run, its seed and its number of blocks.
func experimentCommand(result *analysis.Result) string {
	command := "plimsoll run scenario.yaml"
	for _, name := range parametersOf(result) {
		value, same := result.Runs[0].Parameters[name], true
		for _, run := range result.Runs {
			same = same && run.Parameters[name] == value
		}
		if same && !slices.Contains(axesOf(result), name) {
			command += " --set " + shellWord(name+"="+value)
		}
	}
	return fmt.Sprintf("%s --repetitions %d --seed %d", command, max(1, result.Design.Blocks), result.Design.Seed)
}
