package analysis

import (
	"cmp"
	"fmt"
	"strings"
)

// Reasons that operations have although they went well.
const (
	limitIgnored        = "limit-ignored" // by the server, in a page
	missingObjects      = "missing"       // of a walk that lacks objects that existed throughout
	duplicateObjects    = "duplicate"     // of one that shows some twice
	missingAndDuplicate = "missing-and-duplicate"
)

// lacking and doubling are how many of an operation lack objects, and show some twice.
func (o *Operation) lacking() int64 {
	return o.Reasons[missingObjects] + o.Reasons[missingAndDuplicate]
}
func (o *Operation) doubling() int64 {
	return o.Reasons[duplicateObjects] + o.Reasons[missingAndDuplicate]
}

// check counts how true the lists were, in all cells alike: of phases whose walks
// were checked, or whose pages held more than was asked for in any of them.
func check(groups []*group) {
	asked := map[string]bool{}
	for _, g := range groups {
		for _, phase := range g.measuredPhases() {
			for _, o := range phase.Operations {
				asked[phase.Written()] = asked[phase.Written()] || phase.Verified || o.Reasons[limitIgnored] > 0
			}
		}
	}
	for _, g := range groups {
		found := map[string]*CellCheck{}
		for step, phase := range g.measuredPhases() {
			if !asked[phase.Written()] {
				continue
			}
			c := found[phase.Name]
			if c == nil {
				c = &CellCheck{Phase: phase.Written(), Point: step.Point}
				found[phase.Name] = c
				g.Checks = append(g.Checks, c)
			}
			c.add(phase)
		}
	}
}

func (c *CellCheck) add(phase *Phase) {
	c.Walked += phase.Succeeded
	if phase.Verified {
		c.Checked += phase.Succeeded
	}
	for _, o := range phase.Operations {
		c.Missing, c.Duplicates = c.Missing+o.lacking(), c.Duplicates+o.doubling()
		if o.Name == "page" {
			c.Pages, c.LimitIgnored = c.Pages+o.Count, c.LimitIgnored+o.Reasons[limitIgnored]
		}
	}
}

// warnOfLists says once, of the experiment, which cells' lists were not what was asked for.
func (e *Experiment) warnOfLists(groups []*group) {
	for _, w := range []struct {
		of        func(*CellCheck) (bad, all int64)
		what      string
		why, mend string
	}{
		{func(c *CellCheck) (int64, int64) { return c.Missing, c.Checked }, "walks lacked objects that existed throughout", "what came or went in mid-walk moved the others from page to page, or the server's copy was behind", "read the table of checks; a client of these pages would have missed them"},
		{func(c *CellCheck) (int64, int64) { return c.Duplicates, c.Checked }, "walks showed objects more than once", "what came or went in mid-walk moved the others from page to page", "read the table of checks; a client of these pages would have to tell them apart"},
		{func(c *CellCheck) (int64, int64) { return c.LimitIgnored, c.Pages }, "pages held more than was asked for: the server ignored limit", "", "compare whole walks, not pages"},
	} {
		words := wherever(groups, w.of)
		if words != "" {
			e.Warnings.add("lists", w.what+": "+words, w.why, w.mend)
		}
	}
}

// wherever reads: 12 of 300 in walks (vai objects=100); ….
func wherever(groups []*group, of func(*CellCheck) (bad, all int64)) string {
	const most = 4
	var parts []string
	for _, g := range groups {
		for _, c := range g.Checks {
			if bad, all := of(c); bad > 0 {
				parts = append(parts, fmt.Sprintf("%d of %d in %s (%s)", bad, all, c.name(), cmp.Or(g.name(), "all runs")))
			}
		}
	}
	if more := len(parts) - most; more > 1 {
		parts = append(parts[:most], fmt.Sprintf("and in %d more cells", more))
	}
	return strings.Join(parts, "; ")
}

func (c *CellCheck) name() string {
	if c.Point != nil {
		return c.Phase + "@" + c.Point.Text
	}
	return c.Phase
}
