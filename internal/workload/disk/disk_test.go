package disk

import (
	"bytes"
	"context"
	"errors"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	v1 "plimsoll.dev/plimsoll/api/v1alpha1"
	"plimsoll.dev/plimsoll/internal/record"
	"plimsoll.dev/plimsoll/internal/workload"
)

// parts keeps what an operation's parts came to.
type parts map[string][]workload.Result

func (p parts) Part(ctx context.Context, kind string, do func(context.Context) workload.Result) workload.Result {
	r := do(ctx)
	p[kind] = append(p[kind], r)
	return r
}

func (p parts) Took(kind string, _ time.Duration, r workload.Result) { p[kind] = append(p[kind], r) }

func sequentialSpec(change func(*v1.SequentialWrites)) v1.DiskWorkload {
	s := v1.SequentialWrites{Block: 2300, File: 1 << 20, Sync: "fdatasync"}
	if change != nil {
		change(&s)
	}
	return v1.DiskWorkload{Sequential: &s}
}

// dialled gives a client of a prepared workload, which ends with the test.
func dialled(t testing.TB, dir string, o v1.DiskWorkload, failed func(error)) (*disk, workload.Client) {
	t.Helper()
	w := New(Options{Dir: dir, Phase: "phase", Operation: o, Failed: failed})
	t.Cleanup(func() { w.Close() })
	if err := w.Prepare(t.Context()); err != nil {
		t.Fatal(err)
	}
	c, err := w.Dial(t.Context(), 0, rand.New(rand.NewPCG(1, 2)))
	if err != nil {
		if errors.Is(err, unix.EINVAL) {
			t.Skip(err) // no direct writes on this file system
		}
		t.Fatal(err)
	}
	return w.(*disk), c
}

func TestSequentialWritesOfEveryKind(t *testing.T) {
	yes := true
	for _, row := range []struct {
		name   string
		change func(*v1.SequentialWrites)
		syncs  int
		size   int64 // of the file, after ten writes
	}{
		{"fdatasync", nil, 10, 23000},
		{"fsync", func(s *v1.SequentialWrites) { s.Sync = "fsync" }, 10, 23000},
		{"sync-file-range", func(s *v1.SequentialWrites) { s.Sync = "sync-file-range" }, 10, 23000},
		{"none", func(s *v1.SequentialWrites) { s.Sync = "none" }, 0, 23000},
		{"preallocated", func(s *v1.SequentialWrites) { s.Preallocate = &yes }, 10, 1 << 20},
		{"direct", func(s *v1.SequentialWrites) { s.Direct, s.Block = true, 4096 }, 10, 40960},
		{"begun anew", func(s *v1.SequentialWrites) { s.File = 5000 }, 10, 4600},
	} {
		t.Run(row.name, func(t *testing.T) {
			d, c := dialled(t, t.TempDir(), sequentialSpec(row.change), nil)
			seen := parts{}
			for range 10 {
				op, ok := c.Next()
				if r := op.Do(t.Context(), seen); !ok || r.Outcome != record.OK || r.Bytes == 0 {
					t.Fatalf("a write came to %+v", r)
				}
			}
			if len(seen["write"]) != 10 || len(seen["sync"]) != row.syncs {
				t.Errorf("%d writes and %d syncs", len(seen["write"]), len(seen["sync"]))
			}
			info, err := os.Stat(filepath.Join(d.folder, "0"))
			if err != nil || info.Size() != row.size {
				t.Errorf("the file is of %d bytes instead of %d: %v", info.Size(), row.size, err)
			}
		})
	}
}

func TestNothingIsLeft(t *testing.T) {
	dir := t.TempDir()
	for _, o := range []v1.DiskWorkload{sequentialSpec(nil), {WAL: &v1.WALWrites{Segment: 1 << 20, Entry: 256, EntryTo: 512, Batch: 3}}} {
		d, c := dialled(t, dir, o, nil)
		op, _ := c.Next()
		op.Do(t.Context(), parts{})
		if err := d.Close(); err != nil {
			t.Fatal(err)
		}
		if left, _ := os.ReadDir(dir); len(left) > 0 {
			t.Errorf("left are %v", left)
		}
	}
}

