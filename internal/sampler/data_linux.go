package sampler

import (
	"io/fs"
	"syscall"
)

// allocated is the space that a file takes: blocks of 512 bytes, whatever the file system's own.
func allocated(info fs.FileInfo) int64 {
	if stat, ok := info.Sys().(*syscall.Stat_t); ok {
		return stat.Blocks * 512
	}
	return info.Size()
}
