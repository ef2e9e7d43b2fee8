// Package httpconn is how workloads speak HTTP: over exactly as many
// connections as were asked for, without a client-side limit or a hidden retry,
// and with a reason for whatever goes wrong.
package httpconn

import (
	"bufio"
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"maps"
	"net"
	"net/http"
	"net/url"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"
	"k8s.io/client-go/rest"

	"plimsoll.dev/plimsoll/internal/target"
	"plimsoll.dev/plimsoll/internal/workload"
)

const (
	// handshakes is how many connections are opened at once.
	handshakes = 8
	// dialTimeout bounds the opening of one connection, and its first request.
	dialTimeout = 10 * time.Second
)

// HTTP1 is HTTP/1.1, in which a connection carries one request at a time; any
// other version is HTTP/2 where the server speaks it.
const HTTP1 = "1.1"

// Server is what connections lead to, and as whom.
type Server struct {
	// URL with the scheme, the host and perhaps a path that begins those of all requests.
	URL *url.URL
	// TLS is the trust and the certificates of the client.
	TLS *tls.Config
	// Sign adds credentials to requests, and nothing else; nil for none.
	Sign func(http.RoundTripper) (http.RoundTripper, error)
}

// Options say how a server is spoken to.
type Options struct {
	Connections int
	HTTP        string // version
	UserAgent   string // what the client calls itself. Default: plimsoll.
	Count       *Count // counts what is sent; nil if nobody does
}

// ServerOf gives the server that a configuration of client-go leads to.
func ServerOf(config *rest.Config) (Server, error) {
	tlsConfig, err := rest.TLSConfigFor(config)
	if err != nil {
		return Server{}, fmt.Errorf("read client certificates: %w", err)
	}
	base, _, err := rest.DefaultServerUrlFor(config)
	if err != nil {
		return Server{}, fmt.Errorf("read server address: %w", err)
	}
	return Server{URL: base, TLS: tlsConfig, Sign: func(line http.RoundTripper) (http.RoundTripper, error) {
		signed, err := rest.HTTPWrappersForConfig(config, line)
		if err != nil {
			return nil, fmt.Errorf("read credentials: %w", err)
		}
		return signed, nil
	}}, nil
}

// Credentials gives the headers with which requests are signed, for what is not
// sent over a Connection.
func (s Server) Credentials() (http.Header, error) {
	headers := http.Header{}
	if s.Sign == nil {
		return headers, nil
	}
	signed, err := s.Sign(tap{headers})
	if err != nil {
		return nil, err
	}
	request, err := http.NewRequest(http.MethodGet, s.URL.String(), nil)
	if err == nil {
		_, err = signed.RoundTrip(request)
	}
	if errors.Is(err, errTapped) {
		err = nil
	}
	return headers, err
}

// tap keeps the headers of the request that would be sent.
type tap struct{ headers http.Header }

var errTapped = errors.New("nothing is sent")

func (t tap) RoundTrip(request *http.Request) (*http.Response, error) {
	maps.Copy(t.headers, request.Header)
	return nil, errTapped
}

// ConnectAPI opens connections to a Kubernetes API as an identity.
func ConnectAPI(ctx context.Context, api target.KubeAPI, identity target.Identity, o Options) (Connections, error) {
	config, err := api.RESTConfig(identity)
	if err != nil {
		return nil, err
	}
	server, err := ServerOf(config)
	if err != nil {
		return nil, fmt.Errorf("connect to %s as %s: %w", config.Host, identity, err)
	}
	opened, err := Connect(ctx, server, "/version", o)
	if err != nil {
		return nil, fmt.Errorf("connect to %s as %s: %w", config.Host, identity, err)
	}
	return opened, nil
}

