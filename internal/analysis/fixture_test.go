package analysis

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"
	"github.com/prometheus/prometheus/model/labels"

	"plimsoll.dev/plimsoll/internal/metrics"
	"plimsoll.dev/plimsoll/internal/record"
	"plimsoll.dev/plimsoll/internal/store"
)

const ms = time.Millisecond

// fixture is a run being written the way the engine does it: events and
// intervals in, files out. Its steps are a warm-up from 1 s to 2 s, and "load"
// from 2 s to 12 s with an open phase "gets" and a closed background phase "churn".
type fixture struct {
	t       testing.TB
	results *store.Results
	writer  *store.RunWriter
	seconds map[secondKey]*record.Interval
}

// secondKey is a second of a series.
type secondKey struct {
	seriesKey
	second int
}

func begin(t testing.TB, objectives ...store.ObjectiveInfo) *fixture {
	t.Helper()
	results, err := store.Create(t.TempDir(), nil, nil)
	must(t, err)
	f := &fixture{t: t, results: results, seconds: map[secondKey]*record.Interval{}}
	f.writer, err = results.CreateRun(store.RunInfo{
		Index: 1, Name: "small", Scenario: "small", Title: "A small run", Tool: "v0", Seed: 7, Started: start(), Objectives: objectives,
		Parameters: map[string]string{"objects": "10"},
		Steps: []store.StepInfo{
			{Name: "warm-up", Phases: []store.PhaseInfo{{Name: "first", Loop: "closed", Clients: 1, Connections: 1}}},
			{Name: "load", Measured: true, Phases: []store.PhaseInfo{
				{Name: "gets", Loop: "open", Load: "10/s", Workload: "get", Clients: 5, Connections: 2},
				{Name: "churn", Background: true, Loop: "closed", Clients: 2, Connections: 2},
			}},
		},
	})
	must(t, err)
	return f
}

// beginSweep begins a run of one step that a sweep repeats three times, the
// last time for a value that is written otherwise.
func beginSweep(t testing.TB, objectives ...store.ObjectiveInfo) *fixture {
	t.Helper()
	results, err := store.Create(t.TempDir(), nil, nil)
	must(t, err)
	f := &fixture{t: t, results: results, seconds: map[secondKey]*record.Interval{}}
	info := store.RunInfo{Index: 1, Name: "sweep", Scenario: "sweep", Tool: "v0", Started: start(), Objectives: objectives}
	for name, point := range map[string]store.Point{
		"@1000": {Parameter: "objects", Value: 1000}, "@2000": {Parameter: "objects", Value: 2000}, "@4": {Parameter: "objects", Value: 4, Text: "4k"},
	} {
		info.Steps = append(info.Steps, store.StepInfo{
			Name: "list" + name, Measured: true, Point: &point, Phases: []store.PhaseInfo{{Name: "walks" + name, Loop: "closed", Clients: 1}},
		})
	}
	slices.SortFunc(info.Steps, func(a, b store.StepInfo) int { return strings.Compare(a.Name, b.Name) })
	f.writer, err = results.CreateRun(info)
	must(t, err)
	return f
}

func after(s float64) time.Duration { return time.Duration(s * float64(time.Second)) }

func start() time.Time { return time.Date(2026, 11, 21, 3, 36, 2, 478_406_844, time.UTC) }

func (f *fixture) environment() {
	must(f.t, f.writer.Environment(store.Environment{
		Host: store.Host{OS: "linux", CPUs: 2}, Components: []store.Component{{Name: "etcd", PID: 42, Args: []string{"--name=a"}}},
	}))
}

func (f *fixture) event(at float64, kind store.EventKind, name string) {
	must(f.t, f.writer.Event(store.Event{At: at, Kind: kind, Name: name, Message: "message of " + string(kind)}))
}

// events are those of a run up to its second step, which goes on.
func (f *fixture) events() {
	f.environment()
	f.event(0.5, store.TargetReady, "")
	f.event(1, store.StepStarted, "warm-up")
	f.event(1, store.PhaseStarted, "first")
	f.event(2, store.PhaseEnded, "first")
	f.event(2, store.StepEnded, "warm-up")
	f.event(2, store.StepStarted, "load")
	f.event(2, store.PhaseStarted, "gets")
	f.event(2, store.PhaseStarted, "churn")
}

