package sampler

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"plimsoll.dev/plimsoll/internal/metrics"
	"plimsoll.dev/plimsoll/internal/target"
)

func TestProcessesAreSampled(t *testing.T) {
	dir := t.TempDir()
	db, err := metrics.Create(dir)
	if err != nil {
		t.Fatal(err)
	}
	start := time.Now()
	ctx, cancel := context.WithTimeout(t.Context(), 2500*time.Millisecond)
	defer cancel()
	s := Sampler{
		DB: db, Processes: func() []target.Process {
			return []target.Process{{Component: "etcd", PID: os.Getpid()}, {Component: "gone", PID: 1 << 30}}
		},
		Interval: time.Second, Now: time.Now, Failed: func(err error) { t.Error(err) },
	}
	s.Run(ctx)
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	r, err := metrics.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	got, err := r.Range(t.Context(), `process_resident_memory_bytes`, start, start.Add(3*time.Second), time.Second)
	if err != nil {
		t.Fatal(err)
	}
	if len(got) != 2 { // etcd and plimsoll; not the one that is gone
		t.Fatalf("%d series, want 2: %v", len(got), got)
	}
	for _, series := range got {
		if rss := series.Floats[len(series.Floats)-1].F; rss < 1<<20 || rss > 1<<34 {
			t.Errorf("%s: resident memory = %v", series.Metric, rss)
		}
	}
}

// A component that is started again goes on in the same series, with the figures of its new process.
func TestAProcessThatIsStartedAgainIsFollowed(t *testing.T) {
	second := exec.Command("sleep", "60")
	if err := second.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = second.Process.Kill(); _ = second.Wait() })
	dir := t.TempDir()
	db, err := metrics.Create(dir)
	if err != nil {
		t.Fatal(err)
	}
	start := time.Now()
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Second)
	defer cancel()
	s := Sampler{DB: db, Interval: 100 * time.Millisecond, Now: time.Now, Failed: func(err error) { t.Error(err) }, Processes: func() []target.Process {
		if time.Since(start) < time.Second {
			return []target.Process{{Component: "etcd", PID: os.Getpid()}}
		}
		return []target.Process{{Component: "etcd", PID: second.Process.Pid}}
	}}
	s.Run(ctx)
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	r, err := metrics.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	got, err := r.Range(t.Context(), `process_threads{component="etcd"}`, start, start.Add(2*time.Second), 100*time.Millisecond)
	if err != nil || len(got) != 1 {
		t.Fatalf("%d series, want 1: %v, %v", len(got), got, err)
	}
	values := got[0].Floats
	if first, last := values[1].F, values[len(values)-1].F; first < 2 || last != 1 { // a Go program, and one that sleeps
		t.Errorf("%v threads at first, %v at last", first, last)
	}
}

func TestHostKnowsWhereItIs(t *testing.T) {
	h := Host(t.Context(), t.TempDir())
	if h.CPUs == 0 || h.MemoryBytes == 0 || h.FileSystem == "" || h.DiskFreeBytes == 0 || h.Kernel == "" {
		t.Errorf("facts are missing: %+v", h)
	}
}

func TestControlGroupLimits(t *testing.T) {
	for name, test := range map[string]struct {
		files map[string]string
		cpus  float64
		bytes uint64
	}{
		"version 2, limited":   {map[string]string{"cpu.max": "150000 100000", "memory.max": "1073741824"}, 1.5, 1 << 30},
		"version 2, unlimited": {map[string]string{"cpu.max": "max 100000", "memory.max": "max"}, 0, 0},
		"version 1, limited": {map[string]string{"cpu/cpu.cfs_quota_us": "50000", "cpu/cpu.cfs_period_us": "100000",
			"memory/memory.limit_in_bytes": "1073741824"}, 0.5, 1 << 30},
		"version 1, unlimited": {map[string]string{"cpu/cpu.cfs_quota_us": "-1", "cpu/cpu.cfs_period_us": "100000",
			"memory/memory.limit_in_bytes": "9223372036854771712"}, 0, 0},
		"none": {nil, 0, 0},
	} {
		t.Run(name, func(t *testing.T) {
			root := t.TempDir()
			for file, content := range test.files {
				path := filepath.Join(root, file)
				if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
					t.Fatal(err)
				}
				if err := os.WriteFile(path, []byte(content+"\n"), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			if cpus, bytes := controlGroupLimits(root, 8<<30); cpus != test.cpus || bytes != test.bytes {
				t.Errorf("limits = %v CPUs, %d bytes, want %v and %d", cpus, bytes, test.cpus, test.bytes)
			}
		})
	}
}