// Connect opens connections, and proves each with a request for the path, which
// every user may read, so that no measured operation pays for a handshake.
func Connect(ctx context.Context, server Server, proof string, o Options) (Connections, error) {
	opened, err := newConnections(server, o)
	if err != nil {
		return nil, err
	}
	proofs, ctx := errgroup.WithContext(ctx)
	proofs.SetLimit(handshakes)
	for _, c := range opened {
		proofs.Go(func() error { return c.prove(ctx, proof) })
	}
	if err := proofs.Wait(); err != nil {
		return nil, errors.Join(err, opened.Close())
	}
	return opened, nil
}

// Connections are shared by the clients of a phase in turn.
type Connections []*Connection

// newConnections gives connections that open with their first request.
func newConnections(server Server, o Options) (Connections, error) {
	transport := &http.Transport{
		DialContext:       dialBuffered,
		TLSClientConfig:   server.TLS,
		ForceAttemptHTTP2: true,
		HTTP2:             &http.HTTP2Config{MaxReadFrameSize: 1 << 20},
		// Compression is asked for by nobody: it would measure gzip.
		DisableCompression: true,
	}
	if o.HTTP == HTTP1 {
		transport.ForceAttemptHTTP2 = false
		transport.Protocols = new(http.Protocols)
		transport.Protocols.SetHTTP1(true)
	}
	all := make(Connections, o.Connections)
	for i := range all {
		c := &Connection{base: *server.URL, line: newLine(transport, server.URL), userAgent: cmp.Or(o.UserAgent, UserAgent), count: o.Count}
		if o.HTTP == HTTP1 {
			c.line.turn = make(chan struct{}, 1)
		}
		c.signed = c.line
		if server.Sign != nil {
			var err error
			if c.signed, err = server.Sign(c.line); err != nil {
				return nil, err
			}
		}
		all[i] = c
	}
	return all, nil
}

// readAhead is how much is read from a connection at once, if it is there.
const readAhead = 64 << 10

// dialBuffered opens a TCP connection that reads ahead. crypto/tls reads each
// record of at most 16 KiB in two system calls or more, which were a fifth of
// the CPU that a walk over a list costs.
func dialBuffered(ctx context.Context, network, address string) (net.Conn, error) {
	conn, err := new(net.Dialer).DialContext(ctx, network, address)
	if err != nil {
		return nil, err
	}
	return &bufferedConn{conn, bufio.NewReaderSize(conn, readAhead)}, nil
}

type bufferedConn struct {
	net.Conn
	ahead *bufio.Reader
}

func (c *bufferedConn) Read(p []byte) (int, error) { return c.ahead.Read(p) }

// Close closes all of them.
func (all Connections) Close() error {
	var errs []error
	for _, c := range all {
		errs = append(errs, c.line.close())
	}
	return errors.Join(errs...)
}

// Connection is the way to a server, over one line, as one identity. It is safe for concurrent use.
type Connection struct {
	base      url.URL
	userAgent string
	line      *line
	signed    http.RoundTripper // the line, with credentials
	count     *Count
}

