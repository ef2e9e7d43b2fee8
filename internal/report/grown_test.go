package report

import (
	"math"
	"strings"
	"testing"

	"github.com/prometheus/prometheus/model/labels"

	"plimsoll.dev/plimsoll/internal/analysis"
	"plimsoll.dev/plimsoll/internal/design"
	"plimsoll.dev/plimsoll/internal/stats"
	"plimsoll.dev/plimsoll/internal/store"
)

// grown is a run in which pods became 40,000, three members of etcd grew with
// them, and an objective broke on the way.
func grown() *analysis.Result {
	result := quickstart()
	result.Title, result.Scenario = "How many pods?", "etcd-density-pods"
	result.Design = design.Design{Variants: []design.Variant{{}}, Blocks: 1, Seed: 1}
	result.Cells = []*analysis.Cell{{Runs: []int{1}}}
	run := result.Runs[0]
	run.Figures.Joined = grownMetrics(run)
	run.Objects = analysis.NewObjects(run.Figures.Joined, 11, 49)
	first := 26.0
	at26 := 16_000.0
	run.Objects.Complaints = []analysis.Complaint{{Component: "etcd-1", Text: "apply request took too long", Count: 1204, First: first, Objects: &at26}, {Component: "etcd-3", Text: "slow fdatasync", Count: 2, First: 31}}
	result.Growth = []*analysis.Growth{grownMemory(run)}
	result.LoadLines = []*analysis.LoadLine{grownLine()}
	return result
}

// grownPods is how many pods there are, second by second.
func grownPods(second float64) float64 { return math.Max(0, math.Min(40_000, 1100*(second-11))) }

func grownMetrics(run *analysis.Run) *analysis.Joined {
	j := &analysis.Joined{Started: run.Started, Seconds: run.Figures.Seconds}
	add := func(metric analysis.Metric, value func(second float64) float64, names ...string) {
		c := analysis.Column{Metric: metric, Labels: labels.FromStrings(names...)}
		for _, second := range j.Seconds {
			c.Values = append(c.Values, value(second))
		}
		j.Columns = append(j.Columns, c)
	}
	add(analysis.ObjectCounts(), grownPods, "resource", "pods", "state", "running")
	add(analysis.ObjectCounts(), func(s float64) float64 { return 300 * math.Abs(math.Sin(s)) }, "resource", "pods", "state", "pending")
	for i, member := range []string{"etcd-1", "etcd-2", "etcd-3"} {
		for _, metric := range analysis.WriteUp() {
			value := func(s float64) float64 { return (0.002 + grownPods(s)*1e-7) * (1 + 0.5*math.Sin(s*float64(i+3))) }
			switch {
			case metric.Name == "process_resident_memory_bytes":
				value = func(s float64) float64 { return 60e6 + (3800-400*float64(i))*grownPods(s) + 3e6*math.Sin(3*s) }
			case strings.HasSuffix(metric.Name, "pending"):
				value = func(s float64) float64 { return math.Round(3 * math.Abs(math.Sin(s))) }
			case strings.HasSuffix(metric.Name, "failed_total_per_second"):
				value = func(float64) float64 { return 0 }
			case strings.HasPrefix(metric.Name, "apiserver"), metric.Unit == "count":
				continue
			case metric.Unit == "seconds":
			case metric.Unit == "bytes":
				value = func(s float64) float64 { return 2500 * grownPods(s) }
			default:
				value = func(s float64) float64 { return 900 + 80*math.Sin(s+float64(i)) }
			}
			gapped := func(s float64) float64 { // the sampler missed three seconds
				if s >= 30 && s < 33 {
					return math.NaN()
				}
				return value(s)
			}
			add(metric, gapped, "component", member)
		}
	}
	return j
}

func grownMemory(run *analysis.Run) *analysis.Growth {
	memory := analysis.WriteUp()[0]
	g := &analysis.Growth{
		Subject:   analysis.Subject{Name: "etcd, " + memory.Title, PromQL: memory.PromQL, Unit: memory.Unit, Better: "lower"},
		Parameter: "running pods", Binned: true,
	}
	var points []stats.Point
	for row, n := range run.Objects.Numbers {
		if n > 0 {
			points = append(points, stats.Point{X: n, Y: run.Figures.Joined.Of(memory)[0].Values[row]})
			g.Points = append(g.Points, analysis.GrowthPoint{Value: n})
		}
	}
	line := stats.Linear(points)
	g.Fit, g.Line = stats.LogLog(points), &line
	g.InWords = g.Fit.Words(g.Parameter, len(g.Points))
	return g
}

