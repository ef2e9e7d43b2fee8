package analysis

import (
	"testing"
	"time"

	"plimsoll.dev/plimsoll/internal/record"
)

func TestHeatmapCountsTimesBySecond(t *testing.T) {
	f := begin(t)
	f.events()
	f.record(
		sample{phase: "gets", op: "get", timing: record.Open, at: 3 * time.Second, lag: 8 * ms, took: 2 * ms, n: 5},
		sample{phase: "gets", op: "get", timing: record.Open, at: 5 * time.Second, took: 900 * ms},
		sample{phase: "gets", op: "get", timing: record.Open, at: 5 * time.Second, outcome: record.Failed, took: 7 * ms},
		sample{phase: "first", op: "walk", timing: record.Closed, at: time.Second, took: ms},
	)
	run := f.planned()
	if len(run.Figures.Heatmaps) != 1 {
		t.Fatalf("%d heatmaps, want one: of what was measured and succeeded", len(run.Figures.Heatmaps))
	}
	h := run.Figures.Heatmaps[0]
	if h.Phase != "gets" || h.Clock != "response" || h.Start != 3 || h.Width != 1 || len(h.Counts) != 3 {
		t.Fatalf("the heatmap is of %s, %s time, from %v s, with %d columns", h.Phase, h.Clock, h.Start, len(h.Counts))
	}
	for column, want := range map[int]struct {
		seconds float64
		n       int64
	}{0: {0.010, 5}, 2: {0.900, 1}} {
		var total int64
		for row, n := range h.Counts[column] {
			total += n
			if n > 0 && (h.Edges[row] > want.seconds*1.001 || h.Edges[row+1] < want.seconds*0.999) {
				t.Errorf("second %d: %d times lie between %v and %v s, want them around %v", column, n, h.Edges[row], h.Edges[row+1], want.seconds)
			}
		}
		if total != want.n {
			t.Errorf("second %d has %d times, want %d", column, total, want.n)
		}
	}
	if len(h.Edges) != len(h.Counts[0])+1 {
		t.Errorf("%d edges around %d rows", len(h.Edges), len(h.Counts[0]))
	}
}
