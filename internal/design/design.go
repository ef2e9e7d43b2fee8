// Package design says how the runs of an experiment are laid out, and what they
// are to show. A plan has a design, results keep it, and analysis goes by it.
package design

import (
	"maps"
	"slices"
	"strings"
)

// Design is how the runs of an experiment are laid out, and what they are to
// show. It is a part of plan.json; an experiment of one variant has one all the same.
type Design struct {
	// Variants under comparison; the first is the baseline.
	Variants []Variant `json:"variants"`
	// Axes are the parameters with several values; cells are their combinations with the variants.
	Axes []Axis `json:"axes,omitempty"`
	// Blocks is how often each cell is run.
	Blocks int `json:"blocks"`
	// Seed of the order of runs.
	Seed uint64 `json:"seed"`
	// Margin below which a change does not matter, as a fraction; 0 says that none was declared.
	Margin     float64     `json:"margin,omitempty"`
	Primary    []Primary   `json:"primary,omitempty"`
	References []Reference `json:"references,omitempty"`
	Panels     []Panel     `json:"panels,omitempty"`
	Search     *Search     `json:"search,omitempty"`
}

// Variant is one alternative.
type Variant struct {
	Name  string `json:"name"`
	Title string `json:"title"`
	// Changes are what differs from the scenario, as PATH: VALUE.
	Changes []string `json:"changes,omitempty"`
}

// Axis is a parameter with the values that it takes, as they are written.
type Axis struct {
	Parameter string   `json:"parameter"`
	Values    []string `json:"values"`
}

// Primary is a measure, or a PromQL expression, that variants are judged by.
type Primary struct {
	Name    string `json:"name"`
	Measure string `json:"measure,omitempty"`
	PromQL  string `json:"promql,omitempty"`
	// Better is lower or higher.
	Better string `json:"better"`
	// Margin as in Design, for this measure.
	Margin float64 `json:"margin,omitempty"`
}

// Reference is something published; exactly one of Measure, Ratio and Growth says what it is about.
type Reference struct {
	Statement string            `json:"statement"`
	Measure   string            `json:"measure,omitempty"`
	Ratio     string            `json:"ratio,omitempty"`
	Growth    string            `json:"growth,omitempty"`
	Variant   string            `json:"variant"`
	Versus    string            `json:"versus,omitempty"`
	When      map[string]string `json:"when,omitempty"`
	// Min and Max are in base units; nil is open. Both are the same for a single figure.
	Min    *float64 `json:"min,omitempty"`
	Max    *float64 `json:"max,omitempty"`
	Text   string   `json:"text"` // as it is written
	Source string   `json:"source"`
}

// Panel is a PromQL expression that is shown over time.
type Panel struct {
	Title  string `json:"title"`
	PromQL string `json:"promql"`
	// Unit is as in measure.Unit; empty for a plain number.
	Unit string `json:"unit,omitempty"`
}

// Search is a search for the load line.
type Search struct {
	Parameter string `json:"parameter"`
	From      string `json:"from"`
	To        string `json:"to"`
	// Within is how close, as a fraction, what held and what did not must come.
	Within float64 `json:"within"`
}

// Cell is a combination of a variant and a value for each axis.
type Cell struct {
	Variant string            `json:"variant,omitempty"`
	Axes    map[string]string `json:"axes,omitempty"`
}

// Key identifies the cell, and its values without the variant if that is empty.
func (c Cell) Key() string {
	parts := []string{c.Variant}
	for _, name := range slices.Sorted(maps.Keys(c.Axes)) {
		parts = append(parts, name+"="+c.Axes[name])
	}
	return strings.Join(parts, " ")
}