func grownLine() *analysis.LoadLine {
	point := func(v float64) *store.Point { return &store.Point{Parameter: "running pods", Value: v} }
	o := objective("fsync takes at most 10 ms at p99", "", "seconds", 0.0131, 60, 0.01, "≤ 10ms")
	o.PromQL = `histogram_quantile(0.99, sum by (le) (rate(etcd_disk_wal_fsync_duration_seconds_bucket[10s])))`
	at, said := 26.2, 25.8
	share := func(v float64) *float64 { return &v }
	return &analysis.LoadLine{
		Runs: []int{1}, Parameter: "running pods", Grown: true, Held: point(15_600), Broke: point(16_700), Objective: &o, Run: 1, At: &at, LastHeld: point(31_200),
		Breaks: []analysis.Break{
			{Objective: o.Name, Bound: o.Text, Unit: o.Unit, Point: *point(16_700), At: at, Value: 0.0131, Share: 0.31},
			{Objective: "no change of leader", Bound: "≤ 0", Unit: "count", Point: *point(33_000), At: 41, Value: 1, Share: 1},
		},
		Bottleneck: &analysis.Bottleneck{From: 6.2, To: 28.2, AtLimit: []string{"cpu"}, Figures: []analysis.Limit{
			{Resource: "cpu", Name: "the machine's CPUs were busy", PromQL: "1 - avg(…)", Unit: "fraction", Value: share(0.974), Max: share(0.9), Past: true},
			{Resource: "disk", Name: "the busiest disk had requests", PromQL: "max(…)", Unit: "fraction", Value: share(0.41), Max: share(0.9)},
			{Resource: "memory", Name: "memory still available", PromQL: "min(…)", Unit: "fraction", Value: share(0.52), Min: share(0.1)},
			{Resource: "quota", Name: "etcd's database filled its quota", PromQL: "max(…)", Unit: "fraction", Max: share(0.95)},
		}},
		Log: []analysis.LogLine{{Component: "etcd-1", At: &said, Text: "warn: apply request took too long (took 106.7ms, expected-duration 100ms)"}},
	}
}

func TestAGrownLoadLineInWords(t *testing.T) {
	for name, row := range map[string]struct {
		change func(*analysis.LoadLine)
		want   []string
	}{
		"as it is": {func(*analysis.LoadLine) {}, []string{
			": every objective held up to 15,600 running pods; at 16,700, after 26.2 s, the first to break was: fsync takes at most 10 ms at p99 (it was 13.1 ms, bound ≤ 10ms), which was broken 31 % of the time from then on; everything held again at up to 31,200.",
			" At its limit then: CPU (the machine's CPUs were busy 97 %, bound < 90 %).",
		}},
		"nothing broke": {func(l *analysis.LoadLine) { l.Broke, l.Objective, l.Breaks, l.Bottleneck = nil, nil, nil, nil }, []string{
			": every objective held up to 15,600 running pods, as many as there came to be.",
		}},
		"broken from the first": {func(l *analysis.LoadLine) { l.Held = nil }, []string{": below 16,700 running pods; at 16,700"}},
		"no resource": {func(l *analysis.LoadLine) {
			l.Bottleneck.AtLimit = nil
			l.Bottleneck.Figures[0].Past = false
		}, []string{"No resource of the machine was at its limit then (the machine's CPUs were busy 97 %, bound < 90 %; the busiest disk had requests 41 %, bound < 90 %; memory still available 52 %, bound > 10 %), so what limited lies within the components."}},
	} {
		l := grownLine()
		row.change(l)
		for _, want := range row.want {
			if got := loadLineSentence(l, true); !strings.Contains(got, want) {
				t.Errorf("%s: %s\nlacks: %s", name, got, want)
			}
		}
	}
}

func TestJoinedIsATableWithGaps(t *testing.T) {
	result := grown()
	joined := result.Runs[0].Figures.Joined
	joined.Seconds = joined.Seconds[:2]
	joined.Columns = []analysis.Column{
		{Metric: analysis.Metric{Name: "b"}, Place: 1, Labels: labels.FromStrings("component", "x"), Values: []float64{math.NaN(), 0.25}},
		{Metric: analysis.Metric{Name: "a"}, Values: []float64{1, math.Inf(1)}},
	}
	other := &analysis.Joined{Run: store.RunInfo{Index: 2, Cell: design.Cell{Variant: "three"}}, Started: joined.Started, Seconds: []float64{7}, Columns: []analysis.Column{{Metric: analysis.Metric{Name: "a"}, Values: []float64{1e21}}}}
	var one, both strings.Builder
	if err := Joined(&one, []*analysis.Joined{joined}); err != nil {
		t.Fatal(err)
	}
	if err := Joined(&both, []*analysis.Joined{joined, other}); err != nil {
		t.Fatal(err)
	}
	if want := "time,seconds,a,\"b{component=\"\"x\"\"}\"\n2026-11-20T14:03:07.000Z,0,1,\n2026-11-20T14:03:08.000Z,1,+Inf,0.25\n"; one.String() != want {
		t.Errorf("table\n%s, want\n%s", one.String(), want)
	}
	if want := "2,three,2026-11-20T14:03:14.000Z,7,1000000000000000000000,\n"; !strings.HasPrefix(both.String(), "run,variant,time,") || !strings.HasSuffix(both.String(), want) {
		t.Errorf("table of two runs\n%s, want it to end with\n%s", both.String(), want)
	}
}
