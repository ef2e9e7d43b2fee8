// Package analysis turns runs into results: numbers with their counts, bounds
// kept or missed, and warnings. It reads the results directory and nothing else.
//
// Analyze is where to begin. Of each run it reads gather (recordings), figures
// (series over time), objective and expression (bounds), clients, objects and
// bottleneck; of all together, cells, compare, growth, loadline and references.
// What readers must know is in warnings and selfcheck. The types of result.json
// are in result (a run) and experiment (all runs).
package analysis

import (
	"cmp"
	"iter"
	"strings"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"

	"plimsoll.dev/plimsoll/internal/design"
	"plimsoll.dev/plimsoll/internal/store"
)

// SchemaVersion is the version of result.json; docs/result.md documents it.
const SchemaVersion = 1

// Result is what an experiment came to: the content of result.json. Times are
// seconds, sizes bytes, rates per second, shares fractions.
type Result struct {
	SchemaVersion int    `json:"schemaVersion"`
	Tool          string `json:"tool"`
	Scenario      string `json:"scenario"`
	Title         string `json:"title,omitempty"`
	Experiment
	Runs []*Run `json:"runs"`
	// Compared are the runs of both directories that Compare holds against each other; their own results hold them.
	Compared []*Run `json:"-"`
}

// Status is how a run ended.
type Status string

const (
	// Invalid runs did all that was planned, but measured plimsoll itself rather than the target.
	Invalid Status = "invalid"
	// Complete runs did all that was planned.
	Complete Status = "complete"
	// Incomplete runs were interrupted or killed.
	Incomplete Status = "incomplete"
	// Failed runs ended on an error, such as a component that died.
	Failed Status = "failed"
)

// Run is one run's results.
type Run struct {
	Name       string            `json:"name"`
	Index      int               `json:"index"`
	Status     Status            `json:"status"`
	Reason     string            `json:"reason,omitempty"`
	Parameters map[string]string `json:"parameters,omitempty"`
	// Cell is the combination of variant and parameters that it is a run of, and Block, from 1, the round in
	// which it was; Probe is the value that a search tried with it.
	Cell       design.Cell  `json:"cell"`
	Block      int          `json:"block,omitempty"`
	Probe      *store.Point `json:"probe,omitempty"`
	Seed       uint64       `json:"seed"`
	Started    time.Time    `json:"started"`
	Duration   float64      `json:"durationSeconds"`
	Ready      float64      `json:"targetReadySeconds,omitempty"` // from the run's start
	Steps      []*Step      `json:"steps"`
	Objectives []Objective  `json:"objectives,omitempty"`
	Components []Usage      `json:"components,omitempty"`
	Objects    *Objects     `json:"objects,omitempty"`
	// Clients are those of the API server, and Health is how the control plane fared; of a target that has one.
	Clients     []*Client         `json:"clients,omitempty"`
	Health      *Health           `json:"health,omitempty"`
	Profiles    []store.Profile   `json:"profiles,omitempty"`
	Warnings    Warnings          `json:"warnings,omitempty"`
	Environment store.Environment `json:"environment"`

	// Stopped says why the load was ended before the scenario was through: by the guard, or by an objective that
	// says so. Such a run is complete, and has missed that objective.
	Stopped string `json:"stopped,omitempty"`

	// Figures are series for charts; they are rebuilt, not stored.
	Figures *Figures `json:"-"`

	stored *store.Run
	// expressions are the values of those in PromQL that were asked for, over the measured steps.
	expressions map[string]answer
	// machine is what was measured of it, by the figures of limits.
	machine *Joined
	// idle is how many CPUs of the machine had nothing to do in the measured steps; nil is not known.
	idle *float64
	// pausing is the share of the measured time for which the garbage collector stopped plimsoll.
	pausing float64
	// waiting is how many of plimsoll's threads were ready to run and had no CPU, on average over the measured steps.
	waiting float64
}

// Step is one step's results. Start and End are offsets from the run's start.
type Step struct {
	Name     string `json:"name"`
	Measured bool   `json:"measured"`
	// Point is the value of the step's sweep, of one that has a sweep.
	Point  *store.Point `json:"point,omitempty"`
	Start  float64      `json:"startSeconds"`
	End    float64      `json:"endSeconds"`
	Phases []*Phase     `json:"phases"`
}

