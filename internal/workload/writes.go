package workload

import (
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

// maxWrites bounds how many writes are remembered; older ones are forgotten.
const maxWrites = 1 << 16

// Writes remembers when the writes of a run's phases were answered, so that
// watches can say how much later they heard of them. W is by what an event tells
// its write. The zero value is ready.
type Writes[W comparable] struct {
	watches atomic.Int64

	mu       sync.Mutex
	answered map[W]time.Time
	order    []W // a circle once it is full
	oldest   int
}

// Watch has writes remembered, until Unwatch.
func (w *Writes[W]) Watch() { w.watches.Add(1) }

// Unwatch forgets everything with the last watch.
func (w *Writes[W]) Unwatch() {
	if w.watches.Add(-1) > 0 {
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.answered, w.order, w.oldest = nil, nil, 0
}

// Watched says whether anybody watches: otherwise writes need not be noted.
func (w *Writes[W]) Watched() bool { return w.watches.Load() > 0 }

// Note remembers a write that was answered just now.
func (w *Writes[W]) Note(write W) {
	now := time.Now()
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.answered == nil {
		w.answered = map[W]time.Time{}
	}
	if _, known := w.answered[write]; known {
		return // of two equal ones, the second changed nothing
	}
	w.answered[write] = now
	if len(w.order) < maxWrites {
		w.order = append(w.order, write)
		return
	}
	delete(w.answered, w.order[w.oldest])
	w.order[w.oldest] = write
	w.oldest = (w.oldest + 1) % maxWrites
}

// at is when a write was answered; false says that it was not, as far as is known.
func (w *Writes[W]) at(write W) (time.Time, bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	at, ok := w.answered[write]
	return at, ok
}

const (
	// answerTime is how long after its event a write may yet be answered; later, it was somebody else's.
	answerTime = 10 * time.Second
	// maxEarly bounds how many events may wait for the answers of their writes.
	maxEarly = 1024
)

// Delays records, as parts called event, how much later than the answers of
// their writes a watch hears of them.
type Delays[W comparable] struct {
	Writes *Writes[W]
	Parts  Timer
	Since  time.Time // writes that were answered before are history

	early []heard[W] // without an answered write yet
}

// heard is an event whose write has not been answered.
type heard[W comparable] struct {
	write W
	at    time.Time
}

// Heard takes in the event of a write.
func (d *Delays[W]) Heard(write W, now time.Time) {
	if answered, ok := d.Writes.at(write); ok {
		if !answered.Before(d.Since) {
			d.record(max(0, now.Sub(answered)))
		}
		return
	}
	if len(d.early) == maxEarly {
		d.early = append(d.early[:0], d.early[1:]...)
	}
	d.early = append(d.early, heard[W]{write, now})
}

// Settle looks again for the writes of events that came before their answers:
// those came without delay.
func (d *Delays[W]) Settle(now time.Time) {
	d.early = slices.DeleteFunc(d.early, func(h heard[W]) bool {
		_, answered := d.Writes.at(h.write)
		if answered {
			d.record(0)
		}
		return answered || now.Sub(h.at) > answerTime
	})
}

func (d *Delays[W]) record(delay time.Duration) { d.Parts.Took("event", delay, Result{Items: 1}) }
