// Package engine carries out a plan: for every run it provisions a target,
// prepares it, goes through the steps, and tears it down, writing down what
// happens as it happens.
package engine

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	v1 "plimsoll.dev/plimsoll/api/v1alpha1"
	"plimsoll.dev/plimsoll/internal/loop"
	"plimsoll.dev/plimsoll/internal/metrics"
	"plimsoll.dev/plimsoll/internal/plan"
	"plimsoll.dev/plimsoll/internal/record"
	"plimsoll.dev/plimsoll/internal/sampler"
	"plimsoll.dev/plimsoll/internal/store"
	"plimsoll.dev/plimsoll/internal/target"
	"plimsoll.dev/plimsoll/internal/workload/httpconn"
	"plimsoll.dev/plimsoll/internal/workload/kube"
)

// ErrInterrupted ends an experiment whose context was cancelled. What was
// measured until then is kept.
var ErrInterrupted = errors.New("interrupted")

// ErrComponent ends a run one of whose components died.
var ErrComponent = errors.New("a component died")

// Provision starts the target of one run. dir is for its working data and
// logs for its logs.
type Provision func(ctx context.Context, spec v1.Target, dir, logs string) (target.Target, error)

// Engine carries out plans.
type Engine struct {
	Provision Provision
	Watcher   Watcher
	Tool      string // version of plimsoll, for the record
	// Prometheus is the URL of the one that will evaluate objectives, for the record; empty if none will.
	Prometheus string
}

// maxFailedInARow is how many runs may fail one after the other before an
// experiment ends: what befalls that many befalls the rest too.
const maxFailedInARow = 2

// Run carries out every run of the plan that the results do not have already.
// Cancelling ctx ends it in order: no operation starts any more, those under way
// may finish, and what was measured is written. A run that fails is excluded
// from what is compared, and the experiment goes on. The error is that of all
// runs that did not end as planned.
func (e *Engine) Run(ctx context.Context, p *plan.Plan, results *store.Results) error {
	var failures []error
	inARow := 0
	for _, planned := range p.Runs {
		if results.Completed(planned.Index, planned.Name) {
			continue
		}
		err := e.RunOne(ctx, p, planned, results)
		if err == nil {
			inARow = 0
			continue
		}
		failures = append(failures, err)
		if inARow++; inARow == maxFailedInARow || ctx.Err() != nil || len(p.Runs) == 1 {
			break
		}
		if planned.Index < len(p.Runs) {
			e.Watcher.Say("%v\ngoing on with the next run", err)
		}
	}
	return errors.Join(failures...)
}

// RunOne carries out one run of the plan.
func (e *Engine) RunOne(ctx context.Context, p *plan.Plan, planned plan.Run, results *store.Results) error {
	if len(p.Runs) > 1 {
		e.Watcher.Say("run %d of %d: %s", planned.Index, len(p.Runs), planned.Name)
	}
	if err := results.SetAside(planned.Index, planned.Name); err != nil {
		return err
	}
	if err := e.run(ctx, p, planned, results); err != nil {
		if planned.Probe != nil {
			return fmt.Errorf("run %d, %s at %s: %w", planned.Index, planned.Probe.Parameter, planned.Probe.Text, err)
		}
		return fmt.Errorf("run %d of %d: %w", planned.Index, len(p.Runs), err)
	}
	return nil
}

// run is one run under way.
type run struct {
	*Engine
	plan      *plan.Plan
	planned   plan.Run
	spec      *v1.Spec
	clock     loop.Clock
	writer    *store.RunWriter
	recorder  *record.Recorder
	metrics   *metrics.DB
	target    target.Target
	id        string // labels what is made
	cancel    context.CancelCauseFunc
	clusters  map[v1.Cluster]*cluster
	telling   sync.Mutex           // held while the watcher is told something that others may tell it too
	counters  *prometheus.Registry // what plimsoll counts of the run
	tally     *httpconn.Tally      // of requests to the Kubernetes API
	followers followers
	bundles   kube.Bundles // that phases have made
	measuring atomic.Bool  // since the first measured step began
}