// Phase is one phase's results.
type Phase struct {
	Name        string  `json:"name"`
	Background  bool    `json:"background,omitempty"`
	Measured    bool    `json:"measured"`
	Verified    bool    `json:"verified,omitempty"` // each walk was checked for the objects that existed throughout
	Loop        string  `json:"loop"`               // open: response times; closed: service times
	Load        string  `json:"load"`
	Workload    string  `json:"workload"`
	Clients     int     `json:"clients"`
	Connections int     `json:"connections"`
	Start       float64 `json:"startSeconds"`
	End         float64 `json:"endSeconds"`
	// Count and Succeeded are of whole operations, without their parts.
	Count     int64 `json:"count"`
	Succeeded int64 `json:"succeeded"`
	// Dropped operations never started; they are in Count, and in no operation.
	Dropped     int64            `json:"dropped"`
	DropReasons map[string]int64 `json:"dropReasons,omitempty"`
	Operations  []*Operation     `json:"operations"`
	// Dispatch is how late the generator handed arrivals over (open loops).
	Dispatch *Distribution `json:"dispatch,omitempty"`
}

// Seconds is how long the phase took.
func (p *Phase) Seconds() float64 { return p.End - p.Start }

// Operation is what all operations of one kind in a phase came to.
type Operation struct {
	Name string `json:"name"`
	// Part says that it is a part of another operation, such as a page of a walk.
	Part     bool             `json:"part,omitempty"`
	Count    int64            `json:"count"`
	Rate     float64          `json:"perSecond"` // of those that succeeded
	Bytes    int64            `json:"bytes"`
	Items    int64            `json:"items,omitempty"`
	Outcomes map[string]int64 `json:"outcomes"`
	Reasons  map[string]int64 `json:"reasons,omitempty"`
	// Times of operations that succeeded, and, as lower bounds, of those that timed out.
	Response *Distribution `json:"response,omitempty"`
	Service  *Distribution `json:"service,omitempty"`
	Lag      *Distribution `json:"lag,omitempty"`
	// Times of operations that were answered but did not succeed.
	Unsuccessful map[string]*Distribution `json:"unsuccessful,omitempty"`
}

// Distribution summarises times in seconds, each within 0.1 % (three significant
// digits of the histogram). A percentile with fewer than ten samples beyond it is
// left out, but for the median.
type Distribution struct {
	Count  int64    `json:"count"`
	Min    float64  `json:"min"`
	Mean   float64  `json:"mean"`
	Stddev float64  `json:"stddev"`
	P50    *float64 `json:"p50,omitempty"`
	P90    *float64 `json:"p90,omitempty"`
	P95    *float64 `json:"p95,omitempty"`
	P99    *float64 `json:"p99,omitempty"`
	P999   *float64 `json:"p99.9,omitempty"`
	Max    float64  `json:"max"`
	// LowerBounds is how many of the times are of operations that timed out.
	LowerBounds int64 `json:"lowerBounds,omitempty"`

	histogram *hdrhistogram.Histogram
	// exactBelow is the shortest time of an operation that timed out: a percentile below it is what it
	// would be had plimsoll waited for ever.
	exactBelow float64
}

// Objective is a bound and whether the run kept it.
type Objective struct {
	store.ObjectiveInfo
	// Value is nil when the run does not have the measure; the objective is then missed. So is one that
	// was kept by a lower bound only.
	Value *float64 `json:"value"`
	// N is how many operations, or values of an expression, the value rests on.
	N    int64  `json:"n"`
	Held bool   `json:"held"`
	Note string `json:"note,omitempty"`
	// Stopped is when it ended the load, as an offset from the run's start.
	Stopped *float64 `json:"stoppedSeconds,omitempty"`
}

// Subject is what is bounded: the measure, the expression, or what the guard keeps free.
func (o Objective) Subject() string { return cmp.Or(o.Measure, o.PromQL, o.Name) }

