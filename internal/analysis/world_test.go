package analysis

import (
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"reflect"
	"testing"
	"time"

	"plimsoll.dev/plimsoll/internal/design"
	"plimsoll.dev/plimsoll/internal/record"
	"plimsoll.dev/plimsoll/internal/store"
)

// world is an experiment of many runs. A run lasts from 0 s to 10 s, and has an
// open phase "gets" or, if points are given, a closed phase "walks" for each.
type world struct {
	t       testing.TB
	results *store.Results
	index   int
	random  *rand.Rand
	// changes to what a run is to do, and to what it ran on.
	info        func(*store.RunInfo)
	environment func(*store.Environment)
}

func newWorld(t *testing.T, laid design.Design) *world {
	t.Helper()
	return worldIn(t, t.TempDir(), laid)
}

func worldIn(t testing.TB, dir string, laid design.Design) *world {
	t.Helper()
	results, err := store.Create(dir, nil, map[string]any{"schemaVersion": 1, "design": laid})
	must(t, err)
	return &world{t: t, results: results, random: rand.New(rand.NewPCG(1, 2)), info: func(*store.RunInfo) {}, environment: func(*store.Environment) {}}
}

// twoVariants is a design with a baseline "old" and a variant "new".
func twoVariants(blocks int, primary ...string) design.Design {
	laid := design.Design{Variants: []design.Variant{{Name: "old", Title: "old"}, {Name: "new", Title: "new"}}, Blocks: blocks}
	for _, m := range primary {
		laid.Primary = append(laid.Primary, design.Primary{Name: m, Measure: m, Better: "lower", Margin: 0.05})
	}
	return laid
}

// outcome is how a run went.
type outcome struct {
	took    time.Duration // of each get, or of each walk at the first point
	failing int           // gets of 100 that fail
	timeout bool          // all time out
	end     store.EventKind
	points  []float64 // objects at each point
	slower  float64   // exponent by which walks grow with objects
	lag     time.Duration
}

// run writes one run of a cell.
func (w *world) run(variant string, axes map[string]string, block int, o outcome) *store.RunWriter {
	w.t.Helper()
	w.index++
	info := store.RunInfo{
		Index: w.index, Name: fmt.Sprintf("%s%d", variant, block), Scenario: "small", Tool: "v0", Started: start(),
		Cell: design.Cell{Variant: variant, Axes: axes}, Block: block, Parameters: map[string]string{"objects": "10"},
	}
	if o.points == nil {
		info.Steps = []store.StepInfo{{Name: "load", Measured: true, Phases: []store.PhaseInfo{{Name: "gets", Loop: "open", Load: "10/s", Clients: 5, Connections: 2}}}}
	}
	for _, p := range o.points {
		point := store.Point{Parameter: "objects", Value: p}
		info.Steps = append(info.Steps, store.StepInfo{
			Name: fmt.Sprintf("list@%g", p), Measured: true, Point: &point,
			Phases: []store.PhaseInfo{{Name: fmt.Sprintf("walks@%g", p), Loop: "closed", Clients: 1, Connections: 1}},
		})
	}
	w.info(&info)
	writer, err := w.results.CreateRun(info)
	must(w.t, err)
	environment := store.Environment{Host: store.Host{CPUs: 2, CPUModel: "a"}, Components: []store.Component{{Name: "etcd", Version: "3.6.8"}}}
	w.environment(&environment)
	must(w.t, writer.Environment(environment))
	f := &fixture{t: w.t, results: w.results, writer: writer, seconds: map[secondKey]*record.Interval{}}
	if o.points == nil {
		f.span("load", "gets", 0, 10)
		f.recordGets(o)
	}
	last := 10.0
	for i, p := range o.points {
		last = float64(i) + 0.9
		name := fmt.Sprintf("@%g", p)
		f.span("list"+name, "walks"+name, float64(i), last)
		took := time.Duration(float64(o.took) * math.Pow(p/o.points[0], o.slower))
		f.record(sample{phase: "walks" + name, op: "walk", at: time.Duration(i)*time.Second + 500*ms, took: took, n: 20})
	}
	f.close()
	switch {
	case o.end == "":
		f.event(11, store.RunEnded, "")
		must(w.t, writer.Close(true))
	default:
		f.event(last+0.01, o.end, "") // which ends the step, too
		f.event(11, store.RunEnded, "")
		must(w.t, writer.Close(false))
	}
	return writer
}

func (f *fixture) span(step, phase string, from, to float64) {
	f.event(from, store.StepStarted, step)
	f.event(from, store.PhaseStarted, phase)
	f.event(to, store.PhaseEnded, phase)
	f.event(to, store.StepEnded, step)
}

func (f *fixture) recordGets(o outcome) {
	for second := range 10 {
		at := time.Duration(second)*time.Second + 500*ms
		get := sample{phase: "gets", op: "get", timing: record.Open, at: at, took: o.took, lag: o.lag}
		if get.n = 100 - o.failing; get.n > 0 {
			if o.timeout {
				get.outcome = record.TimedOut
			}
			f.record(get)
		}
		if get.n = o.failing; get.n > 0 {
			get.outcome, get.reason = record.Failed, "http-500"
			f.record(get)
		}
		f.record(sample{phase: "gets", op: "dispatch", timing: record.Dispatch, at: at, lag: o.lag, n: 100})
	}
}

// blocks writes so many blocks of both variants, with noise within, and drift
// between them; the variant takes ratio times as long.
func (w *world) blocks(n int, ratio float64) {
	for block := 1; block <= n; block++ {
		drift := 1 + 0.1*float64(block)/float64(n)
		for i, variant := range []string{"old", "new"} { // in an order, so that chance is the same every time
			factor := []float64{1, ratio}[i]
			noise := 1 + 0.01*w.random.NormFloat64()
			w.run(variant, nil, block, outcome{took: time.Duration(5e6 * drift * noise * factor)})
		}
	}
}

// analyze also holds that the result survives being written and read.
func (w *world) analyze() *Result {
	w.t.Helper()
	result, err := Analyze(w.t.Context(), w.results)
	must(w.t, err)
	roundTrip(w.t, result)
	return result
}

func roundTrip(t testing.TB, result *Result) {
	t.Helper()
	text, err := json.Marshal(result)
	must(t, err)
	var read Result
	must(t, json.Unmarshal(text, &read))
	again, err := json.Marshal(read)
	must(t, err)
	if string(again) != string(text) {
		t.Error("the result is another one after it was written and read")
	}
	if !reflect.DeepEqual(read.Comparisons, result.Comparisons) && len(result.Comparisons) > 0 {
		t.Error("the comparisons are others after they were written and read")
	}
}

// of finds the comparison of a measure.
func (e *Experiment) of(t *testing.T, name string) *Comparison {
	t.Helper()
	for _, c := range e.Comparisons {
		if c.Name == name {
			return c
		}
	}
	t.Fatalf("there is no comparison of %s", name)
	return nil
}

func logged(t *testing.T, w *store.RunWriter, component, text string) {
	t.Helper()
	must(t, os.WriteFile(filepath.Join(w.LogDir(), component+".log"), []byte(text), 0o644))
}