func (e *Engine) run(ctx context.Context, p *plan.Plan, planned plan.Run, results *store.Results) (err error) {
	clock := loop.NewClock()
	info := runInfo(e.Tool, p, planned, clock.Start())
	info.Prometheus = e.Prometheus
	writer, err := results.CreateRun(info)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	r := &run{
		Engine: e, plan: p, planned: planned, spec: &planned.Cell.Scenario.Spec, clock: clock, writer: writer, recorder: record.New(writer),
		id: runID(clock.Start(), planned.Index), cancel: cancel, clusters: map[v1.Cluster]*cluster{}, counters: prometheus.NewRegistry(),
	}
	defer func() { err = r.end(err) }()
	if r.metrics, err = metrics.Create(writer.MetricsDir()); err != nil {
		return err
	}
	if err := r.provision(ctx); err != nil {
		return err
	}
	if err := r.countRequests(ctx); err != nil {
		return err
	}
	defer r.observe(ctx)()
	defer r.followers.close()
	if err := r.census(ctx); err != nil {
		return err
	}
	if err := r.prepare(ctx, "prepare", r.spec.Prepare); err != nil {
		return err
	}
	r.event(store.Prepared, "", "")
	for i := range r.spec.Steps {
		if err := r.step(ctx, i); err != nil {
			return err
		}
	}
	return nil
}

// runID names a run towards a cluster: it is a label, and the end of names. Two
// that start in the same second are told apart by chance: what one removes at
// its end must not be the other's.
func runID(start time.Time, index int) string {
	const lowest, highest = 36 * 36 * 36, 36*36*36*36 - 1 // of four digits
	chance := lowest + rand.Int64N(highest-lowest+1)
	return fmt.Sprintf("%s%s-%d", strconv.FormatInt(start.Unix(), 36), strconv.FormatInt(chance, 36), index)
}

// provision starts the target and writes down what it is.
func (r *run) provision(ctx context.Context) error {
	started := r.clock.Now()
	r.Watcher.Say("%s", targetInWords(r.spec.Target))
	var err error
	if r.target, err = r.Provision(ctx, r.spec.Target, r.writer.WorkDir(), r.writer.LogDir()); err != nil {
		return errors.Join(err, context.Cause(ctx))
	}
	r.event(store.TargetReady, "", "")
	r.Watcher.Say("target ready in %.1f s", (r.clock.Now() - started).Seconds())
	r.clusters[v1.OnLocal] = newCluster(r.target)
	if upstream, ok := r.target.(target.Upstream); ok && upstream.Downstream() != nil {
		r.clusters[v1.OnDownstream] = newCluster(upstream.Downstream())
	}
	if _, shared := r.target.(target.Shared); shared {
		if r.spec, err = r.spec.Clone(); err != nil {
			return err
		}
		if err := r.spec.SuffixNamespaces("-" + r.id); err != nil {
			return err
		}
	}
	description, err := r.target.Describe(ctx)
	if err != nil {
		return fmt.Errorf("describe the target: %w", err)
	}
	environment := store.Environment{Host: sampler.Host(ctx, r.dataDirs()[0])}
	for _, c := range description.Components {
		environment.Components = append(environment.Components, store.Component(c))
	}
	return r.writer.Environment(environment)
}

// countRequests readies the tally of requests to the Kubernetes API. The names of
// who refuses them are asked for once; whoever may not read them does without.
func (r *run) countRequests(ctx context.Context) (err error) {
	api := r.clusters[v1.OnLocal].api
	if api == nil {
		return nil
	}
	names, err := kube.FlowNames(ctx, api)
	if err != nil {
		r.event(store.SamplingFailed, "", "the names of flow schemas and priority levels are not known: "+err.Error())
	}
	r.tally, err = httpconn.NewTally(r.counters, names)
	return err
}

