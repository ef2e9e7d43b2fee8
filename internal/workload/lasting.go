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
	longer, cancel := context.WithCancelCause(context.WithoutCancel(ctx))
	stop := context.AfterFunc(ctx, func() {
		if errors.Is(context.Cause(ctx), ErrOver) {
			select {
			case <-time.After(LastEvents):
			case <-longer.Done():
			}
		}
		cancel(context.Cause(ctx))
	})
	return longer, func(cause error) {
		stop()
		cancel(cause)
	}
}
