package httpconn

import (
	"context"
	"errors"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/net/http2"

	"plimsoll.dev/plimsoll/internal/record"
	"plimsoll.dev/plimsoll/internal/target"
	"plimsoll.dev/plimsoll/internal/workload"
)

// get sends one request and gives what it came to.
func get(ctx context.Context, c *Connection) workload.Result {
	client := Client{Connection: c, Timeout: requestTimeout}
	return client.Do(ctx, Request{Method: http.MethodGet, Path: "/api/v1/configmaps"}, Discard)
}

func TestConnectionsAreThatManyAndNoMore(t *testing.T) {
	const connections, clients, requests, streams = 3, 30, 20, 2
	var mu sync.Mutex
	underWay, most, seen := map[string]int{}, map[string]int{}, map[string]int{}
	s, api := serve(t, streams, func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		seen[r.RemoteAddr]++
		underWay[r.RemoteAddr]++
		most[r.RemoteAddr] = max(most[r.RemoteAddr], underWay[r.RemoteAddr])
		mu.Unlock()
		time.Sleep(time.Millisecond)
		mu.Lock()
		underWay[r.RemoteAddr]--
		mu.Unlock()
	})
	opened := api.open(t, connections)
	if n, _ := s.count(); n != connections {
		t.Errorf("%d connections before the first operation; want %d, so that none pays for a handshake", n, connections)
	}
	var group sync.WaitGroup
	for i := range clients {
		group.Go(func() {
			for range requests {
				if result := get(t.Context(), opened[i%connections]); result.Outcome != record.OK {
					t.Errorf("a request came to %+v", result)
				}
			}
		})
	}
	group.Wait()
	if n, _ := s.count(); n != connections || len(seen) != connections {
		t.Errorf("%d connections were opened, and %d used; want %d", n, len(seen), connections)
	}
	for address := range seen {
		if seen[address] != clients/connections*requests {
			t.Errorf("connection %s carried %d requests; want %d", address, seen[address], clients/connections*requests)
		}
		if most[address] != streams {
			t.Errorf("connection %s carried %d requests at once; want %d, which the server allows", address, most[address], streams)
		}
	}
}

func TestRequestThatWaitsForAStreamTimesOut(t *testing.T) {
	release := make(chan struct{})
	begun := make(chan struct{}, 1)
	s, api := serve(t, 1, func(http.ResponseWriter, *http.Request) {
		begun <- struct{}{}
		<-release
	})
	c := api.open(t, 1)[0]
	var first sync.WaitGroup
	first.Go(func() { get(t.Context(), c) })
	<-begun
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	for range 3 {
		if result := get(ctx, c); result.Outcome != record.TimedOut {
			t.Errorf("a request behind another came to %+v; want a timeout", result)
		}
	}
	close(release)
	first.Wait()
	if result := get(t.Context(), c); result.Outcome != record.OK {
		t.Errorf("a request thereafter came to %+v", result)
	}
	if n, _ := s.count(); n != 1 {
		t.Errorf("%d connections; want 1", n)
	}
}

func TestCloseClosesConnections(t *testing.T) {
	s, api := serve(t, 100, func(http.ResponseWriter, *http.Request) {})
	if err := api.open(t, 4).Close(); err != nil {
		t.Error(err)
	}
	eventually(t, "no connection is left", func() bool { _, live := s.count(); return live == 0 })
}

func TestFailedConnectLeavesNoConnection(t *testing.T) {
	s, api := serve(t, 100, nil)
	s.refuses = 3
	_, err := api.connect(t.Context(), 4)
	if err == nil || !strings.Contains(err.Error(), "GET /version: 403 Forbidden") {
		t.Errorf("error is %v; want the server's refusal", err)
	}
	eventually(t, "no connection is left", func() bool { _, live := s.count(); return live == 0 })
}

