package analysis

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"plimsoll.dev/plimsoll/internal/record"
	"plimsoll.dev/plimsoll/internal/store"
)

func TestCountsAndRates(t *testing.T) {
	f := begin(t)
	f.events()
	f.gets(80, record.OK, "", 5*ms)
	f.gets(3, record.Rejected, "http-429", 1*ms)
	f.gets(2, record.Failed, "http-500", 2*ms)
	f.gets(5, record.TimedOut, "timeout", 1000*ms)
	f.record(
		sample{phase: "gets", op: "dispatch", timing: record.Dispatch, at: 3 * time.Second, lag: ms, n: 90},
		sample{phase: "gets", op: "dispatch", timing: record.Dispatch, outcome: record.Dropped, reason: "backlog-full", at: 4 * time.Second, n: 7},
		sample{phase: "gets", op: "dispatch", timing: record.Dispatch, outcome: record.Dropped, reason: "drain", at: 11 * time.Second, n: 3},
		sample{phase: "churn", op: "cycle", timing: record.Closed, at: 5 * time.Second, took: 50 * ms, n: 20},
		sample{phase: "churn", op: "create", timing: record.Part, at: 5 * time.Second, took: 20 * ms, n: 20},
		sample{phase: "churn", op: "delete", timing: record.Part, at: 5 * time.Second, took: 30 * ms, n: 19},
		sample{phase: "churn", op: "delete", timing: record.Part, outcome: record.Failed, reason: "http-500", at: 5 * time.Second, took: 30 * ms},
	)
	run := f.planned()
	if run.Status != Complete || run.Reason != "" || run.Duration != 13 || run.Ready != 0.5 {
		t.Errorf("status %s (%s), duration %v, ready %v; want complete, 13, 0.5", run.Status, run.Reason, run.Duration, run.Ready)
	}

	gets := run.phase("gets")
	if gets.Count != 100 || gets.Succeeded != 80 || gets.Dropped != 10 {
		t.Errorf("gets: %d, of which %d succeeded and %d were dropped; want 100, 80, 10", gets.Count, gets.Succeeded, gets.Dropped)
	}
	if want := map[string]int64{"backlog-full": 7, "drain": 3}; !reflect.DeepEqual(gets.DropReasons, want) {
		t.Errorf("drop reasons = %v, want %v", gets.DropReasons, want)
	}
	if len(gets.Operations) != 1 {
		t.Fatalf("gets has %d operations, want only get: dropped ones are of no kind", len(gets.Operations))
	}
	get := gets.Operations[0]
	if want := map[string]int64{"ok": 80, "rejected": 3, "failed": 2, "timed-out": 5}; !reflect.DeepEqual(get.Outcomes, want) {
		t.Errorf("outcomes = %v, want %v", get.Outcomes, want)
	}
	if want := map[string]int64{"http-429": 3, "http-500": 2, "timeout": 5}; !reflect.DeepEqual(get.Reasons, want) {
		t.Errorf("reasons = %v, want %v", get.Reasons, want)
	}
	if get.Count != 90 || get.Bytes != 9000 || get.Items != 180 || get.Rate != 8 {
		t.Errorf("get: count %d, bytes %d, items %d, rate %v; want 90, 9000, 180, and 80 in 10 s", get.Count, get.Bytes, get.Items, get.Rate)
	}
	if d := gets.Dispatch; d == nil || d.Count != 90 || !near(d.Max, ms) {
		t.Errorf("dispatch = %+v, want 90 of 1 ms", d)
	}

	churn := run.phase("churn")
	if churn.Count != 20 || churn.Succeeded != 20 {
		t.Errorf("churn: %d, of which %d succeeded; want 20 and 20: parts are not operations", churn.Count, churn.Succeeded)
	}
	var names []string
	for _, o := range churn.Operations {
		names = append(names, fmt.Sprintf("%s %v %v", o.Name, o.Part, o.Rate))
	}
	if want := []string{"cycle false 2", "create true 2", "delete true 1.9"}; !slices.Equal(names, want) {
		t.Errorf("churn's operations = %q, want %q", names, want)
	}
	if !churn.Background || gets.Background {
		t.Error("the background phase is churn")
	}
}

