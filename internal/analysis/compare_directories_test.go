package analysis

import (
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"plimsoll.dev/plimsoll/internal/design"
	"plimsoll.dev/plimsoll/internal/stats"
	"plimsoll.dev/plimsoll/internal/store"
)

func TestCompareDirectories(t *testing.T) {
	dir := t.TempDir()
	laid := design.Design{Primary: []design.Primary{{Name: "median", Measure: "p50(gets.get.response)", Better: "lower", Margin: 0.05}}}
	before, after := worldIn(t, filepath.Join(dir, "before"), laid), worldIn(t, filepath.Join(dir, "after"), laid)
	after.info = func(info *store.RunInfo) { info.Parameters["objects"] = "20" }
	after.environment = func(e *store.Environment) { e.Components[0].Version = "3.7.0" }
	for i := range 6 {
		before.run("", nil, i+1, outcome{took: 5*ms + time.Duration(i*20_000)})
		after.run("", nil, i+1, outcome{took: 7*ms + time.Duration(i*20_000)})
	}
	result, err := Compare(t.Context(), before.results, after.results)
	must(t, err)
	roundTrip(t, result)
	got := result.of(t, "median")
	if got.Baseline != "before" || got.Variant != "after" || got.Pairs != 0 || got.Verdict != stats.Worse || got.N1 != 6 || got.P == nil {
		t.Errorf("comparison = %+v, want after worse than before, without pairs", got)
	}
	for _, want := range []string{"directories: the runs of both were not made side by side", "parameters: they differ in objects: 10, 20", "components: they differ in etcd: 3.6.8, 3.7.0"} {
		if !warned(result.Warnings, want) {
			t.Errorf("warnings = %v, want %q", result.Warnings, want)
		}
	}
	if len(result.Cells) != 2 || result.Cells[1].Variant != "after" {
		t.Errorf("cells = %v, want one of each directory", result.Cells)
	}
}

func TestCompareCellsOfTheSameVariant(t *testing.T) {
	a, b := newWorld(t, twoVariants(1)), newWorld(t, twoVariants(1))
	for _, w := range []*world{a, b} {
		w.run("old", nil, 1, outcome{took: 5 * ms})
		w.run("new", nil, 1, outcome{took: 6 * ms})
	}
	result, err := Compare(t.Context(), a.results, b.results)
	must(t, err)
	var of []string
	for _, c := range result.Comparisons {
		if c.Name == "mean(gets.get.response)" {
			of = append(of, c.Axes["variant"]+" "+fmt.Sprint(c.Lo != nil))
		}
	}
	if !slices.Equal(of, []string{"old false", "new false"}) {
		t.Errorf("compared are %q, want old with old and new with new, and no interval from one run", of)
	}
}

func TestIncomparableDirectories(t *testing.T) {
	for name, c := range map[string]struct {
		other func(w *world)
		want  string
	}{
		"another scenario": {func(w *world) {
			w.info = func(info *store.RunInfo) { info.Scenario = "large" }
			w.run("", nil, 1, outcome{took: ms})
		}, "one is of scenario small, the other of large"},
		"other values of an axis": {func(w *world) { w.run("", map[string]string{"size": "1"}, 1, outcome{took: ms}) }, "no variant with the same parameters"},
		"other phases": {func(w *world) {
			w.run("", nil, 1, outcome{took: ms, points: []float64{1, 2}})
		}, "they measured nothing alike"},
		"no whole run": {func(w *world) { w.run("", nil, 1, outcome{took: ms, end: store.RunFailed}) }, "no run of"},
		"a search": {func(w *world) {
			w.info = func(info *store.RunInfo) { info.Probe = &store.Point{Parameter: "rate", Value: 1} }
			w.run("", nil, 1, outcome{took: ms})
		}, "a search for a load line"},
	} {
		t.Run(name, func(t *testing.T) {
			a, b := newWorld(t, design.Design{}), newWorld(t, design.Design{})
			a.run("", nil, 1, outcome{took: ms})
			c.other(b)
			_, err := Compare(t.Context(), a.results, b.results)
			if !errors.Is(err, ErrIncomparable) || !strings.Contains(err.Error(), c.want) {
				t.Errorf("error = %v, want %q", err, c.want)
			}
		})
	}
}
