package engine

import (
	"sync"
	"time"

	v1 "plimsoll.dev/plimsoll/api/v1alpha1"
	"plimsoll.dev/plimsoll/internal/follow"
	"plimsoll.dev/plimsoll/internal/loop"
	"plimsoll.dev/plimsoll/internal/record"
)

// readiness times how long after the answer to its creation an object of a phase
// is seen to be ready. It outlives the phase: objects become ready later.
type readiness struct {
	clock    loop.Clock
	resource v1.Resource
	state    func(key string) follow.State // of an object, at the moment

	mu      sync.Mutex
	shard   *record.Shard
	pending map[string]time.Time // answered, by namespace/name
}

// readyOp is the part of an operation that becoming ready is.
const readyOp = "ready"

// readiness times that of the objects of a resource that a phase makes, until the end of the run.
func (r *run) readiness(f *follow.Follower, resource v1.Resource, phase v1.Name) *readiness {
	ready := &readiness{
		clock: r.clock, resource: resource, state: f.State, shard: r.recorder.Shard(string(phase)), pending: map[string]time.Time{},
	}
	stop := f.Listen(ready.heard)
	r.followers.ended = append(r.followers.ended, func() {
		stop()
		ready.end()
		r.recorder.Release(ready.shard)
	})
	return ready
}

// created implements kube.Created.
func (r *readiness) created(resource v1.Resource, namespace, name string, answered time.Time) {
	if resource != r.resource {
		return
	}
	key := namespace + "/" + name
	r.mu.Lock()
	r.pending[key] = answered
	r.mu.Unlock()
	if r.state(key) == follow.ReadyState(resource) { // seen before the answer
		r.settle(key, answered, record.OK, "")
	}
}

func (r *readiness) heard(c follow.Change) {
	switch c.To {
	case follow.ReadyState(r.resource):
		r.settle(c.Namespace+"/"+c.Name, c.At, record.OK, "")
	case follow.Gone, follow.Terminating:
		r.settle(c.Namespace+"/"+c.Name, c.At, record.Failed, "deleted")
	}
}

// settle records an object that is waited for.
func (r *readiness) settle(key string, at time.Time, outcome record.Outcome, reason string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	answered, waited := r.pending[key]
	if !waited {
		return
	}
	delete(r.pending, key)
	start := answered.Sub(r.clock.Start())
	r.shard.Record(record.Sample{
		Op: readyOp, Timing: record.Part, Intended: start, Started: start, Finished: start + max(0, at.Sub(answered)),
		Outcome: outcome, Reason: reason,
	})
}

// end records what never became ready, with the time that it had.
func (r *readiness) end() {
	now := time.Now()
	r.mu.Lock()
	var left []string
	for key := range r.pending {
		left = append(left, key)
	}
	r.mu.Unlock()
	for _, key := range left {
		r.settle(key, now, record.TimedOut, "not-ready")
	}
}
