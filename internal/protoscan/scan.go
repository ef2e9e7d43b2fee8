// Package protoscan reads the protobuf of Kubernetes' lists and watches as it
// streams by: messages are entered or skipped, and never held. It is to protobuf
// what jsonscan is to JSON.
package protoscan

import (
	"bufio"
	"encoding/binary"
	"errors"
	"io"
	"math"

	"plimsoll.dev/plimsoll/internal/jsonscan"
)

// MediaType is that of Kubernetes' protobuf.
const MediaType = "application/vnd.kubernetes.protobuf"

// magic begins every object; behind it is a runtime.Unknown.
const magic = "k8s\x00"

// The numbers of the fields that are looked for, in apimachinery's generated.proto files.
const (
	unknownRaw        = 2 // runtime.Unknown
	listMetadata      = 1 // every list
	listItems         = 2
	listVersion       = 2 // metav1.ListMeta
	listContinue      = 3
	eventKind         = 1 // metav1.WatchEvent
	eventObject       = 2
	extensionRaw      = 1 // runtime.RawExtension
	objectAnnotations = 12
	mapKey            = 1
	mapValue          = 2
)

// Numbers of fields of every object, of its metav1.ObjectMeta, and of a metav1.Status.
const (
	ObjectMetadata = 1
	MetaName       = 1
	MetaNamespace  = 3
	MetaVersion    = 6
	StatusReason   = 4
)

// The types of fields.
const (
	varintType    = 0
	fixed64Type   = 1
	delimitedType = 2
	fixed32Type   = 5
)

// errTorn is what is not whole protobuf.
var errTorn = errors.New("not whole protobuf")

// Reader reads one body.
type Reader struct {
	body   io.Reader
	buffer *bufio.Reader
	read   int64 // bytes taken out of the body
	at     int64 // bytes consumed
	err    error // the body's own
}

// NewReader gives a reader of a body that reads through buffer.
func NewReader(body io.Reader, buffer *bufio.Reader) *Reader {
	r := &Reader{body: body, buffer: buffer}
	buffer.Reset(readerFunc(func(p []byte) (int, error) {
		n, err := r.body.Read(p)
		r.read += int64(n)
		r.err = err
		return n, err
	}))
	return r
}

type readerFunc func([]byte) (int, error)

func (f readerFunc) Read(p []byte) (int, error) { return f(p) }

// fault gives the body's own error where that is why something is torn, and
// else what the body is not.
func (r *Reader) fault(err, otherwise error) error {
	switch {
	case !errors.Is(err, errTorn) && err != io.EOF: // which is the end of the body within a message
		return err
	case r.err != nil && r.err != io.EOF:
		return r.err
	}
	return otherwise
}

// Field is one field of a message: one with a length ends somewhere, and any
// other has a value.
type Field struct {
	Number uint64
	Value  uint64
	End    int64
}

// Message calls each with the fields of a message that ends at end, but for those
// of fixed size; what each leaves of one is skipped.
func (r *Reader) Message(end int64, each func(Field) error) error {
	for r.at < end {
		tag, err := r.varint()
		if err == io.EOF && end == math.MaxInt64 { // the outermost message ends with the body
			return nil
		}
		if err != nil {
			return err
		}
		if tag>>3 == 0 {
			return errTorn
		}
		if err := r.field(tag>>3, tag&7, end, each); err != nil {
			return err
		}
	}
	if r.at != end {
		return errTorn
	}
	return nil
}

func (r *Reader) field(number, kind uint64, end int64, each func(Field) error) error {
	switch kind {
	case varintType:
		value, err := r.varint()
		if err != nil {
			return err
		}
		return each(Field{Number: number, Value: value})
	case fixed64Type:
		return r.skip(8)
	case fixed32Type:
		return r.skip(4)
	case delimitedType:
		length, err := r.varint()
		if err != nil {
			return err
		}
		if length > math.MaxInt32 || int64(length) > end-r.at {
			return errTorn
		}
		next := r.at + int64(length)
		if err := each(Field{Number: number, End: next}); err != nil {
			return err
		}
		return r.skip(next - r.at)
	}
	return errTorn
}

// varint gives io.EOF only where nothing more was to come.
func (r *Reader) varint() (uint64, error) {
	before := r.at
	value, err := binary.ReadUvarint(r)
	if err != nil && (err != io.EOF || r.at > before) {
		err = errTorn
	}
	return value, err
}

// ReadByte makes a reader readable by encoding/binary.
func (r *Reader) ReadByte() (byte, error) {
	b, err := r.buffer.ReadByte()
	if err == nil {
		r.at++
	}
	return b, err
}

func (r *Reader) skip(n int64) error {
	if n < 0 {
		return errTorn
	}
	for n > 0 {
		skipped, err := r.buffer.Discard(int(min(n, math.MaxInt32)))
		r.at += int64(skipped)
		n -= int64(skipped)
		if err != nil {
			return errTorn
		}
	}
	return nil
}

