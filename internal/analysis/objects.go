package analysis

import (
	"cmp"
	"context"
	"math"
	"slices"
	"strings"

	"plimsoll.dev/plimsoll/internal/measure"
	"plimsoll.dev/plimsoll/internal/metrics"
	"plimsoll.dev/plimsoll/internal/stats"
	"plimsoll.dev/plimsoll/internal/store"
)

// Objects are the objects that a run observed, of which the metrics of the
// write-up tell what they cost.
type Objects struct {
	// Counts are by resource and state, that which grew most while it was measured first: the metrics
	// are set against it.
	Counts []ObjectCount `json:"counts"`
	// Complaints are the lines with which components say that they are overloaded, by what they say.
	Complaints []Complaint `json:"complaints,omitempty"`

	// joined has the write-up's metrics beside the counts, over the whole run.
	joined *Joined
	// main is the column of the first count, and numbers what it has of the measured steps.
	main    Column
	numbers []float64
}

// ObjectCount is how many objects of a resource were in a state, over the measured steps.
type ObjectCount struct {
	Resource string  `json:"resource"`
	State    string  `json:"state"`
	First    float64 `json:"first"`
	Max      float64 `json:"max"`
}

// String names what is counted: running pods, services.
func (c ObjectCount) String() string {
	if c.State == "present" || c.State == "" {
		return c.Resource
	}
	return c.State + " " + c.Resource
}

// leastGrowth is how often as many objects there must come to be for a run to have
// grown, and leastMore how many more.
const (
	leastGrowth = 2
	leastMore   = 20
)

// Grew says that the run was under a growing load: the objects it observed became
// several times as many.
func (o *Objects) Grew() bool {
	if o == nil {
		return false
	}
	c := o.Counts[0]
	return c.Max >= leastGrowth*c.First && c.Max-c.First >= leastMore
}

// addObjects reads what a run observed; a run that observed nothing has none.
func (r *Run) addObjects(ctx context.Context, reader *metrics.Reader) {
	counts, err := Join(ctx, reader, r.stored.Info, 0, r.Duration, []Metric{ObjectCounts()})
	if err == nil && len(counts.Columns) == 0 {
		return
	}
	var joined *Joined
	if err == nil {
		joined, err = Join(ctx, reader, r.stored.Info, 0, r.Duration, WriteUp())
	}
	if err != nil {
		r.Warnings.add("metrics", err.Error(), "", "")
		return
	}
	joined.Columns = append(counts.Columns, joined.Columns...)
	r.Objects = newObjects(joined, r.measuredSeconds())
	if r.Objects != nil {
		r.Objects.Complaints = r.complaints()
		r.Figures.Joined = joined
	}
}

// NewObjects finds what grew most among the counts in joined metrics, from one
// offset to another; nil if nothing was counted then.
func NewObjects(joined *Joined, from, to float64) *Objects {
	return newObjects(joined, []span{{from, to}})
}

// newObjects finds what grew most among the counts; nil if nothing was counted
// while it was measured.
func newObjects(joined *Joined, measured []span) *Objects {
	o := &Objects{joined: joined}
	columns := map[ObjectCount]Column{}
	for _, column := range joined.Of(ObjectCounts()) {
		c := ObjectCount{Resource: column.Labels.Get("resource"), State: column.Labels.Get("state"), First: math.NaN()}
		for row, v := range column.Values {
			if within(joined.Seconds[row], measured) && !math.IsNaN(v) {
				if math.IsNaN(c.First) {
					c.First = v
				}
				c.Max = max(c.Max, v)
			}
		}
		if c.Max > 0 {
			o.Counts = append(o.Counts, c)
			columns[c] = column
		}
	}
	if o.Counts == nil {
		return nil
	}
	slices.SortStableFunc(o.Counts, func(a, b ObjectCount) int {
		return cmp.Or(cmp.Compare(rankOfState(a), rankOfState(b)), -cmp.Compare(a.Max-a.First, b.Max-b.First),
			cmp.Compare(rankOfResource(a), rankOfResource(b)), cmp.Compare(a.String(), b.String()))
	})
	o.main = columns[o.Counts[0]]
	o.numbers = slices.Clone(o.main.Values)
	for row, second := range joined.Seconds {
		if !within(second, measured) {
			o.numbers[row] = math.NaN()
		}
	}
	return o
}

