// Package store is the results directory: what an experiment leaves, written
// as it happens and read back by everything that reports. It is the only
// package that knows the names of files in it.
//
//	DIR/
//	  scenario.yaml plan.json          what was asked for
//	  result.json summary.csv comparison.csv times.csv sweep.csv bench.txt junit.xml report.html   rebuildable from the rest
//	  runs/0001-NAME/
//	    run.json          what the run was to do
//	    environment.json  what it ran on
//	    operations.hlog   HDR histograms per second and operation
//	    counters.jsonl    counts, bytes, items and reasons per second and operation
//	    events.jsonl      steps, phases, failures, the end
//	    metrics/          a Prometheus TSDB
//	    queries.json      what another Prometheus was asked about the run, and answered
//	    logs/             one file per component
//	    profiles/         CPU profiles of components, named STEP-COMPONENT.pprof
//	    COMPLETE          there if the run ended as planned
//	  attempts/           what was left of runs that were begun again
package store

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"plimsoll.dev/plimsoll/internal/design"
	"plimsoll.dev/plimsoll/internal/mount"
)

// SchemaVersion is the version of the directory's form. A reader accepts its
// own and older ones.
const SchemaVersion = 1

// Names of the files in a results directory that others may be pointed to.
const (
	ScenarioFile = "scenario.yaml"
	PlanFile     = "plan.json"
	ResultFile   = "result.json"
	SummaryFile  = "summary.csv"
	ReportFile   = "report.html"

	ComparisonFile = "comparison.csv"
	SweepFile      = "sweep.csv"
	TimesFile      = "times.csv"
	BenchFile      = "bench.txt"
	JUnitFile      = "junit.xml"
)

const (
	runsDir         = "runs"
	runFile         = "run.json"
	environmentFile = "environment.json"
	operationsFile  = "operations.hlog"
	countersFile    = "counters.jsonl"
	eventsFile      = "events.jsonl"
	metricsDir      = "metrics"
	queriesFile     = "queries.json"
	logsDir         = "logs"
	profilesDir     = "profiles"
	profileSuffix   = ".pprof"
	workDir         = "work"
	completeFile    = "COMPLETE"
)

// ErrNotEmpty is the error of a directory for new results that holds something.
var ErrNotEmpty = errors.New("is not empty")

// ErrNotResults is the error of a directory that holds no experiment.
var ErrNotResults = errors.New("not a results directory")

// ErrNewer is the error of a directory that an older plimsoll than the one that
// wrote it cannot read.
var ErrNewer = errors.New("written by a newer plimsoll")

// Results is one experiment's directory.
type Results struct {
	Dir string
}

// header is what every versioned file begins with.
type header struct {
	SchemaVersion int `json:"schemaVersion"`
}

// Create makes the directory of a new experiment, with the scenario as the user
// wrote it and the plan that came of it. A directory that holds anything is
// refused.
func Create(dir string, scenario []byte, plan any) (*Results, error) {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return nil, err
	}
	entries, err := os.ReadDir(dir)
	if err != nil {
		err = os.MkdirAll(dir, 0o755)
	}
	if err == nil && len(entries) == 0 {
		// Of two experiments that begin at once in the same folder, one can make it.
		err = os.Mkdir(filepath.Join(dir, runsDir), 0o755)
	}
	switch {
	case len(entries) > 0 || errors.Is(err, fs.ErrExist):
		return nil, fmt.Errorf("results directory %s %w: choose another with --output, or remove it", dir, ErrNotEmpty)
	case err != nil:
		return nil, fmt.Errorf("make results directory: %w", err)
	}
	if err := os.WriteFile(filepath.Join(dir, ScenarioFile), scenario, 0o644); err != nil {
		return nil, fmt.Errorf("write scenario: %w", err)
	}
	if err := writeJSON(filepath.Join(dir, PlanFile), plan); err != nil {
		return nil, err
	}
	return &Results{Dir: dir}, nil
}

// Open finds the experiment in a directory.
func Open(dir string) (*Results, error) {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return nil, err
	}
	_, err = os.Stat(filepath.Join(dir, runsDir))
	switch {
	case err == nil:
		return &Results{Dir: dir}, nil
	case errors.Is(err, fs.ErrPermission):
		return nil, fmt.Errorf("open results: %w", err)
	}
	if _, err := os.Stat(dir); errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("there is no results directory %s: %w", dir, fs.ErrNotExist)
	}
	return nil, fmt.Errorf("open %s: %w: it has no folder %s", dir, ErrNotResults, runsDir)
}

// Path is the path of one of the experiment's own files.
func (r *Results) Path(name string) string { return filepath.Join(r.Dir, name) }

// WriteResult replaces result.json.
func (r *Results) WriteResult(result any) error {
	return writeJSON(r.Path(ResultFile), result)
}

