package etcd

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"sync/atomic"

	"golang.org/x/net/http2"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"
)

// line is one connection of HTTP/2 on which gRPC requests with one answer are
// sent. It stands in for grpc-go's, which takes three times the CPU time for a
// put: on a machine that is shared with the server, the client's share is
// taken from what is measured. A request is sent once. A lost line is laid
// anew by the next request, which pays for the handshake, as a user's would.
type line struct {
	endpoint *url.URL
	config   *tls.Config   // nil for http
	dialing  chan struct{} // holds a token while somebody dials
	current  atomic.Pointer[wire]
}

func newLine(endpoint *url.URL, config *tls.Config) *line {
	if endpoint.Scheme == "https" {
		config = config.Clone()
		if config == nil {
			config = &tls.Config{MinVersion: tls.VersionTLS12}
		}
		config.NextProtos = []string{http2.NextProtoTLS}
		if config.ServerName == "" {
			config.ServerName = endpoint.Hostname()
		}
	} else {
		config = nil
	}
	return &line{endpoint: endpoint, config: config, dialing: make(chan struct{}, 1)}
}

// call sends one request and reads its answer. Errors are gRPC's.
func (l *line) call(ctx context.Context, method string, request, response proto.Message) error {
	w := l.current.Load()
	if w == nil || !w.usable() {
		var err error
		if w, err = l.replace(ctx, w); err != nil {
			return asStatus(err)
		}
	}
	return w.call(ctx, method, request, response)
}

// replace dials in place of a lost connection, unless another request has done so.
func (l *line) replace(ctx context.Context, lost *wire) (*wire, error) {
	select {
	case l.dialing <- struct{}{}:
		defer func() { <-l.dialing }()
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	if w := l.current.Load(); w != lost {
		return w, nil
	}
	ctx, cancel := context.WithTimeout(ctx, connectTimeout)
	defer cancel()
	conn, err := l.dial(ctx)
	if err != nil {
		return nil, err
	}
	w, err := newWire(conn, l.endpoint)
	if err != nil {
		return nil, errors.Join(err, conn.Close())
	}
	l.current.Store(w)
	return w, nil
}

func (l *line) dial(ctx context.Context) (net.Conn, error) {
	conn, err := new(net.Dialer).DialContext(ctx, "tcp", l.endpoint.Host)
	if err != nil || l.config == nil {
		return conn, err
	}
	secure := tls.Client(conn, l.config)
	if err := secure.HandshakeContext(ctx); err != nil {
		return nil, errors.Join(err, conn.Close())
	}
	if secure.ConnectionState().NegotiatedProtocol != http2.NextProtoTLS {
		return nil, errors.Join(errors.New("the server does not speak HTTP/2: not http2"), conn.Close())
	}
	return secure, nil
}

func (l *line) close() error {
	if w := l.current.Load(); w != nil {
		w.fail(status.Error(codes.Canceled, "the phase is over"))
		return nil
	}
	return nil
}

// answered makes gRPC's error of the headers and trailers of an answer; nil if all is well.
func answered(httpStatus, grpcStatus, message string) error {
	if grpcStatus == "" {
		if httpStatus != "200" {
			return status.Error(codes.Unavailable, fmt.Sprintf("the server answers HTTP status %s rather than gRPC", httpStatus))
		}
		return status.Error(codes.Internal, "the answer has no grpc-status")
	}
	code, err := strconv.ParseUint(grpcStatus, 10, 32)
	if err != nil {
		return status.Error(codes.Internal, "the answer's grpc-status is "+strconv.Quote(grpcStatus))
	}
	if code == 0 {
		return nil
	}
	if plain, err := url.PathUnescape(message); err == nil {
		message = plain
	}
	return status.Error(codes.Code(code), message)
}

// methodPost is what every gRPC request is.
const methodPost = http.MethodPost
