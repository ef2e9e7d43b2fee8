package disk

const (
	// pageBytes is what etcd's writer fills up to before it writes of its own accord.
	pageBytes = 4096
	// bufferBytes is what it holds, at most, until it is flushed.
	bufferBytes = 128 << 10
)

// pageWriter does what etcd's PageWriter does (pkg/ioutil): it holds records
// until it is flushed; when they become too many, it writes whole pages only.
// A flush writes what there is, so that the next write may begin within a page,
// which the disk then stores a second time.
type pageWriter struct {
	fd     int
	offset int64 // in the file
	buffer []byte
}

func newPageWriter(fd int) *pageWriter {
	return &pageWriter{fd: fd, buffer: make([]byte, 0, bufferBytes+pageBytes)}
}

func (w *pageWriter) write(p []byte) error {
	if len(w.buffer)+len(p) <= bufferBytes {
		w.buffer = append(w.buffer, p...)
		return nil
	}
	if slack := int((w.offset + int64(len(w.buffer))) % pageBytes); slack > 0 {
		n := min(pageBytes-slack, len(p))
		w.buffer, p = append(w.buffer, p[:n]...), p[n:]
		if slack+n < pageBytes {
			return nil
		}
	}
	if err := w.flush(); err != nil {
		return err
	}
	if whole := len(p) / pageBytes * pageBytes; whole > 0 {
		if err := writeAll(w.fd, p[:whole], w.offset); err != nil {
			return err
		}
		w.offset += int64(whole)
		p = p[whole:]
	}
	w.buffer = append(w.buffer, p...)
	return nil
}

func (w *pageWriter) flush() error {
	if err := writeAll(w.fd, w.buffer, w.offset); err != nil {
		return err
	}
	w.offset += int64(len(w.buffer))
	w.buffer = w.buffer[:0]
	return nil
}
