// Package disk is traffic on a disk: writes that are made to last, as fio does
// them and as etcd's write-ahead log does. Each client has a file of its own.
package disk

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"

	"golang.org/x/sys/unix"

	v1 "plimsoll.dev/plimsoll/api/v1alpha1"
	"plimsoll.dev/plimsoll/internal/record"
	"plimsoll.dev/plimsoll/internal/workload"
)

// Options say what is written, and where.
type Options struct {
	Dir       string // holds a folder of the workload's own, until Close
	Phase     string
	Operation v1.DiskWorkload
	// Failed is told of what no operation can get over, such as a full disk; it may be nil.
	Failed func(error)
}

// New gives the workload of a phase.
func New(o Options) workload.Workload { return &disk{Options: o} }

type disk struct {
	Options
	folder string

	mu    sync.Mutex
	files []interface{ close() error }
}

// Prepare makes the folder.
func (d *disk) Prepare(context.Context) error {
	if err := os.MkdirAll(d.Dir, 0o755); err != nil {
		return d.explain(err)
	}
	var err error
	if d.folder, err = os.MkdirTemp(d.Dir, "plimsoll-disk-"); err != nil {
		return d.explain(err)
	}
	return nil
}

// Dial makes a client's file, with what is to be on disk before the first write.
func (d *disk) Dial(_ context.Context, index int, random *rand.Rand) (workload.Client, error) {
	path := filepath.Join(d.folder, strconv.Itoa(index))
	var c interface {
		workload.Client
		close() error
	}
	var err error
	switch o := d.Operation; {
	case o.Sequential != nil:
		c, err = newSequential(d, path, *o.Sequential)
	case o.WAL != nil:
		c, err = newLog(d, path, *o.WAL, random)
	default:
		return nil, fmt.Errorf("phase %s: writes of no kind", d.Phase)
	}
	if err != nil {
		return nil, d.explain(err)
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	d.files = append(d.files, c)
	return c, nil
}

// Close removes the files with their folder.
func (d *disk) Close() error {
	d.mu.Lock()
	defer d.mu.Unlock()
	var errs []error
	for _, f := range d.files {
		errs = append(errs, f.close())
	}
	d.files = nil
	if d.folder != "" {
		errs = append(errs, os.RemoveAll(d.folder))
	}
	return errors.Join(errs...)
}

// explain says what failed, and the way out.
func (d *disk) explain(err error) error {
	out := ""
	switch {
	case errors.Is(err, unix.ENOSPC), errors.Is(err, unix.EDQUOT):
		out = ": make room, or write less"
	case errors.Is(err, unix.EROFS):
		out = ": mount it for writing, or name another folder"
	case errors.Is(err, fs.ErrPermission):
		out = ": name a folder that you may write to"
	case errors.Is(err, unix.EINVAL) && d.Operation.Sequential != nil && d.Operation.Sequential.Direct:
		out = ": this file system may not know direct writes (O_DIRECT), or not of this block size: leave out direct, or use a multiple of 4096"
	case errors.Is(err, unix.EOPNOTSUPP):
		out = ": this file system cannot preallocate"
	}
	return fmt.Errorf("phase %s: write to the disk of %s: %w%s", d.Phase, d.Dir, err, out)
}

// failure is what an operation that met an error came to. What no later
// operation would get over either ends the run.
func (d *disk) failure(err error) workload.Result {
	if d.Failed != nil {
		d.Failed(d.explain(err))
	}
	return workload.Result{Outcome: record.Failed, Reason: reason(err)}
}

// reason is of low cardinality: no-space, read-only, or the name of the error.
func reason(err error) string {
	var errno unix.Errno
	switch {
	case errors.Is(err, unix.ENOSPC):
		return "no-space"
	case errors.Is(err, unix.EDQUOT):
		return "quota"
	case errors.Is(err, unix.EROFS):
		return "read-only"
	case errors.Is(err, unix.EIO):
		return "io-error"
	case errors.As(err, &errno) && unix.ErrnoName(errno) != "":
		return strings.ToLower(unix.ErrnoName(errno))
	}
	return "error"
}

// writeAll writes p at the offset; the kernel may take it in parts.
func writeAll(fd int, p []byte, offset int64) error {
	for len(p) > 0 {
		n, err := unix.Pwrite(fd, p, offset)
		switch {
		case err == unix.EINTR:
			continue
		case err != nil:
			return os.NewSyscallError("pwrite", err)
		}
		p, offset = p[n:], offset+int64(n)
	}
	return nil
}

func uninterrupted(name string, call func() error) error {
	for {
		if err := call(); err != unix.EINTR {
			return os.NewSyscallError(name, err)
		}
	}
}

func fdatasync(fd int) error {
	return uninterrupted("fdatasync", func() error { return unix.Fdatasync(fd) })
}