func TestTimesOfEveryOutcome(t *testing.T) {
	f := begin(t)
	f.events()
	f.gets(80, record.OK, "", 5*ms)
	f.gets(3, record.Rejected, "http-429", 1*ms)
	f.gets(2, record.Failed, "http-500", 2*ms)
	f.gets(20, record.TimedOut, "timeout", 1000*ms)
	f.record(sample{phase: "gets", op: "dispatch", timing: record.Dispatch, outcome: record.Dropped, at: 4 * time.Second, n: 9})
	f.record(sample{phase: "churn", op: "cycle", at: 5 * time.Second, took: 50 * ms, lag: 7 * ms})
	run := f.planned()
	get := run.phase("gets").operation("get")
	for name, d := range map[string]*Distribution{"response": get.Response, "service": get.Service} {
		switch {
		case d == nil || d.Count != 100 || d.LowerBounds != 20:
			t.Errorf("%s = %+v, want 100 times, of which 20 are lower bounds", name, d)
		case !near(d.Min, 5*ms) || !near(*d.P50, 5*ms) || !near(*d.P90, 1000*ms) || !near(d.Max, 1000*ms) || !near(d.Mean, 204*ms) || !near(d.Stddev, 398*ms):
			t.Errorf("%s = min %v, p50 %v, p90 %v, max %v, mean %v, stddev %v; want 5 ms, 5 ms, 1 s, 1 s, 204 ms, 398 ms",
				name, d.Min, *d.P50, *d.P90, d.Max, d.Mean, d.Stddev)
		case d.P95 != nil || d.P99 != nil:
			t.Errorf("%s tells percentiles that fewer than ten times lie beyond", name)
		}
	}
	if get.Lag == nil || get.Lag.Count != 105 {
		t.Errorf("lag = %+v, want one of every operation, whatever became of it", get.Lag)
	}
	if len(get.Unsuccessful) != 2 || get.Unsuccessful["rejected"].Count != 3 || get.Unsuccessful["failed"].Count != 2 {
		t.Errorf("unsuccessful = %v, want 3 rejected and 2 failed, apart", get.Unsuccessful)
	}
	if d := get.Unsuccessful["rejected"]; !near(d.Max, ms) {
		t.Errorf("rejections took %v, want 1 ms", d.Max)
	}
	cycle := run.phase("churn").operation("cycle")
	if cycle.Response != nil || cycle.Unsuccessful != nil || !near(cycle.Lag.Max, 7*ms) || cycle.Service.LowerBounds != 0 {
		t.Errorf("a closed loop's operation = %+v, want service time and lag only", cycle)
	}
}

func TestAnOperationThatIsWholeAndPartIsTwo(t *testing.T) {
	f := begin(t)
	f.events()
	f.record(
		sample{phase: "churn", op: "create", at: 5 * time.Second, took: 20 * ms, n: 3},
		sample{phase: "churn", op: "create", timing: record.Part, at: 5 * time.Second, took: 10 * ms, n: 5},
	)
	churn := f.planned().phase("churn")
	if churn.Count != 3 || len(churn.Operations) != 2 || churn.operation("create").Part || churn.operation("create").Count != 3 {
		t.Errorf("churn = %+v, want 3 creates and 5 parts", churn)
	}
}

func TestUnmeasuredStepsCountForNothing(t *testing.T) {
	f := begin(t, bound("p50(first.walk.service)", 1, 0))
	f.events()
	f.record(sample{phase: "first", op: "walk", outcome: record.Failed, at: 1500 * ms, took: 100 * ms, n: 30})
	f.gets(10, record.OK, "", 5*ms)
	f.record(sample{phase: "churn", op: "cycle", at: 5 * time.Second, took: 50 * ms})
	run := f.planned()
	if first := run.phase("first"); first.Measured || first.Count != 30 {
		t.Errorf("the warm-up's phase = %+v, want 30 operations that are not measured", first)
	}
	if o := run.Objectives[0]; o.Held || o.Value != nil || !strings.Contains(o.Note, "not measured") {
		t.Errorf("an objective of the warm-up = %+v, want no value", o)
	}
	for _, w := range run.Warnings {
		if w.About == "first" {
			t.Errorf("warning of the warm-up: %+v", w)
		}
	}
	for _, c := range run.Figures.Curves {
		if c.Phase == "first" {
			t.Error("the warm-up has a percentile curve")
		}
	}
	if len(run.Figures.Curves) != 2 || run.Figures.Curves[0].Clock != "response" || run.Figures.Curves[1].Clock != "service" {
		t.Errorf("curves = %+v, want the response time of gets and the service time of churn", run.Figures.Curves)
	}
}

