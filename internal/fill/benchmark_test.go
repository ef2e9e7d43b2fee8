package fill

import (
	"testing"
	"time"

	v1 "plimsoll.dev/plimsoll/api/v1alpha1"
)

// BenchmarkFill fills fresh targets; bench/fill.sh runs it and reads its figures.
// A repetition is a target of its own, so run it with -benchtime=1x.
func BenchmarkFill(b *testing.B) {
	for _, row := range []struct {
		name    string
		count   int
		payload v1.Bytes
		through v1.Way
	}{
		{"100k-4B", 100_000, 4, v1.ThroughDatastore},
		{"20k-10KiB", 20_000, 10 << 10, v1.ThroughDatastore},
		{"2k-10KiB", 2_000, 10 << 10, v1.ThroughDatastore},
		{"2k-10KiB-api", 2_000, 10 << 10, v1.ThroughAPI},
	} {
		b.Run(row.name, func(b *testing.B) {
			var took time.Duration
			for range b.N {
				tg := boot(b, nil)
				fill := v1.Fill{Objects: v1.Objects{Resource: v1.ConfigMaps, Namespace: "bench", Payload: row.payload}, Count: row.count, Through: row.through}
				started := time.Now()
				if _, err := fillUp(b, tg, fill, 0); err != nil {
					b.Fatal(err)
				}
				took += time.Since(started)
			}
			b.ReportMetric(took.Seconds()/float64(b.N), "s/fill")
		})
	}
}