// rankOfState sets states in which an object is what it was to become before
// those that it passes through.
func rankOfState(c ObjectCount) int {
	if slices.Contains([]string{"running", "available", "present"}, c.State) {
		return 0
	}
	return 1
}

// rankOfResource sets what somebody makes before what a controller makes of it.
func rankOfResource(c ObjectCount) int {
	if slices.Contains([]string{"endpoints", "endpointslices", "replicasets", "events"}, c.Resource) {
		return 1
	}
	return 0
}

func within(second float64, spans []span) bool {
	return slices.ContainsFunc(spans, func(s span) bool { return second >= s.start && second <= math.Ceil(s.end) })
}

// countAt is how many objects there were at a moment: the last number before it.
func (o *Objects) countAt(at float64) (float64, bool) {
	for row := len(o.joined.Seconds) - 1; row >= 0; row-- {
		if v := o.main.Values[row]; o.joined.Seconds[row] <= at && !math.IsNaN(v) {
			return v, true
		}
	}
	return 0, false
}

// mostBins is into how many steps of the number of objects a growing run is parted at the most.
const mostBins = 50

// alongObjects says how each metric of the write-up grows with the number of
// objects, of the cells whose runs have grown. Of several members of etcd the one
// that has most counts.
func alongObjects(groups []*group) []*Growth {
	var all []*Growth
	for _, metric := range WriteUp() {
		if metric.Aside {
			continue
		}
		for _, component := range componentsWith(groups, metric) {
			for _, g := range groups {
				all = appendGrowth(all, g.alongObjects(metric, component))
			}
		}
	}
	slices.SortStableFunc(all, func(a, b *Growth) int { return cmp.Compare(rankOfUse(a), rankOfUse(b)) })
	return all
}

// rankOfUse sets what was asked about, the datastore and the API server, before
// other components, and what each object costs before how the rest grows.
func rankOfUse(g *Growth) int {
	rank := 0
	if g.Line == nil {
		rank = 1
	}
	if !slices.ContainsFunc(askedAbout(), func(name string) bool { return strings.HasPrefix(g.Name, name+", ") }) {
		rank += 2
	}
	return rank
}

func askedAbout() []string { return []string{"etcd", "kine", "kube-apiserver"} }

// componentsWith are those that a metric is of, without the numbers of members:
// first datastores, then API servers, then the others.
func componentsWith(groups []*group, metric Metric) []string {
	var names []string
	for _, g := range groups {
		for _, run := range g.runs {
			if !run.grew() {
				continue
			}
			for _, column := range run.Objects.joined.Of(metric) {
				if name := family(column.Component()); !slices.Contains(names, name) {
					names = append(names, name)
				}
			}
		}
	}
	rank := func(name string) int {
		if at := slices.Index(askedAbout(), name); at >= 0 {
			return at
		}
		return len(askedAbout())
	}
	slices.SortFunc(names, func(a, b string) int { return cmp.Or(cmp.Compare(rank(a), rank(b)), cmp.Compare(a, b)) })
	return names
}

// family is a component's name without the number of a member.
func family(component string) string { return strings.TrimRight(component, "-0123456789") }

// alongObjects is how a metric of a component grows in the runs of a cell; nil if
// they have not grown, or have no such metric.
func (g *group) alongObjects(metric Metric, component string) *Growth {
	highest, parameter := 0.0, ""
	for _, run := range g.runs {
		if run.grew() {
			highest, parameter = max(highest, run.Objects.Counts[0].Max), run.Objects.Counts[0].String()
		}
	}
	width := binWidth(highest)
	var samples []valueAt
	for _, run := range g.runs {
		if run.grew() {
			samples = append(samples, run.binned(metric, component, width)...)
		}
	}
	if !slices.ContainsFunc(samples, func(v valueAt) bool { return v.value > 0 }) {
		return nil
	}
	subject := Subject{Name: component + ", " + metric.Title, PromQL: metric.PromQL, Unit: metric.Unit, Better: measure.Lower}
	positive := slices.DeleteFunc(slices.Clone(samples), func(v valueAt) bool { return v.at <= 0 }) // a logarithm has no zero
	growth := grown(subject, g.Cell.Cell, parameter, positive, g.all)
	if growth == nil {
		return nil
	}
	growth.Binned = true
	if metric.Unit == string(measure.Bytes) {
		line := stats.Linear(statsPoints(samples))
		growth.Line = &line
	}
	return growth
}

