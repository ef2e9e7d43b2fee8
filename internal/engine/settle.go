package engine

import (
	"context"
	"fmt"
	"time"

	v1 "plimsoll.dev/plimsoll/api/v1alpha1"
	"plimsoll.dev/plimsoll/internal/sampler"
	"plimsoll.dev/plimsoll/internal/store"
	"plimsoll.dev/plimsoll/internal/target"
)

// calm is how many seconds in a row the target must be at rest.
const calm = 3

// settle waits until the target's components use little CPU: compactions,
// caches that catch up and garbage collections are over. It does not wait for
// ever; that it gave up is an event, and a warning in the report.
func (r *run) settle(ctx context.Context, s v1.Settle) error {
	supervised, ok := r.target.(target.Supervised)
	if !ok {
		return nil // whose processes cannot be seen, cannot be waited for
	}
	started, limit := r.clock.Now(), time.Duration(s.Timeout)
	meter := sampler.NewMeter(supervised.Processes())
	tick := time.NewTicker(time.Second)
	defer tick.Stop()
	for rested := 0; rested < calm; {
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-tick.C:
		}
		cpus := meter.Read()
		rested++
		if cpus > s.CPUs {
			rested = 0
		}
		if r.clock.Now()-started > limit {
			message := fmt.Sprintf("the target did not come to rest in %v: it still uses %.2f CPUs", limit, cpus)
			r.event(store.Unsettled, "", message)
			r.Watcher.Say("%s", message)
			return nil
		}
	}
	r.Watcher.Say("settled in %.0f s", (r.clock.Now() - started).Seconds())
	return nil
}