// Text reads a string that ends at end.
func (r *Reader) Text(end int64) (string, error) {
	if end < r.at || end-r.at > jsonscan.MaxText {
		return "", errTorn
	}
	text := make([]byte, end-r.at)
	n, err := io.ReadFull(r.buffer, text)
	r.at += int64(n)
	if err != nil {
		return "", errTorn
	}
	return string(text), nil
}

// object enters what follows the magic number, up to end.
func (r *Reader) object(end int64, enter func(end int64) error) error {
	found, err := r.Text(r.at + int64(len(magic)))
	if err != nil || found != magic || r.at > end {
		return errTorn
	}
	return r.Message(end, func(f Field) error {
		if f.Number != unknownRaw {
			return nil
		}
		return enter(f.End)
	})
}

// List reads a list to its end, and calls item, unless it is nil, with where each item ends.
func (r *Reader) List(item func(end int64) error) (found jsonscan.List, err error) {
	err = r.object(math.MaxInt64, func(end int64) error {
		return r.Message(end, func(f Field) error {
			switch f.Number {
			case listItems:
				found.Items++
				if item != nil {
					return item(f.End)
				}
			case listMetadata:
				return r.Message(f.End, func(f Field) (err error) {
					switch f.Number {
					case listVersion:
						found.Version, err = r.Text(f.End)
					case listContinue:
						found.Token, err = r.Text(f.End)
					}
					return err
				})
			}
			return nil
		})
	})
	return found, r.fault(err, jsonscan.ErrList)
}

// ReadList reads a list to its end, through buffer, and counts its bytes.
func ReadList(body io.Reader, buffer *bufio.Reader) (jsonscan.List, int64, error) {
	r := NewReader(body, buffer)
	found, err := r.List(nil)
	return found, r.read, err
}

// frameHeader is the length of the length before each event.
const frameHeader = 4

// Events calls take with the kind of each event and with where its object ends,
// until the end of the body or until take says that it has enough.
func (r *Reader) Events(take func(kind string, end int64) (more bool, err error)) error {
	for more := true; more; {
		if _, err := r.buffer.Peek(1); err == io.EOF {
			return nil
		}
		header, err := r.Text(r.at + frameHeader)
		if err == nil {
			more, err = r.event(r.at+int64(binary.BigEndian.Uint32([]byte(header))), take)
		}
		if err != nil {
			return r.fault(err, jsonscan.ErrEvents)
		}
	}
	return nil
}

func (r *Reader) event(end int64, take func(string, int64) (bool, error)) (more bool, err error) {
	var kind string
	taken := false
	err = r.Message(end, func(f Field) (err error) {
		switch f.Number {
		case eventKind:
			kind, err = r.Text(f.End)
		case eventObject:
			return r.Message(f.End, func(f Field) error {
				if f.Number != extensionRaw {
					return nil
				}
				return r.object(f.End, func(end int64) (err error) {
					taken = true
					more, err = take(kind, end)
					return err
				})
			})
		}
		return err
	})
	if err == nil && !taken {
		err = errTorn
	}
	return more, err
}

// ReadEvents hands each event to take, until the end of the body or until take
// says that it has enough. It counts the bytes.
func ReadEvents(body io.Reader, buffer *bufio.Reader, take func(jsonscan.Event) bool) (int64, error) {
	r := NewReader(body, buffer)
	err := r.Events(func(kind string, end int64) (bool, error) {
		e := jsonscan.Event{Kind: kind}
		err := r.Message(end, func(f Field) (err error) {
			switch {
			case f.Number == ObjectMetadata && kind != "ERROR":
				return r.metadata(&e, f.End)
			case f.Number == StatusReason && kind == "ERROR":
				e.Reason, err = r.Text(f.End)
			}
			return err
		})
		return err == nil && take(e), err
	})
	return r.read, err
}

func (r *Reader) metadata(e *jsonscan.Event, end int64) error {
	return r.Message(end, func(f Field) (err error) {
		switch f.Number {
		case MetaName:
			e.Name, err = r.Text(f.End)
		case MetaNamespace:
			e.Namespace, err = r.Text(f.End)
		case MetaVersion:
			e.Version, err = r.Text(f.End)
		case objectAnnotations:
			err = r.annotation(e, f.End)
		}
		return err
	})
}

func (r *Reader) annotation(e *jsonscan.Event, end int64) error {
	var key, value string
	err := r.Message(end, func(f Field) (err error) {
		switch {
		case f.Number == mapKey:
			key, err = r.Text(f.End)
		case f.Number == mapValue && key == jsonscan.InitialEventsEnd:
			value, err = r.Text(f.End)
		}
		return err
	})
	if key == jsonscan.InitialEventsEnd {
		e.InitialEnd = value == "true"
	}
	return err
}
