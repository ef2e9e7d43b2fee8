package report

import (
	"strings"
	"testing"

	"plimsoll.dev/plimsoll/internal/analysis"
	"plimsoll.dev/plimsoll/internal/store"
)

// searchedResult is a search of three values, in which one objective was never measured.
func searchedResult() *analysis.Result {
	result := repetitions()
	result.Runs = result.Runs[:3]
	result.Cells[0].Runs, result.Cells[0].Measures = []int{1, 2, 3}, nil
	line := &analysis.LoadLine{Parameter: "rate", NotMeasured: []string{"memory"}, Warnings: []string{"p99 rests on few operations."}}
	for i, rate := range []float64{100, 400, 200} {
		result.Runs[i].Probe = &store.Point{Parameter: "rate", Value: rate}
	}
	for i, rate := range []float64{100, 200, 400} {
		value := rate / 1000
		line.Tries = append(line.Tries, analysis.Try{Point: store.Point{Parameter: "rate", Value: rate}, Run: []int{1, 3, 2}[i], Held: i < 2, Objectives: []analysis.TriedObjective{
			{Name: "quick", Bound: "≤ 300ms", Unit: "seconds", Value: &value, Held: i < 2}, {Name: "memory", Bound: "≤ 4GiB", NotMeasured: true},
		}})
	}
	line.Held, line.Broke = &line.Tries[1].Point, &line.Tries[2].Point
	result.LoadLines = []*analysis.LoadLine{line}
	return result
}

func TestASearchIsShownByValue(t *testing.T) {
	var text, page strings.Builder
	if err := Terminal(&text, searchedResult()); err != nil {
		t.Fatal(err)
	}
	if err := HTML(&page, searchedResult()); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"What the search tried", "quick ≤ 300ms", "200 ms", "400 ms !", "broke", "not measured", "memory was never measured", "p99 rests on few operations"} {
		if !strings.Contains(text.String(), want) {
			t.Errorf("the terminal does not say %q:\n%s", want, text.String())
		}
		if !strings.Contains(page.String(), want) && want != "broke" {
			t.Errorf("the page does not say %q", want)
		}
	}
	if !strings.Contains(page.String(), "rate=400 (n = ") || strings.Contains(page.String(), `id="use"`) {
		t.Error("want curves by value, and no use of CPU over all loads")
	}
}

func TestOneRepetitionHasATable(t *testing.T) {
	result := fewBlocks()
	result.Design.Primary, result.Runs = nil, nil
	for _, c := range result.Comparisons {
		c.Primary = false
	}
	result.Compared = experimentOf("Two directories", 1, "").Runs
	var text, junit strings.Builder
	if err := Terminal(&text, result); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"rate(walks.walk)", "p99(churn.create.service)", "1.30 [?]"} {
		if !strings.Contains(text.String(), want) {
			t.Errorf("the terminal does not say %q:\n%s", want, text.String())
		}
	}
	if strings.Contains(text.String(), "holds no runs") {
		t.Error("a comparison of directories is said to hold no runs")
	}
	if err := JUnit(&junit, result); err != nil {
		t.Fatal(err)
	}
	if strings.Contains(junit.String(), `tests="0"`) || !strings.Contains(junit.String(), "runs to its end") {
		t.Errorf("JUnit has no tests: %s", junit.String())
	}
}

func TestTheConfidenceIsTheActualOne(t *testing.T) {
	for confidence, want := range map[float64]string{0: "95 %", 0.95: "95 %", 0.96875: "96.9 %", 0.96: "96 %"} {
		if got := levelWords(confidence); got != want {
			t.Errorf("%v is %s, want %s", confidence, got, want)
		}
	}
}

func TestAnExperimentThatGoesOnSaysSo(t *testing.T) {
	result := quickstart()
	result.RunsPlanned = 8
	if said := strings.Join(answer(result).Sentences, " "); !strings.Contains(said, "1 of 8 planned runs have begun") {
		t.Errorf("said %q", said)
	}
}

func TestBriefLinesHavePoints(t *testing.T) {
	d := newDrawing(plotWidth, 216)
	r := ribbon{at: []float64{0}, middle: []float64{1}, lo: []float64{1}, hi: []float64{1}, runs: 2}
	r.draw(d, axis{lo: 0, hi: 1, from: 0, to: 100}, axis{lo: 0, hi: 2, from: 100, to: 0}, 0, seconds)
	if svg := string(d.svg("usage", "")); !strings.Contains(svg, "<circle") {
		t.Errorf("a line of one sample is not drawn: %s", svg)
	}
}

func TestRunsWithoutObjectivesMakeAPage(t *testing.T) {
	result := repetitions()
	for _, run := range result.Runs {
		run.Objectives, run.Warnings = nil, nil
	}
	var page strings.Builder
	if err := HTML(&page, result); err != nil {
		t.Fatal(err)
	}
	if n := strings.Count(page.String(), "No objectives were declared"); n != 1 {
		t.Errorf("that there are no objectives is said %d times, want once", n)
	}
}
