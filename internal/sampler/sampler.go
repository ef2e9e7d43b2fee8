// Package sampler observes a run from outside: what its processes use, once a
// second, into the run's metrics database, and what the machine is.
package sampler

import (
	"context"
	"fmt"
	"os"
	"time"

	"github.com/prometheus/prometheus/model/labels"
	"github.com/shirou/gopsutil/v4/process"

	"plimsoll.dev/plimsoll/internal/metrics"
	"plimsoll.dev/plimsoll/internal/target"
)

// Generator is the component name under which plimsoll itself is sampled.
const Generator = "plimsoll"

// Interval is the time between two samples of a process.
const Interval = time.Second

// Processes samples processes until ctx is done. The names of the series are
// those of the Prometheus client libraries. failed is told the first error of
// the database; sampling ends with it.
func Processes(ctx context.Context, db *metrics.DB, processes []target.Process, failed func(error)) {
	watched := watch(append(processes, target.Process{Component: Generator, PID: os.Getpid()}))
	tick := time.NewTicker(Interval)
	defer tick.Stop()
	for {
		var samples []metrics.Sample
		now := time.Now()
		for _, w := range watched {
			samples = append(samples, w.sample(ctx)...)
		}
		// The run's end must not cost its last second.
		if err := db.Append(context.WithoutCancel(ctx), now, samples); err != nil {
			failed(fmt.Errorf("sample processes: %w", err))
			return
		}
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
	}
}

// watched is a process and the names of its series.
type watched struct {
	process                       *process.Process
	cpu, resident, files, threads labels.Labels
}

func watch(processes []target.Process) []watched {
	var all []watched
	for _, p := range processes {
		handle, err := process.NewProcess(int32(p.PID))
		if err != nil {
			continue // gone already; its exit is reported by whoever started it
		}
		name := func(metric string) labels.Labels {
			return labels.FromStrings(labels.MetricName, metric, "component", p.Component)
		}
		all = append(all, watched{
			process: handle, cpu: name("process_cpu_seconds_total"), resident: name("process_resident_memory_bytes"),
			files: name("process_open_fds"), threads: name("process_threads"),
		})
	}
	return all
}

// sample reads one process; what cannot be read is a gap.
func (w watched) sample(ctx context.Context) []metrics.Sample {
	var samples []metrics.Sample
	if times, err := w.process.TimesWithContext(ctx); err == nil {
		samples = append(samples, metrics.Sample{Labels: w.cpu, Value: times.User + times.System})
	}
	if memory, err := w.process.MemoryInfoWithContext(ctx); err == nil {
		samples = append(samples, metrics.Sample{Labels: w.resident, Value: float64(memory.RSS)})
	}
	if files, err := w.process.NumFDsWithContext(ctx); err == nil {
		samples = append(samples, metrics.Sample{Labels: w.files, Value: float64(files)})
	}
	if threads, err := w.process.NumThreadsWithContext(ctx); err == nil {
		samples = append(samples, metrics.Sample{Labels: w.threads, Value: float64(threads)})
	}
	return samples
}
