package report

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"plimsoll.dev/plimsoll/internal/analysis"
	"plimsoll.dev/plimsoll/internal/design"
)

func TestOverlaysOfACellShareTheirAxisOfTime(t *testing.T) {
	result := overlaid(map[string]float64{"": 2})
	short := result.Runs[0].Figures.Panels[0].Lines[0].Values
	for i := 4; i < len(short); i++ {
		short[i] = math.NaN() // of one quantity nothing is known after a while
	}
	figures := overlayFigures(result, result.Cells, overlaysOf(result, result.Cells))
	if len(figures) < 3 {
		t.Fatalf("there are %d figures, want that of the panel and those of the components", len(figures))
	}
	marks := func(f figure) string { // of the axis of time
		var at []string
		for _, part := range strings.Split(string(f.Narrow), "<line class=\"rule\"")[1:] {
			if mark, _, _ := strings.Cut(part, "/>"); strings.Contains(mark, `y1="176.0"`) && strings.Contains(mark, `y2="180.0"`) {
				at = append(at, mark)
			}
		}
		return strings.Join(at, "\n")
	}
	for _, f := range figures {
		if marks(f) == "" || marks(f) != marks(figures[0]) {
			t.Errorf("%s has its marks at\n%s\nwhere %s has\n%s", f.Title, marks(f), figures[0].Title, marks(figures[0]))
		}
		if len(f.Legend) != 2 {
			t.Errorf("%s has %d lines, want one of each variant", f.Title, len(f.Legend))
		}
	}
}

func TestAPanelHasAFigureForEachOfItsHighestSeries(t *testing.T) {
	series := map[string]float64{}
	for i := range mostSeries + 2 {
		series[fmt.Sprintf("reason=%c", 'z'-i)] = float64(100 - i)
	}
	result := overlaid(series)
	var titles []string
	for _, f := range overlayFigures(result, result.Cells, overlaysOf(result, result.Cells)) {
		if strings.HasPrefix(f.Title, "rejected") {
			titles = append(titles, f.Title)
		}
	}
	if len(titles) != mostSeries || titles[mostSeries-1] != "rejected: reason=z" || slices.Contains(titles, "rejected: reason=q") {
		t.Errorf("figures are %q", titles)
	}
}

// overlaid is an experiment with a panel, whose series are flat lines.
func overlaid(series map[string]float64) *analysis.Result {
	result := experimentOf("overlaid", 2, "")
	panel := design.Panel{Title: "rejected", PromQL: "x", Unit: "per second"}
	result.Design.Panels = []design.Panel{panel}
	for _, run := range result.Runs {
		p := analysis.Panel{Panel: panel}
		for labels, height := range series {
			line := analysis.Line{Labels: labels}
			for range run.Figures.Seconds {
				line.Values = append(line.Values, height)
			}
			p.Lines = append(p.Lines, line)
		}
		run.Figures.Panels = []analysis.Panel{p}
	}
	return result
}
