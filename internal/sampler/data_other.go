//go:build !linux

package sampler

import "io/fs"

// allocated is the size of a file, where more is not known.
func allocated(info fs.FileInfo) int64 { return info.Size() }
