package report

import (
	"fmt"
	"maps"
	"slices"

	"plimsoll.dev/plimsoll/internal/analysis"
	"plimsoll.dev/plimsoll/internal/stats"
)

// clientsView is what clients of the API server got, with a column for each cell.
type clientsView struct {
	Cells []string
	Rows  []clientRow
	Work  []workRow
	Notes []string
}

// clientRow is a client in all cells.
type clientRow struct {
	Role  string // set in the first row of a role
	Name  string
	Part  bool // its requests are another's too
	All   bool // of a role, together
	Cells []clientCell
}

// clientCell is what a client got in a cell.
type clientCell struct {
	analysis.Requests
	Levels string // who rejected, in words
	Known  bool
}

// outcome is a kind of answer, and a column where there were any.
type outcome struct {
	name string
	of   func(clientCell) float64
}

func otherOutcomes() []outcome {
	return []outcome{
		{"other 4xx", func(c clientCell) float64 { return c.ClientErrors }},
		{"5xx", func(c clientCell) float64 { return c.ServerErrors }},
		{"no answer", func(c clientCell) float64 { return c.Unanswered }},
	}
}

// Columns are what the page shows of a cell: its requests, the rejections, their share, and what else there was anywhere.
func (v *clientsView) Columns() []string {
	columns := []string{"requests", "429", "of all"}
	for _, o := range v.others() {
		columns = append(columns, o.name)
	}
	return columns
}

// Span is how many columns the whole table has.
func (v *clientsView) Span() int { return 1 + len(v.Cells)*len(v.Columns()) }

// others are the kinds of answers that anybody got.
func (v *clientsView) others() []outcome {
	return slices.DeleteFunc(otherOutcomes(), func(o outcome) bool {
		return !slices.ContainsFunc(v.Rows, func(r clientRow) bool {
			return slices.ContainsFunc(r.Cells, func(c clientCell) bool { return o.of(c) > 0 })
		})
	})
}

// Values of a cell, one for each of the columns.
func (v *clientsView) Values(c clientCell) []string {
	write := func(n float64) string { return choose(c.Known, count(int64(n)), absent) }
	values := []string{write(c.Requests.Requests), write(c.Rejected), choose(c.Known, share(int64(c.Rejected), int64(c.Requests.Requests)), absent)}
	for _, o := range v.others() {
		values = append(values, write(o.of(c)))
	}
	return values
}

// workRow is a step, or what was done in one of its phases, in all cells.
type workRow struct {
	Step   bool
	Name   string
	Values []string
}

// newClientsView is nil for a result without a control plane.
func newClientsView(result *analysis.Result) *clientsView {
	if len(result.Clients) == 0 {
		return nil
	}
	v := &clientsView{Work: workOf(result), Notes: clientNotes(result)}
	for _, cell := range result.Clients[0].Cells {
		v.Cells = append(v.Cells, clientCellName(cell))
	}
	perRole := map[analysis.Role]int{}
	for _, c := range result.Clients {
		if !c.Part && c.Name != analysis.All {
			perRole[c.Role]++
		}
	}
	role := analysis.Role("")
	for _, c := range result.Clients {
		if c.Name == analysis.All && perRole[c.Role] < 2 {
			continue
		}
		row := clientRow{Name: c.Name, Part: c.Part, All: c.Name == analysis.All}
		if c.Role != role {
			role, row.Role = c.Role, string(c.Role)
		}
		for _, cell := range c.Cells {
			row.Cells = append(row.Cells, clientCell{cell.Sum, rejectedWords(cell.RejectedBy), len(cell.Runs) > 0})
		}
		v.Rows = append(v.Rows, row)
	}
	return v
}

// workOf lists how long steps took and what was done in them: a rejection may
// end a step sooner, so that its time alone says nothing.
func workOf(result *analysis.Result) []workRow {
	var rows []workRow
	first := result.Runs[0]
	for _, step := range first.Steps {
		if !step.Measured || step.Point != nil {
			continue
		}
		rows = append(rows, workRow{Step: true, Name: "step " + step.Name, Values: overCells(result, func(r *analysis.Run) (float64, bool) {
			s := stepOf(r, step.Name)
			return s.End - s.Start, s.End > 0
		}, seconds)})
		for _, phase := range step.Phases {
			if len(phase.Operations) == 1 && phase.Operations[0].Name == "wait" {
				continue // how long it took is the step's time
			}
			rows = append(rows, workRow{Name: phase.Name + ": operations that succeeded", Values: overCells(result, func(r *analysis.Run) (float64, bool) {
				p := phaseOf(r, step.Name, phase.Name)
				return float64(p.Succeeded), p.End > 0
			}, func(n float64) string { return count(int64(n)) })})
			rows = append(rows, workRow{Name: phase.Name + ": the same per second", Values: overCells(result, func(r *analysis.Run) (float64, bool) {
				p := phaseOf(r, step.Name, phase.Name)
				return float64(p.Succeeded) / p.Seconds(), p.Seconds() > 0
			}, rate)})
		}
	}
	return rows
}

// stepOf is a step of a run; an empty one if it has none.
func stepOf(run *analysis.Run, name string) *analysis.Step {
	for _, step := range run.Steps {
		if step.Name == name {
			return step
		}
	}
	return &analysis.Step{}
}

func phaseOf(run *analysis.Run, step, name string) *analysis.Phase {
	for _, phase := range stepOf(run, step).Phases {
		if phase.Name == name {
			return phase
		}
	}
	return &analysis.Phase{}
}

// overCells gives the median over the runs of each cell, also those that failed.
func overCells(result *analysis.Result, value func(*analysis.Run) (float64, bool), write func(float64) string) []string {
	var words []string
	for _, cell := range result.Clients[0].Cells {
		var values []float64
		for _, run := range result.Runs {
			if v, ok := value(run); ok && slices.Contains(cell.Runs, run.Index) {
				values = append(values, v)
			}
		}
		words = append(words, choose(len(values) > 0, write(stats.Median(values)), absent))
	}
	return words
}

// clientNotes say what happened to the control plane, and what the counts are of.
func clientNotes(result *analysis.Result) []string {
	var notes []string
	for _, run := range result.Runs {
		h := run.Health
		if h == nil {
			continue
		}
		where := choose(len(result.Runs) > 1, fmt.Sprintf("Run %d, %s: ", run.Index, run.Name), "")
		for _, name := range slices.Sorted(maps.Keys(h.LostLeases)) {
			notes = append(notes, fmt.Sprintf("%s%s ended %s: as the leader it could not renew its lease in time.%s",
				where, name, plural(h.LostLeases[name], "time", "times"), choose(run.Status == analysis.Failed, " Counts are of the time until then.", "")))
		}
		if h.UnreadyNodes > 0 {
			notes = append(notes, fmt.Sprintf("%sup to %s at once were taken for dead, as their heartbeats had been missed.", where, plural(int(h.UnreadyNodes), "node", "nodes")))
		}
		if h.SlowRenewals > 0 {
			notes = append(notes, fmt.Sprintf("%sleaders were slow to renew their lease %s.", where, plural(int(h.SlowRenewals), "time", "times")))
		}
	}
	notes = notes[:min(len(notes), mostNotes)]
	if !slices.ContainsFunc(result.Clients, func(c *analysis.ClientCells) bool { return c.Source == "audit" }) {
		notes = append(notes, "KWOK, which sends the heartbeats of nodes, does not count its requests: kubeAPIServer.audit: metadata has the API server tell of them.")
	}
	return notes
}

// mostNotes is how many events of the control plane are told one by one.
const mostNotes = 12
