package etcd

import (
	"bufio"
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"net/url"
	"sync"
	"time"

	"golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"
)

const (
	frameHeader   = 9 // bytes before each HTTP/2 frame
	messageHeader = 5 // bytes before each gRPC message: whether it is compressed, and its length

	// window is how much the server may send unasked: as much as HTTP/2 allows, as answers are read at once.
	window = 1<<31 - 1
	// refill is how much has arrived when the connection's window is opened again.
	refill = 1 << 29
	// firstWindow and firstFrame are what the server takes, by HTTP/2, until it says otherwise.
	firstWindow = 65535
	firstFrame  = 16384
	readBuffer  = 32 << 10
	// kept is the largest buffer that is used again.
	kept = 1 << 20
	// abandonTimeout bounds the writing of a few bytes to a server that may be frozen.
	abandonTimeout = 100 * time.Millisecond
)

// wire is one TCP connection. One goroutine reads; requests write by themselves.
type wire struct {
	conn      net.Conn
	scheme    string
	authority string

	writing sync.Mutex // before mu
	out     []byte     // frames to write
	headers bytes.Buffer
	encoder *hpack.Encoder
	nextID  uint32

	mu         sync.Mutex
	streams    map[uint32]*stream
	err        error // why no request may start any more
	room       int64 // that the server has for data, of all streams
	streamRoom int64 // of a new stream
	maxFrame   int
	maxStreams int
	changed    chan struct{} // closed when there is more room, if anybody waits
	arrived    int64         // since the window was opened
}

// stream is a request under way; wire.mu guards it.
type stream struct {
	room                int64
	data                []byte
	httpStatus          string
	grpcStatus, message string
	err                 error
	ended               bool
	done                chan struct{} // gets a token at the end
	request             []byte        // as it is sent
}

var streams = sync.Pool{New: func() any { return &stream{done: make(chan struct{}, 1)} }}

// newWire greets the server and begins to read.
func newWire(conn net.Conn, endpoint *url.URL) (*wire, error) {
	w := &wire{
		conn: conn, scheme: endpoint.Scheme, authority: endpoint.Host, nextID: 1, streams: map[uint32]*stream{},
		room: firstWindow, streamRoom: firstWindow, maxFrame: firstFrame, maxStreams: 1 << 30,
	}
	w.encoder = hpack.NewEncoder(&w.headers)
	framer := http2.NewFramer(conn, bufio.NewReaderSize(conn, readBuffer))
	framer.SetReuseFrames()
	framer.SetMaxReadFrameSize(1 << 20)
	w.out = append(w.out, http2.ClientPreface...)
	w.out = appendFrame(w.out, http2.FrameSettings, 0, 0, 3*6)
	for _, setting := range []http2.Setting{
		{ID: http2.SettingEnablePush, Val: 0}, {ID: http2.SettingInitialWindowSize, Val: window}, {ID: http2.SettingMaxFrameSize, Val: 1 << 20},
	} {
		w.out = binary.BigEndian.AppendUint16(w.out, uint16(setting.ID))
		w.out = binary.BigEndian.AppendUint32(w.out, setting.Val)
	}
	w.out = appendWindowUpdate(w.out, window-firstWindow)
	if err := w.flush(); err != nil {
		return nil, err
	}
	go w.read(framer)
	return w, nil
}

func appendFrame(out []byte, kind http2.FrameType, flags http2.Flags, id uint32, length int) []byte {
	out = append(out, byte(length>>16), byte(length>>8), byte(length), byte(kind), byte(flags))
	return binary.BigEndian.AppendUint32(out, id)
}

func appendWindowUpdate(out []byte, n uint32) []byte {
	return binary.BigEndian.AppendUint32(appendFrame(out, http2.FrameWindowUpdate, 0, 0, 4), n)
}

// flush writes what has been put together; w.writing is held.
func (w *wire) flush() error {
	_, err := w.conn.Write(w.out)
	w.out = w.out[:0]
	return err
}

func (w *wire) usable() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.err == nil
}

