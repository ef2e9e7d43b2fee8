package store

import (
	"bytes"
	"compress/zlib"
	"encoding/base64"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
	"math/bits"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"

	"plimsoll.dev/plimsoll/internal/record"
)

// Histograms are kept in HdrHistogram's compressed form, version 2, which other
// tools read too. The library would do it for histograms of any shape, with
// tables of 270 kB made for each; a run has tens of thousands, all of the shape
// that record gives them, written while it measures. So it is done here, for
// that shape alone: ten times as fast, and no file can ask for much memory.

// encoder writes histograms. Its memory is used again for each.
type encoder struct {
	buckets *hdrhistogram.PackedHistogram
	plain   []byte
	packed  bytes.Buffer
	zlib    *zlib.Writer
}

func newEncoder() *encoder {
	shape := record.NewHistogram()
	z, _ := zlib.NewWriterLevel(io.Discard, zlib.BestSpeed) // fails for an unknown level only
	return &encoder{
		buckets: hdrhistogram.NewPacked(shape.LowestTrackableValue(), shape.HighestTrackableValue(), int(shape.SignificantFigures())),
		zlib:    z,
	}
}

// load takes a histogram in; append and highest are then about it.
func (e *encoder) load(h *hdrhistogram.Histogram) {
	e.buckets.Reset()
	e.buckets.MergeFrom(h)
}

func (e *encoder) highest() int64 { return e.buckets.Max() }

// append adds the histogram's text to line.
func (e *encoder) append(line []byte) []byte {
	plain := appendHeader(e.plain[:0], 0)
	next := 0
	for value, count := range e.buckets.ForEachBucket {
		index := indexOf(value)
		switch zeros := index - next; {
		case zeros == 1:
			plain = binary.AppendVarint(plain, 0)
		case zeros > 1:
			plain = binary.AppendVarint(plain, int64(-zeros))
		}
		plain = binary.AppendVarint(plain, count)
		next = index + 1
	}
	binary.BigEndian.PutUint32(plain[4:], uint32(len(plain)-headerSize))
	e.plain = plain

	e.packed.Reset()
	e.packed.Write(make([]byte, envelopeSize))
	e.zlib.Reset(&e.packed)
	// Writing into memory cannot fail.
	_, _ = e.zlib.Write(plain)
	_ = e.zlib.Close()
	packed := e.packed.Bytes()
	binary.BigEndian.PutUint32(packed, packedCookie)
	binary.BigEndian.PutUint32(packed[4:], uint32(len(packed)-envelopeSize))
	return base64.StdEncoding.AppendEncode(line, packed)
}

// decoder reads histograms. Its memory is used again for each.
type decoder struct {
	packed  []byte
	reader  bytes.Reader
	zlib    io.Reader
	plain   []byte
	buckets []bucket
}

// bucket is how often a value was recorded.
type bucket struct{ value, count int64 }

func newDecoder() *decoder {
	// A bucket's count takes ten bytes at the most; one byte more than all of them shows what is too long.
	return &decoder{plain: make([]byte, headerSize+bucketCount()*binary.MaxVarintLen64+1)}
}

// decode takes in the text of a histogram; addTo is then about it.
func (d *decoder) decode(text []byte) error {
	plain, err := d.unpack(text)
	if err != nil {
		return err
	}
	payload := plain[headerSize:]
	d.buckets = d.buckets[:0]
	for index := 0; len(payload) > 0; {
		count, n := binary.Varint(payload)
		if n <= 0 {
			return errors.New("a count in the histogram is cut short or too large")
		}
		payload = payload[n:]
		switch {
		case count < -int64(bucketCount()):
			return errors.New("the histogram skips more buckets than there are")
		case count < 0:
			index -= int(count)
			continue
		case index >= bucketCount():
			return errors.New("the histogram has too many buckets")
		case count > 0:
			d.buckets = append(d.buckets, bucket{valueOf(index), count})
		}
		index++
	}
	return nil
}

