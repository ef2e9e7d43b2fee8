package analysis

import (
	"fmt"
	"strings"
	"testing"

	"plimsoll.dev/plimsoll/internal/stats"
	"plimsoll.dev/plimsoll/internal/store"
)

func TestTheLoadLineOfSeveralRunsIsTheLowest(t *testing.T) {
	w := newWorld(t, twoVariants(2))
	w.info = func(info *store.RunInfo) {
		info.Objectives = []store.ObjectiveInfo{bound("p50(walks.walk.service)", 0.5, 0)}
	}
	w.run("old", nil, 1, outcome{took: 100 * ms, points: sizes(), slower: 1})
	second := w.run("old", nil, 2, outcome{took: 150 * ms, points: sizes(), slower: 1})
	logged(t, second, "etcd", strings.Repeat(fmt.Sprintf("{\"level\":\"info\",\"ts\":%q}\n", start().Add(after(2.5)).Format("2006-01-02T15:04:05.000000Z07:00")), 20)+
		fmt.Sprintf("{\"level\":\"warn\",\"ts\":%q,\"msg\":\"apply request took too long\"}\n", start().Add(after(2.8)).Format("2006-01-02T15:04:05.000000Z07:00"))+
		fmt.Sprintf("{\"level\":\"warn\",\"ts\":%q,\"msg\":\"long after\"}\n", start().Add(after(6)).Format("2006-01-02T15:04:05.000000Z07:00")))
	line := w.analyze().LoadLines[0]
	if line.Held.Value != 2000 || line.Broke.Value != 4000 || line.Run != 2 || line.Objective == nil || *line.Objective.Value < 0.59 {
		t.Errorf("load line = %+v, want 2000, as the second run broke at 4000", line)
	}
	if len(line.Warnings) != 1 || !strings.Contains(line.Warnings[0], "broke in 1 of 2 runs") {
		t.Errorf("warnings = %q, want that the runs disagree", line.Warnings)
	}
	if len(line.Log) != logLines || !strings.Contains(line.Log[logLines-1].Text, "apply request") || line.Log[0].Component != "etcd" {
		t.Errorf("log = %v, want %d lines around the moment, the warning among them", line.Log, logLines)
	}
}

func TestAComponentThatDiesUnderALoadHasNotHeldIt(t *testing.T) {
	for end, want := range map[store.EventKind]string{store.RunFailed: "objects=8000", store.Interrupted: "nothing"} {
		w := newWorld(t, twoVariants(1))
		w.info = func(info *store.RunInfo) {
			info.Objectives = []store.ObjectiveInfo{bound("p50(walks.walk.service)", 5, 0)}
		}
		w.run("old", nil, 1, outcome{took: 100 * ms, points: sizes(), end: end})
		line, broke := w.analyze().LoadLines[0], "nothing"
		if line.Broke != nil {
			broke = line.Broke.String()
		}
		if line.Held == nil || line.Held.Value != 4000 || broke != want || (want == "nothing") == (line.At != nil) {
			t.Errorf("%s at 8000: held %v, broke %s, at %v; want 4000 held and %s broken", end, line.Held, broke, line.At, want)
		}
	}
}

func TestTheLoadLineByPromQL(t *testing.T) {
	w := newWorld(t, twoVariants(1))
	w.info = func(info *store.RunInfo) {
		info.Objectives = []store.ObjectiveInfo{expression(`process_resident_memory_bytes{component="etcd"}`, 1500, 0)}
	}
	writer := w.run("old", nil, 1, outcome{took: 100 * ms, points: sizes()})
	f := &fixture{t: t, writer: writer}
	f.usage("etcd", 0, 12, func(s int) float64 { return float64(s) }, func(s int) float64 { return float64(1000 * s) })
	line := w.analyze().LoadLines[0]
	if line.Held == nil || line.Held.Value != 2000 || line.Broke == nil || line.Broke.Value != 4000 || line.At == nil || *line.At < 1.9 || *line.At > 2.1 {
		t.Errorf("load line = %+v, want 4000 broken at 2 s, the first value past the bound", line)
	}
}

func TestASearchIsALoadLineOfEachBlock(t *testing.T) {
	w := newWorld(t, twoVariants(2))
	probe := func(variant string, block int, rate float64, o outcome) {
		w.info = func(info *store.RunInfo) {
			info.Probe = &store.Point{Parameter: "rate", Value: rate, Text: fmt.Sprintf("%g/s", rate)}
			info.Objectives = []store.ObjectiveInfo{bound("p50(gets.get.response)", 0.01, 0)}
		}
		w.run(variant, nil, block, o)
	}
	fast, slow, dies := outcome{took: ms}, outcome{took: 50 * ms}, outcome{took: ms, end: store.RunFailed}
	for block := 1; block <= 2; block++ {
		probe("old", block, 100, fast)
		probe("old", block, 200, fast)
		probe("old", block, 400, slow)
		probe("old", block, 300, dies)
		probe("new", block, 100, fast)
		probe("new", block, 400, fast)
	}
	result := w.analyze()
	if len(result.LoadLines) != 4 {
		t.Fatalf("%d load lines, want one of each variant and block", len(result.LoadLines))
	}
	old := result.LoadLines[0]
	if old.Block != 1 || old.Held.Value != 200 || old.Broke.Value != 300 || len(old.Runs) != 4 || !strings.Contains(strings.Join(old.Warnings, " "), "failed at rate=300/s") {
		t.Errorf("load line = %+v, want 200 held and 300 broken by a component that died", old)
	}
	if len(result.Comparisons) != 1 {
		t.Fatalf("%d comparisons, want that of the load lines alone: the probes were under different loads", len(result.Comparisons))
	}
	c := result.Comparisons[0]
	if c.Name != "load line of rate" || *c.Ratio != 2 || c.Pairs != 2 || c.Verdict != stats.Inconclusive || !strings.Contains(strings.Join(c.Warnings, " "), "new: in 2 of 2 blocks no load that was tried broke") {
		t.Errorf("comparison = %+v, want twice the load, and that new was not searched to its end", c)
	}
}
