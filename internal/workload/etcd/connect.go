package etcd

import (
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/url"
	"strings"
	"time"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
	"golang.org/x/net/http2"
	"golang.org/x/sync/errgroup"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"

	"plimsoll.dev/plimsoll/internal/workload"
)

const (
	// connectTimeout bounds the opening of a connection, and its first request: a server that is not
	// there is reported by then, and not waited for.
	connectTimeout = 5 * time.Second
	// handshakes is how many connections are opened at once.
	handshakes = 8
	// maxMessage is the largest answer that is taken; a page of large values may be that big.
	maxMessage = 1 << 30
)

// connection is one way to one member: a line for requests, and another for watches.
type connection struct {
	endpoint *url.URL
	tls      *tls.Config // nil for http
	line     *workload.Line[wire]
	events   *grpc.ClientConn // of watches, which are streams; nil if nobody watches
}

// connect opens the connections, and proves each with a request, so that no
// measured operation pays for a handshake.
func (e *etcd) connect(ctx context.Context, to string) error {
	endpoints, config := e.Datastore.Etcd()
	if len(endpoints) == 0 {
		return errors.New("the target names no etcd endpoint")
	}
	if to == "leader" {
		leader, err := findLeader(ctx, endpoints, config)
		if err != nil {
			return err
		}
		endpoints = []string{leader}
	}
	for i := range e.Connections {
		c, err := dial(endpoints[i%len(endpoints)], config)
		if err != nil {
			return errors.Join(err, e.close())
		}
		e.connections = append(e.connections, c)
	}
	group, proving := errgroup.WithContext(ctx)
	group.SetLimit(handshakes)
	for _, c := range e.connections {
		if e.Operation.Watch != nil {
			if err := c.openEvents(); err != nil {
				return errors.Join(err, e.close())
			}
		}
		group.Go(func() error { return c.prove(proving) })
	}
	if err := group.Wait(); err != nil {
		return errors.Join(err, e.close())
	}
	return nil
}

// findLeader asks the members which of them leads.
func findLeader(ctx context.Context, endpoints []string, config *tls.Config) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, connectTimeout)
	defer cancel()
	var errs []error
	for _, endpoint := range endpoints {
		leads, err := leads(ctx, endpoint, config)
		if leads {
			return endpoint, nil
		}
		errs = append(errs, err)
	}
	if err := errors.Join(errs...); err != nil {
		return "", err
	}
	return "", fmt.Errorf("none of %s leads: name all members among the endpoints, or use to: any", strings.Join(endpoints, ", "))
}

func leads(ctx context.Context, endpoint string, config *tls.Config) (bool, error) {
	c, err := dial(endpoint, config)
	if err != nil {
		return false, err
	}
	defer c.close()
	var member pb.StatusResponse
	if err := c.call(ctx, statusMethod, &pb.StatusRequest{}, &member); err != nil {
		return false, unreachable(endpoint, err)
	}
	return member.Leader == member.Header.GetMemberId(), nil // kine, which has none, leads
}

// dial gives a connection that opens with its first request.
func dial(endpoint string, config *tls.Config) (*connection, error) {
	u, err := url.Parse(endpoint)
	if err != nil || u.Host == "" {
		return nil, fmt.Errorf("etcd endpoint %q is not a URL such as https://127.0.0.1:2379", endpoint)
	}
	c := &connection{endpoint: u}
	if u.Scheme == "https" {
		if c.tls = config.Clone(); c.tls == nil {
			c.tls = &tls.Config{MinVersion: tls.VersionTLS12}
		}
		c.tls.NextProtos = []string{http2.NextProtoTLS}
		c.tls.ServerName = cmp.Or(c.tls.ServerName, u.Hostname())
	}
	c.line = workload.NewLine(c.open)
	return c, nil
}

// open opens the way for requests.
func (c *connection) open(ctx context.Context) (*wire, error) {
	ctx, cancel := context.WithTimeout(ctx, connectTimeout)
	defer cancel()
	conn, err := new(net.Dialer).DialContext(ctx, "tcp", c.endpoint.Host)
	if err != nil {
		return nil, err
	}
	if c.tls != nil {
		secure := tls.Client(conn, c.tls)
		err = secure.HandshakeContext(ctx)
		if err == nil && secure.ConnectionState().NegotiatedProtocol != http2.NextProtoTLS {
			err = errors.New("the server does not speak HTTP/2: not http2")
		}
		if err != nil {
			return nil, errors.Join(err, conn.Close())
		}
		conn = secure
	}
	return newWire(ctx, conn, c.endpoint)
}

// call sends one request, once, and reads its answer. Errors are gRPC's.
func (c *connection) call(ctx context.Context, method string, request, response proto.Message) error {
	w := c.line.Current()
	if w == nil || !w.usable() {
		var err error
		if w, err = c.line.Replace(ctx, w); err != nil {
			return asStatus(err)
		}
	}
	return w.call(ctx, method, request, response)
}

// prove performs one read, of a key that need not be there.
func (c *connection) prove(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, connectTimeout)
	defer cancel()
	if err := c.call(ctx, rangeMethod, &pb.RangeRequest{Key: []byte(kubeRoot + "probe")}, &pb.RangeResponse{}); err != nil {
		return unreachable(c.endpoint.String(), err)
	}
	return nil
}

// unreachable names the endpoint, and the way out.
func unreachable(endpoint string, err error) error {
	out := "is the server running there, and reachable from here?"
	text := err.Error()
	switch {
	case strings.Contains(text, "certificate"), strings.Contains(text, "tls:"):
		out = "do ca, cert and key fit this server?"
	case strings.Contains(text, "no leader"), strings.Contains(text, "request timed out"):
		out = "have the members lost their quorum?"
	case strings.Contains(text, "not http2"), strings.Contains(text, "frame too large"), strings.Contains(text, "server preface"):
		out = "does the server speak etcd's API there, and is it http or https?"
	}
	return fmt.Errorf("reach etcd at %s: %w: %s", endpoint, err, out)
}

// openEvents gives the connection the way for watches: of grpc-go, as events
// are not timed by what the client costs, without its retries.
func (c *connection) openEvents() (err error) {
	transport := insecure.NewCredentials()
	if c.tls != nil {
		transport = credentials.NewTLS(c.tls)
	}
	c.events, err = grpc.NewClient("passthrough:///"+c.endpoint.Host,
		grpc.WithTransportCredentials(transport), grpc.WithDisableRetry(), grpc.WithNoProxy(), grpc.WithDisableServiceConfig(),
		grpc.WithDefaultCallOptions(grpc.MaxCallRecvMsgSize(maxMessage)))
	if err != nil {
		return fmt.Errorf("connect to etcd at %s: %w", c.endpoint, err)
	}
	return nil
}

func (c *connection) close() error {
	if w := c.line.Current(); w != nil {
		w.fail(status.Error(codes.Canceled, "the phase is over"))
	}
	if c.events != nil {
		return c.events.Close()
	}
	return nil
}
