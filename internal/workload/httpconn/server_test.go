package httpconn

import (
	"context"
	"crypto/tls"
	"encoding/pem"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"
	"k8s.io/client-go/rest"

	"plimsoll.dev/plimsoll/internal/target"
)

const requestTimeout = 10 * time.Second

// configAPI is a server at an address.
type configAPI rest.Config

func (c configAPI) RESTConfig(target.Identity) (*rest.Config, error) {
	config := rest.Config(c)
	return &config, nil
}

func (c configAPI) connect(ctx context.Context, n int) (Connections, error) {
	return ConnectAPI(ctx, c, target.Load, Options{Connections: n})
}

// open connects to the target, and hangs up when the test ends.
func (c configAPI) open(t *testing.T, n int) Connections {
	t.Helper()
	opened, err := c.connect(t.Context(), n)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = opened.Close() })
	return opened
}

// server is a real HTTP/2 server that counts its connections.
type server struct {
	*httptest.Server
	proofs  atomic.Int32
	refuses int32 // which proof of a connection to refuse; 0 for none

	mu     sync.Mutex
	opened int
	live   map[net.Conn]bool
}

func serve(t *testing.T, streams int, handler http.HandlerFunc) (*server, configAPI) {
	t.Helper()
	s := &server{live: map[net.Conn]bool{}}
	s.Server = httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.ProtoMajor != 2 {
			t.Errorf("%s %s over %s", r.Method, r.URL, r.Proto)
		}
		switch {
		case r.URL.Path != "/version":
			handler(w, r)
		case s.proofs.Add(1) == s.refuses:
			w.WriteHeader(http.StatusForbidden)
		}
	}))
	s.EnableHTTP2 = true
	s.Config.HTTP2 = &http.HTTP2Config{MaxConcurrentStreams: streams}
	s.Config.ConnState = func(conn net.Conn, state http.ConnState) {
		s.mu.Lock()
		defer s.mu.Unlock()
		switch state {
		case http.StateNew:
			s.opened++
			s.live[conn] = true
		case http.StateClosed:
			delete(s.live, conn)
		}
	}
	s.StartTLS()
	t.Cleanup(s.Server.Close)
	return s, trusting(s.Server)
}

// count gives the connections that were opened, and those still open.
func (s *server) count() (opened, live int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.opened, len(s.live)
}

func trusting(s *httptest.Server) configAPI {
	certificate := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: s.Certificate().Raw})
	return configAPI{Host: s.URL, TLSClientConfig: rest.TLSClientConfig{CAData: certificate}}
}

// rawServer speaks HTTP/2 frame by frame, and so may misbehave.
type rawServer struct {
	listener    net.Listener
	certificate tls.Certificate
	connections atomic.Int32
	requests    atomic.Int32 // but for those of /version
	misbehave   func(c *rawConn, stream uint32, request int)
}

// rawConn is a server's side of a connection.
type rawConn struct {
	*http2.Framer
	tcp *net.TCPConn
}

// ok answers with 200 and a body, and with more to come unless end is true.
func (c *rawConn) ok(stream uint32, body string, end bool) {
	_ = c.WriteHeaders(http2.HeadersFrameParam{StreamID: stream, BlockFragment: []byte{0x88}, EndHeaders: true}) // :status 200
	_ = c.WriteData(stream, end, []byte(body))
}

// serveRaw calls misbehave for each request, numbered from 1.
func serveRaw(t *testing.T, misbehave func(c *rawConn, stream uint32, request int)) (*rawServer, configAPI) {
	t.Helper()
	lender := httptest.NewTLSServer(nil) // of its certificate
	defer lender.Close()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = listener.Close() })
	s := &rawServer{listener: listener, certificate: lender.TLS.Certificates[0], misbehave: misbehave}
	go s.accept()
	config := trusting(lender)
	config.Host = "https://" + listener.Addr().String()
	return s, config
}

func (s *rawServer) accept() {
	for {
		conn, err := s.listener.Accept()
		if err != nil {
			return
		}
		s.connections.Add(1)
		go s.serve(conn.(*net.TCPConn))
	}
}

func (s *rawServer) serve(tcp *net.TCPConn) {
	defer tcp.Close()
	conn := tls.Server(tcp, &tls.Config{Certificates: []tls.Certificate{s.certificate}, NextProtos: []string{"h2"}})
	if _, err := io.ReadFull(conn, make([]byte, len(http2.ClientPreface))); err != nil {
		return
	}
	c := &rawConn{http2.NewFramer(conn, conn), tcp}
	c.ReadMetaHeaders = hpack.NewDecoder(4096, nil)
	_ = c.WriteSettings()
	for {
		frame, err := c.ReadFrame()
		if err != nil {
			return
		}
		switch f := frame.(type) {
		case *http2.SettingsFrame:
			if !f.IsAck() {
				_ = c.WriteSettingsAck()
			}
		case *http2.PingFrame:
			if !f.IsAck() {
				_ = c.WritePing(true, f.Data)
			}
		case *http2.MetaHeadersFrame:
			if f.PseudoValue("path") == "/version" {
				c.ok(f.StreamID, "{}", true)
				continue
			}
			s.misbehave(c, f.StreamID, int(s.requests.Add(1)))
		}
	}
}

// plainServer is a server over TLS that speaks all versions of HTTP.
func plainServer(t *testing.T, handler http.HandlerFunc) configAPI {
	t.Helper()
	s := httptest.NewUnstartedServer(handler)
	s.EnableHTTP2 = true
	s.StartTLS()
	t.Cleanup(s.Close)
	return trusting(s)
}
