package store

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"

	"plimsoll.dev/plimsoll/internal/record"
)

func info() RunInfo {
	bound := 1.0
	return RunInfo{
		Index: 1, Name: "small", Scenario: "small", Title: "A small run", Seed: 7, Tool: "v0",
		Parameters: map[string]string{"objects": "10"},
		Started:    time.Date(2026, 11, 21, 3, 36, 2, 478_406_844, time.UTC),
		Steps: []StepInfo{{Name: "read", Measured: true, Phases: []PhaseInfo{
			{Name: "gets", Loop: "open", Load: "10/s", Workload: "get", Clients: 2, Connections: 1},
			{Name: "churn", Background: true, Loop: "closed", Load: "1 client", Workload: "churn", Clients: 1, Connections: 1},
		}}},
		Objectives: []ObjectiveInfo{{Name: "fast", Measure: "p99(gets.get.response)", Max: &bound, Text: "≤ 1s"}},
	}
}

func environment() Environment {
	return Environment{
		Host:       Host{OS: "linux", CPUs: 2, MemoryBytes: 4 << 30, Load1: 0.5},
		Components: []Component{{Name: "etcd", Version: "3.6.5", Args: []string{"--name=a"}, PID: 42}},
	}
}

func events() []Event {
	return []Event{
		{At: 0.5, Kind: TargetReady},
		{At: 1, Kind: StepStarted, Name: "read"},
		{At: 1.5, Kind: SamplingFailed, Message: "a message,\nwith a line break"},
		{At: 3, Kind: StepEnded, Name: "read"},
		{At: 4, Kind: RunEnded},
	}
}

// intervals are two seconds of every timing and outcome, with the times that record gives each.
func intervals() []record.Interval {
	var all []record.Interval
	for second := range 2 {
		for _, timing := range []record.Timing{record.Closed, record.Open, record.Part, record.Dispatch} {
			for _, outcome := range record.Outcomes() {
				i := record.Interval{
					Phase: "gets", Op: "get", Timing: timing, Outcome: outcome, Second: second, Count: int64(second + 2), Bytes: 100, Items: 3,
				}
				if outcome != record.OK {
					i.Reasons = map[string]int64{"reason-of-" + outcome.String(): i.Count}
				}
				if outcome != record.Dropped {
					base := int64(timing)*1e6 + int64(outcome)*1e5 + int64(second) + 1
					if timing != record.Dispatch {
						i.Service = histogram(base, 2*base)
					}
					if timing == record.Open {
						i.Response = histogram(3*base, 4*base)
					}
					if timing != record.Part {
						i.Lag = histogram(5*base, 6*base)
					}
				}
				all = append(all, i)
			}
		}
	}
	return all
}

// create makes a results directory without a run.
func create(t testing.TB) *Results {
	t.Helper()
	results, err := Create(t.TempDir(), []byte("kind: Scenario\n"), map[string]int{"runs": 1})
	if err != nil {
		t.Fatal(err)
	}
	return results
}

