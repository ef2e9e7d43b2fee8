package sampler

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/common/model"
	"github.com/prometheus/procfs"
	"github.com/prometheus/procfs/blockdevice"
	"github.com/prometheus/prometheus/promql"

	"plimsoll.dev/plimsoll/internal/metrics"
	"plimsoll.dev/plimsoll/internal/target"
)

// TestThisMachineIsRead looks for what the kernel here tells, and for nothing else.
func TestThisMachineIsRead(t *testing.T) {
	m := newMachine(t.Context(), []string{t.TempDir(), t.TempDir()})
	if m == nil {
		t.Skip("there is no /proc")
	}
	values := byName(m.read(t.Context()))
	t.Logf("%d series", len(values))
	for source, metric := range map[string]string{
		"/proc/stat":            `node_cpu_seconds_total{component="host", cpu="0", mode="user"}`,
		"/proc/loadavg":         `node_load1{component="host"}`,
		"/proc/meminfo":         `node_memory_MemTotal_bytes{component="host"}`,
		"/proc/net/dev":         `node_network_receive_bytes_total{component="host", device="lo"}`,
		"/proc/pressure/io":     `node_pressure_io_waiting_seconds_total{component="host"}`,
		"/proc/pressure/memory": `node_pressure_memory_stalled_seconds_total{component="host"}`,
		"/proc/pressure/cpu":    `node_pressure_cpu_waiting_seconds_total{component="host"}`,
	} {
		_, err := os.ReadFile(source)
		if _, read := values[metric]; read != (err == nil) {
			t.Errorf("%s: read %v, though %s: %v", metric, read, source, err)
		}
	}
	spaces := 0
	for name, value := range values {
		if strings.HasPrefix(name, "node_filesystem_size_bytes") {
			spaces++
			if value == 0 || strings.Contains(name, `fstype=""`) {
				t.Errorf("%s = %v", name, value)
			}
		}
	}
	if spaces != 1 {
		t.Errorf("%d file systems of two folders side by side, want 1", spaces)
	}
}

func byName(samples []metrics.Sample) map[string]float64 {
	values := map[string]float64{}
	for _, s := range samples {
		own := s.Series.Labels.DropReserved(func(name string) bool { return name == model.MetricNameLabel })
		values[s.Series.Labels.Get(model.MetricNameLabel)+own.String()] = s.Value
	}
	return values
}

