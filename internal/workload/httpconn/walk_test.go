package httpconn

import (
	"context"
	"testing"
	"time"

	"plimsoll.dev/plimsoll/internal/record"
	"plimsoll.dev/plimsoll/internal/workload"
)

// waits is a timer that notes how long pages took to begin.
type waits []time.Duration

func (*waits) Part(ctx context.Context, _ string, do func(context.Context) workload.Result) workload.Result {
	return do(ctx)
}

func (w *waits) Took(kind string, took time.Duration, _ workload.Result) {
	if kind == "first-byte" {
		*w = append(*w, took)
	}
}

func TestWalkTellsHowLongItsGoodPagesTookToBegin(t *testing.T) {
	var seen waits
	client := &Client{}
	pages := []struct {
		wait    time.Duration
		outcome record.Outcome
		next    string
	}{{3 * time.Millisecond, record.OK, "more"}, {5 * time.Millisecond, record.OK, "last"}, {7 * time.Millisecond, record.Failed, ""}}
	whole := client.Walk(t.Context(), &seen, func(context.Context, string) (workload.Result, string) {
		page := pages[0]
		pages = pages[1:]
		client.FirstByte = page.wait
		return workload.Result{Outcome: page.outcome, Items: 1}, page.next
	})
	if len(seen) != 2 || seen[0] != 3*time.Millisecond || seen[1] != 5*time.Millisecond {
		t.Errorf("pages took %v to begin, want 3ms and 5ms: what fails has no beginning", seen)
	}
	if whole.Outcome != record.Failed {
		t.Errorf("the walk came to %v", whole.Outcome)
	}
}
