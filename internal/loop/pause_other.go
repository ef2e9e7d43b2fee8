//go:build !linux

package loop

import "time"

func pause(d time.Duration) { time.Sleep(d) }
