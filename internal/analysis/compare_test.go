package analysis

import (
	"slices"
	"strings"
	"testing"
	"time"

	"plimsoll.dev/plimsoll/internal/design"
	"plimsoll.dev/plimsoll/internal/stats"
	"plimsoll.dev/plimsoll/internal/store"
)

func TestVerdicts(t *testing.T) {
	for name, c := range map[string]struct {
		ratio   float64
		verdict stats.Verdict
	}{
		"a variant that takes half as long again is worse": {1.5, stats.Worse},
		"one that takes two thirds is better":              {0.67, stats.Better},
		"one that takes the same is equivalent":            {1, stats.Equivalent},
		"one right on the margin cannot be told":           {1.05, stats.Inconclusive},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, twoVariants(10, "p50(gets.get.response)"))
			w.blocks(10, c.ratio)
			got := w.analyze().of(t, "p50(gets.get.response)")
			if got.Verdict != c.verdict || !got.Primary || got.Pairs != 10 || got.Baseline != "old" || got.Variant != "new" || len(got.Blocks) != 10 {
				t.Errorf("verdict %s of %s over %s in %d blocks, want %s; %+v", got.Verdict, got.Variant, got.Baseline, got.Pairs, c.verdict, got.Comparison)
			}
			if got.Ratio == nil || *got.Ratio < c.ratio*0.98 || *got.Ratio > c.ratio*1.02 {
				t.Errorf("ratio %v, want %v, whatever drifted from block to block", got.Ratio, c.ratio)
			}
			if needed := got.BlocksNeeded; needed != 0 && (c.verdict != stats.Inconclusive || needed <= 10) {
				t.Errorf("%d blocks would decide", needed)
			}
		})
	}
}

func TestPrimaryMeasuresComeFirstAndOthersAreAdjusted(t *testing.T) {
	w := newWorld(t, twoVariants(10, "p50(gets.get.response)"))
	w.blocks(10, 1.5)
	result := w.analyze()
	if !result.Comparisons[0].Primary || result.Comparisons[0].AdjustedP != nil {
		t.Errorf("the first is %+v, want the primary one, not adjusted", result.Comparisons[0].Subject)
	}
	mean := result.of(t, "mean(gets.get.response)")
	if mean.Primary || mean.P == nil || mean.AdjustedP == nil || *mean.AdjustedP <= *mean.P || mean.Verdict != stats.Worse {
		t.Errorf("mean = %+v, want it worse, by an adjusted p", mean)
	}
	if success := result.of(t, "success(gets)"); success.AdjustedP != nil {
		t.Errorf("success was the same in all runs and cannot come out wrong, but p is adjusted to %v", *success.AdjustedP)
	}
	var names []string
	for _, c := range result.Comparisons {
		names = append(names, c.Name)
	}
	want := []string{
		"p50(gets.get.response)", "success(gets)", "mean(gets.get.response)", "p95(gets.get.response)", "p99(gets.get.response)",
		"max(gets.get.response)", "min(gets.get.response)", "rate(gets.get)", "bytes(gets.get)",
	}
	if !slices.Equal(names, want) {
		t.Errorf("compared are %q, want %q", names, want)
	}
	if len(result.Cells) != 2 || result.Cells[0].Variant != "old" || len(result.Cells[0].Runs) != 10 || len(result.Cells[0].Measures) != len(want) || result.Cells[0].Measures[0].Summary.N != 10 {
		t.Errorf("cells = %+v, want old before new, each with its runs and measures", result.Cells)
	}
}