// call sends one request and waits for its answer, or until ctx is over.
func (w *wire) call(ctx context.Context, method string, request, response proto.Message) error {
	s := streams.Get().(*stream)
	*s = stream{done: s.done, data: s.data[:0], request: append(s.request[:0], 0, 0, 0, 0, 0)}
	var err error
	if s.request, err = (proto.MarshalOptions{}).MarshalAppend(s.request, request); err != nil {
		return status.Error(codes.Internal, err.Error())
	}
	binary.BigEndian.PutUint32(s.request[1:], uint32(len(s.request)-messageHeader))
	id, err := w.send(ctx, s, method)
	if err == nil {
		select {
		case <-s.done:
		case <-ctx.Done():
			err = ctx.Err()
		}
	}
	if err != nil {
		w.abandon(id, s) // and leave the stream to the collector: the reader may know it yet
		return asStatus(err)
	}
	err = s.result(response)
	if cap(s.data) <= kept && cap(s.request) <= kept {
		streams.Put(s)
	}
	return err
}

// result makes sense of an answer.
func (s *stream) result(response proto.Message) error {
	if s.err != nil {
		return s.err
	}
	if err := answered(s.httpStatus, s.grpcStatus, s.message); err != nil {
		return err
	}
	if len(s.data) < messageHeader || s.data[0] != 0 || int(binary.BigEndian.Uint32(s.data[1:])) != len(s.data)-messageHeader {
		return status.Error(codes.Internal, "the answer is not one plain message")
	}
	if err := proto.Unmarshal(s.data[messageHeader:], response); err != nil {
		return status.Error(codes.Internal, err.Error())
	}
	return nil
}

// send opens a stream and writes the request, as the server has room for it.
func (w *wire) send(ctx context.Context, s *stream, method string) (id uint32, err error) {
	w.writing.Lock()
	for {
		wait, err := w.open(s)
		if err != nil {
			w.writing.Unlock()
			return 0, err
		}
		if wait == nil {
			break
		}
		w.writing.Unlock()
		select {
		case <-wait:
		case <-ctx.Done():
			return 0, ctx.Err()
		}
		w.writing.Lock()
	}
	id = w.nextID - 2
	w.head(id, method)
	rest := s.request
	for {
		n, last, wait := w.take(s, len(rest))
		if n > 0 {
			var flags http2.Flags
			if last {
				flags = http2.FlagDataEndStream
			}
			w.out = append(appendFrame(w.out, http2.FrameData, flags, id, n), rest[:n]...)
			rest = rest[n:]
			continue
		}
		err := w.write(ctx)
		w.writing.Unlock()
		if err != nil || len(rest) == 0 {
			return id, err
		}
		select {
		case <-wait:
		case <-s.done: // refused, or the connection is lost
			s.done <- struct{}{}
			return id, nil
		case <-ctx.Done():
			return id, ctx.Err()
		}
		w.writing.Lock()
	}
}

// open gives the stream its number; or, if the server takes no more streams now,
// what to wait for. w.writing is held, so that numbers rise on the wire.
func (w *wire) open(s *stream) (wait <-chan struct{}, err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.err != nil {
		return nil, w.err
	}
	if len(w.streams) >= w.maxStreams {
		return w.change(), nil
	}
	s.room = w.streamRoom
	w.streams[w.nextID] = s
	w.nextID += 2
	return nil, nil
}

// change is closed when anything changes that requests wait for; w.mu is held.
func (w *wire) change() <-chan struct{} {
	if w.changed == nil {
		w.changed = make(chan struct{})
	}
	return w.changed
}

// announce wakes those who wait; w.mu is held.
func (w *wire) announce() {
	if w.changed != nil {
		close(w.changed)
		w.changed = nil
	}
}

