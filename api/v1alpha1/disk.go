package v1alpha1

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
	// Whether the file has its full size on disk before the first write. Default false, as with fio.
	Preallocate bool `json:"preallocate,omitempty"`
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
