package analysis

import (
	"math"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"

	"plimsoll.dev/plimsoll/internal/measure"
	"plimsoll.dev/plimsoll/internal/record"
	"plimsoll.dev/plimsoll/internal/store"
)

// operationTimes merges the times of an operation's outcomes. That of a timeout
// is a lower bound of how long the answer would have taken; that of any other
// error says nothing about it, and is kept apart.
type operationTimes struct {
	times, timedOut histograms[store.Clock]
	unsuccessful    histograms[record.Outcome] // service times
}

func newOperationTimes() *operationTimes {
	return &operationTimes{histograms[store.Clock]{}, histograms[store.Clock]{}, histograms[record.Outcome]{}}
}

func (t *operationTimes) add(outcome record.Outcome, s *series) {
	t.times.merge(store.Lag, s.times[store.Lag])
	if outcome != record.OK && outcome != record.TimedOut {
		t.unsuccessful.merge(outcome, s.times[store.Service])
		return
	}
	for _, clock := range []store.Clock{store.Service, store.Response} {
		t.times.merge(clock, s.times[clock])
		if outcome == record.TimedOut {
			t.timedOut.merge(clock, s.times[clock])
		}
	}
}

// histograms are one for each of some keys; nil of those that there is none of.
type histograms[K comparable] map[K]*hdrhistogram.Histogram

func (h histograms[K]) merge(key K, other *hdrhistogram.Histogram) { h[key] = merge(h[key], other) }

// merge adds b to a; either may be nil.
func merge(a, b *hdrhistogram.Histogram) *hdrhistogram.Histogram {
	if b == nil {
		return a
	}
	if a == nil {
		return b.Clone()
	}
	a.Merge(b)
	return a
}

func (t *operationTimes) summarize(o *Operation) {
	o.Service = summarize(t.times[store.Service], t.timedOut[store.Service])
	o.Response = summarize(t.times[store.Response], t.timedOut[store.Response])
	o.Lag = summarize(t.times[store.Lag], nil)
	for outcome, h := range t.unsuccessful {
		if d := summarize(h, nil); d != nil {
			if o.Unsuccessful == nil {
				o.Unsuccessful = map[string]*Distribution{}
			}
			o.Unsuccessful[outcome.String()] = d
		}
	}
}

// summarize gives what is told of h, of which the times in lowerBounds are a
// part; nil if there is nothing to tell.
func summarize(h, lowerBounds *hdrhistogram.Histogram) *Distribution {
	if h == nil || h.TotalCount() == 0 {
		return nil
	}
	d := &Distribution{
		Count: h.TotalCount(), Min: seconds(h.Min()), Mean: h.Mean() / 1e9, Stddev: h.StdDev() / 1e9,
		Max: seconds(h.Max()), histogram: h, exactBelow: math.Inf(1),
	}
	if lowerBounds != nil && lowerBounds.TotalCount() > 0 {
		d.LowerBounds, d.exactBelow = lowerBounds.TotalCount(), seconds(lowerBounds.Min())
	}
	for i, target := range []**float64{&d.P50, &d.P90, &d.P95, &d.P99, &d.P999} {
		if q := measure.Quantiles()[i]; q == 50 || enough(d.Count, q) {
			v := seconds(h.ValueAtQuantile(q))
			*target = &v
		}
	}
	return d
}

// tail is how many samples must lie beyond a percentile for it to be told.
const tail = 10

// enough says whether n samples are enough for a percentile. It reckons in
// thousandths: in floating point, a tenth of a hundred is not quite ten.
func enough(n int64, percentile float64) bool {
	beyond := int64(math.Round((100 - percentile) * 1000))
	return n*beyond >= tail*100_000
}

// statistic gives a statistic of times, and whether it is a lower bound only,
// because operations timed out. It gives percentiles that rest on few samples
// too: whoever asks for one is told so.
func (d *Distribution) statistic(name string) (value float64, atLeast bool) {
	switch name {
	case "min":
		return d.Min, d.Min >= d.exactBelow
	case "mean":
		return d.Mean, d.LowerBounds > 0
	case "stddev":
		return d.Stddev, d.LowerBounds > 0
	case "max":
		return d.Max, d.LowerBounds > 0
	}
	q, _ := measure.Quantile(name)
	value, _ = d.Percentile(q)
	return value, value >= d.exactBelow
}

// curve samples a distribution evenly over the logarithm of 1/(1−quantile), up
// to the quantile that a single sample stands for.
func curve(d *Distribution) []Point {
	const perDecade = 30
	last := 1 - 1/float64(d.Count)
	var percents []float64
	for i := range math.MaxInt {
		q := 1 - math.Pow(10, -float64(i)/perDecade)
		if q >= last {
			break
		}
		percents = append(percents, 100*q)
	}
	percents = append(percents, 100*last)
	var points []Point
	for i, v := range d.histogram.ValueAtPercentilesSlice(percents) {
		points = append(points, Point{percents[i] / 100, seconds(v)})
	}
	return points
}

func seconds(nanoseconds int64) float64 { return time.Duration(nanoseconds).Seconds() }

// DistributionOf summarises a histogram of nanoseconds; nil if it is empty.
func DistributionOf(h *hdrhistogram.Histogram) *Distribution { return summarize(h, nil) }

// Percentile gives the time, in seconds, that this many percent of all are not above, however few
// samples lie beyond it; false says that the histogram is not at hand.
func (d *Distribution) Percentile(percent float64) (value float64, known bool) {
	if d.histogram == nil {
		return 0, false
	}
	return seconds(d.histogram.ValueAtQuantile(percent)), true
}

// Rests says whether a percentile has as many samples beyond it as a report asks for.
func (d *Distribution) Rests(percent float64) bool { return enough(d.Count, percent) }

// Between counts the times up to the first of rising bounds, in seconds, and those
// above each bound up to the next; what is above the last is counted there.
func (d *Distribution) Between(bounds []float64) []int64 {
	counts := make([]int64, len(bounds))
	if d.histogram == nil {
		return counts
	}
	i := 0
	for _, bar := range d.histogram.Distribution() {
		for i < len(bounds)-1 && seconds(bar.From) > bounds[i] {
			i++
		}
		counts[i] += bar.Count
	}
	return counts
}
