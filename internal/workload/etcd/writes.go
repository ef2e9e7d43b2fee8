package etcd

import (
	"sync"
	"sync/atomic"
	"time"
)

// maxWrites bounds how many writes are remembered; older ones are forgotten.
const maxWrites = 1 << 16

// Writes remembers when the writes of a run's phases were answered, by the
// revision that each made, so that watches can say how much later they heard
// of them. It remembers nothing unless somebody watches. The zero value is ready.
type Writes struct {
	watches atomic.Int64

	mu       sync.Mutex
	answered map[int64]time.Time
	order    []int64 // a circle once it is full
	oldest   int
}

func (w *Writes) watch() { w.watches.Add(1) }

// unwatch forgets everything with the last watch.
func (w *Writes) unwatch() {
	if w.watches.Add(-1) > 0 {
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.answered, w.order, w.oldest = nil, nil, 0
}

// note remembers a write that was answered just now.
func (w *Writes) note(revision int64) {
	if w.watches.Load() == 0 || revision == 0 {
		return
	}
	now := time.Now()
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.answered == nil {
		w.answered = map[int64]time.Time{}
	}
	w.answered[revision] = now
	if len(w.order) < maxWrites {
		w.order = append(w.order, revision)
		return
	}
	delete(w.answered, w.order[w.oldest])
	w.order[w.oldest] = revision
	w.oldest = (w.oldest + 1) % maxWrites
}

// at is when a write was answered; false says that it was not, as far as is known.
func (w *Writes) at(revision int64) (time.Time, bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	at, ok := w.answered[revision]
	return at, ok
}
