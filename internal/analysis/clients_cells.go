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
		var clients []Requests
		for _, client := range run.Clients {
			if !is(client) {
				continue
			}
			clients = append(clients, client.Requests)
			for level, n := range client.RejectedBy {
				if cell.RejectedBy == nil {
					cell.RejectedBy = map[string]int64{}
				}
				cell.RejectedBy[level] += n
			}
		}
		cell.Runs = append(cell.Runs, run.Index)
		runs = append(runs, requestsOver(clients, sum))
	}
	cell.Sum = requestsOver(runs, sum)
	if runs != nil {
		cell.Median = requestsOver(runs, stats.Median)
	}
	return cell
}

// requestsOver combines the counts of several, kind by kind.
func requestsOver(all []Requests, f func([]float64) float64) Requests {
	of := func(count func(Requests) float64) float64 {
		var values []float64
		for _, r := range all {
			values = append(values, count(r))
		}
		return f(values)
	}
	return Requests{
		of(func(r Requests) float64 { return r.Requests }), of(func(r Requests) float64 { return r.Rejected }),
		of(func(r Requests) float64 { return r.ClientErrors }), of(func(r Requests) float64 { return r.ServerErrors }),
		of(func(r Requests) float64 { return r.Unanswered }),
	}
}

func sum(values []float64) (all float64) {
	for _, v := range values {
		all += v
	}
	return all
}