// take takes room for as much of length bytes as fits into a frame; without
// any, it gives what to wait for.
func (w *wire) take(s *stream, length int) (n int, last bool, wait <-chan struct{}) {
	if length == 0 {
		return 0, false, nil
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	n = int(min(int64(length), int64(w.maxFrame), w.room, s.room))
	if n <= 0 {
		return 0, false, w.change()
	}
	w.room -= int64(n)
	s.room -= int64(n)
	return n, n == length, nil
}

// head puts the request's headers together. All but the first request's are
// references into the connection's table, of some ten bytes.
func (w *wire) head(id uint32, method string) {
	w.headers.Reset()
	for _, field := range [...]hpack.HeaderField{
		{Name: ":method", Value: methodPost}, {Name: ":scheme", Value: w.scheme}, {Name: ":path", Value: method},
		{Name: ":authority", Value: w.authority}, {Name: "content-type", Value: "application/grpc"},
		{Name: "user-agent", Value: "plimsoll"}, {Name: "te", Value: "trailers"},
	} {
		_ = w.encoder.WriteField(field) // into memory
	}
	w.out = append(appendFrame(w.out, http2.FrameHeaders, http2.FlagHeadersEndHeaders, id, w.headers.Len()), w.headers.Bytes()...)
}

// write writes what has been put together, in the time that ctx has. A
// connection that took a part of it is lost; w.writing is held.
func (w *wire) write(ctx context.Context) error {
	deadline, _ := ctx.Deadline()
	_ = w.conn.SetWriteDeadline(deadline) // none, if ctx has none
	err := w.flush()
	if err != nil {
		w.fail(err)
	}
	return err
}

// abandon forgets a stream, and tells the server to.
func (w *wire) abandon(id uint32, s *stream) {
	w.mu.Lock()
	underWay := !s.ended && w.streams[id] == s
	if underWay {
		delete(w.streams, id)
		w.announce()
	}
	lost := w.err != nil
	w.mu.Unlock()
	if underWay && !lost {
		w.writing.Lock()
		defer w.writing.Unlock()
		w.out = binary.BigEndian.AppendUint32(appendFrame(w.out, http2.FrameRSTStream, 0, id, 4), uint32(http2.ErrCodeCancel))
		limited, cancel := context.WithTimeout(context.Background(), abandonTimeout)
		defer cancel()
		_ = w.write(limited) // if it cannot be told, the connection is lost
	}
}

// fail ends the connection and every request on it.
func (w *wire) fail(err error) {
	err = asStatus(err)
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.err == nil {
		w.err = err
	}
	for id, s := range w.streams {
		w.end(id, s, err)
	}
	w.announce()
	_ = w.conn.Close()
}

// end hands an ended stream to whoever waits for it; w.mu is held.
func (w *wire) end(id uint32, s *stream, err error) {
	delete(w.streams, id)
	s.err, s.ended = err, true
	s.done <- struct{}{}
}

// read takes frames until the connection is lost.
func (w *wire) read(framer *http2.Framer) {
	r := reading{wire: w}
	r.decoder = hpack.NewDecoder(4096, r.field)
	for {
		frame, err := framer.ReadFrame()
		if err == nil {
			err = r.take(frame)
		}
		if err != nil {
			if errors.Is(err, io.EOF) {
				err = fmt.Errorf("the server closed the connection: %w", err)
			}
			w.fail(err)
			return
		}
	}
}

// reading is the state of the goroutine that reads.
type reading struct {
	*wire
	decoder *hpack.Decoder
	stream  *stream // of the header block under way; nil if it was abandoned
	last    bool    // it ends the stream
}

// take acts on one frame.
func (r *reading) take(frame http2.Frame) error {
	switch f := frame.(type) {
	case *http2.HeadersFrame:
		return r.takeHeaders(f.StreamID, f.HeaderBlockFragment(), f.HeadersEnded(), f.StreamEnded())
	case *http2.ContinuationFrame:
		return r.takeHeaders(f.StreamID, f.HeaderBlockFragment(), f.HeadersEnded(), r.last)
	case *http2.DataFrame:
		return r.takeData(f)
	case *http2.RSTStreamFrame:
		r.end(f.StreamID, resetBy(f.ErrCode))
	case *http2.SettingsFrame:
		return r.takeSettings(f)
	case *http2.PingFrame:
		if !f.IsAck() {
			return r.answer(func(out []byte) []byte {
				return append(appendFrame(out, http2.FramePing, http2.FlagPingAck, 0, len(f.Data)), f.Data[:]...)
			})
		}
	case *http2.WindowUpdateFrame:
		r.widen(f.StreamID, int64(f.Increment))
	case *http2.GoAwayFrame:
		r.goAway(f)
	}
	return nil
}

// field is one header or trailer of the stream that the block under way is of.
func (r *reading) field(f hpack.HeaderField) {
	if r.stream == nil {
		return // an abandoned one; the decoder's table needs its headers all the same
	}
	switch f.Name {
	case ":status":
		r.stream.httpStatus = f.Value
	case "grpc-status":
		r.stream.grpcStatus = f.Value
	case "grpc-message":
		r.stream.message = f.Value
	}
}

func (r *reading) takeHeaders(id uint32, block []byte, whole, last bool) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.stream, r.last = r.streams[id], last
	if _, err := r.decoder.Write(block); err != nil {
		return fmt.Errorf("read headers: %w", err)
	}
	if !whole {
		return nil
	}
	if err := r.decoder.Close(); err != nil {
		return fmt.Errorf("read headers: %w", err)
	}
	if r.stream != nil && last {
		r.wire.end(id, r.stream, nil)
	}
	return nil
}

