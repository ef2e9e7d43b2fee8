package analysis

import (
	"math"
	"strings"
	"testing"
	"time"

	"plimsoll.dev/plimsoll/internal/design"
	"plimsoll.dev/plimsoll/internal/store"
)

func sizes() []float64 { return []float64{1000, 2000, 4000, 8000} }

func (e *Experiment) growth(t *testing.T, name, variant string) *Growth {
	t.Helper()
	for _, g := range e.Growth {
		if g.Name == name && g.Cell.Variant == variant {
			return g
		}
	}
	t.Fatalf("there is no growth of %s of %s", name, variant)
	return nil
}

func TestGrowthAlongASweep(t *testing.T) {
	w := newWorld(t, twoVariants(3, "p50(walks.walk.service)"))
	objective := bound("p50(walks.walk.service)", 0.7, 0)
	objective.Text = "≤ 700ms"
	w.info = func(info *store.RunInfo) { info.Objectives = []store.ObjectiveInfo{objective} }
	for block := 1; block <= 3; block++ {
		noise := time.Duration(block) * ms
		w.run("old", nil, block, outcome{took: 200*ms + noise, points: sizes(), slower: 1})
		w.run("new", nil, block, outcome{took: 200*ms + noise, points: sizes(), slower: 0})
	}
	result := w.analyze()
	old := result.growth(t, "p50(walks.walk.service)", "old")
	if !old.Primary || old.Point != nil || old.Parameter != "objects" || len(old.Points) != 4 || old.Points[3].Value != 8000 || old.Points[3].Summary.N != 3 || old.Fit.Runs != 3 {
		t.Errorf("growth = %+v, want 4 points of 3 runs", old)
	}
	if k := *old.Fit.Exponent.Value; math.Abs(k-1) > 0.02 || !strings.Contains(old.InWords, "grows linearly") {
		t.Errorf("exponent %v, %q; want 1, linear", k, old.InWords)
	}
	if len(old.FirstPast) != 1 || old.FirstPast[0].Bound != "≤ 700ms" || *old.FirstPast[0].At != 4000 {
		t.Errorf("first past %+v, want 700 ms at 4000 and nothing that nobody declared", old.FirstPast)
	}
	flat := result.growth(t, "mean(walks.walk.service)", "new")
	if flat.Primary || flat.FirstPast[0].At != nil || !strings.Contains(flat.InWords, "does not grow") {
		t.Errorf("growth of new = %+v, want none", flat)
	}
	if len(result.LoadLines) != 2 {
		t.Fatalf("%d load lines, want one of each variant", len(result.LoadLines))
	}
	line := result.LoadLines[0]
	if line.Held.Value != 2000 || line.Broke.Value != 4000 || line.Objective.Measure != "p50(walks@4000.walk.service)" || line.Run != 1 || *line.At != 2 || len(line.Runs) != 3 {
		t.Errorf("load line = %+v, want 2000 held and 4000 broken at 2 s", line)
	}
	if line := result.LoadLines[1]; line.Broke != nil || line.Held.Value != 8000 {
		t.Errorf("load line of new = %+v, want that nothing broke", line)
	}
}

func TestGrowthAlongAnAxis(t *testing.T) {
	laid := design.Design{
		Variants: []design.Variant{{Name: "old"}},
		Axes:     []design.Axis{{Parameter: "payload", Values: []string{"512B", "1KiB", "2KiB"}}, {Parameter: "kind", Values: []string{"a", "b", "c"}}},
	}
	w := newWorld(t, laid)
	for block := 1; block <= 2; block++ {
		for i, payload := range []string{"512B", "1KiB", "2KiB"} {
			w.run("old", map[string]string{"payload": payload, "kind": "a"}, block, outcome{took: 10 * ms << i})
		}
	}
	result := w.analyze()
	g := result.growth(t, "mean(gets.get.response)", "old")
	if g.Parameter != "payload" || g.Cell.Axes["kind"] != "a" || g.Cell.Axes["payload"] != "" || len(g.Points) != 3 || g.Points[2].Value != 2048 || g.Points[2].Text != "2KiB" {
		t.Errorf("growth = %+v, want it along payload, in bytes", g)
	}
	if k := *g.Fit.Exponent.Value; math.Abs(k-1) > 0.02 || g.Fit.Runs != 2 {
		t.Errorf("exponent %v of %d, want 1 of two blocks", k, g.Fit.Runs)
	}
	if len(result.Growth) != 1 {
		t.Errorf("%d growths, want none along an axis of words", len(result.Growth))
	}
}

func TestNumbersOf(t *testing.T) {
	for text, want := range map[string]bool{
		"1 2 3": true, "10KiB 1MB 4B": true, "100/s 1/m": true, "1s 500ms": true, "1e6 -3": true,
		"k8s page": false, "1s 1KiB": false, "1 2s": false, "": false, "NaN 1": false,
	} {
		if _, ok := numbersOf(strings.Fields(text)); ok != want {
			t.Errorf("%q are numbers of one kind: %v, want %v", text, ok, want)
		}
	}
}