// TestNothingIsSentTwice has servers refuse requests in all the ways after
// which clients, or net/http by itself, like to try again.
func TestNothingIsSentTwice(t *testing.T) {
	for _, row := range []struct {
		name   string
		handle http.HandlerFunc
		want   string
	}{
		{"429 with Retry-After", func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Retry-After", "0")
			w.WriteHeader(http.StatusTooManyRequests)
		}, "http-429"},
		{"a redirect", func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, "/elsewhere", http.StatusFound) }, "http-302"},
		{"a stream that the server resets", func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }, "stream-reset"},
	} {
		t.Run(row.name, func(t *testing.T) {
			var seen atomic.Int32
			s, api := serve(t, 100, func(w http.ResponseWriter, r *http.Request) {
				seen.Add(1)
				row.handle(w, r)
			})
			result := get(t.Context(), api.open(t, 1)[0])
			if n, _ := s.count(); result.Reason != row.want || seen.Load() != 1 || n != 1 {
				t.Errorf("came to %+v, seen %d times, over %d connections; want %s, once, over one", result, seen.Load(), n, row.want)
			}
		})
	}
	for _, row := range []struct {
		name      string
		misbehave func(*rawConn, uint32, int)
		want      string
	}{
		{"REFUSED_STREAM", func(c *rawConn, stream uint32, _ int) { _ = c.WriteRSTStream(stream, http2.ErrCodeRefusedStream) }, "stream-reset"},
		{"GOAWAY before the request", func(c *rawConn, stream uint32, _ int) { _ = c.WriteGoAway(stream-2, http2.ErrCodeNo, nil) }, "goaway"},
		{"a connection that is closed", func(c *rawConn, _ uint32, _ int) { _ = c.tcp.Close() }, "closed"},
		{"a connection that is reset", func(c *rawConn, _ uint32, _ int) { _, _ = c.tcp.SetLinger(0), c.tcp.Close() }, "reset"},
	} {
		t.Run(row.name, func(t *testing.T) {
			s, api := serveRaw(t, row.misbehave)
			result := get(t.Context(), api.open(t, 1)[0])
			if result.Outcome != record.Failed || result.Reason != row.want || s.requests.Load() != 1 || s.connections.Load() != 1 {
				t.Errorf("came to %+v, seen %d times, over %d connections; want %s, once, over one",
					result, s.requests.Load(), s.connections.Load(), row.want)
			}
		})
	}
}

func TestLostLineIsLaidAnewOnce(t *testing.T) {
	const clients = 20
	s, api := serve(t, 100, func(http.ResponseWriter, *http.Request) { time.Sleep(10 * time.Millisecond) })
	c := api.open(t, 1)[0]
	s.CloseClientConnections()
	eventually(t, "the connection is lost", func() bool { return c.line.Current().Err() != nil })
	var group sync.WaitGroup
	for range clients {
		group.Go(func() {
			if result := get(t.Context(), c); result.Outcome != record.OK {
				t.Errorf("a request came to %+v", result)
			}
		})
	}
	group.Wait()
	if opened, _ := s.count(); opened != 2 {
		t.Errorf("%d connections were opened; want the lost one and one more", opened)
	}
}

// TestGoAwayMovesWhatIsNotYetSent has a server say, while it works on a
// request, that it takes no more on this connection.
func TestGoAwayMovesWhatIsNotYetSent(t *testing.T) {
	said, answer := make(chan struct{}), make(chan struct{})
	s, api := serveRaw(t, func(c *rawConn, stream uint32, request int) {
		if request > 1 {
			c.ok(stream, "{}", true)
			return
		}
		_ = c.WriteGoAway(stream, http2.ErrCodeNo, nil)
		go func() {
			<-answer
			c.ok(stream, "{}", true)
		}()
		close(said)
	})
	c := api.open(t, 1)[0]
	var first sync.WaitGroup
	first.Go(func() {
		if result := get(t.Context(), c); result.Outcome != record.OK {
			t.Errorf("the request under way came to %+v", result)
		}
	})
	<-said
	eventually(t, "the GOAWAY has arrived", func() bool { return c.line.Current().Available() == 0 })
	for range 3 {
		if result := get(t.Context(), c); result.Outcome != record.OK {
			t.Errorf("a request after the GOAWAY came to %+v", result)
		}
	}
	close(answer)
	first.Wait()
	if s.connections.Load() != 2 || s.requests.Load() != 4 {
		t.Errorf("%d requests over %d connections; want 4 over 2", s.requests.Load(), s.connections.Load())
	}
}

