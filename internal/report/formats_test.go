package report

import (
	"bytes"
	"encoding/csv"
	"encoding/xml"
	"errors"
	"io"
	"math"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/perf/benchfmt"

	"plimsoll.dev/plimsoll/internal/analysis"
	"plimsoll.dev/plimsoll/internal/design"
	"plimsoll.dev/plimsoll/internal/stats"
	"plimsoll.dev/plimsoll/internal/store"
)

func TestFormatsOfComparisons(t *testing.T) {
	forms := map[string]func(io.Writer, *analysis.Result) error{"-comparison.csv": Comparison, "-bench.txt": Benchfmt, "-junit.xml": JUnit}
	for name, result := range map[string]func() *analysis.Result{"compared": compared, "axes": axes, "empty": func() *analysis.Result { return &analysis.Result{Scenario: "empty"} }, "hostile": hostile} {
		for suffix, write := range forms {
			var got bytes.Buffer
			if err := write(&got, result()); err != nil {
				t.Fatal(err)
			}
			golden(t, filepath.Join("testdata", name+suffix), got.String())
		}
	}
}

func TestComparisonHasARowForEach(t *testing.T) {
	result := axes()
	var out bytes.Buffer
	if err := Comparison(&out, result); err != nil {
		t.Fatal(err)
	}
	rows, err := csv.NewReader(&out).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	if len(rows) != len(result.Comparisons)+1 {
		t.Errorf("%d rows for %d comparisons", len(rows)-1, len(result.Comparisons))
	}
}

// TestBenchstatReadsWhatIsWritten reads bench.txt with benchstat's own reader.
func TestBenchstatReadsWhatIsWritten(t *testing.T) {
	result := axes()
	awkward := &result.Cells[0].Measures[0].Subject
	awkward.Name, awkward.Measure, awkward.PromQL, awkward.Unit = "a-ns/MB name, 2 words", "", "up", ""
	var out bytes.Buffer
	if err := Benchfmt(&out, result); err != nil {
		t.Fatal(err)
	}
	reader := benchfmt.NewReader(&out, "bench.txt")
	results, values := map[string]int{}, 0
	for reader.Scan() {
		switch record := reader.Result().(type) {
		case *benchfmt.SyntaxError:
			t.Errorf("line not understood: %v", record)
		case *benchfmt.Result:
			results[record.GetConfig("variant")+" "+record.GetConfig("objects")]++
			values += len(record.Values)
			for _, v := range record.Values {
				if v.OrigUnit != "" {
					t.Errorf("%s was taken for a prefixed unit", v.OrigUnit)
				}
			}
		}
	}
	for _, key := range []string{"kubernetes 1000", "vai 1000", "kubernetes 8000", "vai 8000"} {
		if results[key] != 6 {
			t.Errorf("%d runs of %s, want 6", results[key], key)
		}
	}
	if want := 4 * 6 * 7; values != want {
		t.Errorf("%d values, want %d", values, want)
	}
	if got := reader.Units().Get("rate(walks.walk)/sec", "better"); got == nil || got.Value != "higher" {
		t.Errorf("rate is %v, want better=higher", got)
	}
}

func TestJUnitIsXML(t *testing.T) {
	for name, result := range cases() {
		var out bytes.Buffer
		if err := JUnit(&out, result()); err != nil {
			t.Fatal(err)
		}
		decoder := xml.NewDecoder(&out)
		for {
			_, err := decoder.Token()
			if errors.Is(err, io.EOF) {
				break
			}
			if err != nil {
				t.Fatalf("%s: %v", name, err)
			}
		}
	}
}

func TestWorseFailsAndInconclusiveIsSkipped(t *testing.T) {
	result := compared()
	result.Comparisons[0].Verdict = stats.Worse
	suite := comparisonSuite(result)
	if suite.Cases[0].Failure == nil || suite.Cases[1].Failure != nil || suite.Cases[1].Skipped != nil || suite.Cases[2].Skipped == nil {
		t.Errorf("worse, equivalent, inconclusive became %+v", suite.Cases)
	}
}

