package loop

import (
	"errors"
	"time"

	"golang.org/x/sys/unix"
)

// pause sleeps in the kernel. Go's own timers round up to the poller's
// millisecond (golang.org/issue/53824); nanosleep overshoots by some tens of
// microseconds, at the price of a blocked thread, so it is for short waits.
func pause(d time.Duration) {
	left := unix.NsecToTimespec(int64(d))
	for errors.Is(unix.Nanosleep(&left, &left), unix.EINTR) {
	}
}
