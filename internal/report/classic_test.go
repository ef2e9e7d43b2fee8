package report

import (
	"bytes"
	"math/rand/v2"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"

	"plimsoll.dev/plimsoll/internal/analysis"
)

// logNormals has times of its own, log-normal ones from a fixed seed, behind its summary.
func logNormals(n int, median time.Duration, spread float64) *analysis.Distribution {
	h := hdrhistogram.New(1, int64(time.Hour), 3)
	random := rand.New(rand.NewPCG(1, 2))
	for range n {
		_ = h.RecordValue(int64(logNormal(float64(median), spread, 0.0001+0.9998*random.Float64())))
	}
	return analysis.DistributionOf(h)
}

// diskAndEtcd is like a small run of the built-in scenario etcd-disk.
func diskAndEtcd() *analysis.Result {
	store := operation("store", false, 45590, 12.5, 104_857_000, 45590, nil, logNormals(45590, 230*time.Microsecond, 0.9), nil)
	puts := operation("put", false, 4000, 0.5, 1_056_000, 0, nil, logNormals(4000, 9*time.Millisecond, 0.5), nil)
	puts.Outcomes["timed-out"], puts.Reasons["request-timed-out"] = 3, 3
	return &analysis.Result{Runs: []*analysis.Run{{Name: "disk", Steps: []*analysis.Step{
		{Name: "disk", Measured: true, Phases: []*analysis.Phase{{
			Name: "fio", Measured: true, Loop: "closed", Load: "closed loop, 1 client, 45590 iterations in all", Workload: "write blocks of 2300B", Start: 1, End: 13.5,
			Operations: []*analysis.Operation{
				store,
				operation("sync", true, 45590, 12.5, 0, 0, nil, logNormals(45590, 210*time.Microsecond, 1), nil),
				operation("write", true, 45590, 12.5, 104_857_000, 45590, nil, logNormals(45590, 4500*time.Nanosecond, 0.3), nil),
			},
		}}},
		{Name: "etcd", Measured: true, Phases: []*analysis.Phase{{
			Name: "puts", Measured: true, Loop: "closed", Load: "closed loop, 100 clients, 4000 iterations in all", Workload: "put sequential keys of 8B", Start: 13.5, End: 14,
			Operations: []*analysis.Operation{puts},
		}}},
	}}}}
}

func TestClassic(t *testing.T) {
	for name, result := range map[string]*analysis.Result{"classic": diskAndEtcd(), "empty-classic": {}} {
		var got bytes.Buffer
		if err := Classic(&got, result); err != nil {
			t.Fatal(err)
		}
		golden(t, filepath.Join("testdata", name+".txt"), got.String())
	}
}

// A result without its histograms, as those of the other tests, is written as far as it goes.
func TestClassicWithoutHistograms(t *testing.T) {
	for name, result := range cases() {
		var got bytes.Buffer
		if err := Classic(&got, result()); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestTheHistogramOfTheBenchmarkToolHoldsAll(t *testing.T) {
	d := logNormals(4000, 9*time.Millisecond, 0.5)
	var all int64
	counts := d.Between([]float64{d.Min, 0.01, 0.02, d.Max})
	for _, n := range counts {
		all += n
	}
	if all != d.Count || counts[0] == 0 || counts[1] < counts[2] {
		t.Errorf("%v of %d", counts, d.Count)
	}
}

func TestAmountsAsFioWritesThem(t *testing.T) {
	for got, want := range map[string]string{
		fioCount(618): "618", fioCount(12_345): "12.3k", fioCount(451_000): "451k", fioCount(2_500_000): "2.5M",
		fioRate(1_421_312, 1024, "iB/s"): "1388KiB/s", fioRate(1_421_312, 1000, "B/s"): "1421kB/s",
		fioRate(104_857_000, 1024, "iB"): "100.0MiB", fioRate(2300, 1024, "iB"): "2300B",
	} {
		if strings.TrimSpace(got) != want {
			t.Errorf("%s, want %s", got, want)
		}
	}
}