func TestSentences(t *testing.T) {
	v := func(x float64) *float64 { return &x }
	base := analysis.Comparison{
		Subject: analysis.Subject{Name: "listing", Measure: "mean(walks.page.service)", Unit: "seconds", Better: "lower"},
		Variant: "vai", Baseline: "k8s", Margin: 0.05, Base: stats.Summary{N: 8, Median: v(0.0211)}, Head: stats.Summary{N: 8, Median: v(0.0123)},
		Comparison: stats.Comparison{Ratio: v(0.58), Lo: v(0.55), Hi: v(0.61), Pairs: 8, N1: 8, N2: 8}, Verdict: stats.Better,
	}
	tests := []struct {
		is, want string
		change   func(*analysis.Comparison)
	}{
		{"a faster variant", "Listing: vai is 1.72× as fast as k8s (mean service time 12.3 ms against 21.1 ms; ratio 0.58, 95 % interval 0.55 … 0.61, 8 blocks): better.", func(*analysis.Comparison) {}},
		{"an undecided one", "Listing: whether vai is better or worse than k8s is inconclusive (mean service time 12.3 ms against 21.1 ms; ratio 0.58, 95 % interval 0.55 … 0.61, 8 blocks); about 14 blocks would decide.", func(c *analysis.Comparison) { c.Verdict, c.BlocksNeeded = stats.Inconclusive, 14 }},
		{"an equal one", "Listing (objects = 10): vai and k8s are equivalent within 5 % (mean service time 12.3 ms against 21.1 ms; ratio 0.58, 95 % interval 0.55 … 0.61, 8 blocks).", func(c *analysis.Comparison) {
			c.Verdict, c.Axes = stats.Equivalent, map[string]string{"objects": "10"}
		}},
		{"one without a ratio", "Listing: vai cannot be compared with k8s: A value is zero.", func(c *analysis.Comparison) {
			c.Ratio, c.Verdict, c.Warnings = nil, stats.Inconclusive, []string{"A value is zero."}
		}},
		{"NaN in disguise", "Listing: vai takes –× as long as k8s (mean service time 12.3 ms against 21.1 ms; ratio –, no interval, 8 blocks): worse.", func(c *analysis.Comparison) {
			c.Ratio, c.Lo, c.Verdict = v(math.NaN()), nil, stats.Worse
		}},
		{"two directories", "Listing: vai takes 1.20× as long as k8s (mean service time 12.3 ms against 21.1 ms; ratio 1.20, 95 % interval 0.55 … 0.61, 5 against 8 runs, not paired): worse.", func(c *analysis.Comparison) {
			c.Ratio, c.Pairs, c.N2, c.Verdict = v(1.2), 0, 5, stats.Worse
		}},
	}
	for _, test := range tests {
		c := base
		test.change(&c)
		if got := sentence(&c); got != test.want {
			t.Errorf("%s:\n got %s\nwant %s", test.is, got, test.want)
		}
	}
}

// TestNothingPanics gives every form results with holes where numbers may be missing.
func TestNothingPanics(t *testing.T) {
	holes := compared()
	for _, c := range holes.Comparisons {
		c.Comparison, c.Base, c.Head, c.Verdict = stats.Comparison{}, stats.Summary{}, stats.Summary{}, stats.Inconclusive
	}
	for _, cell := range holes.Cells {
		for _, m := range cell.Measures {
			m.Summary, m.Values, m.Outliers = stats.Summary{}, make([]*float64, 1), nil
		}
		cell.Runs = append(cell.Runs, 99)
	}
	for _, run := range holes.Runs {
		run.Figures = &analysis.Figures{Heatmaps: []analysis.Heatmap{{}, {Width: 1, Edges: []float64{0, 1}, Counts: [][]int64{{1, 2, 3}}}}, Curves: []analysis.Curve{{}}}
	}
	holes.Growth = []*analysis.Growth{{Subject: analysis.Subject{Name: "x"}, Cell: design.Cell{}, Points: []analysis.GrowthPoint{{Value: -1}}}}
	holes.LoadLines = []*analysis.LoadLine{{}, {Held: loadLine("").Held}, {Broke: loadLine("").Broke}}
	holes.References = []*analysis.Reference{{}}
	for name, write := range map[string]func(io.Writer, *analysis.Result) error{"text": Terminal, "summary": Summary, "html": HTML, "comparison": Comparison, "bench": Benchfmt, "junit": JUnit} {
		var out strings.Builder
		if err := write(&out, holes); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if strings.Contains(withoutAssets(out.String()), "NaN") {
			t.Errorf("%s has a NaN in it", name)
		}
	}
}

func TestSweepHasThePublishedColumns(t *testing.T) {
	half := 0.5
	at := func(n float64, walk *analysis.Operation) *analysis.Step {
		return &analysis.Step{Name: "list", Measured: true, Point: &store.Point{Parameter: "objects", Value: n}, Phases: []*analysis.Phase{{
			Name: "walks", Measured: true, Operations: []*analysis.Operation{walk, {
				Name: "first-byte", Part: true, Count: 5, Service: &analysis.Distribution{Count: 5, Mean: 0.02},
			}},
		}}}
	}
	result := &analysis.Result{Scenario: "list", Runs: []*analysis.Run{{Index: 1, Cell: design.Cell{Variant: "etcd"}, Block: 1, Steps: []*analysis.Step{
		at(1000, &analysis.Operation{
			Name: "walk", Count: 5, Bytes: 5000, Items: 5000, Outcomes: map[string]int64{"ok": 5},
			Service: &analysis.Distribution{Count: 5, Mean: 0.5, Stddev: 0.05, P50: &half, Max: 0.6},
		}),
		at(2000, &analysis.Operation{Name: "walk", Count: 2, Outcomes: map[string]int64{"failed": 2}}),
	}}}}
	var got bytes.Buffer
	if err := Sweep(&got, result); err != nil {
		t.Fatal(err)
	}
	want := `scenario,run,variant,block,phase,operation,parameter,resources,mean runtime (s),stdev (s),stdev (%),bytes,errors,repetitions,p50 (s),p95 (s),max (s),mean first byte (s),items
list,1,etcd,1,walks,walk,objects,1000,0.5,0.05,10,1000,0,5,0.5,,0.6,0.02,1000
list,1,etcd,1,walks,walk,objects,2000,,,,,2,0,,,,0.02,
`
	if got.String() != want {
		t.Errorf("got\n%swant\n%s", got.String(), want)
	}
}
