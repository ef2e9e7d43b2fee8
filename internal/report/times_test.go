package report

import (
	"encoding/csv"
	"strings"
	"testing"

	"plimsoll.dev/plimsoll/internal/analysis"
	"plimsoll.dev/plimsoll/internal/design"
	"plimsoll.dev/plimsoll/internal/stats"
)

// timed is an experiment of two variants at three numbers of objects, in two
// paginations, whose times and comparisons are given.
func timed() *analysis.Result {
	result := &analysis.Result{Scenario: "timed"}
	result.Design = design.Design{
		Variants: []design.Variant{{Name: "baseline"}, {Name: "vai"}}, Blocks: 6,
		Axes:    []design.Axis{{Parameter: "objects", Values: []string{"100", "400", "1200"}}, {Parameter: "pagination", Values: []string{"k8s", "page"}}},
		Primary: []design.Primary{{Name: "mean time of a page", Measure: "mean(walks.page.service)", Better: "lower"}},
	}
	index := 0
	for _, objects := range []string{"100", "400", "1200"} {
		for _, pagination := range []string{"k8s", "page"} {
			axes := map[string]string{"objects": objects, "pagination": pagination}
			for _, variant := range []string{"baseline", "vai"} {
				index++
				share := choose(variant == "vai", 0.5, 1.0)
				cell := &analysis.Cell{Cell: design.Cell{Variant: variant, Axes: axes}, Runs: []int{index}}
				for _, operation := range []string{"walk", "page"} {
					cell.Times = append(cell.Times, &analysis.CellTimes{
						Phase: "walks", Operation: operation, Part: operation == "page", Clock: "service",
						Distribution: &analysis.Distribution{Count: 900, Min: 0.01 / share, Mean: 0.1 * share, P50: known64(0.09 * share), Max: share},
					})
				}
				result.Cells = append(result.Cells, cell)
				result.Runs = append(result.Runs, &analysis.Run{Index: index, Cell: cell.Cell})
			}
			for statistic, r := range map[string]float64{"mean": choose(pagination == "k8s", 0.5, 1.25), "max": 0.25, "min": 2} {
				measure := statistic + "(walks.page.service)"
				c := &analysis.Comparison{
					Subject: analysis.Subject{Name: measure, Measure: measure, Unit: "seconds", Better: "lower"},
					Variant: "vai", Baseline: "baseline", Axes: axes, Verdict: stats.Better,
				}
				c.Ratio, c.Lo, c.Hi = known64(r), known64(r*0.8), known64(r*1.25)
				if statistic == "mean" {
					c.Name, c.Primary = "mean time of a page", true
				}
				result.Comparisons = append(result.Comparisons, c)
			}
		}
	}
	return result
}

func known64(v float64) *float64 { return &v }

func TestTimesTellOfSpeedUpsTheRightWayRound(t *testing.T) {
	tables := timesTables(timed())
	if len(tables) != 2 || tables[0].operation != "page" || len(tables[0].Places) != 6 {
		t.Fatalf("tables are %+v, want pages, that the primary measure is of, before walks", tables)
	}
	rows := tables[0].Places[0].Rows
	if rows[0].Variant != "baseline" || rows[0].Mean.Value != nil {
		t.Errorf("the baseline is held against itself: %+v", rows[0])
	}
	for what, got := range map[string]gain{"2.00 [1.60, 2.50]": rows[1].Mean, "4.00 [3.20, 5.00]": rows[1].Slowest, "2.00 [1.60, 2.50] as long": rows[1].Fastest} {
		if want := strings.TrimSuffix(what, " as long"); got.String() != want {
			t.Errorf("got %s, want %s", got, want)
		}
	}
	if tables[1].Compared() {
		t.Error("walks, which nothing was compared of, have speed-ups")
	}
}

func TestTimesAreWrittenForASpreadsheet(t *testing.T) {
	var text strings.Builder
	if err := Times(&text, timed()); err != nil {
		t.Fatal(err)
	}
	rows, err := csv.NewReader(strings.NewReader(text.String())).ReadAll()
	if err != nil || len(rows) != 1+2*12 {
		t.Fatalf("there are %d rows, %v", len(rows), err)
	}
	row := map[string]string{}
	for i, name := range rows[0] {
		row[name] = rows[2][i]
	}
	for name, want := range map[string]string{
		"variant": "vai", "axis_objects": "100", "axis_pagination": "k8s", "operation": "page", "count": "900", "mean_seconds": "0.05", "p95_seconds": "",
		"speedup_mean": "2", "speedup_mean_lo": "1.6", "speedup_mean_hi": "2.5", "slowdown_min": "2",
	} {
		if row[name] != want {
			t.Errorf("%s is %q, want %q", name, row[name], want)
		}
	}
}

func TestTheFirstParagraphTellsOfTheLargestValueWithIntervals(t *testing.T) {
	const want = "Mean time of a page, vai against baseline, at objects = 1200: with pagination = k8s 2.00× as fast [1.60, 2.50]; with pagination = page 1.25× as long [1.00, 1.56]."
	if said := answer(timed()).Sentences; len(said) < 2 || said[0] != want || !strings.Contains(said[1], "better in all 6") {
		t.Errorf("said %q, want first %q and then all cells", said, want)
	}
}

func TestChecksAreShown(t *testing.T) {
	result := timed()
	for i, cell := range result.Cells {
		cell.Checks = []*analysis.CellCheck{{Phase: "walks", Walked: 300, Checked: 300 * int64(i%2), Missing: 12 * int64(i%2), Pages: 300, LimitIgnored: int64(i)}}
	}
	var text, page strings.Builder
	if err := Terminal(&text, result); err != nil {
		t.Fatal(err)
	}
	if err := HTML(&page, result); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"baseline (objects = 100, pagination = k8s)    walks      0        –          –    300         0",
		"vai (objects = 100, pagination = k8s)         walks    300       12          0    300         1",
	} {
		if !strings.Contains(text.String(), want) {
			t.Errorf("the terminal does not say %q:\n%s", want, text.String())
		}
	}
	if n := strings.Count(page.String(), "<td>walks</td>"); n != 12 {
		t.Errorf("the page has %d rows of checks, want 12", n)
	}
}