// Runs reads every run, in order. A damaged run says so; that none can be read
// is an error, and so is a run of a newer plimsoll.
func (r *Results) Runs() ([]*Run, error) {
	entries, err := os.ReadDir(filepath.Join(r.Dir, runsDir))
	if err != nil {
		return nil, fmt.Errorf("list runs: %w", err)
	}
	var runs []*Run
	var lost []error
	for _, entry := range entries {
		if _, _, ok := parseRunFolder(entry.Name()); !ok || !entry.IsDir() {
			continue
		}
		run, err := openRun(filepath.Join(r.Dir, runsDir, entry.Name()))
		if err != nil {
			return nil, err
		}
		if run.Unreadable != nil {
			lost = append(lost, run.Unreadable)
		}
		runs = append(runs, run)
	}
	if len(lost) > 0 && len(lost) == len(runs) {
		return nil, fmt.Errorf("no run of %s can be read: %w", r.Dir, errors.Join(lost...))
	}
	slices.SortStableFunc(runs, func(a, b *Run) int { return a.Info.Index - b.Info.Index })
	return runs, nil
}

// runFolder is the name of a run's folder; parseRunFolder undoes it.
func runFolder(info RunInfo) string { return fmt.Sprintf("%04d-%s", info.Index, info.Name) }

func parseRunFolder(folder string) (index int, name string, ok bool) {
	number, name, ok := strings.Cut(folder, "-")
	if !ok || len(number) < 4 {
		return 0, "", false
	}
	parsed, err := strconv.ParseUint(number, 10, 31)
	return int(parsed), name, err == nil
}

// RunInfo says what a run was to do. It is written when the run begins.
type RunInfo struct {
	SchemaVersion int               `json:"schemaVersion"`
	Index         int               `json:"index"`
	Name          string            `json:"name"`
	Scenario      string            `json:"scenario"`
	Title         string            `json:"title,omitempty"`
	Seed          uint64            `json:"seed"`
	Parameters    map[string]string `json:"parameters,omitempty"`
	// Cell is the combination of variant and parameters that was run, and Block, from 1, the round in which it was;
	// runs of the same block and the same values are pairs.
	Cell  design.Cell `json:"cell"`
	Block int         `json:"block,omitempty"`
	// Probe is the value that a search tried.
	Probe *Point `json:"probe,omitempty"`
	// Started is the wall-clock time of offset 0 of every other time in the run.
	Started    time.Time       `json:"started"`
	Steps      []StepInfo      `json:"steps"`
	Objectives []ObjectiveInfo `json:"objectives,omitempty"`
	// Tool is the version of plimsoll that ran it.
	Tool string `json:"tool"`
	// Prometheus is the URL, without credentials, of the one that evaluates the objectives in PromQL;
	// empty if the run's own metrics do.
	Prometheus string `json:"prometheus,omitempty"`
}

// StepInfo is one step of a run.
type StepInfo struct {
	Name     string `json:"name"`
	Measured bool   `json:"measured"`
	// Point is the value of the step's sweep, if it has one: the step is then one of several, whose
	// phases are named alike, but for what follows an @.
	Point  *Point      `json:"point,omitempty"`
	Phases []PhaseInfo `json:"phases"`
}

// Point is one value of a sweep.
type Point struct {
	Parameter string  `json:"parameter"`
	Value     float64 `json:"value"`          // the number that a quantity begins with
	Text      string  `json:"text,omitempty"` // as it is written, such as 50/s
}

func (p Point) String() string {
	return p.Parameter + "=" + cmp.Or(p.Text, strconv.FormatFloat(p.Value, 'f', -1, 64))
}

// PhaseInfo is one phase of a step.
type PhaseInfo struct {
	Name       string `json:"name"`
	Background bool   `json:"background,omitempty"`
	// Verified says that each walk is checked for the objects that exist throughout.
	Verified    bool   `json:"verified,omitempty"`
	Loop        string `json:"loop"` // open or closed
	Load        string `json:"load"` // in words
	Workload    string `json:"workload"`
	Clients     int    `json:"clients"`
	Connections int    `json:"connections"`
}

// ObjectiveInfo is a declared bound on a measure or on a PromQL expression, in
// base units: seconds, bytes, operations per second, or a fraction.
type ObjectiveInfo struct {
	Name    string   `json:"name"`
	Measure string   `json:"measure,omitempty"`
	PromQL  string   `json:"promql,omitempty"`
	Max     *float64 `json:"max,omitempty"`
	Min     *float64 `json:"min,omitempty"`
	// Headline says that reports begin with it.
	Headline bool `json:"headline,omitempty"`
	// Unit is that of the bounds; runs of before it was written down have none.
	Unit string `json:"unit,omitempty"`
	// Text is the bound as it was written, such as "≤ 1s".
	Text string `json:"text"`
}

// Past says whether a value is beyond the bound.
func (o ObjectiveInfo) Past(v float64) bool {
	return o.Max != nil && v > *o.Max || o.Min != nil && v < *o.Min
}

