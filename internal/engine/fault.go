package engine

import (
	"context"
	"errors"
	"fmt"
	"math"
	"sync"
	"time"

	v1 "plimsoll.dev/plimsoll/api/v1alpha1"
	"plimsoll.dev/plimsoll/internal/store"
	"plimsoll.dev/plimsoll/internal/target"
	"plimsoll.dev/plimsoll/internal/workload"
)

// arm gets the fault of a step ready; nil if it has none.
func (r *run) arm(spec *v1.Fault) (target.Disturbance, error) {
	if spec == nil {
		return nil, nil
	}
	disturbable, ok := r.target.(target.Disturbable)
	if !ok {
		return nil, errors.New("the target cannot be disturbed")
	}
	switch {
	case spec.Pause != nil:
		return disturbable.Pause(spec.Pause.Component)
	case spec.Kill != nil:
		return disturbable.Kill(spec.Kill.Component)
	case spec.SlowDisk != nil:
		return disturbable.SlowDisk(spec.SlowDisk.Component, int(math.Round(float64(spec.SlowDisk.Writes))))
	}
	return nil, errors.New("a fault of a kind that this plimsoll does not know")
}

// disturb lets the fault of a step happen beside its phases. What it returns ends
// it, at once if it is under way; an error is that it could not be done, or undone.
func (r *run) disturb(ctx context.Context, spec *v1.Fault, d target.Disturbance) (end func() error) {
	if d == nil {
		return func() error { return nil }
	}
	ctx, cancel := context.WithCancel(ctx)
	var group sync.WaitGroup
	var err error
	group.Go(func() { err = r.fault(ctx, spec, d) })
	return func() error {
		cancel()
		group.Wait()
		return err
	}
}

func (r *run) fault(ctx context.Context, spec *v1.Fault, d target.Disturbance) (err error) {
	defer func() { err = errors.Join(err, d.End()) }()
	span := spec.Span()
	if !workload.Sleep(ctx, time.Duration(span.After)) {
		r.event(store.FaultMissed, d.Component(), spec.InWords())
		return nil
	}
	if err := d.Begin(); err != nil {
		err = fmt.Errorf("disturb %s: %w", span.Component, err)
		r.cancel(err) // without it, the step is not what it is meant to be
		return err
	}
	began, component := r.clock.Now(), d.Component()
	words := spec.InWordsTo(component)
	r.event(store.FaultBegan, component, words)
	r.say("%s", words)
	workload.Sleep(ctx, time.Duration(span.For))
	err = d.End()
	took := r.clock.Now() - began
	r.event(store.FaultEnded, component, fmt.Sprintf("after %.1f s", took.Seconds()))
	r.say("%s is left alone again, after %.1f s", component, took.Seconds())
	if err != nil {
		return fmt.Errorf("leave %s alone again: %w", component, err)
	}
	return nil
}

// say tells of something while a step is shown.
func (r *run) say(format string, args ...any) {
	r.telling.Lock()
	defer r.telling.Unlock()
	r.Watcher.Say(format, args...)
}
