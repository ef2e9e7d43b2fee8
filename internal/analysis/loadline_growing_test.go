package analysis

import (
	"fmt"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/model/labels"

	"plimsoll.dev/plimsoll/internal/metrics"
	"plimsoll.dev/plimsoll/internal/store"
)

// grower is a run of 200 s in which pods become 10,000, 50 a second, and what it
// samples each second: nothing where a series gives NaN.
type grower map[string]func(second float64) float64

const grownSeconds = 200

func pods(second float64) float64 { return math.Min(10_000, 50*second) }

// usual is a run in which nothing is amiss: etcd has 2,000 bytes more for each pod.
func usual() grower {
	return grower{
		`plimsoll_objects{resource="pods",state="running"}`:             pods,
		`plimsoll_objects{resource="pods",state="pending"}`:             func(s float64) float64 { return 20 },
		`plimsoll_objects{resource="events",state="present"}`:           pods,
		`process_resident_memory_bytes{component="etcd-1"}`:             func(s float64) float64 { return 50e6 + 2000*pods(s) },
		`process_resident_memory_bytes{component="etcd-2"}`:             func(s float64) float64 { return 40e6 + 1000*pods(s) },
		`process_cpu_seconds_total{component="etcd-1"}`:                 func(s float64) float64 { return s },
		`node_cpu_seconds_total{component="host",cpu="0",mode="idle"}`:  func(s float64) float64 { return 0.04 * s },
		`node_cpu_seconds_total{component="host",cpu="0",mode="user"}`:  func(s float64) float64 { return 0.96 * s },
		`node_memory_MemAvailable_bytes{component="host"}`:              func(s float64) float64 { return 8e9 },
		`node_memory_MemTotal_bytes{component="host"}`:                  func(s float64) float64 { return 16e9 },
		`etcd_mvcc_db_total_size_in_bytes{component="etcd-1"}`:          func(s float64) float64 { return 1000 * pods(s) },
		`etcd_server_quota_backend_bytes{component="etcd-1"}`:           func(s float64) float64 { return 1e9 },
		`node_disk_io_time_seconds_total{component="host",device="vd"}`: func(s float64) float64 { return 0.3 * s },
	}
}

// run writes the run and analyzes it.
func (g grower) run(t *testing.T, w *world, o outcome, objectives ...store.ObjectiveInfo) {
	t.Helper()
	w.index++
	writer, err := w.results.CreateRun(store.RunInfo{
		Index: w.index, Name: "growing", Scenario: "growing", Tool: "v0", Started: start(), Objectives: objectives, Block: w.index,
		Steps: []store.StepInfo{{Name: "grow", Measured: true, Phases: []store.PhaseInfo{{Name: "creates", Loop: "closed", Clients: 1}}}},
	})
	must(t, err)
	must(t, writer.Environment(store.Environment{Host: store.Host{CPUs: 1}, Components: []store.Component{{Name: "etcd-1", PID: 1}}}))
	f := &fixture{t: t, writer: writer}
	f.span("grow", "creates", 0, grownSeconds)
	db, err := metrics.Create(writer.MetricsDir())
	must(t, err)
	for second := 0; second <= grownSeconds; second++ {
		var samples []metrics.Sample
		for series, value := range g {
			if v := value(float64(second)); !math.IsNaN(v) {
				samples = append(samples, metrics.Sample{Series: &metrics.Series{Labels: seriesOf(t, series)}, Value: v})
			}
		}
		must(t, db.Append(t.Context(), start().Add(time.Duration(second)*time.Second), samples))
	}
	must(t, db.Close())
	logged(t, writer, "etcd-1", fmt.Sprintf("{\"level\":\"info\",\"ts\":%q,\"msg\":\"apply request took too long, in the past\"}\n", start().Add(-time.Hour).Format(stamp))+
		strings.Repeat(fmt.Sprintf("{\"level\":\"warn\",\"ts\":%q,\"msg\":\"some warning\"}\n", start().Add(after(100)).Format(stamp)), 20)+
		fmt.Sprintf("{\"level\":\"warn\",\"ts\":%q,\"msg\":\"apply request took too long\",\"took\":\"106ms\"}\n", start().Add(after(98)).Format(stamp)))
	end := store.RunEnded
	if o.end != "" {
		end = o.end
	}
	f.event(grownSeconds+1, end, "")
	must(t, writer.Close(end == store.RunEnded))
}

