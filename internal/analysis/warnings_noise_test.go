package analysis

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"plimsoll.dev/plimsoll/internal/store"
)

func warningOf(warnings []Warning, about, what string) bool {
	for _, w := range warnings {
		if w.About == about && strings.Contains(w.What, what) {
			return true
		}
	}
	return false
}

func TestNoiseIsWarnedOf(t *testing.T) {
	w := newWorld(t, twoVariants(2, "p50(walks.walk.service)"))
	w.run("old", nil, 1, outcome{took: 100 * ms, points: sizes()})
	w.run("new", nil, 1, outcome{took: 100 * ms, points: sizes()})
	w.run("new", nil, 2, outcome{took: 300 * ms, points: sizes()})
	warnings := w.analyze().Warnings
	if !warningOf(warnings, "walks", "measured phases took less than 2 s, the shortest 0.9 s") || !warningOf(warnings, "noise", "runs of new differ in") {
		t.Errorf("warnings = %+v, want short phases and a wide spread", warnings)
	}
	calm := newWorld(t, twoVariants(6))
	calm.blocks(6, 1)
	for _, warning := range calm.analyze().Warnings {
		if warning.About == "noise" || warning.About == "gets" {
			t.Errorf("a calm experiment has the warning %+v", warning)
		}
	}
}

func TestABusyMachineIsWarnedOfOnce(t *testing.T) {
	idle := 0.5
	run := func(index int, usage ...Usage) *Run {
		return &Run{Index: index, Status: Complete, idle: &idle, Components: usage, Steps: []*Step{{Measured: true, End: 10}}, Environment: store.Environment{Host: store.Host{CPUs: 2}}}
	}
	quiet := run(1, Usage{Component: "etcd", MeanCPU: 0.7}, Usage{Component: generator, MeanCPU: 0.7})
	busy := run(2, Usage{Component: "etcd", MeanCPU: 0.2}, Usage{Component: generator, MeanCPU: 0.3})
	borrowed := run(3, Usage{Component: generator, MeanCPU: 0.3})
	if got := busyHost([]*Run{quiet, borrowed}); got != nil {
		t.Errorf("%+v, want no warning of what plimsoll and the target used, or may have used", got)
	}
	if got := busyHost([]*Run{quiet, busy}); len(got) != 1 || !strings.Contains(got[0].What, "in 1 of 2 runs, most in run 2: 1.00 of 2") {
		t.Errorf("%+v, want one warning, of run 2", got)
	}
}

func TestADamagedRunIsOfNoCell(t *testing.T) {
	w := newWorld(t, twoVariants(2, "mean(gets.get.response)"))
	w.blocks(2, 1.5)
	must(t, os.WriteFile(filepath.Join(w.results.Dir, "runs", "0001-"+w.analyze().Runs[0].Name, "run.json"), []byte("{garbage"), 0o644))
	result := w.analyze()
	if len(result.Cells) != 2 || len(result.Excluded) != 1 || !strings.Contains(result.Excluded[0].Rule, "damaged") {
		t.Errorf("%d cells, excluded %+v; want two cells, and a run that is damaged", len(result.Cells), result.Excluded)
	}
	for _, c := range result.Comparisons {
		if c.Variant != "new" {
			t.Errorf("a comparison is of variant %q", c.Variant)
		}
	}
}

func TestWhatWasNeverMeasuredDoesNotBreakALoad(t *testing.T) {
	w := newWorld(t, twoVariants(1))
	w.info = func(info *store.RunInfo) {
		info.Objectives = []store.ObjectiveInfo{bound("p50(walks.walk.service)", 0.5, 0), expression("nosuchmetric", 4, 0)}
		info.Objectives[0].Name, info.Objectives[1].Name = "quick", "nosuchmetric is small"
	}
	w.run("old", nil, 1, outcome{took: 100 * ms, points: sizes(), slower: 1})
	line := w.analyze().LoadLines[0]
	if line.Held == nil || line.Broke == nil || line.Objective.PromQL != "" || len(line.NotMeasured) != 1 || !strings.Contains(line.NotMeasured[0], "nosuchmetric") {
		t.Errorf("load line = %+v, want that of the objective that was measured, and the other named", line)
	}
}

func TestARunThatBeginsIsNotDamaged(t *testing.T) {
	f := begin(t)
	run := f.analyzeAll()[0]
	if run.Status != Incomplete || run.Reason != "it is still running, or was killed" || len(run.Warnings) > 0 {
		t.Errorf("%s because of %q with %+v; want no warnings of a run that waits for its target", run.Status, run.Reason, run.Warnings)
	}
}

func TestGrowthIsToldOfEnoughPoints(t *testing.T) {
	w := newWorld(t, twoVariants(1))
	w.run("old", nil, 1, outcome{took: 100 * ms, points: sizes()[:3], slower: 1})
	if words := w.analyze().Growth[0].InWords; !strings.HasPrefix(words, "too few points to tell how it grows with objects (exponent 1.0") {
		t.Errorf("in words: %q", words)
	}
}

func TestALoadLineOfFewOperationsIsDoubtful(t *testing.T) {
	w := newWorld(t, twoVariants(1))
	w.info = func(info *store.RunInfo) {
		info.Objectives = []store.ObjectiveInfo{bound("p99(walks.walk.service)", 0.5, 0)}
	}
	w.run("old", nil, 1, outcome{took: 100 * ms, points: sizes(), slower: 1})
	line := w.analyze().LoadLines[0]
	if said := strings.Join(line.Warnings, " "); strings.Count(said, "rests on few operations (20 at objects=4000") != 1 {
		t.Errorf("warnings = %q, want one of a p99 of 20 operations", said)
	}
}
