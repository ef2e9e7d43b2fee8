package report

import (
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