// write writes a run as the engine does, but for its end.
func write(t testing.TB, results *Results, info RunInfo) *RunWriter {
	t.Helper()
	w, err := results.CreateRun(info)
	if err != nil {
		t.Fatal(err)
	}
	must(t, w.Environment(environment()))
	for _, e := range events() {
		must(t, w.Event(e))
	}
	for _, i := range intervals() {
		must(t, w.WriteInterval(i))
	}
	return w
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// only gives the one run of a directory.
func only(t *testing.T, results *Results) *Run {
	t.Helper()
	runs, err := results.Runs()
	must(t, err)
	if len(runs) != 1 {
		t.Fatalf("%d runs, want 1", len(runs))
	}
	return runs[0]
}

func TestWhatIsWrittenIsReadBack(t *testing.T) {
	results := create(t)
	must(t, write(t, results, info()).Close(true))
	opened, err := Open(results.Dir)
	must(t, err)
	run := only(t, opened)

	wantInfo, wantEnvironment := info(), environment()
	wantInfo.SchemaVersion, wantEnvironment.SchemaVersion = SchemaVersion, SchemaVersion
	if !reflect.DeepEqual(run.Info, wantInfo) {
		t.Errorf("info = %+v, want %+v", run.Info, wantInfo)
	}
	if !reflect.DeepEqual(run.Environment, wantEnvironment) {
		t.Errorf("environment = %+v, want %+v", run.Environment, wantEnvironment)
	}
	if !slices.Equal(run.Events, events()) {
		t.Errorf("events = %+v, want %+v", run.Events, events())
	}
	if !run.Complete {
		t.Error("the run is not complete")
	}
	var counters []record.Interval
	run.Counters(func(i record.Interval) { counters = append(counters, i) })
	var wantCounters []record.Interval
	times := readTimes(run)
	for _, i := range intervals() {
		for _, clock := range []Clock{Service, Response, Lag} {
			key := timesKey{i.Phase, i.Op, i.Timing, i.Outcome, i.Second, clock}
			want, got := clock.of(i), times[key]
			if (want == nil) != (got == nil) || want != nil && !got.Equals(want) {
				t.Errorf("%+v has other times than were written", key)
			}
			delete(times, key)
		}
		i.Service, i.Response, i.Lag = nil, nil, nil
		wantCounters = append(wantCounters, i)
	}
	if !reflect.DeepEqual(counters, wantCounters) {
		t.Errorf("counters = %+v, want %+v", counters, wantCounters)
	}
	if len(times) > 0 {
		t.Errorf("times of what was not written: %v", slices.Collect(maps.Keys(times)))
	}
	if len(run.Damage) > 0 {
		t.Errorf("damage = %q, want none", run.Damage)
	}
}

type timesKey struct {
	phase, op string
	timing    record.Timing
	outcome   record.Outcome
	second    int
	clock     Clock
}

func readTimes(run *Run) map[timesKey]*hdrhistogram.Histogram {
	times := map[timesKey]*hdrhistogram.Histogram{}
	run.Seconds(func(i record.Interval, clock Clock, s Second) error {
		h := record.NewHistogram()
		times[timesKey{i.Phase, i.Op, i.Timing, i.Outcome, i.Second, clock}] = h
		return s.AddTo(h)
	})
	return times
}

func TestOtherToolsCanReadTheHistogramLog(t *testing.T) {
	results := create(t)
	w := write(t, results, info())
	must(t, w.Close(true))
	log, err := os.Open(filepath.Join(w.Dir(), operationsFile))
	must(t, err)
	defer log.Close()
	reader := hdrhistogram.NewHistogramLogReader(log)
	for _, i := range intervals() {
		for _, clock := range []Clock{Service, Response, Lag} { // always in this order
			want := clock.of(i)
			if want == nil {
				continue
			}
			got, err := reader.NextIntervalHistogram()
			must(t, err)
			name, _ := seriesName(i)
			if got.Tag() != name+"."+string(clock) || !got.Equals(want) {
				t.Errorf("tag %q holds something else than %s.%s", got.Tag(), name, clock)
			}
			if begin := info().Started.UnixMilli() + int64(i.Second)*1000; got.StartTimeMs() != begin || got.EndTimeMs() != begin+1000 {
				t.Errorf("%s is of %d to %d, want the second from %d", got.Tag(), got.StartTimeMs(), got.EndTimeMs(), begin)
			}
		}
	}
	if more, err := reader.NextIntervalHistogram(); more != nil || err != nil && !errors.Is(err, io.EOF) {
		t.Errorf("after the last histogram: %v, %v", more, err)
	}
}

func TestOnlyARunThatEndedAsPlannedIsComplete(t *testing.T) {
	for name, c := range map[string]struct {
		end  func(*RunWriter) error
		want bool
	}{
		"not closed":             {func(*RunWriter) error { return nil }, false},
		"closed after a failure": {func(w *RunWriter) error { return w.Close(false) }, false},
		"closed as planned":      {func(w *RunWriter) error { return w.Close(true) }, true},
	} {
		t.Run(name, func(t *testing.T) {
			results := create(t)
			w := write(t, results, info())
			must(t, os.WriteFile(filepath.Join(w.WorkDir(), "data"), nil, 0o644))
			must(t, c.end(w))
			if got := only(t, results).Complete; got != c.want {
				t.Errorf("complete = %v, want %v", got, c.want)
			}
			if closed := name != "not closed"; closed == exists(w.WorkDir()) {
				t.Errorf("working data is there: %v, want the opposite", closed)
			}
		})
	}
}

func TestAClosedRunIsNotWrittenTo(t *testing.T) {
	w := write(t, create(t), info())
	must(t, w.Close(true))
	for name, err := range map[string]error{
		eventsFile: w.Event(Event{}), countersFile: w.WriteInterval(record.Interval{}), "run directory": w.Close(true),
	} {
		if err == nil || !strings.Contains(err.Error(), name) {
			t.Errorf("error = %v, want one that names %s", err, name)
		}
	}
}

func TestNamesThatWouldBeReadBackAsOthersAreRefused(t *testing.T) {
	w := write(t, create(t), info())
	for _, i := range []record.Interval{{Phase: "a.b", Op: "get"}, {Phase: "a", Op: "get,list"}, {Phase: "a b", Op: "get"}, {Phase: "a", Op: "get\n"}} {
		if err := w.WriteInterval(i); err == nil {
			t.Errorf("phase %q with operation %q was written", i.Phase, i.Op)
		}
	}
}

func TestRunsComeInOrder(t *testing.T) {
	results := create(t)
	for _, index := range []int{12, 2, 10000, 1} {
		info := info()
		info.Index, info.Name = index, fmt.Sprintf("run-%d", index)
		must(t, write(t, results, info).Close(true))
	}
	must(t, os.Mkdir(filepath.Join(results.Dir, runsDir, "notes"), 0o755))
	must(t, os.WriteFile(filepath.Join(results.Dir, runsDir, "0003-file"), nil, 0o644))
	runs, err := results.Runs()
	must(t, err)
	var got []int
	for _, run := range runs {
		got = append(got, run.Info.Index)
	}
	if want := []int{1, 2, 12, 10000}; !slices.Equal(got, want) {
		t.Errorf("runs = %v, want %v", got, want)
	}
}

func TestADirectoryThatHoldsAnythingIsRefused(t *testing.T) {
	dir := t.TempDir()
	must(t, os.WriteFile(filepath.Join(dir, "thesis.tex"), nil, 0o644))
	if _, err := Create(dir, nil, nil); err == nil || !strings.Contains(err.Error(), dir+" is not empty") {
		t.Errorf("error = %v, want that %s is not empty", err, dir)
	}
	file := filepath.Join(dir, "thesis.tex")
	if _, err := Create(file, nil, nil); err == nil || !strings.Contains(err.Error(), file) {
		t.Errorf("error = %v, want one that names %s", err, file)
	}
}

func TestOfExperimentsThatBeginAtOnceInOneDirectoryAllButOneAreRefused(t *testing.T) {
	for range 30 { // each a chance to begin in the same moment
		dir := filepath.Join(t.TempDir(), "results")
		var group sync.WaitGroup
		var made atomic.Int64
		gate := make(chan struct{})
		for range 8 {
			group.Go(func() {
				<-gate
				if _, err := Create(dir, nil, nil); err == nil {
					made.Add(1)
				}
			})
		}
		close(gate)
		group.Wait()
		if made.Load() != 1 {
			t.Fatalf("%d experiments began in one directory, want 1", made.Load())
		}
	}
}

func TestOpenSaysWhatIsNoResultsDirectory(t *testing.T) {
	empty := t.TempDir()
	if _, err := Open(empty); !errors.Is(err, ErrNotResults) || !strings.Contains(err.Error(), empty) {
		t.Errorf("an empty directory: %v", err)
	}
	missing := filepath.Join(empty, "missing")
	if _, err := Open(missing); !errors.Is(err, os.ErrNotExist) || !strings.Contains(err.Error(), missing) {
		t.Errorf("a missing directory: %v", err)
	}
}

// full makes every byte written to a file meet a full disk.
func full(t *testing.T, path string) {
	t.Helper()
	if _, err := os.Stat("/dev/full"); err != nil {
		t.Skip("there is no /dev/full here")
	}
	must(t, os.MkdirAll(filepath.Dir(path), 0o755))
	must(t, os.Symlink("/dev/full", path))
}

func TestAFullDiskIsToldWithTheFile(t *testing.T) {
	in := func(results *Results, name string) string {
		return filepath.Join(results.Dir, runsDir, "0001-small", name)
	}
	for name, write := range map[string]func(t *testing.T, results *Results) error{
		PlanFile: func(t *testing.T, results *Results) error {
			return writeJSON(results.Path(PlanFile), 1)
		},
		ResultFile: func(t *testing.T, results *Results) error {
			return results.WriteResult(1)
		},
		runFile: func(t *testing.T, results *Results) error {
			_, err := results.CreateRun(info())
			return err
		},
		operationsFile: func(t *testing.T, results *Results) error {
			_, err := results.CreateRun(info())
			return err
		},
		environmentFile: func(t *testing.T, results *Results) error {
			w, err := results.CreateRun(info())
			must(t, err)
			return w.Environment(environment())
		},
		countersFile: func(t *testing.T, results *Results) error {
			w, err := results.CreateRun(info())
			must(t, err)
			return w.WriteInterval(intervals()[0])
		},
		eventsFile: func(t *testing.T, results *Results) error {
			w, err := results.CreateRun(info())
			must(t, err)
			return w.Event(events()[0])
		},
	} {
		t.Run(name, func(t *testing.T) {
			results := create(t)
			path := in(results, name)
			if name == PlanFile || name == ResultFile {
				path = results.Path(name)
			}
			if filepath.Ext(name) == ".json" {
				path += ".tmp"
			}
			full(t, path)
			if err := write(t, results); !errors.Is(err, syscall.ENOSPC) || !strings.Contains(err.Error(), name) {
				t.Errorf("error = %v, want one of a full disk that names %s", err, name)
			}
		})
	}
	t.Run("operations.hlog once the run goes on", func(t *testing.T) {
		results := create(t)
		w := write(t, results, info())
		must(t, w.operations.Close())
		var err error
		w.operations, err = os.OpenFile("/dev/full", os.O_WRONLY, 0)
		if err != nil {
			t.Skip(err)
		}
		if err := w.WriteInterval(intervals()[0]); !errors.Is(err, syscall.ENOSPC) || !strings.Contains(err.Error(), operationsFile) {
			t.Errorf("error = %v, want one of a full disk that names %s", err, operationsFile)
		}
	})
}

func TestAFullDiskLeavesTheOldResultWhole(t *testing.T) {
	results := create(t)
	must(t, results.WriteResult("old"))
	full(t, results.Path(ResultFile)+".tmp")
	if err := results.WriteResult("new"); err == nil {
		t.Fatal("no error from a full disk")
	}
	if got, err := os.ReadFile(results.Path(ResultFile)); err != nil || !bytes.Contains(got, []byte("old")) {
		t.Errorf("result.json = %q, %v, want the old one", got, err)
	}
	if exists(results.Path(ResultFile) + ".tmp") {
		t.Error("the half-written file is still there")
	}
	must(t, results.WriteResult("new"))
}
