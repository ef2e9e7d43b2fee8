package engine

import (
	"sync"
	"time"

	v1 "plimsoll.dev/plimsoll/api/v1alpha1"
	"plimsoll.dev/plimsoll/internal/follow"
	"plimsoll.dev/plimsoll/internal/record"
)

// Watcher is told how runs go. Its methods are called from one goroutine at a
// time and must return quickly: it shares the machine with what is measured.
type Watcher interface {
	// Say tells of something that happened, once.
	Say(format string, args ...any)
	// Show tells how things stand, at most once a second.
	Show(Progress)
}

// Progress is how things stand.
type Progress struct {
	Run, Runs int
	Step      string
	Elapsed   time.Duration // of the step
	Phases    []PhaseProgress
}

// PhaseProgress is how a phase stands.
type PhaseProgress struct {
	Name string
	// Done and Total are operations; Total is 0 where it is not known.
	Done, Total int64
	// Remaining is how long the phase will go on, as far as can be told; 0 if it can't.
	Remaining time.Duration
	record.Live
}

// show keeps the watcher informed until the returned function is called.
func (r *run) show(current func() Progress) (stop func()) {
	ended := make(chan struct{})
	var group sync.WaitGroup
	group.Go(func() {
		tick := time.NewTicker(time.Second)
		defer tick.Stop()
		for {
			select {
			case <-ended:
				return
			case <-tick.C:
				now := current()
				r.telling.Lock()
				r.Watcher.Show(now)
				r.telling.Unlock()
			}
		}
	})
	return func() {
		close(ended)
		group.Wait()
	}
}

func (r *run) progress(step string, p PhaseProgress, started time.Duration) Progress {
	elapsed := r.clock.Now() - started
	p.estimate(elapsed)
	return Progress{Run: r.planned.Index, Runs: len(r.plan.Runs), Step: step, Elapsed: elapsed, Phases: []PhaseProgress{p}}
}

func (r *run) stepProgress(index int, phases []*phase, started time.Duration) Progress {
	step := r.spec.Steps[index]
	progress := Progress{Run: r.planned.Index, Runs: len(r.plan.Runs), Step: string(step.Name), Elapsed: r.clock.Now() - started}
	for _, p := range phases {
		progress.Phases = append(progress.Phases, r.phaseProgress(p, progress.Elapsed))
	}
	return progress
}

func (r *run) phaseProgress(p *phase, elapsed time.Duration) PhaseProgress {
	if waiting, ok := p.workload.(*follow.Wait); ok {
		return p.waitProgress(waiting, elapsed)
	}
	shown := PhaseProgress{Name: string(p.Name), Done: p.done.Load(), Live: r.recorder.Live(string(p.Name))}
	var bound time.Duration
	shown.Total, bound = total(p.Load)
	shown.estimate(elapsed)
	if bound > 0 {
		shown.Remaining = max(0, bound-elapsed)
	}
	return shown
}

// waitProgress counts objects rather than operations, and their rate from what
// was shown a second ago.
func (p *phase) waitProgress(w *follow.Wait, elapsed time.Duration) PhaseProgress {
	done, total := w.Progress()
	shown := PhaseProgress{
		Name: string(p.Name), Done: int64(done), Total: int64(total),
		Live: record.Live{Op: string(p.Wait.State), Rate: max(0, int64(done)-p.shown)},
	}
	p.shown = int64(done)
	shown.estimate(elapsed)
	return shown
}

// estimate extrapolates what is left from what is done.
func (p *PhaseProgress) estimate(elapsed time.Duration) {
	if p.Done > 0 && p.Total > p.Done {
		p.Remaining = time.Duration(float64(elapsed) / float64(p.Done) * float64(p.Total-p.Done))
	}
}

// total gives the operations of a load, and its duration, as far as they are known.
func total(load v1.Load) (int64, time.Duration) {
	switch {
	case load.Open != nil:
		d := time.Duration(load.Open.Duration)
		return int64(float64(load.Open.Rate+load.Open.RateTo) / 2 * d.Seconds()), d
	case load.Closed.IterationsPerClient > 0:
		return int64(load.Closed.IterationsPerClient) * int64(load.Closed.Clients), 0
	default:
		return int64(load.Closed.Iterations), time.Duration(load.Closed.Duration)
	}
}
