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
	source := func(name string, interval time.Duration, read func() ([]metrics.Sample, error)) {
		sources.Go(func() {
			s.every(ctx, interval, name, func() (unread, unkept error) { return s.sample(ctx, read) })
		})
	}
	source("processes", s.Interval, s.processReader())
	if machine := newMachine(ctx, s.Folders); machine != nil {
		source(HostComponent, s.Interval, func() ([]metrics.Sample, error) { return machine.read(ctx), nil })
	}
	if len(s.Data) > 0 {
		source("data", dataInterval, func() ([]metrics.Sample, error) { return dataSizes(s.Data), nil })
	}
	for _, own := range s.Own {
		sources.Go(func() { s.runOwn(ctx, newGatherer(own)) })
	}
	supervised := map[string]bool{}
	for _, p := range s.processes() {
		supervised[p.Component] = true
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

// processReader gives what reads all processes, and what the runtime and the kernel do to plimsoll's own.
func (s *Sampler) processReader() func() ([]metrics.Sample, error) {
	collector, queue := newCollector(), newRunQueue(Generator, os.Getpid())
	known := map[string]usageSeries{}
	return func() ([]metrics.Sample, error) {
		samples := append(collector.read(), queue.read()...)
		for _, p := range s.processes() {
			u, ok := read(p)
			if !ok {
				continue // gone already; its exit is reported by whoever started it
			}
			if _, met := known[p.Component]; !met {
				known[p.Component] = newUsageSeries(p.Component)
			}
			samples = append(samples, known[p.Component].samples(u)...)
		}
		return samples, nil
	}
}

// runOwn samples what plimsoll itself counts, and once more at the end: what was
// counted since the last time is not to be lost.
func (s *Sampler) runOwn(ctx context.Context, g *gatherer) {
	read := func() (unread, unkept error) { return s.sample(ctx, g.read) }
	s.every(ctx, s.Interval, Generator, read)
	if ctx.Err() == nil {
		return // the database takes no more
	}
	if _, err := read(); err != nil {
		s.Failed(fmt.Errorf("sample %s: %w", Generator, err))
	}
}

// sample reads a source and keeps what it gives.
func (s *Sampler) sample(ctx context.Context, read func() ([]metrics.Sample, error)) (unread, unkept error) {
	at := s.Now()
	samples, err := read()
	// The run's end must not cost its last second.
	return err, s.DB.Append(context.WithoutCancel(ctx), at, samples)
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

// newSeries names a series of a component's.
func newSeries(metric, component string) *metrics.Series {
	return &metrics.Series{Labels: labels.FromStrings(model.MetricNameLabel, metric, "component", component)}
}
