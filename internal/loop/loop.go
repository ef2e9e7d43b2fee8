// Package loop drives clients: closed loops, in which a client's next
// operation follows its last, and open loops, in which operations start when
// an arrival process says. It is the only reader of the clock on the way of a
// measured operation.
package loop

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"plimsoll.dev/plimsoll/internal/record"
	"plimsoll.dev/plimsoll/internal/workload"
)

// Clock measures offsets from the run's start on the monotonic clock.
type Clock struct {
	start time.Time
	pause func(time.Duration)
}

// NewClock gives a clock that starts now.
func NewClock() Clock { return Clock{start: time.Now(), pause: pause} }

// Start is the moment that offsets are counted from.
func (c Clock) Start() time.Time { return c.start }

// Now is the offset of this moment.
func (c Clock) Now() time.Duration { return time.Since(c.start) }

// Time is this moment by the wall clock as it went when the run started: it
// does not step when that one is set.
func (c Clock) Time() time.Time { return c.start.Add(c.Now()) }

// Phase is what a loop works on. Its loops return once every operation has
// ended: the caller ends them early by closing Stop (no operation starts any
// more), and at once by cancelling the context (operations under way are cut).
type Phase struct {
	Clock   Clock
	Clients []workload.Client
	Shards  []*record.Shard // one per client, and for an open loop one more, for the dispatcher
	Stop    <-chan struct{}
	Done    *atomic.Int64 // counts ended operations, for whoever watches
}

// Closed says how a closed loop ends and how long clients pause. With every
// bound zero it goes on until it is stopped.
type Closed struct {
	Iterations          int // of all clients together
	IterationsPerClient int
	Duration            time.Duration
	Think               time.Duration
	// RampClients start together, and as many more after every RampEvery; 0 is all at once.
	RampClients int
	RampEvery   time.Duration
}

// Closed runs a closed loop.
func (p *Phase) Closed(ctx context.Context, c Closed) {
	begin := p.Clock.Now()
	var claimed atomic.Int64
	more := func(done int) bool {
		switch {
		case ctx.Err() != nil || p.stopped():
			return false
		case c.IterationsPerClient > 0 && done >= c.IterationsPerClient:
			return false
		case c.Duration > 0 && p.Clock.Now() >= begin+c.Duration:
			return false
		}
		return c.Iterations == 0 || claimed.Add(1) <= int64(c.Iterations)
	}
	var clients sync.WaitGroup
	for i, client := range p.Clients {
		clients.Go(func() {
			intended := p.Clock.Now()
			if c.RampClients > 0 {
				intended = begin + time.Duration(i/c.RampClients)*c.RampEvery
				if !p.sleepUntil(ctx, intended) {
					return
				}
			}
			for done := 0; more(done); done++ {
				op, ok := client.Next()
				if !ok {
					return
				}
				during, end := ctx, func() {}
				if op.Lasting {
					during, end = p.lasting(ctx, c.Duration, begin)
				}
				finished := p.do(during, op, p.Shards[i], record.Closed, intended)
				end()
				intended = finished + c.Think
				if c.Think > 0 && !p.sleepUntil(ctx, intended) {
					return
				}
			}
		})
	}
	clients.Wait()
}

// lasting gives the context of an operation that goes on until the phase is
// stopped, or, if it has a duration, until that is over.
func (p *Phase) lasting(ctx context.Context, duration, begin time.Duration) (context.Context, func()) {
	during, cancel := context.WithCancelCause(ctx)
	var over <-chan time.Time
	if duration > 0 {
		over = time.After(begin + duration - p.Clock.Now())
	}
	go func() {
		select {
		case <-p.Stop:
		case <-over:
		case <-during.Done():
		}
		cancel(workload.ErrOver)
	}()
	return during, func() { cancel(nil) }
}

// Open says how an open loop hands operations to clients.
type Open struct {
	Arrivals Arrivals
	// Backlog is how many operations may wait for a client; one more is dropped.
	Backlog int
	// Drain is how long, after the last arrival, waiting operations may still be started; those
	// that were not are dropped.
	Drain time.Duration
}

// Open runs an open loop: as many operations are under way at once as there
// are clients, and others wait in the backlog, with their intended start
// unmoved. Every arrival ends in exactly one sample: of an operation, or of a
// drop.
func (p *Phase) Open(ctx context.Context, o Open) {
	q := &queue{backlog: make(chan time.Duration, o.Backlog)}
	var clients sync.WaitGroup
	for i, client := range p.Clients {
		clients.Go(func() { p.serve(ctx, client, p.Shards[i], q) })
	}
	p.dispatch(ctx, o.Arrivals, q)
	close(q.backlog)
	timer := time.AfterFunc(o.Drain, func() { q.late.Store(true) })
	defer timer.Stop()
	clients.Wait()
}