// Usage is what one process used over the measured steps, or over the whole run
// if none of them began.
type Usage struct {
	Component string  `json:"component"`
	MeanCPU   float64 `json:"meanCPU"` // in CPUs
	MaxCPU    float64 `json:"maxCPU"`
	MaxRSS    float64 `json:"maxResidentBytes"`
	EndRSS    float64 `json:"endResidentBytes"`
}

// Warning travels with the numbers that it is about.
type Warning struct {
	About string `json:"about"` // phase, operation or component
	What  string `json:"what"`
	Why   string `json:"why,omitempty"`
	Mend  string `json:"mend,omitempty"`
}

// Warnings are what a reader must know of a run, or of an experiment.
type Warnings []Warning

func (w *Warnings) add(about, what, why, mend string) {
	*w = append(*w, Warning{about, what, why, mend})
}

// Figures are the series that charts are drawn from. All share one time axis
// of whole seconds since the run's start.
type Figures struct {
	Seconds []float64
	// Outcomes are operations per second, by phase, operation and outcome. Seconds without any are 0
	// while the phase runs and NaN before and after.
	Outcomes []Line
	// Graphs show the API server and its clients over time; none without a control plane.
	Graphs []Graph
	// CPU (in CPUs) and RSS, resident memory (in bytes), are by component; gaps are NaN.
	CPU, RSS []Line
	// Joined has the write-up's metrics beside the numbers of objects; nil of a run that observed none.
	Joined *Joined
	// Panels are what the scenario asks to be shown over time, in its order.
	Panels []Panel
	// Curves are the percentile curves of the measured operations.
	Curves []Curve
	// Heatmaps show how often operations took how long, as time goes by.
	Heatmaps []Heatmap
}

// Heatmap counts the times of one operation by when they ended and how long they were.
type Heatmap struct {
	Phase, Operation, Clock string
	// Start is when the first column begins, in seconds from the run's start; every column is Width seconds wide.
	Start, Width float64
	// Edges are rising times in seconds; row i counts those from Edges[i] up to Edges[i+1].
	Edges []float64
	// Counts are by column, then by row, which are one less than the edges.
	Counts [][]int64
}

// Panel is a PromQL expression over time, with a line for each series that it gives.
type Panel struct {
	design.Panel
	Lines []Line
}

// Line is one series over Figures.Seconds.
type Line struct {
	Phase, Operation, Outcome, Component string
	// Labels are those of a panel's series, as verb=LIST, code=200; empty if it has none.
	Labels string
	Values []float64
}

// Curve is a percentile curve: times in seconds at rising quantiles.
type Curve struct {
	Phase, Operation, Clock string
	Count                   int64
	Points                  []Point
}

// Point is a time at a quantile between 0 and 1.
type Point struct {
	Quantile, Seconds float64
}

// Phases are those of all steps, in their order, each with its step.
func (r *Run) Phases() iter.Seq2[*Step, *Phase] {
	return func(yield func(*Step, *Phase) bool) {
		for _, step := range r.Steps {
			for _, phase := range step.Phases {
				if !yield(step, phase) {
					return
				}
			}
		}
	}
}

// phase is nil if the run has none of that name.
func (r *Run) phase(name string) *Phase {
	for _, phase := range r.Phases() {
		if phase.Name == name {
			return phase
		}
	}
	return nil
}

// Written is the name that the phase has in the scenario, without the @value of a sweep's point.
func (p *Phase) Written() string { return writtenName(p.Name) }

func writtenName(phase string) string {
	name, _, _ := strings.Cut(phase, "@")
	return name
}

func (p *Phase) operation(name string) *Operation {
	for _, operation := range p.Operations {
		if operation.Name == name {
			return operation
		}
	}
	return nil
}

// MainClock is the clock that an operation is judged by, with its times, nil if
// there are none: in an open loop, what a user waits; in a closed one, and of
// parts, what the target took.
func (o *Operation) MainClock(phase *Phase) (store.Clock, *Distribution) {
	if phase.Loop == "open" && !o.Part {
		return store.Response, o.Response
	}
	return store.Service, o.Service
}

func (o *Operation) clock(name store.Clock) *Distribution {
	return map[store.Clock]*Distribution{store.Response: o.Response, store.Service: o.Service, store.Lag: o.Lag}[name]
}
