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
	return outlive(ctx, func() (time.Duration, error) {
		cause := context.Cause(ctx)
		if errors.Is(cause, ErrOver) {
			return LastEvents, cause
		}
		return 0, cause
	})
}

// Outlive gives a context that ends a while after ctx does, and is then just cancelled: what it cuts short has no other cause.
func Outlive(ctx context.Context, while time.Duration) (context.Context, context.CancelCauseFunc) {
	return outlive(ctx, func() (time.Duration, error) { return while, nil })
}

// outlive asks, when ctx is done, how long the context it gives goes on, and what it ends of.
func outlive(ctx context.Context, while func() (time.Duration, error)) (context.Context, context.CancelCauseFunc) {
	longer, cancel := context.WithCancelCause(context.WithoutCancel(ctx))
	stop := context.AfterFunc(ctx, func() {
		longest, cause := while()
		Sleep(longer, longest)
		cancel(cause)
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
