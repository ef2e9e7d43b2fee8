package sampler

import (
	"runtime"
	"testing"
)

func TestCollectorCountsCyclesAndPauses(t *testing.T) {
	c := newCollector()
	before := c.read()
	for range 3 {
		runtime.GC()
	}
	after := c.read()
	if len(before) != 2 || len(after) != 2 {
		t.Fatalf("%d and %d samples, want pauses and cycles", len(before), len(after))
	}
	if pauses := after[0].Value - before[0].Value; pauses <= 0 || pauses > 1 {
		t.Errorf("three collections paused for %v s", pauses)
	}
	if cycles := after[1].Value - before[1].Value; cycles < 3 {
		t.Errorf("three collections count as %v", cycles)
	}
}
