package etcd

import (
	"bufio"
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
	"net"
	"net/http"
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
	messageHeader = 5 // bytes before each gRPC message: whether it is compressed, and its length

	// window is how much the server may send unasked: as much as HTTP/2 allows, as answers are read at once.
	window = 1<<31 - 1
	// refill is how much has arrived when the connection's window is opened again.
	refill = 1 << 29
	// largestFrame is what the server may send in one frame.
	largestFrame = 1 << 20
	// firstWindow and firstFrame are what the server takes, by HTTP/2, until it says otherwise.
	firstWindow = 65535
	firstFrame  = 16384
	// headerTable is the size of the table of headers, by HTTP/2, that nobody changes.
	headerTable = 4096
	readBuffer  = 32 << 10
	// kept is the largest buffer that is used again.
	kept = 1 << 20
	// abandonTimeout bounds the writing of a few bytes to a server that may be frozen.
	abandonTimeout = 100 * time.Millisecond
)

// wire is one TCP connection of HTTP/2 that carries gRPC requests with one
// answer each. It is here because grpc-go takes three times the CPU time for a
// put: on a machine that is shared with the server, the client's share is taken
// from what is measured. What it saves are goroutines, system calls and garbage:
// whoever asks writes its own request, in one go, and one goroutine reads all
// answers. Frames and headers are those of golang.org/x/net/http2; what is left
// is to know the streams, and how much the server has room for.
type wire struct {
	conn      net.Conn
	scheme    string
	authority string
	framer    *http2.Framer // reads from conn, and writes into out

	writing sync.Mutex   // taken before mu
	out     bytes.Buffer // frames to write
	headers bytes.Buffer
	encoder *hpack.Encoder // into headers
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

	// Of the goroutine that reads. A framer could decode headers as well (ReadMetaHeaders), at the price of 16 allocations.
	decoder *hpack.Decoder
	answer  *stream // that the headers under way are of; nil if it was abandoned
	last    bool    // the headers under way end it
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

// newWire greets the server and begins to read. If it cannot, it closes the connection.
func newWire(ctx context.Context, conn net.Conn, endpoint *url.URL) (*wire, error) {
	w := &wire{
		conn: conn, scheme: endpoint.Scheme, authority: endpoint.Host, nextID: 1, streams: map[uint32]*stream{},
		room: firstWindow, streamRoom: firstWindow, maxFrame: firstFrame, maxStreams: math.MaxInt32,
	}
	w.encoder = hpack.NewEncoder(&w.headers)
	w.framer = http2.NewFramer(&w.out, bufio.NewReaderSize(conn, readBuffer))
	w.framer.SetReuseFrames()
	w.framer.SetMaxReadFrameSize(largestFrame)
	w.decoder = hpack.NewDecoder(headerTable, w.takeField)
	w.out.WriteString(http2.ClientPreface)
	err := errors.Join(
		w.framer.WriteSettings(
			http2.Setting{ID: http2.SettingEnablePush, Val: 0}, http2.Setting{ID: http2.SettingInitialWindowSize, Val: window},
			http2.Setting{ID: http2.SettingMaxFrameSize, Val: largestFrame},
		),
		w.framer.WriteWindowUpdate(0, window-firstWindow),
		w.flush(ctx))
	if err != nil {
		return nil, err
	}
	go w.read()
	return w, nil
}

// flush writes the frames that have been put together, in the time that ctx has.
// A connection that took a part of them is lost. w.writing is held.
func (w *wire) flush(ctx context.Context) error {
	deadline, _ := ctx.Deadline()
	_ = w.conn.SetWriteDeadline(deadline) // none, if ctx has none
	_, err := w.out.WriteTo(w.conn)
	if err != nil {
		w.fail(err)
	}
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
	defer w.writing.Unlock()
	if id, err = w.open(ctx, s); err != nil {
		return 0, err
	}
	if err := w.writeHead(id, method); err != nil {
		return id, err
	}
	for rest := s.request; len(rest) > 0; {
		n, wait := w.reserve(s, len(rest))
		switch {
		case n > 0:
			err = w.framer.WriteData(id, n == len(rest), rest[:n])
			rest = rest[n:]
		case wait == nil: // the stream has ended: it was refused, or the connection is lost
			return id, nil
		default:
			if err = w.flush(ctx); err == nil {
				err = w.pause(ctx, wait)
			}
		}
		if err != nil {
			return id, err
		}
	}
	return id, w.flush(ctx)
}

// open gives the stream its number, when the server takes one more.
func (w *wire) open(ctx context.Context, s *stream) (id uint32, err error) {
	for {
		id, wait, err := w.tryOpen(s)
		if wait == nil {
			return id, err
		}
		if err := w.pause(ctx, wait); err != nil {
			return 0, err
		}
	}
}

// tryOpen gives what to wait for if the server takes no more streams now.
// w.writing is held, so that numbers rise on the wire.
func (w *wire) tryOpen(s *stream) (id uint32, wait <-chan struct{}, err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.err != nil {
		return 0, nil, w.err
	}
	if len(w.streams) >= w.maxStreams {
		return 0, w.change(), nil
	}
	id = w.nextID
	w.nextID += 2
	s.room = w.streamRoom
	w.streams[id] = s
	return id, nil, nil
}

// reserve takes room for as much of length bytes as fits into a frame; if there
// is none, it gives what to wait for: nothing, if the stream has ended.
func (w *wire) reserve(s *stream, length int) (n int, wait <-chan struct{}) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if s.ended {
		return 0, nil
	}
	n = int(min(int64(length), int64(w.maxFrame), w.room, s.room))
	if n <= 0 {
		return 0, w.change()
	}
	w.room -= int64(n)
	s.room -= int64(n)
	return n, nil
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

// pause waits for a change, and lets others write meanwhile; w.writing is held.
func (w *wire) pause(ctx context.Context, change <-chan struct{}) error {
	w.writing.Unlock()
	defer w.writing.Lock()
	select {
	case <-change:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// writeHead puts the request's headers together. All but the first request's are
// references into the connection's table, of some ten bytes.
func (w *wire) writeHead(id uint32, method string) error {
	w.headers.Reset()
	for _, field := range [...]hpack.HeaderField{
		{Name: ":method", Value: http.MethodPost}, {Name: ":scheme", Value: w.scheme}, {Name: ":path", Value: method},
		{Name: ":authority", Value: w.authority}, {Name: "content-type", Value: "application/grpc"},
		{Name: "user-agent", Value: "plimsoll"}, {Name: "te", Value: "trailers"},
	} {
		_ = w.encoder.WriteField(field) // into memory
	}
	return w.framer.WriteHeaders(http2.HeadersFrameParam{StreamID: id, BlockFragment: w.headers.Bytes(), EndHeaders: true})
}

// abandon forgets a stream, and tells the server to.
func (w *wire) abandon(id uint32, s *stream) {
	w.mu.Lock()
	underWay := w.streams[id] == s
	if underWay {
		delete(w.streams, id)
		w.announce()
	}
	w.mu.Unlock()
	if underWay { // if the server cannot be told, the connection is lost
		_ = w.tell(abandonTimeout, func() error { return w.framer.WriteRSTStream(id, http2.ErrCodeCancel) })
	}
}

// tell writes a frame that belongs to no request's sending.
func (w *wire) tell(timeout time.Duration, write func() error) error {
	w.writing.Lock()
	defer w.writing.Unlock()
	ctx, cancel := context.WithTimeout(context.Background(), timeout)
	defer cancel()
	return errors.Join(write(), w.flush(ctx))
}

// fail ends the connection and every request on it.
func (w *wire) fail(err error) {
	err = asStatus(err)
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.err == nil {
		w.err = err
	}
	for id := range w.streams {
		w.end(id, err)
	}
	w.announce()
	_ = w.conn.Close()
}

// end hands a stream, if it is still known, to whoever waits for it; w.mu is held.
func (w *wire) end(id uint32, err error) {
	s := w.streams[id]
	if s == nil {
		return
	}
	delete(w.streams, id)
	s.err, s.ended = err, true
	s.done <- struct{}{}
	w.announce()
}

// read takes frames until the connection is lost.
func (w *wire) read() {
	for {
		frame, err := w.framer.ReadFrame()
		if err == nil {
			err = w.take(frame)
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

// take acts on one frame, and answers those that the server waits for an answer to.
func (w *wire) take(frame http2.Frame) error {
	switch f := frame.(type) {
	case *http2.DataFrame:
		if refilled := w.takeData(f); refilled > 0 {
			return w.tell(connectTimeout, func() error { return w.framer.WriteWindowUpdate(0, refilled) })
		}
	case *http2.SettingsFrame:
		if !f.IsAck() {
			return w.tell(connectTimeout, func() error {
				w.takeSettings(f)
				return w.framer.WriteSettingsAck()
			})
		}
	case *http2.PingFrame:
		if !f.IsAck() {
			return w.tell(connectTimeout, func() error { return w.framer.WritePing(true, f.Data) })
		}
	case *http2.HeadersFrame:
		w.last = f.StreamEnded()
		return w.takeHeaders(f.StreamID, f.HeaderBlockFragment(), f.HeadersEnded())
	case *http2.ContinuationFrame:
		return w.takeHeaders(f.StreamID, f.HeaderBlockFragment(), f.HeadersEnded())
	case *http2.RSTStreamFrame:
		w.takeReset(f)
	case *http2.WindowUpdateFrame:
		w.widen(f.StreamID, int64(f.Increment))
	case *http2.GoAwayFrame:
		w.goAway(f)
	}
	return nil
}

// takeHeaders takes headers or trailers of an answer, or a part of them.
func (w *wire) takeHeaders(id uint32, block []byte, whole bool) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.answer = w.streams[id]
	_, err := w.decoder.Write(block)
	if whole {
		err = errors.Join(err, w.decoder.Close())
	}
	if err != nil {
		return fmt.Errorf("read headers: %w", err)
	}
	if whole && w.last {
		w.end(id, nil)
	}
	return nil
}

// takeField takes one header or trailer. Those of an abandoned stream are decoded
// too, since the decoder's table needs them.
func (w *wire) takeField(f hpack.HeaderField) {
	if w.answer == nil {
		return
	}
	switch f.Name {
	case ":status":
		w.answer.httpStatus = f.Value
	case "grpc-status":
		w.answer.grpcStatus = f.Value
	case "grpc-message":
		w.answer.message = f.Value
	}
}

// takeData takes a part of an answer, and says by how much the connection's
// window is to be opened again.
func (w *wire) takeData(f *http2.DataFrame) (refilled uint32) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if s := w.streams[f.StreamID]; s != nil {
		s.data = append(s.data, f.Data()...)
		if f.StreamEnded() {
			w.end(f.StreamID, nil)
		}
	}
	w.arrived += int64(f.Length)
	if w.arrived >= refill {
		refilled, w.arrived = uint32(w.arrived), 0
	}
	return refilled
}

func (w *wire) takeReset(f *http2.RSTStreamFrame) {
	text := "the server reset the stream: " + f.ErrCode.String()
	if f.ErrCode == http2.ErrCodeCancel {
		text = "the server cancelled the request"
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.end(f.StreamID, status.Error(codes.Unavailable, text))
}

// takeSettings goes by the server's settings; w.writing is held.
func (w *wire) takeSettings(f *http2.SettingsFrame) {
	w.mu.Lock()
	defer w.mu.Unlock()
	_ = f.ForeachSetting(func(s http2.Setting) error {
		switch s.ID {
		case http2.SettingInitialWindowSize:
			for _, known := range w.streams {
				known.room += int64(s.Val) - w.streamRoom
			}
			w.streamRoom = int64(s.Val)
		case http2.SettingMaxFrameSize:
			w.maxFrame = int(s.Val)
		case http2.SettingMaxConcurrentStreams:
			w.maxStreams = int(min(s.Val, math.MaxInt32))
		case http2.SettingHeaderTableSize:
			w.encoder.SetMaxDynamicTableSizeLimit(s.Val)
		}
		return nil
	})
	w.announce()
}

// widen notes that the server has room for more.
func (w *wire) widen(id uint32, n int64) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if id == 0 {
		w.room += n
	} else if s := w.streams[id]; s != nil {
		s.room += n
	}
	w.announce()
}

// goAway lets no more requests start; those that the server has not taken on fail.
func (w *wire) goAway(f *http2.GoAwayFrame) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.err = status.Error(codes.Unavailable, "the server is going away (GOAWAY: "+f.ErrCode.String()+")")
	for id := range w.streams {
		if id > f.LastStreamID {
			w.end(id, w.err)
		}
	}
	w.announce()
}