func TestHowARunEnds(t *testing.T) {
	for name, c := range map[string]struct {
		end    func(f *fixture)
		status Status
		reason string
	}{
		"as planned": {func(f *fixture) {
			f.event(13, store.RunEnded, "")
			must(t, f.writer.Close(true))
		}, Complete, ""},
		"interrupted": {func(f *fixture) {
			f.event(9, store.Interrupted, "")
			f.event(10, store.RunEnded, "")
			must(t, f.writer.Close(false))
		}, Incomplete, "message of interrupted"},
		"on a failure": {func(f *fixture) {
			f.event(9, store.RunFailed, "")
			f.event(10, store.RunEnded, "")
			must(t, f.writer.Close(false))
		}, Failed, "message of run-failed"},
		"killed": {func(*fixture) {}, Incomplete, "it is still running, or was killed"},
		"with a target that cannot be stopped": {func(f *fixture) {
			f.event(13, store.RunEnded, "")
			must(t, f.writer.Close(false))
		}, Incomplete, "could not be stopped"},
	} {
		t.Run(name, func(t *testing.T) {
			f := begin(t)
			f.events()
			f.close()
			c.end(f)
			run := f.analyze()
			if run.Status != c.status || !strings.Contains(run.Reason, c.reason) || (c.reason == "") != (run.Reason == "") {
				t.Errorf("status %s because of %q, want %s because of %q", run.Status, run.Reason, c.status, c.reason)
			}
		})
	}
}

func TestAKilledRunEndsWithItsLastRecordedSecond(t *testing.T) {
	f := begin(t)
	f.events()
	f.gets(80, record.OK, "", 5*ms) // from second 3 to second 10
	f.close()
	run := f.analyze()
	if run.Duration != 11 {
		t.Errorf("duration = %v, want the 11 s to the end of the last second", run.Duration)
	}
	gets, step := run.phase("gets"), run.Steps[1]
	if gets.Start != 2 || gets.End != 11 || step.Start != 2 || step.End != 11 {
		t.Errorf("gets from %v to %v in a step from %v to %v, want 2 to 11", gets.Start, gets.End, step.Start, step.End)
	}
	if get := gets.operation("get"); get.Rate != 80.0/9 {
		t.Errorf("rate = %v, want 80 in 9 s", get.Rate)
	}
	if first := run.phase("first"); first.Start != 1 || first.End != 2 {
		t.Errorf("the phase that had ended is from %v to %v, want 1 to 2", first.Start, first.End)
	}
	if last := run.Figures.Outcomes[0].Values[10]; last != 10 {
		t.Errorf("the chart's last second has %v operations, want 10", last)
	}
}

func TestWhatNeverBeganHasNoSpanAndNoWarning(t *testing.T) {
	f := begin(t, bound("success(gets)", 0, 0.99))
	f.environment()
	f.event(0.5, store.TargetReady, "")
	f.event(1, store.RunFailed, "")
	f.event(1.5, store.RunEnded, "")
	f.close()
	must(t, f.writer.Close(false))
	run := f.analyze()
	for _, step := range run.Steps {
		if step.End != 0 || step.Phases[0].End != 0 {
			t.Errorf("step %s ended at %v", step.Name, step.End)
		}
	}
	if run.Duration != 1.5 || len(run.Warnings) > 0 {
		t.Errorf("duration %v with warnings %+v, want 1.5 and none", run.Duration, run.Warnings)
	}
	if o := run.Objectives[0]; o.Held || !strings.Contains(o.Note, "did not begin") {
		t.Errorf("objective = %+v, want one that was not held", o)
	}
}