// TestBadInput: each gives a plain sentence, and never a wrong interval.
func TestBadInput(t *testing.T) {
	const p50 = "p50(gets.get.response)"
	good := outcome{took: 5 * ms}
	both := func(w *world, blocks int, old, new outcome) {
		for block := 1; block <= blocks; block++ {
			w.run("old", nil, block, old)
			w.run("new", nil, block, new)
		}
	}
	for name, c := range map[string]struct {
		write    func(w *world)
		want     string // a sentence
		interval bool
	}{
		"a single block":              {func(w *world) { both(w, 1, good, good) }, "There is one block only", false},
		"no operation succeeded":      {func(w *world) { both(w, 6, good, outcome{took: ms, failing: 100}) }, "new has no value in 6 of 6 runs: no operation succeeded.", false},
		"all timed out":               {func(w *world) { both(w, 6, good, outcome{took: time.Second, timeout: true}) }, "new has no value in 6 of 6 runs: no operation succeeded.", false},
		"some operations failed":      {func(w *world) { w.blocks(5, 1); both(w, 6, good, outcome{took: 6 * ms, failing: 10}) }, "", true},
		"every run of a side failed":  {func(w *world) { both(w, 6, good, outcome{took: ms, end: store.RunFailed}) }, "No run of new is left to compare.", false},
		"a variant that was not run":  {func(w *world) { w.run("old", nil, 1, good) }, "", false},
		"blocks that do not match":    {func(w *world) { w.run("old", nil, 1, good); w.run("new", nil, 2, good) }, "compared without pairing", false},
		"runs of before blocks":       {func(w *world) { w.run("old", nil, 0, good); w.run("new", nil, 0, good) }, "compared without pairing", false},
		"no noise at all, six blocks": {func(w *world) { both(w, 6, good, outcome{took: 6 * ms}) }, "the interval has no width", true},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, twoVariants(6, p50))
			c.write(w)
			result := w.analyze()
			if name == "a variant that was not run" {
				if len(result.Comparisons) != 0 || !warned(result.Warnings, "new: was never run") {
					t.Errorf("comparisons %v, warnings %v; want none, and that new was never run", result.Comparisons, result.Warnings)
				}
				return
			}
			got := result.of(t, p50)
			if !strings.Contains(strings.Join(got.Warnings, "\n"), c.want) {
				t.Errorf("warnings = %q, want %q", got.Warnings, c.want)
			}
			if (got.Lo != nil) != c.interval && name != "some operations failed" {
				t.Errorf("interval from %v, want one: %v", got.Lo, c.interval)
			}
			if got.Lo == nil && got.Verdict != stats.Inconclusive {
				t.Errorf("verdict %s without an interval", got.Verdict)
			}
		})
	}
}

func TestErrorsAreNeverSilentlyAveragedIn(t *testing.T) {
	w := newWorld(t, twoVariants(1, "mean(gets.get.response)"))
	w.run("old", nil, 1, outcome{took: 5 * ms})
	w.run("new", nil, 1, outcome{took: 5 * ms, failing: 10})
	got := w.analyze().of(t, "mean(gets.get.response)")
	if want := "new: 100 of 1000 operations of gets did not succeed (10 %); times are of those that did, or that timed out."; !slices.Contains(got.Warnings, want) {
		t.Errorf("warnings = %q, want %q", got.Warnings, want)
	}
}

func TestRunsAreExcludedByRulesOnly(t *testing.T) {
	w := newWorld(t, twoVariants(7, "mean(gets.get.response)"))
	w.blocks(6, 1.5)
	w.run("old", nil, 7, outcome{took: time.Second, end: store.RunFailed})
	w.run("new", nil, 7, outcome{took: 5 * ms})
	w.run("old", nil, 8, outcome{took: time.Second, end: store.Interrupted})
	w.run("new", nil, 8, outcome{took: 2 * ms, lag: 19 * ms})
	w.run("old", nil, 9, outcome{took: 5 * ms})
	w.run("new", nil, 9, outcome{took: 50 * time.Second}) // an outlier is no reason
	result := w.analyze()
	var rules []string
	for _, x := range result.Excluded {
		rules = append(rules, x.Rule)
	}
	if len(rules) != 3 || !strings.Contains(rules[0], "failed") || !strings.Contains(rules[1], "did not come to its end") || !strings.Contains(rules[2], "plimsoll was the limit") {
		t.Errorf("excluded by %q, want a failure, an interruption, and a generator that was the limit", rules)
	}
	got := result.of(t, "mean(gets.get.response)")
	if got.Pairs != 7 || len(got.Blocks) != 8 {
		t.Errorf("%d pairs of blocks %v, want 7: of block 7 one run is left, of block 8 none", got.Pairs, got.Blocks)
	}
	if cell := result.Cells[1]; cell.Measures[0].Outliers == nil || !cell.Measures[0].Outliers[len(cell.Runs)-1] {
		t.Errorf("outliers = %v, want the last", cell.Measures[0].Outliers)
	}
}

