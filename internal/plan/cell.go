package plan

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	v1 "plimsoll.dev/plimsoll/api/v1alpha1"
	"plimsoll.dev/plimsoll/internal/design"
)

// maxCells bounds the combinations of variants and parameters.
const maxCells = 1000

// Cell is one combination of a variant and parameter values, and the scenario
// that it comes to.
type Cell struct {
	design.Cell
	// Name is unique in the experiment, and part of the name of a folder.
	Name string `json:"name"`
	// Parameters are the values of all parameters, as they are written.
	Parameters map[string]string `json:"parameters,omitempty"`
	Scenario   *v1.Scenario      `json:"scenario"`
}

// Experiment is a document that was found sound: a scenario for each of its cells.
type Experiment struct {
	Cells []*Cell
	// Design but for what is chosen when it is planned.
	Design design.Design
}

// Scenario is that of the first cell; what all cells have in common can be read from it.
func (e *Experiment) Scenario() *v1.Scenario { return e.Cells[0].Scenario }

// identify says which cell of the experiment it is.
func (c *Cell) identify(variant string, axes []string, choice combination) {
	c.Variant, c.Axes = variant, map[string]string{}
	for i, axis := range axes {
		c.Axes[axis] = fmt.Sprint(choice[i])
	}
	c.Name = cellName(string(c.Scenario.Metadata.Name), variant, axes, choice)
}

// combination is a choice of a value for each axis.
type combination []any

// axes gives the parameters with several values.
func (d *document) axes(parameters map[string]any) (names []string, values [][]any) {
	for _, name := range slices.Sorted(maps.Keys(parameters)) {
		switch v := parameters[name].(type) {
		case map[string]any:
			d.fault([]string{"spec", "parameters", name}, "must be a single value, or a list of them")
			parameters[name] = 1 // the rest is looked at all the same
		case []any:
			if !d.soundAxis(name, v) {
				parameters[name] = 1
				continue
			}
			names, values = append(names, name), append(values, v)
		}
	}
	return names, values
}

func (d *document) soundAxis(name string, values []any) bool {
	path := []string{"spec", "parameters", name}
	seen := map[string]bool{}
	for _, value := range values {
		switch value.(type) {
		case map[string]any, []any, nil:
			d.fault(path, "must be a list of single values")
			return false
		}
		if seen[fmt.Sprint(value)] {
			d.fault(path, "has the value %v twice", value)
			return false
		}
		seen[fmt.Sprint(value)] = true
	}
	if len(values) == 0 {
		d.fault(path, "is an empty list: give it values")
	}
	return len(values) > 0
}

// combinations are all choices, the last axis varying fastest.
func combinations(values [][]any) []combination {
	all := []combination{nil}
	for _, axis := range values {
		var longer []combination
		for _, c := range all {
			for _, value := range axis {
				longer = append(longer, append(slices.Clone(c), value))
			}
		}
		all = longer
	}
	return all
}

// cellName is such as vai-objects1200-k8s: values that say nothing by
// themselves have the name of their parameter before them.
func cellName(scenario, variant string, axes []string, values combination) string {
	var parts []string
	if variant != "" {
		parts = append(parts, variant)
	}
	for i, value := range values {
		text := fmt.Sprint(value)
		if _, isText := value.(string); !isText || strings.ContainsAny(text[:min(1, len(text))], "0123456789") {
			text = axes[i] + text
		}
		parts = append(parts, text)
	}
	return cmp.Or(FileName(strings.Join(parts, "-")), scenario)
}

// FileName keeps what can stand in the name of a file and in a shell unquoted.
func FileName(text string) string {
	return strings.Map(func(c rune) rune {
		switch {
		case c >= 'a' && c <= 'z', c >= 'A' && c <= 'Z', c >= '0' && c <= '9', c == '.', c == '_', c == '-':
			return c
		}
		return '_'
	}, text)
}
