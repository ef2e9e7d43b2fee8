package kube

import (
	"bufio"
	"encoding/binary"
	"errors"
	"io"
	"math"

	"plimsoll.dev/plimsoll/internal/jsonscan"
)

// protobufType is the media type of Kubernetes' protobuf.
const protobufType = "application/vnd.kubernetes.protobuf"

// protobufMagic begins every object in protobuf; behind it is a runtime.Unknown.
const protobufMagic = "k8s\x00"

// The numbers of the fields that are looked for, in apimachinery's generated.proto files.
const (
	unknownRaw         = 2 // runtime.Unknown
	listMetadata       = 1 // every list
	listItems          = 2
	listVersion        = 2 // metav1.ListMeta
	listContinue       = 3
	eventKind          = 1 // metav1.WatchEvent
	eventObject        = 2
	extensionRaw       = 1 // runtime.RawExtension
	objectMetadata     = 1 // every object
	objectName         = 1 // metav1.ObjectMeta
	objectNamespace    = 3
	objectVersion      = 6
	objectAnnotations  = 12
	mapKey             = 1
	mapValue           = 2
	statusReason       = 4 // metav1.Status
	protobufVarint     = 0
	protobufFixed64    = 1
	protobufDelimited  = 2
	protobufFixed32    = 5
	maxProtobufMessage = math.MaxInt32
)

// errWire is a body that is not protobuf.
var errWire = errors.New("the answer is not whole protobuf")

// wire reads protobuf as it streams by: messages are entered or skipped, and
// never held.
type wire struct {
	body   io.Reader
	buffer *bufio.Reader
	read   int64 // bytes taken out of the body
	at     int64 // bytes consumed
	err    error // the body's own
}

func newWire(body io.Reader, buffer *bufio.Reader) *wire {
	w := &wire{body: body, buffer: buffer}
	buffer.Reset(readerFunc(func(p []byte) (int, error) {
		n, err := w.body.Read(p)
		w.read += int64(n)
		w.err = err
		return n, err
	}))
	return w
}

type readerFunc func([]byte) (int, error)

func (f readerFunc) Read(p []byte) (int, error) { return f(p) }

// broken tells a body that ended early, or is something else, from one that
// could not be read.
func (w *wire) broken(otherwise error) error {
	if w.err != nil && w.err != io.EOF {
		return w.err
	}
	return otherwise
}

// message calls each with every field of a message that has a length, and with
// where the field ends; what each leaves of it is skipped. A message without an
// end of its own goes on to the end of the body.
func (w *wire) message(end int64, each func(number uint64, end int64) error) error {
	for w.at < end {
		tag, err := w.varint()
		if err == io.EOF && end == math.MaxInt64 {
			return nil
		}
		if err != nil {
			return err
		}
		if tag>>3 == 0 {
			return errWire
		}
		switch tag & 7 {
		case protobufVarint:
			_, err = w.varint()
		case protobufFixed64:
			err = w.skip(8)
		case protobufFixed32:
			err = w.skip(4)
		case protobufDelimited:
			err = w.delimited(tag>>3, end, each)
		default:
			err = errWire
		}
		if err != nil {
			return err
		}
	}
	if w.at != end {
		return errWire
	}
	return nil
}

func (w *wire) delimited(number uint64, end int64, each func(uint64, int64) error) error {
	length, err := w.varint()
	if err != nil {
		return err
	}
	if length > maxProtobufMessage || int64(length) > end-w.at {
		return errWire
	}
	next := w.at + int64(length)
	if err := each(number, next); err != nil {
		return err
	}
	if w.at > next {
		return errWire
	}
	return w.skip(next - w.at)
}

// varint gives io.EOF only where nothing more was to come.
func (w *wire) varint() (uint64, error) {
	before := w.at
	value, err := binary.ReadUvarint(w)
	if err != nil && (err != io.EOF || w.at > before) {
		err = errWire
	}
	return value, err
}

// ReadByte makes a wire readable by encoding/binary.
func (w *wire) ReadByte() (byte, error) {
	b, err := w.buffer.ReadByte()
	if err == nil {
		w.at++
	}
	return b, err
}

