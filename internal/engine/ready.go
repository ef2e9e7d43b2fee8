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

	mu          sync.Mutex
	shard       *record.Shard
	pending     map[string]time.Time // answered, by namespace/name
	first, last time.Time            // that an object was seen to be ready
}

// The parts of an operation that becoming ready is, of one object and of all.
const (
	readyOp       = "ready"
	firstToLastOp = "first-to-last"
)

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
	if outcome == record.OK {
		if r.first.IsZero() {
			r.first = at
		}
		r.last = at
	}
	r.record(readyOp, answered, at, outcome, reason)
}

// record records what took from one moment to another; r.mu is held.
func (r *readiness) record(op string, from, to time.Time, outcome record.Outcome, reason string) {
	start := from.Sub(r.clock.Start())
	r.shard.Record(record.Sample{
		Op: op, Timing: record.Part, Intended: start, Started: start, Finished: start + max(0, to.Sub(from)),
		Outcome: outcome, Reason: reason,
	})
}

// end records what never became ready, with the time that it had, and how long
// it took from the first that did to the last.
func (r *readiness) end() {
	now := time.Now()
	r.mu.Lock()
	var left []string
	for key := range r.pending {
		left = append(left, key)
	}
	r.mu.Unlock()
	for _, key := range left {
		r.settle(key, now, record.TimedOut, notReady)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	switch {
	case r.first.IsZero():
	case len(left) > 0: // the last one has not come
		r.record(firstToLastOp, r.first, now, record.TimedOut, notReady)
	default:
		r.record(firstToLastOp, r.first, r.last, record.OK, "")
	}
}

// notReady is the reason of what did not become ready before the end.
const notReady = "not-ready"