// planned ends a run as planned, and analyzes it.
func (f *fixture) planned() *Run {
	f.t.Helper()
	f.event(12, store.PhaseEnded, "gets")
	f.event(12, store.PhaseEnded, "churn")
	f.event(12, store.StepEnded, "load")
	f.close()
	f.event(13, store.RunEnded, "")
	must(f.t, f.writer.Close(true))
	return f.analyze()
}

// close writes down what was recorded, second by second.
func (f *fixture) close() {
	f.t.Helper()
	for _, key := range slices.SortedFunc(maps.Keys(f.seconds), func(a, b secondKey) int { return a.second - b.second }) {
		must(f.t, f.writer.WriteInterval(*f.seconds[key]))
	}
	clear(f.seconds)
}

func (f *fixture) analyze() *Run {
	f.t.Helper()
	runs := f.analyzeAll()
	if len(runs) != 1 {
		f.t.Fatalf("%d runs, want 1", len(runs))
	}
	return runs[0]
}

// analyzeAll analyzes the fixture, of which whatever it is a JSON document can be made.
func (f *fixture) analyzeAll() []*Run {
	f.t.Helper()
	result, err := Analyze(f.t.Context(), f.results)
	must(f.t, err)
	if _, err := json.Marshal(result); err != nil {
		f.t.Fatalf("the result cannot be written: %v", err)
	}
	return result.Runs
}

// sample is what became of some operations.
type sample struct {
	phase, op string
	timing    record.Timing
	outcome   record.Outcome
	reason    string
	at        time.Duration // when it ended
	lag, took time.Duration
	n         int // 1 if 0
}

func (f *fixture) record(samples ...sample) {
	for _, s := range samples {
		i := f.second(s)
		n := int64(max(1, s.n))
		i.Count += n
		i.Bytes += n * 100
		i.Items += n * 2
		if s.reason != "" {
			i.Reasons[s.reason] += n
		}
		for h, took := range map[*hdrhistogram.Histogram]time.Duration{i.Service: s.took, i.Response: s.lag + s.took, i.Lag: s.lag} {
			if h != nil {
				must(f.t, h.RecordValues(int64(took), n))
			}
		}
	}
}

// second is the second of a series that a sample belongs to, with the times
// that record gives its timing.
func (f *fixture) second(s sample) *record.Interval {
	key := secondKey{seriesKey{s.phase, s.op, s.timing, s.outcome}, int(s.at / time.Second)}
	if f.seconds[key] != nil {
		return f.seconds[key]
	}
	i := &record.Interval{Phase: s.phase, Op: s.op, Timing: s.timing, Outcome: s.outcome, Second: key.second, Reasons: map[string]int64{}}
	if s.outcome != record.Dropped {
		if s.timing != record.Dispatch {
			i.Service = record.NewHistogram()
		}
		if s.timing == record.Open {
			i.Response = record.NewHistogram()
		}
		if s.timing != record.Part {
			i.Lag = record.NewHistogram()
		}
	}
	f.seconds[key] = i
	return i
}

// gets are operations of the open phase, spread over its seconds.
func (f *fixture) gets(n int, outcome record.Outcome, reason string, took time.Duration) {
	for i := range n {
		f.record(sample{phase: "gets", op: "get", timing: record.Open, outcome: outcome, reason: reason, at: 3*time.Second + time.Duration(i%8)*time.Second, took: took})
	}
}

// usage samples processes once a second from one second to another.
func (f *fixture) usage(component string, from, to int, cpu, resident func(second int) float64) {
	db, err := metrics.Create(f.writer.MetricsDir())
	must(f.t, err)
	for second := from; second <= to; second++ {
		at := start().Add(time.Duration(second)*time.Second - 300*ms)
		must(f.t, db.Append(f.t.Context(), at, []metrics.Sample{
			{Series: &metrics.Series{Labels: labels.FromStrings("__name__", "process_cpu_seconds_total", "component", component)}, Value: cpu(second)},
			{Series: &metrics.Series{Labels: labels.FromStrings("__name__", "process_resident_memory_bytes", "component", component)}, Value: resident(second)},
		}))
	}
	must(f.t, db.Close())
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func bound(measure string, max, min float64) store.ObjectiveInfo {
	o := store.ObjectiveInfo{Name: measure, Measure: measure, Text: "a bound"}
	if max != 0 {
		o.Max = &max
	}
	if min != 0 {
		o.Min = &min
	}
	return o
}

// near says whether a time is what was recorded, but for the histogram's 0.1 %.
func near(got float64, want time.Duration) bool {
	difference := got - want.Seconds()
	return max(difference, -difference) <= want.Seconds()/1000+1e-9
}
