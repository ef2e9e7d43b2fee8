package engine

import (
	"context"
	"errors"
	"fmt"
	"hash/fnv"
	"math/rand/v2"
	"runtime/debug"
	"sync"
	"sync/atomic"
	"time"

	v1 "plimsoll.dev/plimsoll/api/v1alpha1"
	"plimsoll.dev/plimsoll/internal/fill"
	"plimsoll.dev/plimsoll/internal/loop"
	"plimsoll.dev/plimsoll/internal/store"
	"plimsoll.dev/plimsoll/internal/workload"
)

// grace is how long operations under way may take to end once the run is interrupted.
const grace = 5 * time.Second

// prepare carries out preparations; step is what they are for.
func (r *run) prepare(ctx context.Context, step string, preparations []v1.Preparation) error {
	for _, p := range preparations {
		var err error
		switch {
		case p.Fill != nil:
			err = r.fill(ctx, step, *p.Fill)
		case p.Settle != nil:
			err = r.settle(ctx, *p.Settle)
		}
		if err != nil {
			return cause(ctx, fmt.Errorf("%s: %w", step, err))
		}
	}
	return nil
}

// fill makes objects, those that an earlier preparation made left out.
func (r *run) fill(ctx context.Context, step string, spec v1.Fill) error {
	c, err := r.cluster(spec.Cluster)
	if err != nil {
		return err
	}
	what := "fill " + spec.InWords()
	var made atomic.Int64
	started := r.clock.Now()
	shown := r.show(func() Progress {
		return r.progress(step, PhaseProgress{Name: what, Done: made.Load(), Total: int64(spec.Count)}, started)
	})
	from := c.filled[spec.Objects]
	err = fill.Run(ctx, fill.Options{
		API: c.api, Datastore: c.datastore, Fill: spec, RunID: r.id, Seed: r.planned.Seed, From: from, Made: &made,
	})
	shown()
	if err != nil {
		return err
	}
	debug.FreeOSMemory() // or the garbage of the fill would count as plimsoll's memory throughout
	c.filled[spec.Objects] = max(from, spec.Count)
	took := (r.clock.Now() - started).Seconds()
	r.Watcher.Say("filled %d %s in %.1f s (%.0f/s)", spec.Count-from, spec.InWords(), took, float64(spec.Count-from)/took)
	return nil
}

// phase is a phase under way.
type phase struct {
	v1.Phase
	workload workload.Workload
	loop     loop.Phase
	random   *rand.Rand
	done     atomic.Int64
	shown    int64           // of what it waits for, a second ago
	stop     context.Context // done when no operation may start any more
	halt     context.CancelFunc
}

// step runs the phases of a step in parallel, background phases as long as the others.
func (r *run) step(ctx context.Context, index int) error {
	step := &r.spec.Steps[index]
	if err := r.prepare(ctx, "step "+string(step.Name), step.Prepare); err != nil {
		return err
	}
	phases := make([]*phase, len(step.Phases))
	for i := range step.Phases {
		var err error
		if phases[i], err = r.dial(ctx, step.Phases[i]); err != nil {
			return cause(ctx, fmt.Errorf("step %s: phase %s: %w", step.Name, step.Phases[i].Name, err))
		}
		defer phases[i].workload.Close()
	}
	disturbance, err := r.arm(step.Fault)
	if err != nil {
		return fmt.Errorf("step %s: fault: %w", step.Name, err)
	}
	r.event(store.StepStarted, string(step.Name), "")
	r.measuring.CompareAndSwap(false, *step.Measured)
	started := r.clock.Now()
	shown := r.show(func() Progress { return r.stepProgress(index, phases, started) })
	undisturbed := r.disturb(ctx, step.Fault, disturbance)
	r.drive(ctx, phases)
	err = undisturbed()
	shown()
	for _, p := range phases {
		r.recorder.Release(p.loop.Shards...)
	}
	r.event(store.StepEnded, string(step.Name), "")
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if err != nil {
		return fmt.Errorf("step %s: fault: %w", step.Name, err)
	}
	r.Watcher.Say("step %d/%d %s done in %.1f s", index+1, len(r.spec.Steps), step.Name, (r.clock.Now() - started).Seconds())
	return nil
}

