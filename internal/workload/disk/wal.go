package disk

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"

	"golang.org/x/sys/unix"

	v1 "plimsoll.dev/plimsoll/api/v1alpha1"
	"plimsoll.dev/plimsoll/internal/record"
	"plimsoll.dev/plimsoll/internal/workload"
)

const (
	// frame is the length before each record; records are padded to a multiple of it, so that a
	// length is never torn.
	frame = 8
	// stateBytes is the record of raft's state (term, vote, commit) that goes with each batch.
	stateBytes = 16
)

// log writes as etcd's write-ahead log does: framed records through a page
// writer, one fdatasync to a batch, into segments that were preallocated while
// the one before was in use.
type log struct {
	disk   *disk
	spec   v1.WALWrites
	dir    string
	random *rand.Rand
	next   chan segment // of the pipeline
	done   chan struct{}
	tail   *os.File
	cuts   int
	pages  *pageWriter
	record []byte
	sizes  []int // of the batch under way
	over   bool
}

// segment is a file that the pipeline has made.
type segment struct {
	file *os.File
	err  error
}

func newLog(d *disk, dir string, spec v1.WALWrites, random *rand.Rand) (*log, error) {
	if err := os.Mkdir(dir, 0o700); err != nil {
		return nil, err
	}
	l := &log{
		disk: d, spec: spec, dir: dir, random: random, next: make(chan segment), done: make(chan struct{}),
		record: make([]byte, frame+padded(max(int(spec.EntryTo), int(spec.Entry), stateBytes))),
	}
	for i := range l.record {
		l.record[i] = byte(i*7 + 1)
	}
	go l.pipeline()
	first := <-l.next
	err := first.err
	if err == nil {
		err = l.begin(first.file)
	}
	if err != nil {
		close(l.done)
		return nil, err
	}
	return l, nil
}

// pipeline makes the next segment beforehand, as etcd does.
func (l *log) pipeline() {
	for i := 0; ; i++ {
		path := fmt.Sprintf("%s/%d.tmp", l.dir, i%2)
		file, err := os.OpenFile(path, os.O_CREATE|os.O_WRONLY|os.O_TRUNC, 0o600)
		if err == nil {
			err = preallocate(int(file.Fd()), int64(l.spec.Segment))
		}
		select {
		case l.next <- segment{file, err}:
		case <-l.done:
			if file != nil {
				_ = file.Close() // its folder is removed
			}
			return
		}
	}
}

// begin makes a segment the tail.
func (l *log) begin(file *os.File) error {
	old := l.tail
	l.tail, l.pages = file, newPageWriter(int(file.Fd()))
	l.put(stateBytes) // etcd: the checksum so far, the member's identity and raft's state
	if err := errors.Join(l.pages.flush(), fdatasync(int(file.Fd()))); err != nil {
		return err
	}
	l.cuts++
	if err := os.Rename(file.Name(), fmt.Sprintf("%s/%d.wal", l.dir, l.cuts)); err != nil {
		return err
	}
	if err := syncFolder(l.dir); err != nil || old == nil {
		return err
	}
	// etcd keeps some segments until a snapshot makes them superfluous; nobody needs these.
	return errors.Join(old.Close(), os.Remove(fmt.Sprintf("%s/%d.wal", l.dir, l.cuts-1)))
}

func syncFolder(path string) error {
	folder, err := os.Open(path)
	if err != nil {
		return err
	}
	defer folder.Close()
	return folder.Sync()
}

// Next draws the sizes of a batch.
func (l *log) Next() (workload.Op, bool) {
	l.sizes = l.sizes[:0]
	for range 1 + l.random.IntN(l.spec.Batch) {
		l.sizes = append(l.sizes, int(l.spec.Entry)+l.random.IntN(int(l.spec.EntryTo-l.spec.Entry)+1))
	}
	return workload.Op{Kind: "store", Do: l.store}, !l.over
}

// store writes a batch and makes it last. A batch that fills its segment also
// begins the next one, which belongs to the whole only.
func (l *log) store(ctx context.Context, parts workload.Timer) workload.Result {
	var bytes int64
	written := parts.Part(ctx, "write", func(context.Context) workload.Result {
		for _, size := range l.sizes {
			bytes += int64(size)
			if err := l.put(size); err != nil {
				return l.result(err, 0)
			}
		}
		return l.result(errors.Join(l.put(stateBytes), l.pages.flush()), bytes)
	})
	if written.Outcome != record.OK {
		return written
	}
	synced := parts.Part(ctx, "sync", func(context.Context) workload.Result {
		return l.result(fdatasync(int(l.tail.Fd())), 0)
	})
	if synced.Outcome != record.OK {
		return synced
	}
	if l.pages.offset >= int64(l.spec.Segment) {
		return l.result(l.cut(), bytes)
	}
	return written
}

// put frames one record of the size.
func (l *log) put(size int) error {
	binary.LittleEndian.PutUint64(l.record, uint64(size))
	return l.pages.write(l.record[:frame+padded(size)])
}

func padded(size int) int { return (size + frame - 1) / frame * frame }

// cut ends a segment where its last record does, and begins the next.
func (l *log) cut() error {
	fd := int(l.tail.Fd())
	if err := uninterrupted("ftruncate", func() error { return unix.Ftruncate(fd, l.pages.offset) }); err != nil {
		return err
	}
	if err := fdatasync(fd); err != nil {
		return err
	}
	next := <-l.next
	if next.err != nil {
		return next.err
	}
	return l.begin(next.file)
}

func (l *log) result(err error, bytes int64) workload.Result {
	if err != nil {
		l.over = true
		return l.disk.failure(err)
	}
	return workload.Result{Bytes: bytes, Items: int64(len(l.sizes))}
}

func (l *log) close() error {
	close(l.done)
	return l.tail.Close()
}