func TestLostEventsAreMadeUpForByWhatWasRecorded(t *testing.T) {
	f := begin(t)
	f.events()
	f.gets(80, record.OK, "", 5*ms)
	f.planned()
	must(t, os.Remove(filepath.Join(f.writer.Dir(), "events.jsonl")))
	run := f.analyze()
	gets := run.phase("gets")
	if run.Status != Complete || run.Duration != 11 || gets.Start != 3 || gets.End != 11 || run.Steps[1].Start != 3 || run.Steps[1].End != 11 {
		t.Errorf("status %s, duration %v, gets from %v to %v, step from %v to %v; want complete, 11, and 3 to 11 for both",
			run.Status, run.Duration, gets.Start, gets.End, run.Steps[1].Start, run.Steps[1].End)
	}
	if get := gets.operation("get"); get.Rate != 10 {
		t.Errorf("rate = %v, want 10", get.Rate)
	}
	if !slices.ContainsFunc(run.Warnings, func(w Warning) bool { return strings.Contains(w.What, "events.jsonl") }) {
		t.Errorf("warnings = %+v, want one of the lost events", run.Warnings)
	}
}

func TestAnyCutOfARunCanBeAnalyzed(t *testing.T) {
	f := begin(t, bound("p99(gets.get.response)", 1, 0), bound("rate(gets)", 0, 1))
	f.events()
	f.gets(16, record.OK, "", 5*ms)
	f.gets(1, record.TimedOut, "timeout", 1000*ms)
	f.planned()
	for _, name := range []string{"operations.hlog", "counters.jsonl", "events.jsonl"} {
		path := filepath.Join(f.writer.Dir(), name)
		whole, err := os.ReadFile(path)
		must(t, err)
		for length := len(whole); length >= 0; length -= max(1, len(whole)/20) {
			must(t, os.Truncate(path, int64(length)))
			for _, step := range f.analyze().Steps {
				if step.End < step.Start {
					t.Errorf("%s cut to %d bytes: step %s is from %v to %v", name, length, step.Name, step.Start, step.End)
				}
			}
		}
		must(t, os.WriteFile(path, whole, 0o644))
	}
}

func TestARunWithoutAnythingCanBeAnalyzed(t *testing.T) {
	run := begin(t, bound("mean(gets.get.service)", 1, 0)).analyze()
	if run.Status != Incomplete || run.Duration != 0 || run.Objectives[0].Held {
		t.Errorf("run = %+v, want an incomplete one of no length", run)
	}
	text, err := json.Marshal(run)
	must(t, err)
	for _, unwanted := range []string{`"phases":null`, `"operations":null`, `"steps":null`, `"components":null`} {
		if bytes.Contains(text, []byte(unwanted)) {
			t.Errorf("the result has %s, want an empty list", unwanted)
		}
	}
}

func TestARunThatIsLostIsListed(t *testing.T) {
	f := begin(t)
	f.events()
	f.planned()
	must(t, os.Rename(f.writer.Dir(), filepath.Join(f.results.Dir, "runs", "0002-second")))
	must(t, os.Mkdir(filepath.Join(f.results.Dir, "runs", "0001-lost"), 0o755))
	runs := f.analyzeAll()
	if len(runs) != 2 {
		t.Fatalf("%d runs, want 2", len(runs))
	}
	for _, run := range runs {
		if lost := run.Name == "lost"; lost != (run.Status == Incomplete) || lost != strings.Contains(run.Reason, "run.json") {
			t.Errorf("run %s is %s because of %q", run.Name, run.Status, run.Reason)
		}
		if run.Figures == nil {
			t.Errorf("run %s has no figures", run.Name)
		}
	}
	result, err := Analyze(t.Context(), f.results)
	must(t, err)
	if result.Scenario != "small" || result.Tool != "v0" {
		t.Errorf("scenario %q of tool %q, want those of the run that is left", result.Scenario, result.Tool)
	}
}

