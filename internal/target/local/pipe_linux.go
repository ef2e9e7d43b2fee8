package local

import (
	"os"

	"golang.org/x/sys/unix"
)

// pipeSize holds a second of events of a busy API server.
const pipeSize = 1 << 20

// widen lets a pipe hold more than the 64 KiB of default, if the system allows it.
func widen(pipe *os.File) {
	if raw, err := pipe.SyscallConn(); err == nil {
		_ = raw.Control(func(fd uintptr) { _, _ = unix.FcntlInt(fd, unix.F_SETPIPE_SZ, pipeSize) })
	}
}
