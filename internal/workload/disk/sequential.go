package disk

import (
	"context"
	"errors"
	"fmt"
	"os"
	"unsafe"

	"golang.org/x/sys/unix"

	v1 "plimsoll.dev/plimsoll/api/v1alpha1"
	"plimsoll.dev/plimsoll/internal/record"
	"plimsoll.dev/plimsoll/internal/workload"
)

// alignment is what buffers of direct writes are aligned to: enough for any disk.
const alignment = 4096

// sequential writes one block after the other.
type sequential struct {
	disk   *disk
	spec   v1.SequentialWrites
	file   *os.File
	fd     int
	block  []byte
	offset int64
	sync   func() error
	over   bool // after an error

	// Made once, so that operations allocate nothing.
	op                  workload.Op
	doWrite, doSync     func(context.Context) workload.Result
	stored, syncedBytes workload.Result
}

func newSequential(d *disk, path string, spec v1.SequentialWrites) (*sequential, error) {
	flags := os.O_RDWR | os.O_CREATE | os.O_EXCL
	if spec.Direct {
		flags |= unix.O_DIRECT
	}
	file, err := os.OpenFile(path, flags, 0o600)
	if err != nil {
		return nil, err
	}
	c := &sequential{disk: d, spec: spec, file: file, fd: int(file.Fd()), block: aligned(int(spec.Block))}
	for i := range c.block {
		c.block[i] = byte(i*7 + 1) // zeros might be kept as a hole
	}
	c.stored = workload.Result{Bytes: int64(spec.Block), Items: 1}
	c.sync = c.syncer()
	c.doWrite = func(context.Context) workload.Result { return c.result(writeAll(c.fd, c.block, c.offset), c.stored) }
	c.doSync = func(context.Context) workload.Result { return c.result(c.sync(), c.syncedBytes) }
	c.op = workload.Op{Kind: "store", Do: c.store}
	if err := c.begin(); err != nil {
		return nil, errors.Join(err, file.Close())
	}
	return c, nil
}

// aligned gives a buffer of the size that begins at a multiple of the alignment.
func aligned(size int) []byte {
	all := make([]byte, size+alignment)
	skip := alignment - int(uintptr(unsafe.Pointer(&all[0]))%alignment)
	return all[skip : skip+size : skip+size]
}

// begin empties the file, and gives it its size if it is to have that beforehand.
func (c *sequential) begin() error {
	c.offset = 0
	if err := uninterrupted("ftruncate", func() error { return unix.Ftruncate(c.fd, 0) }); err != nil {
		return err
	}
	size := int64(c.spec.File)
	if c.spec.Preallocate == nil || !*c.spec.Preallocate {
		return nil
	}
	if err := preallocate(c.fd, size); err != nil {
		return err
	}
	return fdatasync(c.fd)
}

// preallocate gives a file its size, with room on disk for all of it, as etcd does.
func preallocate(fd int, size int64) error {
	return uninterrupted("fallocate", func() error { return unix.Fallocate(fd, 0, 0, size) })
}

// syncer gives what makes the last block last.
func (c *sequential) syncer() func() error {
	switch c.spec.Sync {
	case "none":
		return nil
	case "fsync":
		return func() error { return uninterrupted("fsync", func() error { return unix.Fsync(c.fd) }) }
	case "sync-file-range":
		const all = unix.SYNC_FILE_RANGE_WAIT_BEFORE | unix.SYNC_FILE_RANGE_WRITE | unix.SYNC_FILE_RANGE_WAIT_AFTER
		return func() error {
			return uninterrupted("sync_file_range", func() error {
				return unix.SyncFileRange(c.fd, c.offset, int64(len(c.block)), all)
			})
		}
	}
	return func() error { return fdatasync(c.fd) }
}

func (c *sequential) Next() (workload.Op, bool) { return c.op, !c.over }

// store writes a block and makes it last. A full file is begun anew first,
// which belongs to none of the parts.
func (c *sequential) store(ctx context.Context, parts workload.Timer) workload.Result {
	if c.offset+int64(len(c.block)) > int64(c.spec.File) {
		if err := c.begin(); err != nil {
			return c.result(err, workload.Result{})
		}
	}
	if r := parts.Part(ctx, "write", c.doWrite); r.Outcome != record.OK {
		return r
	}
	if c.sync != nil {
		if r := parts.Part(ctx, "sync", c.doSync); r.Outcome != record.OK {
			return r
		}
	}
	c.offset += int64(len(c.block))
	return c.stored
}

func (c *sequential) result(err error, fine workload.Result) workload.Result {
	if err != nil {
		c.over = true
		return c.disk.failure(err)
	}
	return fine
}

func (c *sequential) close() error {
	if err := c.file.Close(); err != nil {
		return fmt.Errorf("close the file under test: %w", err)
	}
	return nil
}