func TestRequestsKeepThePathOfTheServerAddress(t *testing.T) {
	got := make(chan string, 1)
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/k8s/clusters/c-1/version" {
			got <- r.URL.String() + " " + r.Header.Get("Authorization") + " " + r.Header.Get("User-Agent")
		}
	}))
	defer s.Close()
	c := configAPI{Host: s.URL + "/k8s/clusters/c-1/", BearerToken: "secret"}.open(t, 1)[0]
	response, err := c.Exchange(t.Context(), Request{Method: http.MethodGet, Path: "/api/v1/secrets?limit=5"})
	if err != nil {
		t.Fatal(err)
	}
	_, _ = io.Copy(io.Discard, response.Body)
	if want, got := "/k8s/clusters/c-1/api/v1/secrets?limit=5 Bearer secret plimsoll", <-got; got != want {
		t.Errorf("the server got %s; want %s", got, want)
	}
}

func TestConnectToNobody(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	_ = listener.Close()
	_, err = configAPI{Host: "http://" + listener.Addr().String()}.connect(t.Context(), 2)
	if err == nil || !strings.Contains(err.Error(), listener.Addr().String()) || Failure(err).Reason != "refused" {
		t.Errorf("error is %v; want one that names the address and the identity", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := (configAPI{Host: "http://" + listener.Addr().String()}).connect(ctx, 1); !errors.Is(err, context.Canceled) {
		t.Errorf("error of a cancelled context is %v", err)
	}
}

// eventually waits for what the other side of a connection sees.
func eventually(t *testing.T, what string, isSo func() bool) {
	t.Helper()
	for deadline := time.Now().Add(30 * time.Second); !isSo(); time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("it never happened that %s", what)
		}
	}
}

// TestHTTP1CarriesOneRequestAtATime has clients queue for fewer connections,
// and one that gives up: those behind it are not lost with it.
func TestHTTP1CarriesOneRequestAtATime(t *testing.T) {
	var mu sync.Mutex
	underWay, most := 0, 0
	api := plainServer(t, func(w http.ResponseWriter, r *http.Request) {
		if r.ProtoMajor != 1 {
			t.Errorf("%s over %s", r.URL, r.Proto)
		}
		mu.Lock()
		underWay++
		most = max(most, underWay)
		mu.Unlock()
		time.Sleep(time.Duration(1+rand.IntN(3)) * time.Millisecond)
		if r.URL.Path == "/slow" {
			<-r.Context().Done()
		}
		mu.Lock()
		underWay--
		mu.Unlock()
		_, _ = io.WriteString(w, "{}")
	})
	opened, err := ConnectAPI(t.Context(), api, target.Load, Options{Connections: 2, HTTP: HTTP1})
	if err != nil {
		t.Fatal(err)
	}
	defer opened.Close()
	var group sync.WaitGroup
	for i := range 10 {
		group.Go(func() {
			c := Client{Connection: opened[i%2], Timeout: requestTimeout}
			for range 10 {
				if result := c.Do(t.Context(), Request{Method: http.MethodGet, Path: "/api"}, Discard); result.Outcome != record.OK {
					t.Errorf("came to %+v", result)
				}
			}
		})
	}
	group.Go(func() {
		c := Client{Connection: opened[0], Timeout: 50 * time.Millisecond}
		if result := c.Do(t.Context(), Request{Method: http.MethodGet, Path: "/slow"}, Discard); result.Outcome != record.TimedOut {
			t.Errorf("a request without answer came to %+v", result)
		}
	})
	group.Wait()
	if most > 2+1 { // the server may notice late that a client has hung up
		t.Errorf("%d requests at once on 2 connections", most)
	}
}
