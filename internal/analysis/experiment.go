package analysis

import (
	"plimsoll.dev/plimsoll/internal/design"
	"plimsoll.dev/plimsoll/internal/stats"
	"plimsoll.dev/plimsoll/internal/store"
)

// Experiment is what all runs together came to: what result.json has beside the runs.
type Experiment struct {
	Design design.Design `json:"design"`
	// RunsPlanned is how many runs there are to be, if not all of them have begun.
	RunsPlanned int `json:"runsPlanned,omitempty"`
	// Cells are the combinations of variant and parameters that were run, in the order of the design.
	Cells []*Cell `json:"cells,omitempty"`
	// Comparisons hold each variant against the baseline, at the same parameters: primary measures first.
	Comparisons []*Comparison `json:"comparisons,omitempty"`
	// Growth says how measures grow along a sweep, or along an axis of numbers.
	Growth []*Growth `json:"growth,omitempty"`
	// LoadLines are the largest loads at which every objective held.
	LoadLines []*LoadLine `json:"loadLines,omitempty"`
	// Clients are what the clients of the API server got, cell by cell; of a target with a control plane.
	Clients []*ClientCells `json:"clients,omitempty"`
	// References are published figures beside ours.
	References []*Reference `json:"references,omitempty"`
	// Excluded are runs that are in no comparison, by rules that were there before them.
	Excluded []Exclusion `json:"excluded,omitempty"`
	// Warnings are about the experiment as a whole.
	Warnings Warnings `json:"warnings,omitempty"`
}

// Cell is a combination of a variant and parameter values.
type Cell struct {
	design.Cell
	// Runs are the indices of its runs, by block; those that are excluded are not among them.
	Runs []int `json:"runs"`
	// Measures are its measures over the runs, the primary ones first.
	Measures []*CellMeasure `json:"measures"`
	// Times are how long operations took, those of all its runs together.
	Times []*CellTimes `json:"times,omitempty"`
	// Checks say how true the lists were, of phases that were asked.
	Checks []*CellCheck `json:"checks,omitempty"`
}

// CellTimes are the times of all operations of one kind in the runs of a cell:
// their histograms are merged, so that percentiles are those of all of them.
// Intervals are not of these, but of the comparisons, which rest on runs.
type CellTimes struct {
	Phase     string       `json:"phase"` // without the @value of a sweep's point
	Operation string       `json:"operation"`
	Part      bool         `json:"part,omitempty"`
	Clock     string       `json:"clock"` // the one that counts: response in open loops, else service
	Point     *store.Point `json:"point,omitempty"`
	*Distribution
}

// CellCheck says how true the lists of a phase were in the runs of a cell.
type CellCheck struct {
	Phase string       `json:"phase"` // without the @value of a sweep's point
	Point *store.Point `json:"point,omitempty"`
	// Walked is how many walks over a list ended well, and Checked how many of them were checked for the
	// objects that existed throughout; Missing lacked some, and Duplicates showed some twice.
	Walked     int64 `json:"walked"`
	Checked    int64 `json:"checked"`
	Missing    int64 `json:"missingIn"`
	Duplicates int64 `json:"duplicatesIn"`
	// Pages is how many pages there were, and LimitIgnored how many of them held more than was asked for.
	Pages        int64 `json:"pages"`
	LimitIgnored int64 `json:"limitIgnored"`
}

// Subject is what a number is about.
type Subject struct {
	// Name is that of a primary measure in the scenario, or the measure itself.
	Name    string `json:"name"`
	Measure string `json:"measure,omitempty"` // without the @value of a sweep's point
	PromQL  string `json:"promql,omitempty"`
	Primary bool   `json:"primary,omitempty"`
	Unit    string `json:"unit"` // as in measure.Unit; of PromQL, empty
	// Better is lower or higher.
	Better string `json:"better"`
	// Point is that of a sweep.
	Point *store.Point `json:"point,omitempty"`
}

// CellMeasure is a measure over the runs of a cell.
type CellMeasure struct {
	Subject
	// Values are one per run, in the order of Cell.Runs; nil where the run has none.
	Values  []*float64    `json:"values"`
	Summary stats.Summary `json:"summary"`
	// Outliers marks values that lie far from the others; they are counted all the same.
	Outliers []bool `json:"outliers,omitempty"`
}

// Comparison is one measure of a variant held against that of the baseline, at the same parameters.
type Comparison struct {
	Subject
	Variant  string            `json:"variant"`
	Baseline string            `json:"baseline"`
	Axes     map[string]string `json:"axes,omitempty"`
	// Base and Head are the baseline's and the variant's own figures.
	Base stats.Summary `json:"base"`
	Head stats.Summary `json:"head"`
	// Blocks are those that Ratios in stats.Comparison are of, in order.
	Blocks []int `json:"blocks,omitempty"`
	stats.Comparison
	// AdjustedP is P after Holm, for exploratory measures.
	AdjustedP *float64 `json:"adjustedP,omitempty"`
	// Margin below which a change does not matter; 0 says that none was declared.
	Margin  float64       `json:"margin,omitempty"`
	Verdict stats.Verdict `json:"verdict"`
	// BlocksNeeded is about how many blocks would decide what is inconclusive; 0 if that cannot be told.
	BlocksNeeded int `json:"blocksNeeded,omitempty"`
}

