package report

import (
	"plimsoll.dev/plimsoll/internal/analysis"
)

// overRuns is an objective over the runs of a cell.
type overRuns struct {
	Name, Subject, Text, Where string
	Headline                   bool
	Held, Runs                 int
	Worst                      string
	worst                      *float64
}

// objectivesOver lists each objective for each cell.
func objectivesOver(result *analysis.Result) []*overRuns {
	var all []*overRuns
	found := map[[3]string]*overRuns{}
	for _, cell := range result.Cells {
		for _, run := range runsOf(result, cell) {
			for _, o := range run.Objectives {
				key := [3]string{cell.Key(), o.Name, o.Subject() + o.Text}
				entry := found[key]
				if entry == nil {
					entry = &overRuns{Name: o.Name, Subject: o.Subject(), Text: o.Text, Where: cellWords(cell.Cell), Headline: o.Headline, Worst: absent}
					found[key] = entry
					all = append(all, entry)
				}
				entry.add(o)
			}
		}
	}
	return all
}

func (e *overRuns) add(o analysis.Objective) {
	e.Runs++
	if o.Held {
		e.Held++
	}
	if o.Value == nil {
		return
	}
	if e.worst == nil || o.Max != nil && *o.Value > *e.worst || o.Max == nil && *o.Value < *e.worst {
		e.worst, e.Worst = o.Value, objectiveValue(o)
	}
}