const stamp = "2006-01-02T15:04:05.000000Z07:00"

// seriesOf reads a series as it is written in PromQL.
func seriesOf(t *testing.T, text string) labels.Labels {
	t.Helper()
	name, rest, _ := strings.Cut(text, "{")
	pairs := []string{model.MetricNameLabel, name}
	for pair := range strings.SplitSeq(strings.TrimSuffix(rest, "}"), ",") {
		label, value, _ := strings.Cut(pair, "=")
		pairs = append(pairs, label, strings.Trim(value, `"`))
	}
	return labels.FromStrings(pairs...)
}

func TestTheLoadLineOfARunThatGrows(t *testing.T) {
	slow := `max(slow_seconds)`
	const quota = `max(etcd_mvcc_db_total_size_in_bytes)`
	jump := func(from, to float64) func(float64) float64 { // over the bound from one second to another
		return func(s float64) float64 {
			if s >= from && s < to {
				return 0.5
			}
			return 0.001
		}
	}
	for name, row := range map[string]struct {
		slow        func(float64) float64
		quota       float64 // bound
		end         store.EventKind
		held, broke float64 // 0 is none
		first       string
		lastHeld    float64
		share       float64 // of the first to break
	}{
		"nothing breaks":                                {slow: jump(0, 0), held: 10_000},
		"what breaks for good":                          {slow: jump(100, 300), held: 4950, broke: 5000, first: slow, share: 1},
		"what breaks for a moment and then never":       {slow: jump(100, 103), held: 4950, broke: 5000, first: slow, lastHeld: 10_000, share: 0.03},
		"what breaks at once":                           {slow: jump(0, 300), broke: 0, first: slow, share: 1},
		"the first of two":                              {slow: jump(150, 300), quota: 6e6, held: 6000, broke: 6050, first: quota, share: 1},
		"a component that dies has not held":            {slow: jump(0, 0), end: store.RunFailed, held: 9950, broke: 10_000},
		"an interruption breaks nothing":                {slow: jump(0, 0), end: store.Interrupted, held: 10_000},
		"nothing is known while nothing was measured":   {slow: func(float64) float64 { return math.NaN() }},
		"a breach in a gap of the count is at the last": {slow: jump(120, 300), held: 4950, broke: 5000, first: slow, share: 1},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, twoVariants(1))
			g := usual()
			g["slow_seconds{component=\"etcd-1\"}"] = row.slow
			if strings.Contains(name, "gap") {
				g[`plimsoll_objects{resource="pods",state="running"}`] = func(s float64) float64 {
					if s > 100 && s < 130 {
						return math.NaN()
					}
					return pods(s)
				}
			}
			objectives := []store.ObjectiveInfo{expression(slow, 0.1, 0)}
			if row.quota > 0 {
				objectives = append(objectives, expression(quota, row.quota, 0))
			}
			g.run(t, w, outcome{end: row.end}, objectives...)
			lines := w.analyze().LoadLines
			if strings.HasPrefix(name, "nothing is known") {
				if len(lines) != 0 {
					t.Errorf("load line %+v of objectives that have no value", lines[0])
				}
				return
			}
			if len(lines) != 1 {
				t.Fatalf("%d load lines, want 1", len(lines))
			}
			checkLine(t, lines[0], row.held, row.broke, row.first, row.lastHeld, row.share)
		})
	}
}

func checkLine(t *testing.T, line *LoadLine, held, broke float64, first string, lastHeld, share float64) {
	t.Helper()
	value := func(p *store.Point) float64 {
		if p == nil {
			return 0
		}
		return p.Value
	}
	if line.Parameter != "running pods" || value(line.Held) != held || value(line.Broke) != broke || value(line.LastHeld) != lastHeld {
		t.Errorf("load line of %s: held %v, broke %v, held again %v; want %v, %v and %v", line.Parameter, line.Held, line.Broke, line.LastHeld, held, broke, lastHeld)
	}
	if first == "" {
		if len(line.Breaks) > 0 {
			t.Errorf("%+v broke, want nothing", line.Breaks)
		}
		return
	}
	if line.Objective == nil || line.Objective.PromQL != first || line.Breaks[0].Point != *line.Broke || math.Abs(line.Breaks[0].Share-share) > 0.011 || *line.At != line.Breaks[0].At {
		t.Errorf("broken by %+v, breaks %+v; want %s, %v of the time", line.Objective, line.Breaks, first, share)
	}
}