func (r *reading) takeData(f *http2.DataFrame) error {
	r.mu.Lock()
	if s := r.streams[f.StreamID]; s != nil {
		s.data = append(s.data, f.Data()...)
		if f.StreamEnded() {
			r.wire.end(f.StreamID, s, nil)
		}
	}
	r.arrived += int64(f.Length)
	open := r.arrived
	if open < refill {
		r.mu.Unlock()
		return nil
	}
	r.arrived = 0
	r.mu.Unlock()
	return r.answer(func(out []byte) []byte { return appendWindowUpdate(out, uint32(open)) })
}

// end ends a stream, if it is still known.
func (r *reading) end(id uint32, err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if s := r.streams[id]; s != nil {
		r.wire.end(id, s, err)
		r.announce()
	}
}

func resetBy(code http2.ErrCode) error {
	if code == http2.ErrCodeCancel {
		return status.Error(codes.Unavailable, "the server cancelled the request")
	}
	return status.Error(codes.Unavailable, "the server reset the stream: "+code.String())
}

func (r *reading) takeSettings(f *http2.SettingsFrame) error {
	if f.IsAck() {
		return nil
	}
	r.mu.Lock()
	var table *uint32
	_ = f.ForeachSetting(func(s http2.Setting) error {
		switch s.ID {
		case http2.SettingInitialWindowSize:
			for _, known := range r.streams {
				known.room += int64(s.Val) - r.streamRoom
			}
			r.streamRoom = int64(s.Val)
		case http2.SettingMaxFrameSize:
			r.maxFrame = int(s.Val)
		case http2.SettingMaxConcurrentStreams:
			r.maxStreams = int(min(s.Val, 1<<30))
		case http2.SettingHeaderTableSize:
			table = &s.Val
		}
		return nil
	})
	r.announce()
	r.mu.Unlock()
	return r.answer(func(out []byte) []byte {
		if table != nil {
			r.encoder.SetMaxDynamicTableSizeLimit(*table)
		}
		return appendFrame(out, http2.FrameSettings, http2.FlagSettingsAck, 0, 0)
	})
}

// answer writes a frame that the server waits for.
func (r *reading) answer(frame func([]byte) []byte) error {
	r.writing.Lock()
	defer r.writing.Unlock()
	r.out = frame(r.out)
	limited, cancel := context.WithTimeout(context.Background(), connectTimeout)
	defer cancel()
	return r.write(limited)
}

// widen notes that the server has room for more.
func (r *reading) widen(id uint32, n int64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if id == 0 {
		r.room += n
	} else if s := r.streams[id]; s != nil {
		s.room += n
	}
	r.announce()
}

// goAway lets no more requests start; those that the server has not taken on fail.
func (r *reading) goAway(f *http2.GoAwayFrame) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.err = status.Error(codes.Unavailable, "the server is going away (GOAWAY: "+f.ErrCode.String()+")")
	for id, s := range r.streams {
		if id > f.LastStreamID {
			r.wire.end(id, s, r.err)
		}
	}
	r.announce()
}
