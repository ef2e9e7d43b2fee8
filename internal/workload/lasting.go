package workload

import (
	"context"
	"errors"
	"time"
)

// LastEvents is how long a watch goes on once its phase is over, for the events of the last writes.
const LastEvents = 250 * time.Millisecond

// Outlast gives a lasting operation a context that ends with ctx; a little
// later, if that is because the phase is over.
func Outlast(ctx context.Context) (context.Context, context.CancelCauseFunc) {
	return outlive(ctx, func() time.Duration {
		if errors.Is(context.Cause(ctx), ErrOver) {
			return LastEvents
		}
		return 0
	})
}

// Outlive gives a context that ends a while after ctx does.
func Outlive(ctx context.Context, while time.Duration) (context.Context, context.CancelCauseFunc) {
	return outlive(ctx, func() time.Duration { return while })
}

// outlive asks, when ctx is done, how long the context it gives goes on.
func outlive(ctx context.Context, while func() time.Duration) (context.Context, context.CancelCauseFunc) {
	longer, cancel := context.WithCancelCause(context.WithoutCancel(ctx))
	stop := context.AfterFunc(ctx, func() {
		Sleep(longer, while())
		cancel(context.Cause(ctx))
	})
	return longer, func(cause error) {
		stop()
		cancel(cause)
	}
}

// Sleep waits, and says whether it waited to the end: no longer than until ctx is done.
func Sleep(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}