// Growth is how a measure of a cell grows along a sweep, or along an axis of numbers.
type Growth struct {
	Subject
	Cell      design.Cell   `json:"cell"` // without the axis that it grows along
	Parameter string        `json:"parameter"`
	Points    []GrowthPoint `json:"points"`
	Fit       stats.Growth  `json:"fit"`
	// InWords says it: "linear", "faster than linear", ….
	InWords string `json:"inWords"`
	// FirstPast is the first point past each bound that an objective sets on the same measure or, of a time
	// without one, past a second.
	FirstPast []Crossing `json:"firstPast,omitempty"`
	// Binned says that the parameter is the number of objects of runs that grew: a point is the mean of
	// the seconds in which there were about as many.
	Binned bool `json:"binned,omitempty"`
	// Line is what each object more costs; nil of what is not counted in bytes, or of a sweep or an axis.
	Line *stats.Line `json:"line,omitempty"`
}

// GrowthPoint is the measure at one value of the parameter, over the runs.
type GrowthPoint struct {
	Value float64 `json:"value"` // in base units
	// Text is the value as it is written, if it is not the number alone.
	Text    string        `json:"text,omitempty"`
	Summary stats.Summary `json:"summary"`
}

// Crossing is where a bound was first passed; At is nil if it never was.
type Crossing struct {
	Bound string   `json:"bound"` // as written
	At    *float64 `json:"at"`
	// Text is At as it is written in the scenario, if it is not the number alone.
	Text string `json:"text,omitempty"`
}

// LoadLine is the largest load at which every objective held: of a sweep in
// one run, of a search over several, or of the number of objects in a run that
// grew.
type LoadLine struct {
	Cell design.Cell `json:"cell"`
	// Block is that of a search, which looks for a load line in each.
	Block     int    `json:"block,omitempty"`
	Runs      []int  `json:"runs"`
	Parameter string `json:"parameter"`
	// Held is the largest value at which every objective held, and Broke the smallest above it at
	// which one did not. Held is nil if the first value broke already, Broke if none did.
	Held  *store.Point `json:"held"`
	Broke *store.Point `json:"broke"`
	// Objective is the first one to break, with its value, and At when (seconds from the start of run Run).
	Objective *Objective `json:"objective,omitempty"`
	Run       int        `json:"run,omitempty"`
	At        *float64   `json:"atSeconds,omitempty"`
	// Grown says that the load is the number of objects of runs that grew.
	Grown bool `json:"grown,omitempty"`
	// Breaks are, of a run that grew, all objectives that broke, by when.
	Breaks []Break `json:"breaks,omitempty"`
	// LastHeld is, of a run that grew, the largest value at which every objective held again after that.
	LastHeld *store.Point `json:"lastHeld,omitempty"`
	// Bottleneck says what the machine was short of when it broke; nil if the machine was not observed.
	Bottleneck *Bottleneck `json:"bottleneck,omitempty"`
	// NotMeasured are the objectives that had a value at no load: the line is that of the others.
	NotMeasured []string `json:"notMeasured,omitempty"`
	// Tries are what a search tried, by value.
	Tries []Try `json:"tries,omitempty"`
	// Log is what the components wrote while it was measured, around that moment.
	Log      []LogLine `json:"log,omitempty"`
	Warnings []string  `json:"warnings,omitempty"`
}

// Break is an objective that broke while a run grew.
type Break struct {
	Objective string `json:"objective"`
	Bound     string `json:"bound"`
	Unit      string `json:"unit,omitempty"`
	// Point is the number of objects when it broke first, At when (seconds from the run's start), and
	// Value what it was then.
	Point store.Point `json:"point"`
	At    float64     `json:"atSeconds"`
	Value float64     `json:"value"`
	// Share is the share of the seconds from then on in which it was broken: 1 says that it broke for good.
	Share float64 `json:"share"`
}

// Try is one value that a search tried.
type Try struct {
	Point      store.Point      `json:"point"`
	Run        int              `json:"run"`
	Held       bool             `json:"held"`
	Note       string           `json:"note,omitempty"`
	Objectives []TriedObjective `json:"objectives"`
}

// TriedObjective is how an objective fared at one value of a search.
type TriedObjective struct {
	Name  string   `json:"name"`
	Bound string   `json:"bound"`
	Unit  string   `json:"unit,omitempty"`
	Value *float64 `json:"value"`
	Held  bool     `json:"held"`
	// NotMeasured objectives have neither held nor broken.
	NotMeasured bool `json:"notMeasured,omitempty"`
}

// LogLine is a line that a component wrote.
type LogLine struct {
	Component string   `json:"component"`
	At        *float64 `json:"atSeconds,omitempty"` // from the run's start, if the line tells
	Text      string   `json:"text"`
}

// Reference is a published figure beside ours.
type Reference struct {
	design.Reference
	// Cell or cells that it was looked for in, with what was found.
	Findings []Finding `json:"findings"`
}

// Agreement is how a figure of ours stands to a published one.
type Agreement string

// The agreements. A single published figure is shown beside ours without a judgement.
const (
	Agrees      Agreement = "agrees"
	Differs     Agreement = "differs"
	Unclear     Agreement = "unclear" // our interval reaches over an end of the published range
	Beside      Agreement = "beside"
	NotMeasured Agreement = "not measured"
)

// Finding is our figure for a reference, in one cell.
type Finding struct {
	Cell  design.Cell  `json:"cell"`
	Point *store.Point `json:"point,omitempty"`
	Value *float64     `json:"value"`
	Lo    *float64     `json:"lo,omitempty"`
	Hi    *float64     `json:"hi,omitempty"`
	N     int          `json:"n"`
	// Agreement is how it stands to what was published.
	Agreement Agreement `json:"agreement"`
}

// Exclusion is a run that is in no comparison.
type Exclusion struct {
	Run  int    `json:"run"`
	Name string `json:"name"`
	Rule string `json:"rule"` // that it is excluded by
}