func TestAnExperimentWithoutRunsIsAnError(t *testing.T) {
	results, err := store.Create(t.TempDir(), nil, nil)
	must(t, err)
	if _, err := Analyze(t.Context(), results); err == nil || !strings.Contains(err.Error(), "holds no run") {
		t.Errorf("error = %v, want that there is no run", err)
	}
}

func TestWarnings(t *testing.T) {
	ok := func(f *fixture) {
		f.gets(2000, record.OK, "", 5*ms)
		f.record(sample{phase: "churn", op: "cycle", at: 5 * time.Second, took: 50 * ms})
	}
	for name, c := range map[string]struct {
		load func(f *fixture)
		want []string // beginnings
	}{
		"none when all is well": {ok, nil},
		"an idle phase":         {func(f *fixture) { f.gets(10, record.OK, "", 5*ms) }, []string{"churn: no operation ended"}},
		"drops": {func(f *fixture) {
			ok(f)
			f.record(sample{phase: "gets", op: "dispatch", timing: record.Dispatch, outcome: record.Dropped, at: 4 * time.Second, n: 7})
		}, []string{"gets: 7 of 2007 operations were dropped"}},
		"errors": {func(f *fixture) {
			ok(f)
			f.gets(5, record.Failed, "http-500", ms)
		}, []string{"gets: 5 of 2005 operations did not succeed"}},
		"a server that ignores limits": {func(f *fixture) {
			ok(f)
			f.record(sample{phase: "churn", op: "page", timing: record.Part, reason: "limit-ignored", at: 5 * time.Second, n: 3})
		}, []string{"churn: the server ignored limit in 3 answers"}},
		"a late generator, once for all operations": {func(f *fixture) {
			ok(f)
			f.record(sample{phase: "gets", op: "list", timing: record.Open, at: 4 * time.Second, took: ms, n: 100})
			f.record(sample{phase: "gets", op: "dispatch", timing: record.Dispatch, at: 4 * time.Second, lag: 4 * ms, n: 2000})
		}, []string{"gets: the generator handed operations over late: 4.0 ms at p99"}},
		"no late generator, in proportion": {func(f *fixture) {
			f.gets(2000, record.OK, "", 500*ms)
			f.record(sample{phase: "gets", op: "dispatch", timing: record.Dispatch, at: 4 * time.Second, lag: 4 * ms, n: 2000})
			f.record(sample{phase: "churn", op: "cycle", at: 5 * time.Second, took: 50 * ms})
		}, nil},
		"failed sampling": {func(f *fixture) {
			ok(f)
			f.event(5, store.SamplingFailed, "")
		}, []string{"metrics: message of sampling-failed"}},
	} {
		t.Run(name, func(t *testing.T) {
			f := begin(t)
			f.events()
			c.load(f)
			var got []string
			for _, w := range f.planned().Warnings {
				got = append(got, w.About+": "+w.What)
			}
			if !slices.Equal(got, c.want) {
				t.Errorf("warnings = %q, want %q", got, c.want)
			}
		})
	}
}

func TestFigures(t *testing.T) {
	f := begin(t)
	f.events()
	f.record(
		sample{phase: "gets", op: "get", timing: record.Open, at: 2500 * ms, n: 4},
		sample{phase: "gets", op: "get", timing: record.Open, at: 11500 * ms, n: 6},
		sample{phase: "gets", op: "dispatch", timing: record.Dispatch, at: 2500 * ms, n: 10},
		sample{phase: "gets", op: "dispatch", timing: record.Dispatch, outcome: record.Dropped, at: 2500 * ms, n: 2},
	)
	run := f.planned()
	if got := run.Figures.Seconds; len(got) != 14 || got[13] != 13 {
		t.Errorf("seconds = %v, want 0 to 13", got)
	}
	if len(run.Figures.Outcomes) != 2 || run.Figures.Outcomes[0].Outcome != "dropped" {
		t.Fatalf("outcomes = %+v, want those dropped and those that were ok", run.Figures.Outcomes)
	}
	line := run.Figures.Outcomes[1]
	for second, v := range line.Values {
		switch {
		case second < 2 || second > 12:
			if !math.IsNaN(v) {
				t.Errorf("second %d, outside of the phase, has %v", second, v)
			}
		case second == 2 && v != 4, second == 11 && v != 6, second != 2 && second != 11 && v != 0:
			t.Errorf("second %d has %v operations", second, v)
		}
	}
}