func (w *wire) skip(n int64) error {
	for n > 0 {
		skipped, err := w.buffer.Discard(int(min(n, math.MaxInt32)))
		w.at += int64(skipped)
		n -= int64(skipped)
		if err != nil {
			return errWire
		}
	}
	return nil
}

// text reads a string that ends at end.
func (w *wire) text(end int64) (string, error) {
	if end-w.at > jsonscan.MaxText {
		return "", errWire
	}
	text := make([]byte, end-w.at)
	n, err := io.ReadFull(w.buffer, text)
	w.at += int64(n)
	if err != nil {
		return "", errWire
	}
	return string(text), nil
}

// object enters what follows the magic number, up to end.
func (w *wire) object(end int64, each func(number uint64, end int64) error) error {
	magic, err := w.text(w.at + int64(len(protobufMagic)))
	if err != nil || magic != protobufMagic || w.at > end {
		return errWire
	}
	return w.message(end, func(number uint64, end int64) error {
		if number != unknownRaw {
			return nil
		}
		return w.message(end, each)
	})
}

// readProtobufList reads a list to its end, through buffer, and counts its bytes.
func readProtobufList(body io.Reader, buffer *bufio.Reader) (found jsonscan.List, n int64, err error) {
	w := newWire(body, buffer)
	err = w.object(math.MaxInt64, func(number uint64, end int64) error {
		switch number {
		case listItems:
			found.Items++
		case listMetadata:
			return w.message(end, func(number uint64, end int64) (err error) {
				switch number {
				case listVersion:
					found.Version, err = w.text(end)
				case listContinue:
					found.Token, err = w.text(end)
				}
				return err
			})
		}
		return nil
	})
	if err != nil {
		err = w.broken(jsonscan.ErrList)
	}
	return found, w.read, err
}

// frameHeader is the length of the length before each event.
const frameHeader = 4

// readProtobufEvents hands each event to take, until the end of the body or
// until take says that it has enough. It counts the bytes.
func readProtobufEvents(body io.Reader, buffer *bufio.Reader, take func(jsonscan.Event) bool) (int64, error) {
	w := newWire(body, buffer)
	for {
		if _, err := buffer.Peek(1); err == io.EOF {
			return w.read, nil
		}
		header, err := w.text(w.at + frameHeader)
		if err != nil {
			return w.read, w.broken(jsonscan.ErrEvents)
		}
		e, err := w.event(w.at + int64(binary.BigEndian.Uint32([]byte(header))))
		if err != nil {
			return w.read, w.broken(jsonscan.ErrEvents)
		}
		if !take(e) {
			return w.read, nil
		}
	}
}

func (w *wire) event(end int64) (e jsonscan.Event, err error) {
	err = w.message(end, func(number uint64, end int64) (err error) {
		switch number {
		case eventKind:
			e.Kind, err = w.text(end)
		case eventObject:
			err = w.message(end, func(number uint64, end int64) error {
				if number != extensionRaw {
					return nil
				}
				return w.object(end, func(number uint64, end int64) error { return w.inObject(&e, number, end) })
			})
		}
		return err
	})
	return e, err
}

// inObject reads a field of an event's object.
func (w *wire) inObject(e *jsonscan.Event, number uint64, end int64) (err error) {
	switch {
	case number == objectMetadata && e.Kind != "ERROR":
		return w.message(end, func(number uint64, end int64) (err error) {
			switch number {
			case objectName:
				e.Name, err = w.text(end)
			case objectNamespace:
				e.Namespace, err = w.text(end)
			case objectVersion:
				e.Version, err = w.text(end)
			case objectAnnotations:
				err = w.annotation(e, end)
			}
			return err
		})
	case number == statusReason && e.Kind == "ERROR":
		e.Reason, err = w.text(end)
	}
	return err
}

func (w *wire) annotation(e *jsonscan.Event, end int64) error {
	var key, value string
	err := w.message(end, func(number uint64, end int64) (err error) {
		switch {
		case number == mapKey:
			key, err = w.text(end)
		case number == mapValue && key == jsonscan.InitialEventsEnd:
			value, err = w.text(end)
		}
		return err
	})
	if key == jsonscan.InitialEventsEnd {
		e.InitialEnd = value == "true"
	}
	return err
}
