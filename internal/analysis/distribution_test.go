package analysis

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"

	"plimsoll.dev/plimsoll/internal/record"
)

// exact is the percentile of sorted times, without a histogram.
func exact(sorted []time.Duration, percentile float64) time.Duration {
	rank := int(percentile/100*float64(len(sorted)) + 0.5)
	return sorted[min(max(rank, 1), len(sorted))-1]
}

// TestPercentilesOfSecondsAreThoseOfAll records random times in random seconds,
// writes them second by second, reads them back and compares with one histogram
// of all of them, and with the times themselves.
func TestPercentilesOfSecondsAreThoseOfAll(t *testing.T) {
	for seed := range uint64(5) {
		random := rand.New(rand.NewPCG(seed, 1))
		f := begin(t)
		f.events()
		var times []time.Duration
		whole := record.NewHistogram()
		n := 1 + random.IntN(20_000)
		for range n {
			took := time.Duration(1e6 * math.Exp(random.NormFloat64()*2))
			at := max(took, time.Duration(2e9+random.Int64N(10e9)))
			times = append(times, took)
			must(t, whole.RecordValue(int64(took)))
			f.record(sample{phase: "gets", op: "get", timing: record.Open, at: at, took: took})
		}
		slices.Sort(times)
		got, want := f.planned().phase("gets").operation("get").Service, summarize(whole, nil)
		if !got.histogram.Equals(want.histogram) {
			t.Errorf("seed %d: the merged seconds are not one histogram of all", seed)
		}
		for _, c := range []struct {
			name      string
			got, want *float64
			exact     time.Duration
		}{
			{"min", &got.Min, &want.Min, times[0]},
			{"p50", got.P50, want.P50, exact(times, 50)},
			{"p90", got.P90, want.P90, exact(times, 90)},
			{"p95", got.P95, want.P95, exact(times, 95)},
			{"p99", got.P99, want.P99, exact(times, 99)},
			{"p99.9", got.P999, want.P999, exact(times, 99.9)},
			{"max", &got.Max, &want.Max, times[n-1]},
		} {
			if (c.got == nil) != (c.want == nil) || c.got != nil && (*c.got != *c.want || !near(*c.got, c.exact)) {
				t.Errorf("seed %d, %d times: %s = %v, want %v, which is %v exactly", seed, n, c.name, *c.got, *c.want, c.exact)
			}
		}
	}
}

func TestAPercentileNeedsTenSamplesBeyondIt(t *testing.T) {
	for _, c := range []struct {
		percentile float64
		n          int64
	}{{50, 20}, {90, 100}, {95, 200}, {99, 1000}, {99.9, 10_000}} {
		if enough(c.n-1, c.percentile) || !enough(c.n, c.percentile) || !enough(1<<40, c.percentile) {
			t.Errorf("p%v is told from another number of samples than %d", c.percentile, c.n)
		}
	}
	percentiles := func(n int64) (told int) {
		h := record.NewHistogram()
		must(t, h.RecordValues(1e6, n))
		d := summarize(h, nil)
		for _, p := range []*float64{d.P50, d.P90, d.P95, d.P99, d.P999} {
			if p != nil {
				told++
			}
		}
		return told
	}
	for n, want := range map[int64]int{1: 1, 99: 1, 100: 2, 200: 3, 999: 3, 1000: 4, 10_000: 5} {
		if got := percentiles(n); got != want {
			t.Errorf("of %d samples, %d percentiles are told, want %d", n, got, want)
		}
	}
}

func TestNoTimesAreNoDistribution(t *testing.T) {
	for name, h := range map[string]*hdrhistogram.Histogram{"no histogram": nil, "an empty one": record.NewHistogram()} {
		if d := summarize(h, nil); d != nil {
			t.Errorf("%s: %+v, want none", name, d)
		}
	}
}

func TestCurve(t *testing.T) {
	for _, n := range []int{1, 2, 7, 50, 1000, 12345} {
		h := record.NewHistogram()
		for i := range n {
			must(t, h.RecordValue(int64(i+1)*int64(ms)))
		}
		d := summarize(h, nil)
		points := curve(d)
		first, last := points[0], points[len(points)-1]
		if first.Quantile != 0 || first.Seconds != d.Min {
			t.Errorf("%d times: the curve begins at %+v, want the minimum %v at 0", n, first, d.Min)
		}
		if want := 1 - 1/float64(n); math.Abs(last.Quantile-want) > 1e-12 || last.Seconds > d.Max {
			t.Errorf("%d times: the curve ends at %+v, want %v", n, last, want)
		}
		for i, p := range points[1:] {
			if p.Quantile <= points[i].Quantile || p.Seconds < points[i].Seconds {
				t.Errorf("%d times: %+v follows %+v", n, p, points[i])
			}
			if want := exactRank(p.Quantile, n); math.Abs(p.Seconds-want) > want/1000+1e-9 {
				t.Errorf("%d times: %v at %v, want %v", n, p.Seconds, p.Quantile, want)
			}
		}
	}
}

// exactRank is the quantile of 1 ms, 2 ms … n ms.
func exactRank(quantile float64, n int) float64 {
	return max(1, math.Floor(quantile*float64(n)+0.5+1e-9)) / 1000
}