// drive runs phases to their end, or until ctx is done: then no operation
// starts any more, and those under way have the grace time; none, if a
// component died.
func (r *run) drive(ctx context.Context, phases []*phase) {
	operations, cut := context.WithCancel(context.WithoutCancel(ctx))
	defer cut()
	ended := make(chan struct{})
	var watcher sync.WaitGroup
	watcher.Go(func() {
		select {
		case <-ended:
			return
		case <-ctx.Done():
		}
		for _, p := range phases {
			p.halt()
		}
		if !errors.Is(context.Cause(ctx), ErrComponent) {
			select {
			case <-ended:
			case <-time.After(grace):
			}
		}
		cut()
	})
	var foreground, background sync.WaitGroup
	for _, p := range phases {
		group := &foreground
		if p.Background {
			group = &background
		}
		group.Go(func() { r.drivePhase(operations, p) })
	}
	foreground.Wait()
	for _, p := range phases {
		p.halt()
	}
	background.Wait()
	close(ended)
	watcher.Wait()
}

func (r *run) drivePhase(ctx context.Context, p *phase) {
	r.event(store.PhaseStarted, string(p.Name), "")
	switch load := p.Load; {
	case load.Closed != nil:
		closed := loop.Closed{
			Iterations: load.Closed.Iterations, IterationsPerClient: load.Closed.IterationsPerClient,
			Duration: time.Duration(load.Closed.Duration), Think: time.Duration(load.Closed.Think),
		}
		if ramp := load.Closed.Ramp; ramp != nil {
			closed.RampClients, closed.RampEvery = ramp.Clients, time.Duration(ramp.Every)
		}
		p.loop.Closed(ctx, closed)
	case load.Open != nil:
		profile := loop.Profile{From: float64(load.Open.Rate), To: float64(load.Open.RateTo), Duration: time.Duration(load.Open.Duration)}
		arrivals := profile.Constant()
		if load.Open.Arrivals == v1.Poisson {
			arrivals = profile.Poisson(p.random)
		}
		p.loop.Open(ctx, loop.Open{Arrivals: arrivals, Backlog: load.Open.Backlog, Drain: time.Duration(p.Timeout)})
	}
	r.event(store.PhaseEnded, string(p.Name), "")
}

// dial prepares a phase's workload and connects its clients.
func (r *run) dial(ctx context.Context, spec v1.Phase) (*phase, error) {
	w, err := r.workload(ctx, spec)
	if err != nil {
		return nil, err
	}
	if err := w.Prepare(ctx); err != nil {
		return nil, err
	}
	p := &phase{Phase: spec, workload: w, random: r.random(spec.Name, -1)}
	p.stop, p.halt = context.WithCancel(context.Background())
	p.loop = loop.Phase{Clock: r.clock, Stop: p.stop.Done(), Done: &p.done}
	for i := range spec.Load.Clients() {
		client, err := w.Dial(ctx, i, r.random(spec.Name, i))
		if err != nil {
			return nil, errors.Join(err, w.Close())
		}
		p.loop.Clients = append(p.loop.Clients, client)
	}
	for range spec.Load.Clients() + 1 { // one for the dispatcher of an open loop
		p.loop.Shards = append(p.loop.Shards, r.recorder.Shard(string(spec.Name)))
	}
	return p, nil
}

// random gives a client its own source: a function of the run's seed, the phase and the client.
func (r *run) random(phase v1.Name, client int) *rand.Rand {
	h := fnv.New64a()
	fmt.Fprintf(h, "%s/%d", phase, client)
	return rand.New(rand.NewPCG(r.planned.Seed, h.Sum64()))
}

// cause replaces the bare error of a cancelled context by the reason of the cancellation.
func cause(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return err
}