// observe records, samples and watches for dead components beside the steps.
// The function it returns ends that.
func (r *run) observe(ctx context.Context) (stop func()) {
	beside, cancel := context.WithCancel(context.WithoutCancel(ctx))
	var group sync.WaitGroup
	group.Go(func() { r.recorder.Run(beside, r.clock.Start()) })
	group.Go(func() { r.watchResults(beside) })
	group.Go(func() { r.watchMachine(beside) })
	group.Go(func() { r.watchObjectives(beside) })
	s := sampler.Sampler{
		DB: r.metrics, Endpoints: r.target.Endpoints(), Interval: time.Second,
		Folders: append([]string{r.writer.Dir()}, r.dataDirs()...), Own: []prometheus.Gatherer{r.counters},
		// Counted from the run's start, so that a clock that is set in mid-run moves nothing.
		Now:    r.clock.Time,
		Failed: func(err error) { r.event(store.SamplingFailed, "", err.Error()) },
	}
	if folder, ok := r.target.(target.Folder); ok {
		s.Data = folder.Folders()
	}
	if counting, ok := r.target.(target.Counting); ok {
		s.Own = append(s.Own, counting.Counters())
	}
	supervised, ok := r.target.(target.Supervised)
	if ok {
		s.Processes = supervised.Processes
		group.Go(func() {
			select {
			case err := <-supervised.Failed():
				r.cancel(fmt.Errorf("%w: %w", ErrComponent, err))
			case <-beside.Done():
			}
		})
	}
	if restarting, ok := r.target.(target.Restarting); ok {
		group.Go(func() { r.tellOfRestarts(beside, restarting) })
	}
	group.Go(func() { s.Run(beside) })
	return func() {
		cancel()
		group.Wait()
	}
}

// tellOfRestarts writes down what components ended with that are started anew.
func (r *run) tellOfRestarts(ctx context.Context, t target.Restarting) {
	for {
		select {
		case <-ctx.Done():
			return
		case end := <-t.Restarted():
			r.event(store.Restarted, "", end.Error())
			first, _, _ := strings.Cut(end.Error(), "\n")
			r.say("%s; it is started anew", first)
		}
	}
}

// watchResults ends the run when results can no longer be written, say because the disk is full.
func (r *run) watchResults(ctx context.Context) {
	tick := time.NewTicker(time.Second)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
			if err := r.recorder.Err(); err != nil {
				r.cancel(fmt.Errorf("results can no longer be written: %w", err))
				return
			}
		}
	}
}

// end closes everything and writes down how the run ended.
func (r *run) end(err error) error {
	if errors.Is(err, errStopped) {
		r.Watcher.Say("%v", err)
		err = nil // it came to the end that the scenario gives it
	}
	if err != nil {
		switch {
		case errors.Is(err, context.Canceled) && !errors.Is(err, ErrComponent):
			err = ErrInterrupted
			r.event(store.Interrupted, "", fmt.Sprintf("interrupted after %.0f s", r.clock.Now().Seconds()))
		default:
			r.event(store.RunFailed, "", err.Error())
		}
	}
	if lost := r.recorder.Close(); !errors.Is(err, lost) { // it may be what ended the run
		err = errors.Join(err, lost)
	}
	if shared, ok := r.target.(target.Shared); ok {
		r.Watcher.Say("removing what was made")
		if left := shared.Clean(context.Background(), r.id); left != nil {
			r.event(store.RunFailed, "", "what the run made could not be removed: "+left.Error())
			err = errors.Join(err, left)
		}
	}
	if r.target != nil {
		if _, shared := r.target.(target.Shared); !shared {
			r.Watcher.Say("stopping the target")
		}
		ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
		defer cancel()
		err = errors.Join(err, r.target.Close(ctx))
	}
	r.event(store.RunEnded, "", "")
	if r.metrics != nil {
		err = errors.Join(err, r.metrics.Close())
	}
	return errors.Join(err, r.writer.Close(err == nil))
}

// event writes an event down. That it cannot be written is no reason to stop:
// the recorder meets the same full disk and says so.
func (r *run) event(kind store.EventKind, name, message string) {
	_ = r.writer.Event(store.Event{At: r.clock.Now().Seconds(), Kind: kind, Name: name, Message: message})
}

// dataDirs are where the target's data is; the environment tells of the disk of the first.
func (r *run) dataDirs() []string {
	if folder, ok := r.target.(target.Folder); ok {
		return folder.Folders()
	}
	return []string{r.writer.WorkDir()}
}

func targetInWords(t v1.Target) string {
	switch {
	case t.Local != nil:
		return "starting " + t.Local.InWords()
	case t.Borrowed != nil && t.Borrowed.Etcd != nil:
		return "on a borrowed etcd"
	case t.Borrowed != nil:
		return "on a borrowed cluster"
	case t.Directory != nil:
		return t.Directory.InWords()
	}
	return "starting a server that answers at once"
}
