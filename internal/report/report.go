// Package report shows a result: to a person at a terminal, to a spreadsheet,
// and as one page that opens in any browser without a network.
//
// A file's name begins with what it holds: words_ the sentences, figure_ the
// drawings, table_ the rows that terminal and page both show, terminal_ and page_
// what only these do, csv_ the tables for spreadsheets. Numbers are written by
// format.go.
package report

import (
	"cmp"
	"slices"

	"plimsoll.dev/plimsoll/internal/analysis"
	"plimsoll.dev/plimsoll/internal/design"
)

// runsOf lists a cell's runs, by block.
func runsOf(result *analysis.Result, cell *analysis.Cell) []*analysis.Run {
	var runs []*analysis.Run
	for _, index := range cell.Runs {
		at := slices.IndexFunc(result.Runs, func(r *analysis.Run) bool { return r.Index == index })
		if at >= 0 {
			runs = append(runs, result.Runs[at])
		}
	}
	return runs
}

// axesOf lists the names of the design's axes.
func axesOf(result *analysis.Result) []string {
	var names []string
	for _, axis := range result.Design.Axes {
		names = append(names, axis.Parameter)
	}
	return names
}

// variantNumber is the place of a variant in the design, by which it has its colour everywhere.
func variantNumber(result *analysis.Result, name string) int {
	return max(0, slices.IndexFunc(result.Design.Variants, func(v design.Variant) bool { return v.Name == name }))
}

// titleOf is what the scenario calls itself.
func titleOf(result *analysis.Result) string { return cmp.Or(result.Title, result.Scenario) }

// clock is one of an operation's times.
type clock struct {
	Name string
	*analysis.Distribution
}

// clocksOf lists an operation's times, the main one first.
func clocksOf(operation *analysis.Operation) []clock {
	all := []clock{{"response", operation.Response}, {"service", operation.Service}, {"lag", operation.Lag}}
	return slices.DeleteFunc(all, func(c clock) bool { return c.Distribution == nil })
}

// trouble is what did not succeed of one operation of a phase.
type trouble struct {
	Phase, Operation string // Operation is empty for what never became one
	Measured         bool
	Count            int64
	Outcomes         []tally // other than ok
	Reasons          []tally
	Unsuccessful     map[string]*analysis.Distribution
}

// tally is how often something was counted.
type tally struct {
	Name  string
	Count int64
}

// troublesOf lists the operations of a run that did not all succeed, and those
// that have something to tell although they did.
func troublesOf(run *analysis.Run) []trouble {
	var troubles []trouble
	for _, phase := range run.Phases() {
		for _, operation := range phase.Operations {
			t := trouble{
				Phase: phase.Name, Operation: operation.Name, Measured: phase.Measured, Count: operation.Count,
				Outcomes: tallies(operation.Outcomes, "ok"), Reasons: tallies(operation.Reasons, ""),
				Unsuccessful: operation.Unsuccessful,
			}
			if len(t.Outcomes)+len(t.Reasons) > 0 {
				troubles = append(troubles, t)
			}
		}
		if phase.Dropped > 0 {
			troubles = append(troubles, trouble{
				Phase: phase.Name, Measured: phase.Measured, Count: phase.Count,
				Outcomes: []tally{{"dropped", phase.Dropped}}, Reasons: tallies(phase.DropReasons, ""),
			})
		}
	}
	return troubles
}

// tallies lists counts, the highest first, without the zeros and the one left out.
func tallies(counts map[string]int64, without string) []tally {
	var list []tally
	for name, n := range counts {
		if n > 0 && name != without {
			list = append(list, tally{name, n})
		}
	}
	slices.SortFunc(list, func(a, b tally) int {
		return cmp.Or(cmp.Compare(b.Count, a.Count), cmp.Compare(a.Name, b.Name))
	})
	return list
}

// severalRuns says whether the result is of an experiment with repetitions.
func severalRuns(result *analysis.Result) bool { return len(result.Runs) > 1 && len(result.Cells) > 0 }

// isExperiment says whether there is more to show than the runs one by one.
func isExperiment(result *analysis.Result) bool {
	return severalRuns(result) || len(result.Comparisons) > 0 || len(result.Growth) > 0 || len(result.LoadLines) > 0 || len(result.References) > 0 || len(result.Clients) > 0 || result.RunsPlanned > len(result.Runs)
}

// primaryFirst parts the comparisons.
func primaryFirst(result *analysis.Result) (primary, exploratory []*analysis.Comparison) {
	for _, c := range result.Comparisons {
		if c.Primary {
			primary = append(primary, c)
		} else {
			exploratory = append(exploratory, c)
		}
	}
	return primary, exploratory
}
