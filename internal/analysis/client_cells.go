package analysis

import (
	"slices"

	"plimsoll.dev/plimsoll/internal/design"
	"plimsoll.dev/plimsoll/internal/stats"
)

// ClientCells is what a client got in each cell.
type ClientCells struct {
	ClientName
	Cells []ClientCell `json:"cells"`
}

// ClientCell is what a client got in the runs of a cell. Runs that failed are
// among them: that a component died may be what its rejections came to.
type ClientCell struct {
	Cell design.Cell `json:"cell"`
	Runs []int       `json:"runs"`
	// Sum is that over the runs, Median the median run's, count by count.
	Sum    Requests `json:"sum"`
	Median Requests `json:"median"`
	// RejectedBy counts rejections over the runs by priority level.
	RejectedBy map[string]int64 `json:"rejectedBy,omitempty"`
}

// All is the name of all clients of a role together.
const All = "all"

// clientsOf puts what clients got side by side. The runs of a search have
// nothing in common that could be summed up.
func clientsOf(groups []*group) []*ClientCells {
	var names []ClientName
	for _, g := range groups {
		if g.searched() {
			return nil
		}
		for _, run := range g.all {
			for _, client := range run.Clients {
				for _, name := range []ClientName{client.ClientName, {Name: All, Role: client.Role}} {
					if !slices.Contains(names, name) {
						names = append(names, name)
					}
				}
			}
		}
	}
	slices.SortFunc(names, ClientName.compare)
	var all []*ClientCells
	for _, name := range names {
		row := &ClientCells{ClientName: name}
		for _, g := range groups {
			row.Cells = append(row.Cells, g.clientCell(func(c *Client) bool {
				return c.ClientName == name || name.Name == All && c.Role == name.Role && !c.Part
			}))
		}
		all = append(all, row)
	}
	return all
}

// clientCell sums up the clients of a kind in the runs of a cell.
func (g *group) clientCell(is func(*Client) bool) ClientCell {
	cell := ClientCell{Cell: g.Cell.Cell}
	var runs []Requests
	for _, run := range g.all {
		if run.Clients == nil {
			continue
		}
		var sum Requests
		for _, client := range run.Clients {
			if !is(client) {
				continue
			}
			sum = sum.each(client.Requests, func(a, b float64) float64 { return a + b })
			for level, n := range client.RejectedBy {
				if cell.RejectedBy == nil {
					cell.RejectedBy = map[string]int64{}
				}
				cell.RejectedBy[level] += n
			}
		}
		cell.Runs = append(cell.Runs, run.Index)
		cell.Sum = cell.Sum.each(sum, func(a, b float64) float64 { return a + b })
		runs = append(runs, sum)
	}
	cell.Median = medianOf(runs)
	return cell
}

// each combines two counts, kind by kind.
func (r Requests) each(o Requests, f func(a, b float64) float64) Requests {
	return Requests{
		f(r.Requests, o.Requests), f(r.Rejected, o.Rejected), f(r.ClientErrors, o.ClientErrors), f(r.ServerErrors, o.ServerErrors), f(r.Unanswered, o.Unanswered),
	}
}

// medianOf is the median of runs, count by count.
func medianOf(runs []Requests) Requests {
	of := func(count func(Requests) float64) float64 {
		var values []float64
		for _, r := range runs {
			values = append(values, count(r))
		}
		if median := stats.Summarise(values).Median; median != nil {
			return *median
		}
		return 0
	}
	return Requests{
		of(func(r Requests) float64 { return r.Requests }), of(func(r Requests) float64 { return r.Rejected }),
		of(func(r Requests) float64 { return r.ClientErrors }), of(func(r Requests) float64 { return r.ServerErrors }),
		of(func(r Requests) float64 { return r.Unanswered }),
	}
}
