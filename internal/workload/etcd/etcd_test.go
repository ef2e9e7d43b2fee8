package etcd

import (
	"errors"
	"math/rand/v2"
	"net"
	"sync/atomic"
	"testing"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	v1 "plimsoll.dev/plimsoll/api/v1alpha1"
	"plimsoll.dev/plimsoll/internal/record"
)

// deafServer accepts connections and says nothing.
func deafServer(t *testing.T) string {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { listener.Close() })
	return "http://" + listener.Addr().String()
}

func TestKeyOrders(t *testing.T) {
	const count, draws = 100, 10_000
	for _, row := range []struct {
		order      string
		least      int // of different keys
		mostOfZero int // times key 0 is drawn
	}{
		{"sequential", count, draws / count},
		{"uniform", count, 2 * draws / count},
		{"zipfian", count / 2, draws / 2},
	} {
		k, err := newKeySpace("/p/", v1.EtcdKeys{Order: row.order, KeySpace: count, KeySize: 8}, 1)
		if err != nil {
			t.Fatal(err)
		}
		var next atomic.Int64
		clients := []func() (int, bool){
			k.drawer(rand.New(rand.NewPCG(1, 1)), &next), k.drawer(rand.New(rand.NewPCG(1, 2)), &next),
		}
		times := map[int]int{}
		for i := range draws {
			key, ok := clients[i%2]()
			if !ok || key < 0 || key >= count {
				t.Fatalf("%s: key %d, %v", row.order, key, ok)
			}
			times[key]++
		}
		if len(times) < row.least || times[0] > row.mostOfZero {
			t.Errorf("%s: %d different keys, the first of them %d times", row.order, len(times), times[0])
		}
		if row.order == "zipfian" && times[0] < 5*times[20] {
			t.Errorf("zipfian: key 0 is drawn %d times, key 20 %d times", times[0], times[20])
		}
	}
}

func TestKeysAreNumbersOfTheirSize(t *testing.T) {
	k, err := newKeySpace("/p/", v1.EtcdKeys{Order: "sequential", KeySpace: 1000, KeySize: 8}, 1)
	if err != nil {
		t.Fatal(err)
	}
	for i, want := range map[int]string{0: "/p/00000000", 7: "/p/00000007", 999: "/p/00000999"} {
		if got := string(k.key(i)); got != want {
			t.Errorf("key %d is %q", i, got)
		}
	}
	if _, err := newKeySpace("", v1.EtcdKeys{KeySpace: 1000, KeySize: 2}, 1); err == nil {
		t.Error("a thousand keys have no room in two bytes")
	}
}

func TestTheEndOfAPrefix(t *testing.T) {
	for prefix, want := range map[string]string{"/a/": "/a0", "a\xff": "b", "": "\x00", "\xff": "\x00"} {
		if got := string(end(prefix)); got != want {
			t.Errorf("%q ends at %q instead of %q", prefix, got, want)
		}
	}
}

func TestOutcomes(t *testing.T) {
	for _, row := range []struct {
		err       error
		outcome   record.Outcome
		reason    string
		uncertain bool
	}{
		{status.Error(codes.Unavailable, "etcdserver: request timed out"), record.TimedOut, "request-timed-out", true},
		{status.Error(codes.Unavailable, "etcdserver: request timed out, possibly due to previous leader failure"), record.TimedOut, "request-timed-out", true},
		{status.Error(codes.DeadlineExceeded, "context deadline exceeded"), record.TimedOut, "timeout", true},
		{status.Error(codes.ResourceExhausted, "etcdserver: too many requests"), record.Rejected, "too-many-requests", false},
		{status.Error(codes.ResourceExhausted, "etcdserver: mvcc: database space exceeded"), record.Failed, "no-space", false},
		{status.Error(codes.Unavailable, "etcdserver: leader changed"), record.Failed, "leader-changed", true},
		{status.Error(codes.Unavailable, "etcdserver: no leader"), record.Failed, "no-leader", true},
		{status.Error(codes.InvalidArgument, "etcdserver: request is too large"), record.Failed, "request-too-large", false},
		{status.Error(codes.OutOfRange, "etcdserver: mvcc: required revision has been compacted"), record.Failed, "compacted", true},
		{status.Error(codes.Unavailable, "connection error: dial tcp 127.0.0.1:1: connect: connection refused"), record.Failed, refused, false},
		{status.Error(codes.Unavailable, "error reading from server: EOF"), record.Failed, "closed", true},
		{status.Error(codes.Canceled, "context canceled"), record.Failed, cutShort, true},
		{status.Error(codes.Unavailable, "of no known kind"), record.Failed, "unavailable", true},
		{errors.New("of no known kind"), record.Failed, "unknown-error", true},
	} {
		r := failure(row.err)
		if r.Outcome != row.outcome || r.Reason != row.reason || uncertain(r) != row.uncertain {
			t.Errorf("%v is %v, uncertain %v", row.err, r, uncertain(r))
		}
	}
}