// proc makes a /proc of files.
func proc(t testing.TB, files map[string]string) *machine {
	t.Helper()
	root := t.TempDir()
	for name, content := range files {
		path := filepath.Join(root, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(content), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	fs, err := procfs.NewFS(root)
	if err != nil {
		t.Fatal(err)
	}
	blocks, err := blockdevice.NewFS(root, root)
	if err != nil {
		t.Fatal(err)
	}
	return &machine{proc: fs, blocks: blocks, known: map[seriesKey]*metrics.Series{}, idle: map[seriesKey]float64{}}
}

func TestFiguresHaveTheUnitsOfTheirNames(t *testing.T) {
	m := proc(t, map[string]string{
		"stat":           "cpu  100 0 0 0 0 0 0 0 0 0\ncpu0 100 0 250 0 0 0 0 50 0 0\n",
		"meminfo":        "MemTotal: 1000 kB\nDirty: 3 kB\n",
		"diskstats":      "254 0 vda 5 0 2 1500 7 0 4 2500 1 3500 4500 0 0 0 0 9 500\n254 1 vda1 5 0 2 1 7 0 4 2 0 3 4\n7 0 loop0 1 0 0 0 0 0 0 0 0 0 0\n",
		"net/dev":        "Inter-|   Receive\n face |bytes\n    lo: 11 1 0 0 0 0 0 0 22 2 0 0 0 0 0 0\nveth1: 1 1 0 0 0 0 0 0 1 1 0 0 0 0 0 0\n",
		"pressure/io":    "some avg10=0.00 avg60=0.00 avg300=0.00 total=1500000\nfull avg10=0.00 avg60=0.00 avg300=0.00 total=250000\n",
		"pressure/cpu":   "some avg10=0.00 avg60=0.00 avg300=0.00 total=2000000\nfull avg10=0.00 avg60=0.00 avg300=0.00 total=0\n",
		"pressure/other": "",
	})
	got := byName(m.read(t.Context()))
	for name, want := range map[string]float64{
		`node_cpu_seconds_total{component="host", cpu="0", mode="user"}`:              1,
		`node_cpu_seconds_total{component="host", cpu="0", mode="system"}`:            2.5,
		`node_cpu_seconds_total{component="host", cpu="0", mode="steal"}`:             0.5,
		`node_memory_MemTotal_bytes{component="host"}`:                                1024000,
		`node_memory_Dirty_bytes{component="host"}`:                                   3072,
		`node_disk_reads_completed_total{component="host", device="vda"}`:             5,
		`node_disk_written_bytes_total{component="host", device="vda"}`:               2048,
		`node_disk_read_time_seconds_total{component="host", device="vda"}`:           1.5,
		`node_disk_io_time_seconds_total{component="host", device="vda"}`:             3.5,
		`node_disk_io_time_weighted_seconds_total{component="host", device="vda"}`:    4.5,
		`node_disk_flush_requests_time_seconds_total{component="host", device="vda"}`: 0.5,
		`node_network_transmit_bytes_total{component="host", device="lo"}`:            22,
		`node_pressure_io_waiting_seconds_total{component="host"}`:                    1.5,
		`node_pressure_io_stalled_seconds_total{component="host"}`:                    0.25,
		`node_pressure_cpu_waiting_seconds_total{component="host"}`:                   2,
	} {
		if value, there := got[name]; !there || value != want {
			t.Errorf("%s = %v, %v; want %v", name, value, there, want)
		}
	}
	for name := range got {
		for _, unwanted := range []string{"vda1", "loop0", "veth", "node_load", "node_memory_Cached", "memory_waiting", "cpu_stalled"} {
			if strings.Contains(name, unwanted) {
				t.Errorf("%s is there", name)
			}
		}
	}
}

func TestIdleTimeDoesNotStepBack(t *testing.T) {
	m := proc(t, nil)
	key := seriesKey{"node_cpu_seconds_total", "0", "idle"}
	for _, step := range []struct{ read, kept float64 }{{10, 10}, {9.9, 10}, {10.1, 10.1}, {1, 1}} {
		m.samples = nil
		if m.addIdle(key, step.read); m.samples[0].Value != step.kept {
			t.Errorf("after %v: %v, want %v", step.read, m.samples[0].Value, step.kept)
		}
	}
}

// TestAnEndpointThatHangsCostsNothingElse has one endpoint that never answers
// beside one that does.
func TestAnEndpointThatHangsCostsNothingElse(t *testing.T) {
	release := make(chan struct{})
	hanging := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { <-release }))
	defer hanging.Close()
	defer close(release)
	good := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { fmt.Fprintln(w, "puts_total 1") }))
	defer good.Close()
	dir := t.TempDir()
	db, err := metrics.Create(dir)
	if err != nil {
		t.Fatal(err)
	}
	start := time.Now()
	ctx, cancel := context.WithTimeout(t.Context(), 3*time.Second)
	defer cancel()
	s := Sampler{
		DB: db, Interval: 200 * time.Millisecond, Now: time.Now, Folders: []string{dir}, Failed: func(error) {},
		Processes: func() []target.Process { return []target.Process{{Component: "etcd", PID: os.Getpid()}} },
		Endpoints: []target.Endpoint{
			// Its interval is longer than the run: only the run's end cuts the scrape short.
			{Component: "hangs", URL: hanging.URL, Client: hanging.Client(), Interval: time.Hour},
			{Component: "good", URL: good.URL, Client: good.Client()},
		},
	}
	ended := make(chan struct{})
	go func() { s.Run(ctx); close(ended) }()
	select {
	case <-ended:
	case <-time.After(time.Minute):
		t.Fatal("the run does not end")
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	r, err := metrics.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	for expression, least := range map[string]float64{
		`count_over_time(puts_total{component="good"}[10m])`:                         8,
		`count_over_time(process_open_fds{component="etcd"}[10m])`:                   8,
		`count_over_time(node_memory_MemTotal_bytes{component="host"}[10m])`:         8,
		`count_over_time((up{component="hangs"} == 0)[10m:100ms])`:                   1,
		`count(count_over_time(node_filesystem_avail_bytes{component="host"}[10m]))`: 1,
	} {
		got, err := r.At(t.Context(), expression, start.Add(10*time.Second))
		if err != nil || value(got) < least {
			t.Errorf("%s = %v, %v; want %v or more", expression, value(got), err, least)
		}
	}
}

func value(m promql.Matrix) float64 {
	if len(m) == 0 {
		return 0
	}
	return m[0].Floats[0].F
}

// BenchmarkMachine is what one second of the machine costs: ns/op over 1e9 is
// the share of a CPU.
func BenchmarkMachine(b *testing.B) {
	m := newMachine(b.Context(), []string{b.TempDir()})
	for b.Loop() {
		m.read(b.Context())
	}
}