func statsPoints(samples []valueAt) []stats.Point {
	var points []stats.Point
	for _, s := range samples {
		points = append(points, stats.Point{X: s.at, Y: s.value, Run: s.run})
	}
	return points
}

// grew says that a run was under a growing load, and no sweep's or search's.
func (r *Run) grew() bool {
	return r.Probe == nil && r.Objects.Grew() && !slices.ContainsFunc(r.Steps, func(s *Step) bool { return s.Measured && s.Point != nil })
}

// binWidth is a round number of objects, as wide as it takes for few bins.
func binWidth(highest float64) float64 {
	for width := 1.0; ; width *= 10 {
		for _, m := range []float64{1, 2, 5} {
			if highest/(width*m) < mostBins {
				return width * m
			}
		}
	}
}

// binned is the mean of a metric by the number of objects, each with those
// seconds in which there were about as many.
func (r *Run) binned(metric Metric, component string, width float64) []valueAt {
	most := r.Objects.mostOf(metric, component)
	bins := map[float64][]float64{}
	for row, n := range r.Objects.numbers {
		if number(n) != nil && number(most[row]) != nil {
			at := width * math.Round(n/width)
			bins[at] = append(bins[at], most[row])
		}
	}
	var values []valueAt
	for at, bin := range bins {
		values = append(values, valueAt{at: at, value: stats.Mean(bin), run: r.Index})
	}
	slices.SortFunc(values, func(a, b valueAt) int { return cmp.Compare(a.at, b.at) })
	return values
}

// mostOf is a metric second by second: that of the member that has most.
func (o *Objects) mostOf(metric Metric, component string) []float64 {
	most := gaps(len(o.joined.Seconds))
	for _, column := range o.joined.Of(metric) {
		if family(column.Component()) != component {
			continue
		}
		for row, v := range column.Values {
			if !math.IsNaN(v) && !(v <= most[row]) {
				most[row] = v
			}
		}
	}
	return most
}

// Complaint is what a component's log says of overload, and how often.
type Complaint struct {
	Component string `json:"component"`
	Text      string `json:"text"`
	Count     int    `json:"count"`
	// First is when it said so first, in seconds from the run's start, and Objects how many there were then.
	First   float64  `json:"firstSeconds"`
	Objects *float64 `json:"objects,omitempty"`
}

// telling are the words with which etcd and the API server say that they are overloaded.
func telling() []string {
	return []string{
		"apply request took too long", "failed to send out heartbeat on time", "slow fdatasync", "waiting for ReadIndex response took too long",
		"buffer is full", "lost leader", "request timed out", "database space exceeded",
		"apply entries took too long", "server is likely overloaded", // as older ones say
	}
}

// overloadIn is the word of overload that a line has; empty if it has none.
func overloadIn(line string) string {
	for _, words := range telling() {
		if strings.Contains(line, words) {
			return words
		}
	}
	return ""
}

// complaints counts the lines that told of overload while it was measured.
func (r *Run) complaints() []Complaint {
	found := map[[2]string]*Complaint{}
	measured := r.measuredSeconds()
	r.stored.LogLines(func(l store.LogLine) {
		words := overloadIn(l.Text)
		if words == "" || !within(l.At, measured) {
			return
		}
		key := [2]string{l.Component, words}
		if found[key] == nil {
			found[key] = &Complaint{Component: l.Component, Text: words, First: l.At}
		}
		found[key].Count++
		found[key].First = min(found[key].First, l.At)
	})
	var all []Complaint
	for _, c := range found {
		if n, known := r.Objects.countAt(c.First); known {
			c.Objects = &n
		}
		all = append(all, *c)
	}
	slices.SortFunc(all, func(a, b Complaint) int {
		return cmp.Or(cmp.Compare(a.First, b.First), cmp.Compare(a.Component, b.Component), cmp.Compare(a.Text, b.Text))
	})
	return all
}

// Numbers are how many objects there were in each row of the joined metrics; NaN
// where that is not known, or was not measured.
func (o *Objects) Numbers() []float64 { return o.numbers }
