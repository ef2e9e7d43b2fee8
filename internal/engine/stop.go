package engine

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	v1 "plimsoll.dev/plimsoll/api/v1alpha1"
	"plimsoll.dev/plimsoll/internal/measure"
	"plimsoll.dev/plimsoll/internal/sampler"
	"plimsoll.dev/plimsoll/internal/store"
)

// errStopped ends the load of a run in order, and the run with it, which has
// then come to its end.
var errStopped = errors.New("the load was stopped")

// stop ends the load: no operation starts any more, and those under way may finish.
func (r *run) stop(e store.Event) {
	e.At, e.Kind = r.clock.Now().Seconds(), store.Stopped
	_ = r.writer.Event(e)
	r.cancel(fmt.Errorf("%w: %s", errStopped, e.Message))
}

// watchObjectives ends the load when a bound that says so stays broken.
func (r *run) watchObjectives(ctx context.Context) {
	const interval = time.Second
	broken := map[int]time.Duration{} // since when, by objective
	tick := time.NewTicker(interval)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		if !r.measuring.Load() {
			continue
		}
		for i, o := range r.spec.Objectives {
			if o.StopAfter == 0 {
				continue
			}
			value, is := r.brokenNow(ctx, o)
			if !is {
				delete(broken, i)
				continue
			}
			since, was := broken[i]
			if !was {
				since = r.clock.Now()
				broken[i] = since
			}
			if r.clock.Now()-since >= time.Duration(o.StopAfter) {
				name := objectiveInfo(o).Name
				r.stop(store.Event{Name: name, Message: fmt.Sprintf(
					"%s was broken for %v: %s, where %s is the bound", name, time.Duration(o.StopAfter), inUnit(value, o), o.BoundInWords())})
				return
			}
		}
	}
}

// brokenNow says whether a value of an expression is beyond its bound. What gives none is not.
func (r *run) brokenNow(ctx context.Context, o v1.Objective) (value float64, is bool) {
	values, err := r.metrics.At(ctx, o.PromQL, r.clock.Time())
	if err != nil {
		return 0, false // the report will say why
	}
	for _, series := range values {
		for _, p := range series.Floats {
			if o.Broken(p.F) {
				return p.F, true
			}
		}
	}
	return 0, false
}

func inUnit(value float64, o v1.Objective) string {
	bound := cmp.Or(o.Max, o.Min)
	switch measure.Unit(bound.Unit) {
	case measure.Seconds:
		return time.Duration(value * float64(time.Second)).Round(10 * time.Microsecond).String()
	case measure.Bytes:
		return fmt.Sprintf("%.1f MiB", value/(1<<20))
	}
	return fmt.Sprintf("%.4g", value)
}

// watchMachine ends the load before the machine is lost. A bound must be
// broken twice in a row: one reading may be that of a moment.
func (r *run) watchMachine(ctx context.Context) {
	if !r.spec.Guard.On() {
		return
	}
	tick := time.NewTicker(time.Second)
	defer tick.Stop()
	broken := 0
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		short := shortage(r.spec.Guard, sampler.ReadSpare(ctx, append([]string{r.writer.Dir()}, r.dataDirs()...)...))
		if short == nil {
			broken = 0
			continue
		}
		if broken++; broken == 2 {
			r.stop(*short)
			return
		}
	}
}

// shortage is that the machine has less left than the guard keeps free; nil if it has more.
func shortage(g *v1.Guard, spares []sampler.Spare) *store.Event {
	for _, s := range spares {
		bound, field := g.Memory, "memory"
		if s.Folder != "" {
			bound, field = g.Disk, "disk"
		}
		least := min(1<<30, float64(s.Total)/20)
		if bound > 0 {
			least = float64(bound)
		}
		if float64(s.Free) >= least {
			continue
		}
		free := float64(s.Free)
		return &store.Event{
			Name: "guard." + field, Value: &free,
			Message: fmt.Sprintf("%s, less than guard.%s keeps free (%v), before this machine is lost", s, field, sampler.Size(least)),
			Bound: &store.ObjectiveInfo{
				Name: "guard: " + s.What(), Min: &least, Unit: string(measure.Bytes), Text: "≥ " + sampler.Size(least),
			},
		}
	}
	return nil
}