// prove performs one cheap request.
func (c *Connection) prove(ctx context.Context, path string) error {
	ctx, cancel := context.WithTimeout(ctx, dialTimeout)
	defer cancel()
	response, err := c.exchange(ctx, Request{Method: http.MethodGet, Path: path})
	if err != nil {
		return err
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusOK {
		return fmt.Errorf("GET %s: %s", path, response.Status)
	}
	_, err = io.Copy(io.Discard, response.Body)
	return err
}

// jsonType is the media type of most bodies.
const jsonType = "application/json"

// UserAgent is what clients call themselves that have no other name.
const UserAgent = "plimsoll"

// Request is what is sent to a server.
type Request struct {
	Method, Path        string // the path may carry a query
	Accept, ContentType string // media types; empty for JSON
	Body                io.Reader
	Length              int64
}

// Exchange sends one request, once, and follows no redirect. It is counted.
func (c *Connection) Exchange(ctx context.Context, r Request) (*http.Response, error) {
	response, err := c.exchange(ctx, r)
	c.count.answered(response, err)
	return response, err
}

func (c *Connection) exchange(ctx context.Context, r Request) (*http.Response, error) {
	address := c.base
	var path string
	path, address.RawQuery, _ = strings.Cut(r.Path, "?")
	address.Path = strings.TrimSuffix(c.base.Path, "/") + path
	request := &http.Request{
		Method: r.Method, URL: &address, Host: address.Host,
		Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
		Header:        http.Header{"Accept": {cmp.Or(r.Accept, jsonType)}, "User-Agent": {c.userAgent}},
		ContentLength: r.Length,
	}
	if r.Body != nil {
		request.Header.Set("Content-Type", cmp.Or(r.ContentType, jsonType))
		request.Body = io.NopCloser(r.Body)
	}
	return c.signed.RoundTrip(request.WithContext(ctx))
}

// line is one TCP connection, of HTTP/2 where the server speaks it. It stands
// in for the connection pool of net/http, which would open a second connection
// when several requests find the first one lost, and which quietly sends again
// what the server refused by GOAWAY or REFUSED_STREAM, or what a GET lost with
// its connection. Here such a request fails, and is counted; and requests
// beyond the server's stream limit wait for their turn.
type line struct {
	*workload.Line[http.ClientConn]
	turn chan struct{} // of HTTP/1.1: holds a token while a request is under way
}

func newLine(transport *http.Transport, base *url.URL) *line {
	address := base.Host
	if base.Port() == "" {
		address = net.JoinHostPort(base.Hostname(), map[string]string{"http": "80", "https": "443"}[base.Scheme])
	}
	return &line{Line: workload.NewLine(func(ctx context.Context) (*http.ClientConn, error) {
		ctx, cancel := context.WithTimeout(ctx, dialTimeout)
		defer cancel()
		return transport.NewClientConn(ctx, base.Scheme, address)
	})}
}

// RoundTrip sends the request over the line, in its turn. The turns of HTTP/1.1
// are ours, since those of net/http fail with the connection: one request that
// is cut short would take along all that wait behind it.
func (l *line) RoundTrip(request *http.Request) (*http.Response, error) {
	if l.turn == nil {
		return l.roundTrip(request)
	}
	select {
	case l.turn <- struct{}{}:
	case <-request.Context().Done():
		return nil, request.Context().Err()
	}
	response, err := l.roundTrip(request)
	if err != nil {
		_ = l.close() // it carries nothing else, and the next request dials
		<-l.turn
		return nil, err
	}
	response.Body = &turn{ReadCloser: response.Body, line: l}
	return response, nil
}

// turn is the body of an answer on a line of HTTP/1.1, which is free once it is closed.
type turn struct {
	io.ReadCloser
	line          *line
	whole, closed bool
}

func (t *turn) Read(p []byte) (int, error) {
	n, err := t.ReadCloser.Read(p)
	t.whole = t.whole || err == io.EOF
	return n, err
}

// Close passes the line on. If the body was not read to its end, the line is
// lost with it.
func (t *turn) Close() error {
	if t.closed {
		return nil
	}
	t.closed = true
	err := t.ReadCloser.Close()
	if !t.whole {
		_ = t.line.close()
	}
	<-t.line.turn
	return err
}

func (l *line) roundTrip(request *http.Request) (*http.Response, error) {
	conn := l.Current()
	if conn == nil || conn.Err() != nil {
		var err error
		if conn, err = l.Replace(request.Context(), conn); err != nil {
			return nil, err
		}
	}
	response, err := conn.RoundTrip(request)
	if err == nil || !neverSent(err) {
		return response, err
	}
	if conn, err = l.Replace(request.Context(), conn); err != nil {
		return nil, err
	}
	return conn.RoundTrip(request)
}

// neverSent says whether the connection took no request any more, because of a
// GOAWAY that came before, when net/http still counts it as open. Not a byte
// has left, so to send on another connection is no retry. net/http does not
// export the error.
func neverSent(err error) bool { return strings.Contains(err.Error(), "client conn not usable") }

func (l *line) close() error {
	if conn := l.Current(); conn != nil {
		return conn.Close()
	}
	return nil
}
