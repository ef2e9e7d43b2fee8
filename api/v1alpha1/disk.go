package v1alpha1

import "fmt"

// DiskWorkload writes to a disk and waits until it is stored; exactly one kind.
// Each client has a file of its own. Write, sync and both together are operations.
type DiskWorkload struct {
	// Writes blocks of one size one after the other, each followed by a sync, as fio does.
	Sequential *SequentialWrites `json:"sequential,omitempty"`
	// Writes as etcd's write-ahead log does: mixed sizes, several entries to a sync, into segments that were preallocated.
	WAL *WALWrites `json:"wal,omitempty"`
}

// SequentialWrites are writes of one size.
type SequentialWrites struct {
	// Bytes of each write. Default 2300B, as in etcd's own advice on fio.
	Block Bytes `json:"block,omitempty" jsonschema:"default=2300B"`
	// Size of the file, which is begun anew when it is full. Default 100MiB.
	File Bytes `json:"file,omitempty" jsonschema:"default=100MiB"`
	// How each write is made to last: fdatasync, fsync, sync-file-range (no guarantee) or none. Default fdatasync.
	Sync string `json:"sync,omitempty" jsonschema:"enum=fdatasync,enum=fsync,enum=sync-file-range,enum=none,default=fdatasync"`
	// Past the page cache (O_DIRECT); the block must then be a multiple of 512 bytes.
	Direct bool `json:"direct,omitempty"`
	// Whether the file has its full size before the first write (fallocate), rather than growing with each. Default true, as with fio.
	Preallocate *bool `json:"preallocate,omitempty" jsonschema:"default=true"`
}

// WALWrites are writes as etcd's write-ahead log makes them.
type WALWrites struct {
	// Size of a segment, preallocated. Default 64MiB, as in etcd.
	Segment Bytes `json:"segment,omitempty" jsonschema:"default=64MiB"`
	// Bytes of each entry, drawn evenly from this to entryTo. Default 256B.
	Entry Bytes `json:"entry,omitempty" jsonschema:"default=256B"`
	// Largest entry. Default: the same.
	EntryTo Bytes `json:"entryTo,omitempty"`
	// Entries that one sync is for, drawn evenly from 1 to this. Default 1.
	Batch int `json:"batch,omitempty" jsonschema:"minimum=1,default=1"`
}

func (w *DiskWorkload) setDefaults(Load) {
	if s := w.Sequential; s != nil {
		s.Block = or(s.Block, 2300)
		s.File = or(s.File, 100<<20)
		s.Sync = or(s.Sync, "fdatasync")
		if s.Preallocate == nil {
			yes := true
			s.Preallocate = &yes
		}
	}
	if wal := w.WAL; wal != nil {
		wal.Segment = or(wal.Segment, 64<<20)
		wal.Entry = or(wal.Entry, 256)
		wal.EntryTo = or(wal.EntryTo, wal.Entry)
		wal.Batch = or(wal.Batch, 1)
	}
}

const (
	// sector is what the size of a direct write is a multiple of.
	sector = 512
	// maxEntry is etcd's own bound of a request (--max-request-bytes), with room for what it adds.
	maxEntry = 16 << 20
)

func (w *DiskWorkload) check(v *validator, path string, _ *Phase) {
	if v.target.Directory == nil && v.target.Local == nil {
		v.fault(path, "needs a target on this machine: directory or local")
	}
	if (w.Sequential == nil) == (w.WAL == nil) {
		v.fault(path, "needs exactly one of sequential and wal")
		return
	}
	if s := w.Sequential; s != nil {
		path += ".sequential"
		switch {
		case s.Block <= 0:
			v.fault(path+".block", "must be more than nothing")
		case s.Block > s.File:
			v.fault(path+".file", "is %v, in which no block of %v has room", s.File, s.Block)
		case s.Direct && s.Block%sector != 0:
			v.fault(path+".block", "is %v: direct writes are of multiples of %d bytes, such as 4096B", s.Block, sector)
		}
		return
	}
	path += ".wal"
	switch wal := w.WAL; {
	case wal.Entry <= 0:
		v.fault(path+".entry", "must be more than nothing")
	case wal.EntryTo < wal.Entry:
		v.fault(path+".entryTo", "is %v, less than entry, which is %v", wal.EntryTo, wal.Entry)
	case wal.EntryTo > maxEntry:
		v.fault(path+".entryTo", "is %v: etcd takes no entry of more than 16MiB, and by default none of more than 1.5MiB", wal.EntryTo)
	case wal.Segment < 1<<20:
		v.fault(path+".segment", "is %v: must be 1MiB at least, and is 64MiB in etcd", wal.Segment)
	}
}

// Operations are a block or a batch of entries that is written and synced, and these two apart.
func (*DiskWorkload) Operations() (whole, parts []string) {
	return []string{"store"}, []string{"write", "sync"}
}

// InWords says what the workload does.
func (w *DiskWorkload) InWords() string {
	if s := w.Sequential; s != nil {
		how := ", through the page cache"
		if s.Direct {
			how = ", past the page cache"
		}
		return fmt.Sprintf("write blocks of %v to a file of %v, each made to last by %s%s", s.Block, s.File, s.Sync, how)
	}
	wal := w.WAL
	sizes := wal.Entry.String()
	if wal.EntryTo != wal.Entry {
		sizes += " to " + wal.EntryTo.String()
	}
	return fmt.Sprintf("write entries of %s, up to %d to an fdatasync, to preallocated segments of %v", sizes, wal.Batch, wal.Segment)
}
