package report

import (
	"crypto/sha256"
	"embed"
	"encoding/base64"
	"fmt"
	"html/template"
	"io"
	"maps"
	"regexp"
	"slices"
	"strings"

	"plimsoll.dev/plimsoll/internal/analysis"
)

//go:embed assets
var assets embed.FS

// HTML writes the result as one page that needs nothing but itself: it opens
// without a network, and its tables and percentile curves without scripts.
func HTML(w io.Writer, result *analysis.Result) error {
	t, err := template.New("page.html").Funcs(functions()).ParseFS(assets, "assets/*.html")
	if err != nil {
		return fmt.Errorf("read page template: %w", err)
	}
	p, err := newPage(result)
	if err != nil {
		return err
	}
	if err := t.Execute(w, p); err != nil {
		return fmt.Errorf("write page: %w", err)
	}
	return nil
}

// page is what the template shows.
type page struct {
	*analysis.Result
	Title string
	Lead  verdict // over all runs; empty if there is one
	// Experiment is what all runs together came to; nil if there is no more to it than the runs.
	Experiment *experimentView
	// Collapsed says that the runs are many and beside the point.
	Collapsed bool
	Runs      []runView
	Styles    template.CSS
	Licences  template.HTML
	Scripts   []template.JS
	// Policy lets the browser run these scripts only, and fetch nothing.
	Policy string
}

// runView is one run as the template shows it.
type runView struct {
	*analysis.Run
	Verdict   verdict
	Story     []string
	Lanes     []lane
	Ticks     []tick
	Results   []resultGroup
	Troubles  []trouble
	Narrow    *curveFigure // for phones; nil if there is nothing to draw
	Wide      *curveFigure
	Charts    *charts // nil if there is nothing to draw
	Heatmaps  []figure
	Grown     *grownView // nil of a run that observed no objects
	Reproduce string
}

func newPage(result *analysis.Result) (*page, error) {
	p := &page{Result: result, Title: titleOf(result), Lead: lead(result)}
	points := pointsPerLine(result)
	for _, run := range result.Runs {
		p.Runs = append(p.Runs, newRunView(result, run, points))
	}
	p.Experiment, p.Collapsed = newExperimentView(result, p.Runs), severalRuns(result)
	if p.Experiment != nil {
		p.Lead = verdict{}
	}
	var files [5]string
	for i, name := range []string{"uPlot.min.css", "style.css", "uPlot.iife.min.js", "charts.js", "uPlot.LICENSE"} {
		data, err := assets.ReadFile("assets/" + name)
		if err != nil {
			return nil, fmt.Errorf("read page asset: %w", err)
		}
		files[i] = string(data)
	}
	p.Styles = template.CSS(files[0] + "\n" + files[1])
	p.Scripts = []template.JS{template.JS(files[2]), template.JS(files[3])}
	p.Licences = template.HTML("<!-- This page contains uPlot.\n" + files[4] + "-->")
	p.Policy = policy(p.Scripts)
	return p, nil
}

// policy is a content security policy. What came from a log can then do nothing
// even if it got past the escaping.
func policy(scripts []template.JS) string {
	hashes := ""
	for _, script := range scripts {
		sum := sha256.Sum256([]byte(script))
		hashes += " 'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) + "'"
	}
	return "default-src 'none'; style-src 'unsafe-inline'; script-src" + hashes
}

func newRunView(result *analysis.Result, run *analysis.Run, points int) runView {
	colours := coloursOf(run)
	lanes, ticks := timeline(run)
	return runView{
		Run: run, Verdict: judge(run, len(result.Runs) == 1), Story: story(run), Lanes: lanes, Ticks: ticks,
		Results: resultGroups(run), Troubles: troublesOf(run),
		Narrow: newCurveFigure(run, colours, 360, 300, points < maxPoints), Wide: newCurveFigure(run, colours, 1160, 420, points < maxPoints),
		Charts: newCharts(run, colours, points), Heatmaps: newHeatmaps(run, 6), Grown: newGrownView(result, run), Reproduce: reproduce(run),
	}
}

// resultGroup is a phase's part of the table of results.
type resultGroup struct {
	*analysis.Phase
	Rows []resultCells
}

