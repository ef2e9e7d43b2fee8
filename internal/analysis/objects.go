package analysis

import (
	"cmp"
	"context"
	"math"
	"slices"

	"plimsoll.dev/plimsoll/internal/metrics"
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
	// main is the column of the first count, and Numbers what it has in the rows of the measured steps; NaN
	// elsewhere, and where that is not known.
	main    Column
	Numbers []float64 `json:"-"`
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
	o.Numbers = slices.Clone(o.main.Values)
	for row, second := range joined.Seconds {
		if !within(second, measured) {
			o.Numbers[row] = math.NaN()
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

// grew says that a run was under a growing load, and no sweep's or search's.
func (r *Run) grew() bool {
	return r.Probe == nil && r.Objects.Grew() && !slices.ContainsFunc(r.Steps, func(s *Step) bool { return s.Measured && s.Point != nil })
}

// mostOf is a metric second by second: that of the member that has most.
func (o *Objects) mostOf(metric Metric, component string) []float64 {
	most := gaps(len(o.joined.Seconds))
	for _, column := range o.joined.Of(metric) {
		if column.Family() != component {
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