func TestWhatTheMachineWasShortOfAndWhatWasWritten(t *testing.T) {
	w := newWorld(t, twoVariants(1))
	usual().run(t, w, outcome{}, expression(`max(etcd_mvcc_db_total_size_in_bytes)`, 5e6, 0))
	result := w.analyze()
	line := result.LoadLines[0]
	b := line.Bottleneck
	if b == nil || len(b.AtLimit) != 1 || b.AtLimit[0] != "cpu" || b.To-b.From != secondsBefore+secondsAfter {
		t.Fatalf("bottleneck = %+v, want the CPU, which was 96 %% busy", b)
	}
	for name, want := range map[string]float64{"the machine's CPUs were busy": 0.96, "the busiest disk had requests": 0.3, "memory still available": 0.5} {
		found := false
		for _, figure := range b.Figures {
			if figure.Name == name {
				found = figure.Value != nil && math.Abs(*figure.Value-want) < 0.001 && figure.Past == (figure.Resource == "cpu")
			}
		}
		if !found {
			t.Errorf("%s is not %v in %+v", name, want, b.Figures)
		}
	}
	if len(line.Log) != logLines || !strings.Contains(line.Log[0].Text, "apply request took too long") {
		t.Errorf("log = %v, want the line that tells of overload before the 20 other warnings", line.Log)
	}
	complaints := result.Runs[0].Objects.Complaints
	if len(complaints) != 1 || complaints[0].Count != 1 || *complaints[0].Objects != 4850 {
		t.Errorf("complaints = %+v, want one, at 4,850 pods", complaints)
	}
}

func TestGrowthWithTheNumberOfObjects(t *testing.T) {
	w := newWorld(t, twoVariants(1))
	usual().run(t, w, outcome{})
	result := w.analyze()
	run := result.Runs[0]
	if first := run.Objects.Counts[0]; first.String() != "running pods" || first.First != 0 || first.Max != 10_000 || len(run.Objects.Counts) != 3 {
		t.Errorf("counts = %+v, want that which grew most and is no consequence first", run.Objects.Counts)
	}
	g := result.growth(t, "etcd, resident memory", "")
	if g.Parameter != "running pods" || !g.Binned || g.Line == nil || math.Abs(*g.Line.Slope.Value-2000) > 20 || math.Abs(*g.Line.Intercept-50e6) > 1e5 {
		t.Errorf("line = %+v, want 2,000 bytes a pod of the larger member, and 50 MB without any", g.Line)
	}
	if len(result.LoadLines) != 0 {
		t.Errorf("%d load lines, want none without objectives", len(result.LoadLines))
	}
	cpu := result.growth(t, "etcd, CPUs used", "")
	if cpu.Line != nil || !strings.Contains(cpu.InWords, "does not grow") {
		t.Errorf("CPU: %q with line %v, want that it does not grow", cpu.InWords, cpu.Line)
	}
}

func TestARunWhoseObjectsStayAsManyHasNoGrowth(t *testing.T) {
	w := newWorld(t, twoVariants(1))
	g := usual()
	g[`plimsoll_objects{resource="pods",state="running"}`] = func(s float64) float64 { return 900 + s }
	g[`plimsoll_objects{resource="events",state="present"}`] = func(float64) float64 { return 3 }
	g.run(t, w, outcome{}, expression(`max(etcd_mvcc_db_total_size_in_bytes)`, 5e6, 0))
	if result := w.analyze(); len(result.Growth)+len(result.LoadLines) != 0 {
		t.Errorf("growth %v and load lines %v of a run that did not grow", result.Growth, result.LoadLines)
	}
}
