// Package sampler observes a run from outside: what its processes use, what its
// components say of themselves, and what the machine is.
package sampler

import (
	"context"
	"fmt"
	"os"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/shirou/gopsutil/v4/process"

	"plimsoll.dev/plimsoll/internal/metrics"
	"plimsoll.dev/plimsoll/internal/target"
)

// Generator is the component name under which plimsoll itself is sampled.
const Generator = "plimsoll"

// Sampler observes the processes and the metric endpoints of a target, and the
// machine that plimsoll itself runs on.
type Sampler struct {
	DB *metrics.DB
	// Processes gives those that run now; none when nil.
	Processes func() []target.Process
	Endpoints []target.Endpoint
	// Own are the counters and gauges of plimsoll itself.
	Own []prometheus.Gatherer
	// Folders are where results and data are written: the space there is sampled.
	Folders []string
	// Data are folders with one for each component's data, whose sizes are sampled.
	Data []string
	// Interval is the time between two samples of a process, of the machine, and of an endpoint that asks for nothing else.
	Interval time.Duration
	// Now gives the wall clock; it must not step, since series only go forward.
	Now func() time.Time
	// Failed is told the first error of each source.
	Failed func(error)
}

// Run samples until ctx is done.
func (s *Sampler) Run(ctx context.Context) {
	var sources sync.WaitGroup
	supervised := map[string]bool{}
	for _, p := range s.processes() {
		supervised[p.Component] = true
	}
	watched := map[string]*watched{}
	collector, queue := newCollector(), newRunQueue(Generator, os.Getpid())
	sources.Go(func() {
		s.every(ctx, s.Interval, "processes", func() (unread, unkept error) {
			samples := append(collector.read(), queue.read()...)
			at := s.Now()
			for _, p := range s.processes() {
				if watched[p.Component] == nil {
					watched[p.Component] = watch(p)
				}
				samples = append(samples, watched[p.Component].sample(ctx, p)...)
			}
			// The run's end must not cost its last second.
			return nil, s.DB.Append(context.WithoutCancel(ctx), at, samples)
		})
	})
	if machine := newMachine(ctx, s.Folders); machine != nil {
		sources.Go(func() {
			s.every(ctx, s.Interval, HostComponent, func() (unread, unkept error) {
				at := s.Now()
				return nil, s.DB.Append(context.WithoutCancel(ctx), at, machine.read(ctx))
			})
		})
	}
	if len(s.Data) > 0 {
		sources.Go(func() {
			s.every(ctx, dataInterval, "data", func() (unread, unkept error) {
				at := s.Now()
				return nil, s.DB.Append(context.WithoutCancel(ctx), at, dataSizes(s.Data))
			})
		})
	}
	for _, own := range s.Own {
		g := newGatherer(own)
		read := func() (unread, unkept error) {
			at := s.Now()
			samples, err := g.read()
			return err, s.DB.Append(context.WithoutCancel(ctx), at, samples)
		}
		sources.Go(func() {
			s.every(ctx, s.Interval, Generator, read)
			if ctx.Err() == nil {
				return // the database takes no more
			}
			if _, err := read(); err != nil { // what was counted since is not to be lost
				s.Failed(fmt.Errorf("sample %s: %w", Generator, err))
			}
		})
	}
	for _, e := range s.Endpoints {
		interval := max(e.Interval, s.Interval)
		scraper := newScraper(e, supervised[e.Component], interval)
		sources.Go(func() {
			s.every(ctx, interval, e.Component, func() (unread, unkept error) { return scraper.scrape(ctx, s.DB, s.Now) })
		})
	}
	sources.Wait()
}

// processes are those of the target, and plimsoll's own.
func (s *Sampler) processes() []target.Process {
	own := []target.Process{{Component: Generator, PID: os.Getpid()}}
	if s.Processes == nil {
		return own
	}
	return append(s.Processes(), own...)
}

// every samples a source again and again. It ends with the database's first error.
func (s *Sampler) every(ctx context.Context, interval time.Duration, source string, sample func() (unread, unkept error)) {
	tick := time.NewTicker(interval)
	defer tick.Stop()
	told := false
	for {
		unread, unkept := sample()
		if unkept != nil {
			s.Failed(fmt.Errorf("sample %s: %w", source, unkept))
			return
		}
		if unread != nil && !told && ctx.Err() == nil {
			told = true
			s.Failed(fmt.Errorf("sample %s: %w", source, unread))
		}
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
	}
}

// watched is a component's process and the names of its series, which go on when
// the component is started again.
type watched struct {
	pid                           int
	process                       *process.Process
	cpu, resident, files, threads *metrics.Series
}

func watch(p target.Process) *watched {
	name := func(metric string) *metrics.Series {
		return &metrics.Series{Labels: labels.FromStrings(model.MetricNameLabel, metric, "component", p.Component)}
	}
	return &watched{
		cpu: name("process_cpu_seconds_total"), resident: name("process_resident_memory_bytes"),
		files: name("process_open_fds"), threads: name("process_threads"),
	}
}

// sample reads the process; what cannot be read is a gap.
func (w *watched) sample(ctx context.Context, p target.Process) []metrics.Sample {
	if w.pid != p.PID {
		handle, err := process.NewProcessWithContext(ctx, int32(p.PID))
		if err != nil {
			return nil // gone already; its exit is reported by whoever started it
		}
		w.pid, w.process = p.PID, handle
	}
	if p.Tree {
		return w.sampleTree()
	}
	var samples []metrics.Sample
	if times, err := w.process.TimesWithContext(ctx); err == nil {
		samples = append(samples, metrics.Sample{Series: w.cpu, Value: times.User + times.System})
	}
	if memory, err := w.process.MemoryInfoWithContext(ctx); err == nil {
		samples = append(samples, metrics.Sample{Series: w.resident, Value: float64(memory.RSS)})
	}
	if files, err := w.process.NumFDsWithContext(ctx); err == nil {
		samples = append(samples, metrics.Sample{Series: w.files, Value: float64(files)})
	}
	if threads, err := w.process.NumThreadsWithContext(ctx); err == nil {
		samples = append(samples, metrics.Sample{Series: w.threads, Value: float64(threads)})
	}
	return samples
}