// queue is what stands between the dispatcher and the clients.
type queue struct {
	backlog   chan time.Duration // intended starts
	late      atomic.Bool        // the drain time is over
	exhausted atomic.Bool        // the workload has nothing left to do
}

// dispatch puts arrivals into the backlog when their time has come.
func (p *Phase) dispatch(ctx context.Context, arrivals Arrivals, q *queue) {
	begin := p.Clock.Now()
	shard := p.Shards[len(p.Clients)]
	for offset := range arrivals {
		intended := begin + offset
		if !p.sleepUntil(ctx, intended) || q.exhausted.Load() {
			return
		}
		now := p.Clock.Now()
		shard.Record(record.Sample{Op: "dispatch", Timing: record.Dispatch, Intended: intended, Started: now, Finished: now})
		select {
		case q.backlog <- intended:
		default:
			p.drop(shard, intended, "backlog-full")
		}
	}
}

// serve is one client of an open loop.
func (p *Phase) serve(ctx context.Context, client workload.Client, shard *record.Shard, q *queue) {
	for intended := range q.backlog {
		switch {
		case ctx.Err() != nil || p.stopped():
			p.drop(shard, intended, "interrupted")
			continue
		case q.late.Load():
			p.drop(shard, intended, "drain")
			continue
		}
		op, ok := client.Next()
		if !ok {
			q.exhausted.Store(true)
			p.drop(shard, intended, "exhausted")
			continue
		}
		p.do(ctx, op, shard, record.Open, intended)
	}
}

// drop records an arrival whose operation never started.
func (p *Phase) drop(shard *record.Shard, intended time.Duration, reason string) {
	shard.Record(record.Sample{
		Op: "dispatch", Timing: record.Dispatch, Outcome: record.Dropped, Reason: reason,
		Intended: intended, Started: intended, Finished: p.Clock.Now(),
	})
	p.Done.Add(1)
}

// do performs one operation and records it.
func (p *Phase) do(ctx context.Context, op workload.Op, shard *record.Shard, timing record.Timing, intended time.Duration) time.Duration {
	started := p.Clock.Now()
	result := op.Do(ctx, parts{p.Clock, shard})
	finished := p.Clock.Now()
	shard.Record(record.Sample{
		Op: op.Kind, Timing: timing, Intended: intended, Started: started, Finished: finished,
		Outcome: result.Outcome, Reason: result.Reason, Bytes: result.Bytes, Items: result.Items,
	})
	p.Done.Add(1)
	return finished
}

// parts times the parts of a client's operations.
type parts struct {
	clock Clock
	shard *record.Shard
}

func (t parts) Part(ctx context.Context, kind string, do func(context.Context) workload.Result) workload.Result {
	started := t.clock.Now()
	result := do(ctx)
	t.shard.Record(record.Sample{
		Op: kind, Timing: record.Part, Intended: started, Started: started, Finished: t.clock.Now(),
		Outcome: result.Outcome, Reason: result.Reason, Bytes: result.Bytes, Items: result.Items,
	})
	return result
}

func (t parts) Took(kind string, took time.Duration, result workload.Result) {
	now := t.clock.Now()
	t.shard.Record(record.Sample{
		Op: kind, Timing: record.Part, Intended: now - took, Started: now - took, Finished: now,
		Outcome: result.Outcome, Reason: result.Reason, Bytes: result.Bytes, Items: result.Items,
	})
}

func (p *Phase) stopped() bool {
	select {
	case <-p.Stop:
		return true
	default:
		return false
	}
}

// coarse is how close to its end a sleep is left to the runtime's timers,
// which overshoot by a millisecond; the rest is slept by the kernel.
const coarse = 2 * time.Millisecond

// sleepUntil waits for an offset; false says that the phase ended meanwhile.
func (p *Phase) sleepUntil(ctx context.Context, offset time.Duration) bool {
	if far := offset - p.Clock.Now() - coarse; far > 0 {
		timer := time.NewTimer(far)
		defer timer.Stop()
		select {
		case <-timer.C:
		case <-p.Stop:
			return false
		case <-ctx.Done():
			return false
		}
	}
	if near := offset - p.Clock.Now(); near > 0 {
		p.Clock.pause(near)
	}
	return ctx.Err() == nil && !p.stopped()
}
