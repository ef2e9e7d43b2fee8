package sampler

import (
	"os"
	"runtime"
	"sync"
	"testing"
	"time"
)

// TestWaitingForACPUIsCounted has more threads want to run than there are CPUs.
func TestWaitingForACPUIsCounted(t *testing.T) {
	q := newRunQueue(Generator, os.Getpid())
	before := q.read()
	if before == nil {
		t.Skip("this kernel does not count it")
	}
	threads := 4 * runtime.NumCPU()
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(threads))
	var busy sync.WaitGroup
	until := time.Now().Add(300 * time.Millisecond)
	for range threads {
		busy.Go(func() {
			for time.Now().Before(until) {
			}
		})
	}
	busy.Wait()
	after := q.read()
	if waited := after[0].Value - before[0].Value; waited < 0.1 {
		t.Errorf("%d threads on %d CPUs waited for %.3f s in all", threads, runtime.NumCPU(), waited)
	}
	if slices := after[1].Value - before[1].Value; slices < float64(threads) {
		t.Errorf("%d threads got a CPU %.0f times", threads, slices)
	}
}