// addTo adds the decoded histogram to h.
func (d *decoder) addTo(h *hdrhistogram.Histogram) error {
	for _, b := range d.buckets {
		if err := h.RecordValues(b.value, b.count); err != nil {
			return err
		}
	}
	return nil
}

// median of the decoded histogram; false says that it is empty.
func (d *decoder) median() (time.Duration, bool) {
	var total, below int64
	for _, b := range d.buckets {
		total += b.count
	}
	for _, b := range d.buckets {
		if below += b.count; 2*below >= total {
			return time.Duration(b.value), true
		}
	}
	return 0, false
}

// unpack gives the header and the counts that text stands for; they are valid
// until the next call.
func (d *decoder) unpack(text []byte) ([]byte, error) {
	var err error
	if d.packed, err = base64.StdEncoding.AppendDecode(d.packed[:0], text); err != nil {
		return nil, fmt.Errorf("the histogram is not base64: %w", err)
	}
	if len(d.packed) < envelopeSize || binary.BigEndian.Uint32(d.packed) != packedCookie {
		return nil, errors.New("not a compressed HDR histogram of version 2")
	}
	if length := binary.BigEndian.Uint32(d.packed[4:]); int64(length) != int64(len(d.packed)-envelopeSize) {
		return nil, errors.New("the histogram is not as long as it says")
	}
	d.reader.Reset(d.packed[envelopeSize:])
	if err := d.inflate(); err != nil {
		return nil, fmt.Errorf("the histogram cannot be decompressed: %w", err)
	}
	n, err := io.ReadFull(d.zlib, d.plain)
	switch {
	case err == nil:
		return nil, errors.New("the histogram is too long")
	case !errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF):
		return nil, fmt.Errorf("the histogram cannot be decompressed: %w", err)
	case n < headerSize || !bytes.Equal(d.plain[:headerSize], appendHeader(nil, n-headerSize)):
		return nil, errors.New("the histogram's header is not one that plimsoll writes")
	}
	return d.plain[:n], nil
}

// inflate makes d.zlib read what d.reader has.
func (d *decoder) inflate() (err error) {
	if d.zlib == nil {
		d.zlib, err = zlib.NewReader(&d.reader)
		return err
	}
	return d.zlib.(zlib.Resetter).Reset(&d.reader, nil)
}

const (
	packedCookie = 0x1c849304 | 0x10 // of the envelope: then the length of what is compressed, and that
	plainCookie  = 0x1c849303 | 0x10 // of the header
	envelopeSize = 8
	headerSize   = 40
)

// appendHeader adds the header of a histogram whose counts take length bytes.
func appendHeader(to []byte, length int) []byte {
	const digits = 3
	to = binary.BigEndian.AppendUint32(to, plainCookie)
	to = binary.BigEndian.AppendUint32(to, uint32(length))
	to = binary.BigEndian.AppendUint32(to, 0) // normalizing index offset
	to = binary.BigEndian.AppendUint32(to, digits)
	to = binary.BigEndian.AppendUint64(to, 1) // lowest value
	to = binary.BigEndian.AppendUint64(to, uint64(record.HighestTime))
	return binary.BigEndian.AppendUint64(to, math.Float64bits(1)) // conversion ratio
}

// Three digits need 2048 buckets of width 1; then, for every doubling of the
// value, 1024 buckets of twice the width.
const (
	halfBits = 10
	half     = 1 << halfBits
)

func bucketCount() int { return indexOf(int64(record.HighestTime)) + 1 }

// indexOf is the number of the bucket that holds value.
func indexOf(value int64) int {
	doublings := max(0, bits.Len64(uint64(value))-halfBits-1)
	return doublings*half + int(value>>doublings)
}

// valueOf is the lowest value of a bucket.
func valueOf(index int) int64 {
	doublings := max(0, index/half-1)
	return int64(index-doublings*half) << doublings
}