// resultCells is one row: an operation by one clock. Only the first row of an
// operation tells what does not depend on the clock.
type resultCells struct {
	*analysis.Operation
	First   bool
	Span    int // rows of the operation
	Clock   clock
	Traffic float64 // bytes per second
	Note    string  // set in the last row if not every operation has a time of its own
	// Dispatch says that the row is about the generator, not about the target.
	Dispatch bool
}

func resultGroups(run *analysis.Run) []resultGroup {
	var groups []resultGroup
	for _, phase := range run.Phases() {
		group := resultGroup{Phase: phase}
		for _, operation := range phase.Operations {
			group.Rows = append(group.Rows, operationRows(phase, operation)...)
		}
		for _, dispatch := range dispatchOf(phase) {
			group.Rows = append(group.Rows, resultCells{
				Operation: dispatch, First: true, Span: 1, Clock: clock{"lag", phase.Dispatch}, Dispatch: true,
			})
		}
		groups = append(groups, group)
	}
	return groups
}

// notableLag is the shortest lag of a closed loop that the page tells of. Below
// it, lag is the few instructions between two operations of a client.
const notableLag = 1e-3

func operationRows(phase *analysis.Phase, operation *analysis.Operation) []resultCells {
	clocks := slices.DeleteFunc(clocksOf(operation), func(c clock) bool {
		return c.Name == "lag" && phase.Loop == "closed" && c.Max < notableLag
	})
	if len(clocks) == 0 {
		name, _ := operation.MainClock(phase)
		clocks = []clock{{Name: string(name)}}
	}
	var rows []resultCells
	for i, c := range clocks {
		row := resultCells{Operation: operation, First: i == 0, Span: len(clocks), Clock: c}
		if phase.Seconds() > 0 {
			row.Traffic = float64(operation.Bytes) / phase.Seconds()
		}
		if i == len(clocks)-1 {
			row.Note = timesNote(phase, operation)
		}
		rows = append(rows, row)
	}
	return rows
}

// timesNote says how many operations the times are of, if not of all.
func timesNote(phase *analysis.Phase, operation *analysis.Operation) string {
	name, d := operation.MainClock(phase)
	switch {
	case d == nil:
		return fmt.Sprintf("None of the %s operations has a %s time: none succeeded.", count(operation.Count), name)
	case d.LowerBounds > 0:
		return fmt.Sprintf("The %s times are of %s of the %s operations; %s of them timed out, so that their times are lower bounds.",
			name, count(d.Count), count(operation.Count), count(d.LowerBounds))
	case d.Count != operation.Count:
		return fmt.Sprintf("The %s times are of %s of the %s operations: those that succeeded.", name, count(d.Count), count(operation.Count))
	}
	return ""
}

// reproduce is the command that does the run again.
func reproduce(run *analysis.Run) string {
	command := "plimsoll run scenario.yaml"
	for _, name := range slices.Sorted(maps.Keys(run.Parameters)) {
		command += " --set " + shellWord(name+"="+run.Parameters[name])
	}
	return command
}

// shellWord quotes what a shell would not take as one plain word.
func shellWord(s string) string {
	if regexp.MustCompile(`^[A-Za-z0-9_=.,:/%@+-]+$`).MatchString(s) {
		return s
	}
	return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'"
}

func functions() template.FuncMap {
	return template.FuncMap{
		"seconds": seconds, "optional": optionalSeconds, "traffic": traffic, "memory": memory, "rate": rate, "count": count,
		"cpus": cpus, "share": share, "machine": machineOf, "brief": brief,
		"float":       func(n uint64) float64 { return float64(n) },
		"value":       objectiveValue,
		"measure":     measureWords,
		"reasons":     reasonWords,
		"coordinate":  func(v float64) string { return fmt.Sprintf("%.1f", v) },
		"percentage":  func(v float64) string { return fmt.Sprintf("%.3f%%", v) },
		"unbroken":    unbroken,
		"breakable":   breakable,
		"afterFirst":  afterFirst,
		"significant": significant,
		"figure":      known,
		"limit":       limitValue,
		"number":      func(n int) string { return count(int64(n)) },
		"objects":     objectsText,
		"limitBound":  limitBound,
		"ratio":       ratioCell,
		"ratioOf":     func(v *float64) string { return optional(v, ratio) },
		"centre":      centre,
		"rowName":     rowName,
		"pairs":       pairsCell,
		"outcome":     verdictMark,
		"percent":     percent,
		"p":           pValue,
		"add":         func(a, b float64) float64 { return a + b },
	}
}