func TestAnInvalidRunSaysWhatToChange(t *testing.T) {
	for name, c := range map[string]struct {
		outcome outcome
		status  Status
	}{
		"late by most of the response time": {outcome{took: 2 * ms, lag: 8 * ms}, Invalid},
		"late, but the target is slower":    {outcome{took: 500 * ms, lag: 8 * ms}, Complete},
		"a little late on a fast target":    {outcome{took: ms, lag: 3 * ms}, Complete},
	} {
		w := newWorld(t, design.Design{})
		w.run("", nil, 1, c.outcome)
		run := w.analyze().Runs[0]
		if run.Status != c.status || (c.status == Invalid) != strings.Contains(run.Reason, "lower the rate") {
			t.Errorf("%s: %s, %q; want %s", name, run.Status, run.Reason, c.status)
		}
	}
}

func TestOneVariantHasCellsAndNoComparisons(t *testing.T) {
	w := newWorld(t, design.Design{})
	w.run("", nil, 0, outcome{took: 5 * ms})
	result := w.analyze()
	if len(result.Comparisons) != 0 || len(result.Cells) != 1 || len(result.Warnings) != 0 || len(result.Design.Variants) != 1 || len(result.Cells[0].Measures) == 0 {
		t.Errorf("%+v, want one cell, and nothing to warn of", result.Experiment)
	}
}

func TestWhatDiffersByAccidentIsTold(t *testing.T) {
	w := newWorld(t, twoVariants(1))
	w.run("old", nil, 1, outcome{took: 5 * ms})
	w.environment = func(e *store.Environment) {
		e.Host.CPUModel = "b"
		e.Components[0].Version = "3.5.0"
	}
	w.run("new", nil, 1, outcome{took: 5 * ms})
	warnings := w.analyze().Warnings
	for _, want := range []string{"machine: runs differ in the processor: a, b", "components: variants differ in etcd: 3.6.8, 3.5.0", "design: of 6 blocks that are needed there are 1"} {
		if !warned(warnings, want) {
			t.Errorf("warnings = %v, want %q", warnings, want)
		}
	}
	elsewhere := twoVariants(1)
	elsewhere.Variants[1].Changes = []string{"target.local.datastore.etcd.dataDir: /dev/shm"}
	moved := newWorld(t, elsewhere)
	moved.run("old", nil, 1, outcome{took: 5 * ms})
	moved.environment = func(e *store.Environment) { e.Host.FileSystem, e.Host.Device = "tmpfs", "tmpfs" }
	moved.run("new", nil, 1, outcome{took: 5 * ms})
	if all := moved.analyze().Warnings; warned(all, "machine: ") {
		t.Errorf("a variant on another disk is warned of: %v", all)
	}
	laid := twoVariants(1)
	laid.Variants[1].Changes = []string{"target.local.datastore.etcd.version: 3.5.0"}
	e := Experiment{Design: laid}
	if !e.changes("etcd") || !e.changes("kube-apiserver") || (&Experiment{}).changes("etcd") {
		t.Error("a variant that changes a version says so")
	}
}

func warned(warnings []Warning, beginning string) bool {
	return slices.ContainsFunc(warnings, func(w Warning) bool { return strings.HasPrefix(w.About+": "+w.What, beginning) })
}

func TestPromQLAsPrimaryMeasure(t *testing.T) {
	laid := design.Design{
		Variants: []design.Variant{{Name: "old"}},
		Primary:  []design.Primary{{Name: "memory", PromQL: `process_resident_memory_bytes{component="etcd"}`, Better: "lower"}, {Name: "none", PromQL: "nothing_at_all", Better: "lower"}},
	}
	w := newWorld(t, laid)
	writer := w.run("old", nil, 1, outcome{took: 5 * ms})
	f := &fixture{t: t, writer: writer}
	f.usage("etcd", 0, 12, func(s int) float64 { return float64(s) / 2 }, func(s int) float64 { return float64(1000 * s) })
	cell := w.analyze().Cells[0]
	if m := cell.Measures[0]; m.Name != "memory" || m.Values[0] == nil || *m.Values[0] != 10000 {
		t.Errorf("memory = %+v, want the largest value in the measured steps, 10000", m)
	}
	if m := cell.Measures[1]; m.Values[0] != nil {
		t.Errorf("none = %v, want no value", *m.Values[0])
	}
	i := slices.IndexFunc(cell.Measures, func(m *CellMeasure) bool { return m.Measure == "maxRSS(etcd)" })
	if i < 0 || cell.Measures[i].Unit != "bytes" || cell.Measures[i].Primary {
		t.Errorf("there is no maxRSS(etcd) among the exploratory measures")
	}
}
