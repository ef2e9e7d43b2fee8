package analysis

import (
	"strings"
	"testing"
	"time"

	"plimsoll.dev/plimsoll/internal/design"
	"plimsoll.dev/plimsoll/internal/record"
	"plimsoll.dev/plimsoll/internal/store"
)

func TestTimesOfACellAreThoseOfAllItsRuns(t *testing.T) {
	w := newWorld(t, twoVariants(2, "mean(gets.get.response)"))
	for block, took := range []time.Duration{10 * ms, 30 * ms} {
		w.run("old", nil, block+1, outcome{took: took})
		w.run("new", nil, block+1, outcome{took: took / 2})
	}
	result := w.analyze()
	times := result.Cells[0].Times
	if len(times) != 1 || times[0].Operation != "get" || times[0].Clock != "response" {
		t.Fatalf("times are %+v, want those of gets", times)
	}
	one := result.Runs[0].phase("gets").operation("get").Response
	if d := times[0]; d.Count != 2*one.Count || !near(d.Min, time.Duration(result.Runs[0].phase("gets").operation("get").Response.Min*float64(time.Second))) || d.Max <= one.Max {
		t.Errorf("pooled are %d times from %v to %v; one run has %d to %v", d.Count, d.Min, d.Max, one.Count, one.Max)
	}
}

func TestListsAreCheckedInAllCellsAlike(t *testing.T) {
	w := newWorld(t, twoVariants(1))
	w.info = func(info *store.RunInfo) {
		info.Steps = []store.StepInfo{{Name: "list", Measured: true, Phases: []store.PhaseInfo{{Name: "walks", Loop: "closed", Clients: 1, Verified: true}, {Name: "free", Loop: "closed", Clients: 1}}}}
	}
	for i, variant := range []string{"old", "new"} {
		w.walks(variant, map[string]int{"": 10, missingObjects: 3 * i, duplicateObjects: 2 * i, missingAndDuplicate: i})
	}
	result := w.analyze()
	for i, want := range []CellCheck{
		{Phase: "walks", Walked: 10, Checked: 10, Pages: 20},
		{Phase: "walks", Walked: 16, Checked: 16, Missing: 4, Duplicates: 3, Pages: 32, LimitIgnored: 32},
	} {
		if checks := result.Cells[i].Checks; len(checks) != 1 || *checks[0] != want {
			t.Errorf("checks of %s are %+v, want %+v and none of the other phase", result.Cells[i].Variant, checks[0], want)
		}
	}
	said := ""
	for _, warning := range result.Warnings {
		if warning.About == "lists" {
			said += warning.What + "\n"
		}
	}
	for _, want := range []string{"walks lacked objects that existed throughout: 4 of 16 in walks (new)", "showed objects more than once: 3 of 16", "ignored limit: 32 of 32"} {
		if !strings.Contains(said, want) {
			t.Errorf("warnings do not say %q: %s", want, said)
		}
	}
}

// walks writes a run of walks of two pages each, so many with each reason. If any
// has a reason, no page keeps to its limit.
func (w *world) walks(variant string, reasons map[string]int) {
	w.index++
	info := store.RunInfo{Index: w.index, Name: variant, Scenario: "small", Tool: "v0", Started: start(), Cell: design.Cell{Variant: variant}, Block: 1}
	w.info(&info)
	writer, err := w.results.CreateRun(info)
	must(w.t, err)
	must(w.t, writer.Environment(store.Environment{Host: store.Host{CPUs: 2}}))
	f := &fixture{t: w.t, results: w.results, writer: writer, seconds: map[secondKey]*record.Interval{}}
	f.span("list", "walks", 0, 10)
	limit := ""
	for reason, n := range reasons {
		if reason != "" && n > 0 {
			limit = limitIgnored
		}
	}
	for reason, n := range reasons {
		if n > 0 {
			f.record(sample{phase: "walks", op: "walk", at: 2 * time.Second, took: 20 * ms, n: n, reason: reason})
			f.record(sample{phase: "walks", op: "page", timing: record.Part, at: 2 * time.Second, took: 10 * ms, n: 2 * n, reason: limit})
			f.record(sample{phase: "free", op: "walk", at: 2 * time.Second, took: 20 * ms, n: n})
		}
	}
	f.close()
	f.event(11, store.RunEnded, "")
	must(w.t, f.writer.Close(true))
}

func TestMeasuresOfComponentsAreReadFromTheirUse(t *testing.T) {
	bounds := []store.ObjectiveInfo{bound("maxRSS(etcd)", 200, 0), bound("endRSS(etcd)", 200, 0), bound("maxCPU(etcd)", 0.6, 0), bound("meanCPU(etcd)", 0.6, 0), bound("maxRSS(kine)", 1, 0)}
	f := begin(t, bounds...)
	f.usage("etcd", 0, 12, func(second int) float64 { return 0.5 * float64(second) }, func(second int) float64 { return float64(100 + 10*(second%8)) })
	f.events()
	objectives := f.planned().Objectives
	for i, want := range []struct{ lo, hi float64 }{{165, 175}, {130, 150}, {0.49, 0.51}, {0.49, 0.51}} {
		if o := objectives[i]; o.Value == nil || *o.Value < want.lo || *o.Value > want.hi || !o.Held {
			t.Errorf("%s is %v, held %v; want it between %v and %v", o.Measure, o.Value, o.Held, want.lo, want.hi)
		}
	}
	if o := objectives[4]; o.Held || o.Note != "no process of kine was sampled" {
		t.Errorf("of a component that there is none of: held %v, %q", o.Held, o.Note)
	}
}