func TestUsage(t *testing.T) {
	f := begin(t)
	f.events()
	// Busy in the warm-up, with 0.25 CPUs from 2 s on; memory grows to the end.
	f.usage("etcd", 1, 13, func(second int) float64 {
		if second <= 2 {
			return float64(second)
		}
		return 2 + 0.25*float64(second-2)
	}, func(second int) float64 { return float64(second) * 1e6 })
	run := f.planned()
	if len(run.Components) != 1 {
		t.Fatalf("components = %+v, want etcd", run.Components)
	}
	// At 2 s the processor was last seen busy for the second before.
	if u := run.Components[0]; u.Component != "etcd" || math.Abs(u.MaxCPU-1) > 0.01 || math.Abs(u.MeanCPU-(1+10*0.25)/11) > 0.01 || u.MaxRSS != 12e6 || u.EndRSS != 12e6 {
		t.Errorf("usage = %+v, want a mean of 0.32 CPUs and 12 MB at the end of the step", u)
	}
	if !math.IsNaN(run.Figures.CPU[0].Values[1]) || math.IsNaN(run.Figures.CPU[0].Values[2]) {
		t.Errorf("CPU = %v, want none before there are two samples", run.Figures.CPU[0].Values)
	}
}

func TestAProcessThatWasNotSampledWhileMeasuredHasNoUsage(t *testing.T) {
	f := begin(t)
	f.events()
	f.event(5, store.RunFailed, "")
	f.usage("etcd", 0, 1, func(second int) float64 { return float64(second) }, func(int) float64 { return 1e6 })
	f.event(20, store.StepStarted, "load")
	f.event(21, store.StepEnded, "load")
	f.close()
	if run := f.analyze(); len(run.Components) > 0 || len(run.Figures.RSS) != 1 {
		t.Errorf("components = %+v, want none: no sample is of the measured step", run.Components)
	}
}

func TestOver(t *testing.T) {
	none := math.NaN()
	values := []float64{9, 9, 1, none, 3, 5, 9, 2}
	for name, c := range map[string]struct {
		spans []span
		want  summary
		ok    bool
	}{
		"a span of whole seconds":          {[]span{{2, 5}}, summary{3, 5, 5}, true},
		"the second that a span ends in":   {[]span{{1.5, 4.5}}, summary{3, 5, 5}, true},
		"a gap":                            {[]span{{3, 3}}, summary{}, false},
		"two spans":                        {[]span{{2, 2}, {7, 7}}, summary{1.5, 2, 2}, true},
		"a span shorter than a second":     {[]span{{4.2, 4.6}}, summary{5, 5, 5}, true},
		"a span after the last":            {[]span{{100, 200}}, summary{}, false},
		"spans with each other in between": {[]span{{2, 5}, {4, 5}}, summary{3, 5, 5}, true},
	} {
		t.Run(name, func(t *testing.T) {
			if got, ok := over(values, c.spans); got != c.want || ok != c.ok {
				t.Errorf("over = %+v, %v, want %+v, %v", got, ok, c.want, c.ok)
			}
		})
	}
}

func TestUsageIsOfTheMeasuredSteps(t *testing.T) {
	run := &Run{Duration: 40, Steps: []*Step{
		{Start: 1, End: 5}, {Measured: true, Start: 5, End: 10}, {Start: 10, End: 20}, {Measured: true, Start: 20, End: 30}, {Measured: true},
	}}
	if got, want := run.measuredSeconds(), []span{{5, 10}, {20, 30}}; !slices.Equal(got, want) {
		t.Errorf("measured from %v, want %v", got, want)
	}
	run.Steps = run.Steps[:1]
	if got, want := run.measuredSeconds(), []span{{0, 40}}; !slices.Equal(got, want) {
		t.Errorf("without a measured step: %v, want the whole run %v", got, want)
	}
}
