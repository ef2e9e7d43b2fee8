package etcd

import (
	"bytes"
	"context"
	"net"
	"sync"
	"testing"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
	"go.etcd.io/etcd/api/v3/mvccpb"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// keeper is a server of grpc-go that answers as etcd might.
type keeper struct {
	pb.UnimplementedKVServer
	put   func(context.Context) error
	value []byte // that every key has
}

func (k *keeper) Put(ctx context.Context, r *pb.PutRequest) (*pb.PutResponse, error) {
	if k.put != nil {
		if err := k.put(ctx); err != nil {
			return nil, err
		}
	}
	return &pb.PutResponse{Header: &pb.ResponseHeader{Revision: int64(len(r.Value))}}, nil
}

func (k *keeper) Range(_ context.Context, r *pb.RangeRequest) (*pb.RangeResponse, error) {
	return &pb.RangeResponse{Kvs: []*mvccpb.KeyValue{{Key: r.Key, Value: k.value}}}, nil
}

// serving gives a line to a server, which stops with the test at the latest.
func serving(t *testing.T, k *keeper, options ...grpc.ServerOption) (*connection, *grpc.Server) {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s := grpc.NewServer(append(options, grpc.MaxRecvMsgSize(64<<20), grpc.MaxSendMsgSize(64<<20))...)
	pb.RegisterKVServer(s, k)
	go func() { _ = s.Serve(listener) }()
	l, err := dial("http://"+listener.Addr().String(), nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := l.close(); err != nil {
			t.Error(err)
		}
		s.Stop()
	})
	return l, s
}

// puts puts a value of the size and says whether it arrived whole.
func puts(ctx context.Context, l *connection, size int) error {
	var response pb.PutResponse
	if err := l.call(ctx, putMethod, &pb.PutRequest{Key: []byte("key"), Value: make([]byte, size)}, &response); err != nil {
		return err
	}
	if response.Header.Revision != int64(size) {
		return status.Errorf(codes.DataLoss, "%d of %d bytes arrived", response.Header.Revision, size)
	}
	return nil
}

func TestLineCarriesMessagesOfAnySizeBothWays(t *testing.T) {
	k := &keeper{}
	l, _ := serving(t, k)
	for _, size := range []int{0, 1, firstFrame, firstWindow, 5 << 20} {
		if err := puts(t.Context(), l, size); err != nil {
			t.Errorf("put %d bytes: %v", size, err)
		}
		k.value = bytes.Repeat([]byte{7}, size)
		var response pb.RangeResponse
		if err := l.call(t.Context(), rangeMethod, &pb.RangeRequest{Key: []byte("key")}, &response); err != nil || !bytes.Equal(response.Kvs[0].Value, k.value) {
			t.Errorf("read %d bytes: %v", size, err)
		}
	}
}

// The server takes two streams at a time, and has little room: requests wait for their turn, and none is refused.
func TestLineWaitsForRoomAndForItsTurn(t *testing.T) {
	l, _ := serving(t, &keeper{}, grpc.MaxConcurrentStreams(2), grpc.StaticStreamWindowSize(firstWindow), grpc.StaticConnWindowSize(firstWindow))
	if err := puts(t.Context(), l, 0); err != nil { // by when the server has told its limits
		t.Fatal(err)
	}
	var clients sync.WaitGroup
	for i := range 20 {
		size := i % 2 * 200 << 10
		clients.Go(func() {
			for range 5 {
				if err := puts(t.Context(), l, size); err != nil {
					t.Error(err)
				}
			}
		})
	}
	clients.Wait()
}

func TestLineGivesTheServersErrors(t *testing.T) {
	want := status.Error(codes.ResourceExhausted, "etcdserver: 100 % of the space, größer nicht")
	l, _ := serving(t, &keeper{put: func(context.Context) error { return want }})
	if err := puts(t.Context(), l, 1); status.Code(err) != status.Code(want) || err.Error() != want.Error() {
		t.Errorf("error is %v; want %v", err, want)
	}
	if err := l.call(t.Context(), deleteMethod, &pb.DeleteRangeRequest{}, &pb.DeleteRangeResponse{}); status.Code(err) != codes.Unimplemented {
		t.Errorf("of what the server does not know: %v", err)
	}
}

func TestLineIsWholeAfterARequestThatIsGivenUp(t *testing.T) {
	begun, given := make(chan struct{}), make(chan struct{})
	first := sync.OnceFunc(func() { close(begun) })
	var blocking sync.Once
	l, _ := serving(t, &keeper{put: func(ctx context.Context) error {
		blocking.Do(func() {
			first()
			<-ctx.Done() // the server is told
			close(given)
		})
		return nil
	}})
	ctx, cancel := context.WithCancel(t.Context())
	go func() {
		<-begun
		cancel()
	}()
	if err := puts(ctx, l, 1); status.Code(err) != codes.Canceled {
		t.Errorf("a request that is given up: %v", err)
	}
	<-given
	before := l.line.Current()
	if err := puts(t.Context(), l, 1); err != nil {
		t.Error(err)
	}
	if l.line.Current() != before {
		t.Error("another connection was opened")
	}
}

func TestLineAndAServerThatGoesAway(t *testing.T) {
	begun, goOn := make(chan struct{}), make(chan struct{})
	l, s := serving(t, &keeper{put: func(context.Context) error {
		close(begun)
		<-goOn
		return nil
	}})
	answered := make(chan error)
	go func() { answered <- puts(t.Context(), l, 1) }()
	<-begun
	stopped := make(chan struct{})
	go func() {
		s.GracefulStop()
		close(stopped)
	}()
	for l.line.Current().usable() { // until GOAWAY has come
		select {
		case <-stopped:
			t.Fatal("the server stopped with a request under way")
		default:
		}
	}
	close(goOn)
	if err := <-answered; err != nil {
		t.Errorf("the request under way: %v", err)
	}
	if err := puts(t.Context(), l, 1); status.Code(err) != codes.Unavailable || failure(err).Reason != refused {
		t.Errorf("the next one: %v", err)
	}
}

func TestLineIsLostWithItsServer(t *testing.T) {
	begun := make(chan struct{})
	l, s := serving(t, &keeper{put: func(ctx context.Context) error {
		close(begun)
		<-ctx.Done()
		return ctx.Err()
	}})
	go func() {
		<-begun
		s.Stop()
	}()
	if err := puts(t.Context(), l, 1); status.Code(err) != codes.Unavailable {
		t.Errorf("a request whose server is gone: %v", err)
	}
}