func TestTheLogCutsItsSegments(t *testing.T) {
	const segment = 1 << 20
	d, c := dialled(t, t.TempDir(), v1.DiskWorkload{WAL: &v1.WALWrites{Segment: segment, Entry: 100, EntryTo: 9000, Batch: 8}}, nil)
	seen := parts{}
	var bytes int64
	for bytes < 5*segment/2 {
		op, _ := c.Next()
		r := op.Do(t.Context(), seen)
		if r.Outcome != record.OK || r.Items < 1 || r.Items > 8 {
			t.Fatalf("a batch came to %+v", r)
		}
		bytes += r.Bytes
	}
	l := c.(*log)
	if l.cuts != 3 {
		t.Errorf("after %d bytes the log is in segment %d", bytes, l.cuts)
	}
	info, err := os.Stat(filepath.Join(d.folder, "0", "3.wal"))
	if err != nil || info.Size() != segment {
		t.Errorf("its segment is not preallocated: %v", err)
	}
	if segments, _ := filepath.Glob(filepath.Join(d.folder, "0", "*.wal")); len(segments) != 1 {
		t.Errorf("there are %v", segments)
	}
	if len(seen["write"]) != len(seen["sync"]) {
		t.Errorf("%d writes and %d syncs", len(seen["write"]), len(seen["sync"]))
	}
}

func TestABatchIsAFunctionOfTheSeed(t *testing.T) {
	sizes := func() (all [][]int) {
		_, c := dialled(t, t.TempDir(), v1.DiskWorkload{WAL: &v1.WALWrites{Segment: 1 << 20, Entry: 100, EntryTo: 200, Batch: 5}}, nil)
		for range 20 {
			c.Next()
			all = append(all, append([]int(nil), c.(*log).sizes...))
		}
		return all
	}
	one, other := sizes(), sizes()
	for i := range one {
		if len(one[i]) != len(other[i]) || one[i][0] != other[i][0] {
			t.Fatalf("batch %d is %v and %v", i, one[i], other[i])
		}
	}
}

// What is read back is what was written, and all writes but those of a flush end at a page.
func TestThePageWriter(t *testing.T) {
	file, err := os.Create(filepath.Join(t.TempDir(), "pages"))
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	w := newPageWriter(int(file.Fd()))
	random := rand.New(rand.NewPCG(3, 4))
	var want []byte
	flushed := int64(0)
	for i := range 400 {
		p := bytes.Repeat([]byte{byte(i)}, 1+random.IntN(3000)*(1+i%7*20/6))
		want = append(want, p...)
		if err := w.write(p); err != nil {
			t.Fatal(err)
		}
		if w.offset != flushed && w.offset%pageBytes != 0 {
			t.Fatalf("after write %d the file ends within a page, at %d", i, w.offset)
		}
		flushed = w.offset
		if i%10 == 0 {
			if err := w.flush(); err != nil {
				t.Fatal(err)
			}
			flushed = w.offset
		}
	}
	if err := w.flush(); err != nil {
		t.Fatal(err)
	}
	got, err := os.ReadFile(file.Name())
	if err != nil || !bytes.Equal(got, want) {
		t.Errorf("%d bytes written, %d read back, equal %v: %v", len(want), len(got), bytes.Equal(got, want), err)
	}
}

func TestAFullDiskEndsTheRun(t *testing.T) {
	var told error
	d, c := dialled(t, t.TempDir(), sequentialSpec(nil), func(err error) { told = err })
	full, err := os.OpenFile("/dev/full", os.O_WRONLY, 0)
	if err != nil {
		t.Skip(err)
	}
	defer full.Close()
	c.(*sequential).fd = int(full.Fd())
	op, _ := c.Next()
	r := op.Do(t.Context(), parts{})
	if r.Outcome != record.Failed || r.Reason != "no-space" {
		t.Errorf("a write on a full disk comes to %+v", r)
	}
	if told == nil || !strings.Contains(told.Error(), "no space left on device: make room") || !strings.Contains(told.Error(), d.Dir) {
		t.Errorf("told is %v", told)
	}
	if _, ok := c.Next(); ok {
		t.Error("the client goes on")
	}
}

func TestReasonsAndWaysOut(t *testing.T) {
	for _, row := range []struct {
		err         error
		reason, out string
	}{
		{os.NewSyscallError("pwrite", unix.ENOSPC), "no-space", "make room"},
		{os.NewSyscallError("pwrite", unix.EROFS), "read-only", "mount it for writing"},
		{os.NewSyscallError("pwrite", unix.EIO), "io-error", ""},
		{os.NewSyscallError("pwrite", unix.EDQUOT), "quota", "make room"},
		{os.NewSyscallError("open", unix.EACCES), "eacces", "name a folder that you may write to"},
		{errors.New("of no known kind"), "error", ""},
	} {
		d := &disk{Options: Options{Dir: "/somewhere", Phase: "p"}}
		if got := reason(row.err); got != row.reason {
			t.Errorf("the reason of %v is %s", row.err, got)
		}
		if got := d.explain(row.err).Error(); !strings.Contains(got, row.out) || !strings.Contains(got, "/somewhere") {
			t.Errorf("explained: %s", got)
		}
	}
}

func TestAFolderThatCannotBeWritten(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := New(Options{Dir: file, Phase: "p", Operation: sequentialSpec(nil)}).Prepare(t.Context()); err == nil {
		t.Error("a file is no folder")
	}
}
