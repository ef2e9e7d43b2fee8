package sampler

import (
	"runtime/metrics"

	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/model/labels"

	series "plimsoll.dev/plimsoll/internal/metrics"
)

// collector reads what Go's garbage collector does to plimsoll itself: while the
// world stands still, no operation starts and no clock is read.
type collector struct {
	samples        []metrics.Sample
	pauses, cycles *series.Series
}

// newCollector names the series; pauses are the time in which the world stood still, bounded from above by
// the buckets that the runtime counts them in.
func newCollector() *collector {
	name := func(metric string) *series.Series {
		return &series.Series{Labels: labels.FromStrings(model.MetricNameLabel, metric, "component", Generator)}
	}
	return &collector{
		samples: []metrics.Sample{{Name: "/sched/pauses/total/gc:seconds"}, {Name: "/gc/cycles/total:gc-cycles"}},
		pauses:  name("go_gc_pauses_seconds_total"), cycles: name("go_gc_cycles_total"),
	}
}

func (c *collector) read() []series.Sample {
	metrics.Read(c.samples)
	var all []series.Sample
	if c.samples[0].Value.Kind() == metrics.KindFloat64Histogram {
		h := c.samples[0].Value.Float64Histogram()
		total := 0.0
		for i, n := range h.Counts {
			upper := h.Buckets[i+1]
			if i+2 == len(h.Buckets) { // the last one has no end
				upper = h.Buckets[i]
			}
			total += float64(n) * upper
		}
		all = append(all, series.Sample{Series: c.pauses, Value: total})
	}
	if c.samples[1].Value.Kind() == metrics.KindUint64 {
		all = append(all, series.Sample{Series: c.cycles, Value: float64(c.samples[1].Value.Uint64())})
	}
	return all
}