// Environment is what a run ran on.
type Environment struct {
	SchemaVersion int         `json:"schemaVersion"`
	Host          Host        `json:"host"`
	Components    []Component `json:"components"`
}

// Host is the machine. Sizes are bytes.
type Host struct {
	OS            string   `json:"os"`
	Platform      string   `json:"platform"`
	Kernel        string   `json:"kernel"`
	Architecture  string   `json:"architecture"`
	CPUModel      string   `json:"cpuModel"`
	CPUs          int      `json:"cpus"`
	CPULimit      float64  `json:"cpuLimit,omitempty"` // of the control group, in CPUs
	MemoryBytes   uint64   `json:"memoryBytes"`
	MemoryLimit   uint64   `json:"memoryLimitBytes,omitempty"` // of the control group
	mount.Mount            // under the run's data
	DiskFreeBytes uint64   `json:"diskFreeBytes"`
	Virtual       string   `json:"virtualization,omitempty"`
	Load1         float64  `json:"load1"`                 // load average when the run began
	Told          string   `json:"disk,omitempty"`        // the mount in words, in results that have no fields for all of it
	ToldCaveats   []string `json:"diskCaveats,omitempty"` // likewise
}

// DiskWords say what the run's data was on and, after that, what a sync means there.
func (h Host) DiskWords() []string {
	if h.Told != "" {
		return append([]string{h.Told}, h.ToldCaveats...)
	}
	return append([]string{h.Words()}, h.Caveats()...)
}

// Component is one part of the target as it ran.
type Component struct {
	Name    string   `json:"name"`
	Version string   `json:"version"`
	Binary  string   `json:"binary"`
	Source  string   `json:"source"`
	SHA256  string   `json:"sha256"`
	Args    []string `json:"args"`
	PID     int      `json:"pid"`
	Log     string   `json:"log,omitempty"`
}

// Event is something that happened at a moment of a run.
type Event struct {
	// At is the offset from the run's start, in seconds.
	At   float64   `json:"at"`
	Kind EventKind `json:"kind"`
	// Name of the step, phase, component or objective that it happened to.
	Name    string `json:"name,omitempty"`
	Message string `json:"message,omitempty"`
	// Bound is the one of the guard that ended the load, and Value what there was.
	Bound *ObjectiveInfo `json:"bound,omitempty"`
	Value *float64       `json:"value,omitempty"`
}

// EventKind is a kind of event.
type EventKind string

// The kinds of events.
const (
	TargetReady    EventKind = "target-ready"
	Prepared       EventKind = "prepared"
	StepStarted    EventKind = "step-started"
	StepEnded      EventKind = "step-ended"
	PhaseStarted   EventKind = "phase-started"
	PhaseEnded     EventKind = "phase-ended"
	Interrupted    EventKind = "interrupted"
	RunFailed      EventKind = "run-failed"
	SamplingFailed EventKind = "sampling-failed"
	Unsettled      EventKind = "unsettled"
	FaultBegan     EventKind = "fault-began"
	FaultEnded     EventKind = "fault-ended"
	FaultMissed    EventKind = "fault-missed" // its step ended before it began
	ProfileFailed  EventKind = "profile-failed"
	WaitMissed     EventKind = "wait-missed" // what the step waited for did not come
	Restarted      EventKind = "restarted"   // a component that ended by itself
	Stopped        EventKind = "stopped"     // the guard or an objective ended the load in order
	RunEnded       EventKind = "run-ended"
)

func writeJSON(path string, value any) error {
	data, err := json.MarshalIndent(value, "", "  ")
	if err != nil {
		return fmt.Errorf("encode %s: %w", filepath.Base(path), err)
	}
	// Written beside and renamed, so that a full disk or a kill leaves the old file whole.
	temporary := path + ".tmp"
	err = os.WriteFile(temporary, append(data, '\n'), 0o644)
	if err == nil {
		err = os.Rename(temporary, path)
	}
	if err != nil {
		_ = os.Remove(temporary)
		return fmt.Errorf("write %s: %w", filepath.Base(path), err)
	}
	return nil
}

// readJSON reads a versioned file: the whole of it, or an error that names it.
func readJSON[T any](path string, value *T) error {
	data, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("%s is missing: the run ended before it was written, or it was removed", path)
	}
	if err != nil {
		return err
	}
	var h header
	if err := json.Unmarshal(data, &h); err != nil {
		return fmt.Errorf("%s is damaged: %w", path, err)
	}
	switch {
	case h.SchemaVersion > SchemaVersion:
		return fmt.Errorf("%s was %w: its schema is version %d, this plimsoll reads up to %d; use the newer one",
			path, ErrNewer, h.SchemaVersion, SchemaVersion)
	case h.SchemaVersion < 1:
		return fmt.Errorf("%s is damaged: it has no schemaVersion", path)
	}
	var read T
	if err := json.Unmarshal(data, &read); err != nil {
		return fmt.Errorf("%s is damaged: %w", path, err)
	}
	*value = read
	return nil
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}
