package analysis

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/HdrHistogram/hdrhistogram-go"

	"plimsoll.dev/plimsoll/internal/record"
	"plimsoll.dev/plimsoll/internal/store"
)

// BenchmarkAnHour reads a run of an hour: six series of an open loop, a
// thousand operations a second in each.
func BenchmarkAnHour(b *testing.B) {
	const seconds = 3600
	f := begin(b)
	f.events()
	histograms := make([]*hdrhistogram.Histogram, 32)
	random := rand.New(rand.NewPCG(1, 1))
	for i := range histograms {
		histograms[i] = record.NewHistogram()
		for range 1000 {
			must(b, histograms[i].RecordValue(int64(3e6*math.Exp(random.NormFloat64()*0.6))))
		}
	}
	pick := func() *hdrhistogram.Histogram { return histograms[random.IntN(len(histograms))] }
	for second := range seconds {
		for _, op := range []string{"get", "list", "page", "create", "update", "delete"} {
			must(b, f.writer.WriteInterval(record.Interval{
				Phase: "gets", Op: op, Timing: record.Open, Second: second, Count: 1000, Service: pick(), Response: pick(), Lag: pick(),
			}))
		}
	}
	f.event(seconds, store.RunEnded, "")
	must(b, f.writer.Close(true))
	for b.Loop() {
		if n := f.analyze().phase("gets").Count; n != 6*1000*seconds {
			b.Fatalf("%d operations", n)
		}
	}
	b.ReportMetric(float64(b.Elapsed().Milliseconds())/float64(b.N), "ms/run")
}
