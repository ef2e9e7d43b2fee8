package analysis

import (
	"cmp"
	"slices"

	"github.com/HdrHistogram/hdrhistogram-go"

	"plimsoll.dev/plimsoll/internal/record"
	"plimsoll.dev/plimsoll/internal/store"
)

// gathered is every series of a run.
type gathered map[seriesKey]*series

type seriesKey struct {
	phase, op string
	timing    record.Timing
	outcome   record.Outcome
}

// series is what became of one kind of operation with one outcome: sums over
// the run, and counts by second.
type series struct {
	count, bytes, items int64
	reasons             map[string]int64
	perSecond           map[int]int64
	first, last         int // seconds with a count
	// medians, in seconds, are those of each second's times of whole operations, on the clock that counts.
	medians map[int]float64
	// heat counts those times by second, and then by the row of a heatmap.
	heat  map[int]map[int]int64
	times map[store.Clock]*hdrhistogram.Histogram
}

// gather reads a run's recordings.
func gather(stored *store.Run) gathered {
	g := gathered{}
	stored.Counters(func(i record.Interval) { g.at(i).add(i) })
	stored.Seconds(func(i record.Interval, clock store.Clock, second store.Second) error {
		of := g.at(i)
		if of.times[clock] == nil {
			of.times[clock] = record.NewHistogram()
		}
		main := i.Timing == record.Open && clock == store.Response || i.Timing == record.Closed && clock == store.Service
		if main || i.Timing == record.Part && clock == store.Service {
			of.warm(i.Second, second)
		}
		if median, any := second.Median(); any && main && i.Outcome == record.OK {
			of.medians[i.Second] = median.Seconds()
		}
		return second.AddTo(of.times[clock])
	})
	return g
}

func (g gathered) at(i record.Interval) *series {
	key := seriesKey{i.Phase, i.Op, i.Timing, i.Outcome}
	if g[key] == nil {
		g[key] = &series{
			reasons: map[string]int64{}, perSecond: map[int]int64{}, times: map[store.Clock]*hdrhistogram.Histogram{}, medians: map[int]float64{}, heat: map[int]map[int]int64{},
		}
	}
	return g[key]
}

func (s *series) add(i record.Interval) {
	s.count += i.Count
	s.bytes += i.Bytes
	s.items += i.Items
	for reason, n := range i.Reasons {
		s.reasons[reason] += n
	}
	if len(s.perSecond) == 0 {
		s.first = i.Second
	}
	s.first, s.last = min(s.first, i.Second), max(s.last, i.Second)
	s.perSecond[i.Second] += i.Count
}

// span is from the first second of a phase that anything was recorded in to the
// end of the last.
func (g gathered) span(phase string) (all span) {
	for key, s := range g {
		if key.phase == phase && len(s.perSecond) > 0 {
			all = all.with(span{float64(s.first), float64(s.last + 1)})
		}
	}
	return all
}

// fill gives a phase its operations.
func (g gathered) fill(phase *Phase) {
	times := map[*Operation]*operationTimes{}
	for key, s := range g {
		switch {
		case key.phase != phase.Name:
		case key.outcome == record.Dropped:
			phase.drop(s)
		case key.timing == record.Dispatch:
			phase.Dispatch = summarize(s.times[store.Lag], nil)
		default:
			operation := phase.find(key.op, key.timing == record.Part)
			if operation == nil {
				operation = &Operation{
					Name: key.op, Part: key.timing == record.Part, Outcomes: map[string]int64{}, Reasons: map[string]int64{},
				}
				phase.Operations = append(phase.Operations, operation)
				times[operation] = newOperationTimes()
			}
			operation.add(key.outcome, s)
			times[operation].add(key.outcome, s)
		}
	}
	for _, operation := range phase.Operations {
		phase.count(operation)
		times[operation].summarize(operation)
	}
	slices.SortFunc(phase.Operations, func(a, b *Operation) int {
		whole := map[bool]int{true: 1} // before their parts
		return cmp.Or(cmp.Compare(whole[a.Part], whole[b.Part]), cmp.Compare(a.Name, b.Name))
	})
}

func (p *Phase) find(name string, part bool) *Operation {
	for _, operation := range p.Operations {
		if operation.Name == name && operation.Part == part {
			return operation
		}
	}
	return nil
}

// drop counts operations that never started: they have no times and are of no
// kind yet, but they were asked for.
func (p *Phase) drop(s *series) {
	p.Dropped += s.count
	p.Count += s.count
	if p.DropReasons == nil {
		p.DropReasons = map[string]int64{}
	}
	for reason, n := range s.reasons {
		p.DropReasons[reason] += n
	}
}

func (o *Operation) add(outcome record.Outcome, s *series) {
	o.Count += s.count
	o.Bytes += s.bytes
	o.Items += s.items
	o.Outcomes[outcome.String()] += s.count
	for reason, n := range s.reasons {
		o.Reasons[reason] += n
	}
}

// count takes an operation into the phase's sums, which are without parts.
func (p *Phase) count(o *Operation) {
	succeeded := o.Outcomes[record.OK.String()]
	if p.Seconds() > 0 {
		o.Rate = float64(succeeded) / p.Seconds()
	}
	if !o.Part {
		p.Count += o.Count
		p.Succeeded += succeeded
	}
}
