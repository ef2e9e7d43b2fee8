package httpconn

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/net/http2"

	"plimsoll.dev/plimsoll/internal/jsonscan"
	"plimsoll.dev/plimsoll/internal/record"
)

func TestRefusal(t *testing.T) {
	const leader = "etcdserver: leader changed"
	for _, row := range []struct {
		name    string
		answer  *http.Response
		outcome record.Outcome
		reason  string
		message string
	}{
		{"429 of priority and fairness is a rejection", answer(429, "Too many requests, please try again later.\n", "Retry-After", "1"),
			record.Rejected, "http-429", "Too many requests, please try again later."},
		{"429 without Retry-After too", answer(429, ""), record.Rejected, "http-429", ""},
		{"429 of the storage layer says so", answer(429, status("TooManyRequests", "storage is (re)initializing")),
			record.Rejected, "http-429-TooManyRequests", "storage is (re)initializing"},
		{"429 of etcd names etcd", answer(429, status("TooManyRequests", "etcdserver: too many requests")),
			record.Rejected, "etcd-too-many-requests", "etcdserver: too many requests"},
		{"503 with Retry-After is a rejection", answer(503, "", "Retry-After", "5"), record.Rejected, "http-503", ""},
		{"503 without is a failure", answer(503, status("ServiceUnavailable", "down")), record.Failed, "http-503-ServiceUnavailable", "down"},
		{"504 is a timeout", answer(504, status("Timeout", "request did not complete within 60s")),
			record.TimedOut, "http-504-Timeout", "request did not complete within 60s"},
		{"403 with its reason", answer(403, status("Forbidden", "no")), record.Failed, "http-403-Forbidden", "no"},
		{"404", answer(404, status("NotFound", `configmaps "a" not found`)), record.Failed, "http-404-NotFound", `configmaps "a" not found`},
		{"409", answer(409, status("AlreadyExists", "there")), record.Failed, "http-409-AlreadyExists", "there"},
		{"410 of a continue token", answer(410, status("Expired", "too old")), record.Failed, "http-410-Expired", ""},
		{"422", answer(422, status("Invalid", "bad")), record.Failed, "http-422-Invalid", "bad"},
		{"500 without a body", answer(500, ""), record.Failed, "http-500", ""},
		{"500 with a Status without a reason", answer(500, status("", "panic")), record.Failed, "http-500", "panic"},
		{"502 of a proxy, in HTML", answer(502, "<html>Bad Gateway</html>"), record.Failed, "http-502", "<html>Bad Gateway</html>"},
		{"a redirect", answer(307, ""), record.Failed, "http-307", ""},
		{"JSON that is no Status", answer(500, `["x"]`), record.Failed, "http-500", `["x"]`},
		{"etcd lost its leader", answer(500, status("InternalError", leader)), record.Failed, "etcd-leader-changed", leader},
		{"etcd has none", answer(500, status("", "etcdserver: no leader")), record.Failed, "etcd-no-leader", "etcdserver: no leader"},
		{"etcd is slow", answer(500, status("", "etcdserver: request timed out, possibly due to connection lost")), record.Failed, "etcd-request-timed-out", ""},
		{"etcd is full", answer(500, status("", "etcdserver: mvcc: database space exceeded")), record.Failed, "etcd-no-space", ""},
		{"etcd is given too much", answer(500, status("", "etcdserver: request is too large")), record.Failed, "etcd-request-too-large", ""},
		{"etcd is away", answer(500, status("InternalError", "dial tcp 127.0.0.1:2379: connect: connection refused")), record.Failed, "etcd-refused", ""},
		{"of two errors of etcd the more telling one counts", answer(500, status("", "etcdserver: request timed out; "+leader+"; connection refused")), record.Failed, "etcd-leader-changed", ""},
	} {
		t.Run(row.name, func(t *testing.T) {
			body, err := io.ReadAll(row.answer.Body)
			if err != nil {
				t.Fatal(err)
			}
			for range 20 { // always the same
				row.answer.Body = io.NopCloser(strings.NewReader(string(body)))
				result, message := refusal(row.answer)
				if result.Outcome != row.outcome || result.Reason != row.reason || result.Bytes != int64(len(body)) {
					t.Fatalf("came to %+v; want %s, %s and %d bytes", result, row.outcome, row.reason, len(body))
				}
				if row.message != "" && message != row.message {
					t.Fatalf("message is %q; want %q", message, row.message)
				}
			}
		})
	}
}

func TestRefusalReadsNoEndlessBody(t *testing.T) {
	endless := &http.Response{StatusCode: 500, Body: io.NopCloser(zeros{})}
	if result, _ := refusal(endless); result.Bytes != maxRefusal {
		t.Errorf("read %d bytes; want %d", result.Bytes, maxRefusal)
	}
}

type zeros struct{}

func (zeros) Read(p []byte) (int, error) { return len(p), nil }

func TestFailure(t *testing.T) {
	for _, row := range []struct {
		err     error
		outcome record.Outcome
		reason  string
	}{
		{context.DeadlineExceeded, record.TimedOut, "timeout"},
		{fmt.Errorf("read: %w", os.ErrDeadlineExceeded), record.TimedOut, "timeout"},
		{&net.OpError{Op: "dial", Err: os.NewSyscallError("connect", syscall.ETIMEDOUT)}, record.TimedOut, "timeout"},
		{fmt.Errorf("read: %w", context.Canceled), record.Failed, "cut-short"},
		{&net.OpError{Op: "dial", Err: os.NewSyscallError("connect", syscall.ECONNREFUSED)}, record.Failed, "refused"},
		{&net.OpError{Op: "read", Err: os.NewSyscallError("read", syscall.ECONNRESET)}, record.Failed, "reset"},
		{&net.OpError{Op: "write", Err: os.NewSyscallError("write", syscall.EPIPE)}, record.Failed, "reset"},
		{io.EOF, record.Failed, "closed"},
		{io.ErrUnexpectedEOF, record.Failed, "closed"},
		{jsonscan.ErrList, record.Failed, "not-a-list"},
		{errors.New("http2: client connection lost"), record.Failed, "reset"},
		{errors.New("http2: client connection force closed via ClientConn.Close"), record.Failed, "closed"},
		{errors.New("http2: client conn could not be established"), record.Failed, "closed"},
		{errors.New("something else"), record.Failed, "transport"},
	} {
		if result := Failure(row.err); result.Outcome != row.outcome || result.Reason != row.reason {
			t.Errorf("%v came to %s, %s; want %s, %s", row.err, result.Outcome, result.Reason, row.outcome, row.reason)
		}
	}
}

// TestFailuresOnTheWire makes the faults, since the texts of errors are net/http's to change.
func TestFailuresOnTheWire(t *testing.T) {
	const begun = `{"items":[{}`
	const enough = 2 * time.Second // for what is begun to arrive
	for _, row := range []struct {
		name      string
		timeout   time.Duration
		misbehave func(c *rawConn, stream uint32, read <-chan struct{}) // read is closed when the client has read what was begun
		outcome   record.Outcome
		reason    string
		bytes     int
	}{
		{"no answer", time.Millisecond, func(*rawConn, uint32, <-chan struct{}) {}, record.TimedOut, "timeout", 0},
		{"no more of the body", enough, func(c *rawConn, stream uint32, _ <-chan struct{}) { c.ok(stream, begun, false) }, record.TimedOut, "timeout", len(begun)},
		{"a body that ends too early", requestTimeout, func(c *rawConn, stream uint32, _ <-chan struct{}) { c.ok(stream, begun, true) }, record.Failed, "not-a-list", len(begun)},
		{"a connection closed in the body", requestTimeout, func(c *rawConn, stream uint32, read <-chan struct{}) {
			c.ok(stream, begun, false)
			<-read
			_ = c.tcp.Close()
		}, record.Failed, "closed", len(begun)},
		{"a connection reset in the body", requestTimeout, func(c *rawConn, stream uint32, read <-chan struct{}) {
			c.ok(stream, begun, false)
			<-read
			_, _ = c.tcp.SetLinger(0), c.tcp.Close()
		}, record.Failed, "reset", len(begun)},
		{"a stream reset in the body", requestTimeout, func(c *rawConn, stream uint32, read <-chan struct{}) {
			c.ok(stream, begun, false)
			<-read
			_ = c.WriteRSTStream(stream, http2.ErrCodeInternal)
		}, record.Failed, "stream-reset", len(begun)},
		{"a GOAWAY in the body, with an error", requestTimeout, func(c *rawConn, stream uint32, read <-chan struct{}) {
			c.ok(stream, begun, false)
			<-read
			_ = c.WriteGoAway(stream, http2.ErrCodeEnhanceYourCalm, nil)
			_ = c.tcp.Close()
		}, record.Failed, "goaway", len(begun)},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			read := make(chan struct{})
			_, api := serveRaw(t, func(c *rawConn, stream uint32, _ int) { row.misbehave(c, stream, read) })
			client := Client{Connection: api.open(t, 1)[0], Timeout: row.timeout}
			result := client.Do(t.Context(), Request{Method: http.MethodGet, Path: "/"}, func(body io.Reader) (int64, error) {
				var first bytes.Buffer
				if _, err := io.CopyN(&first, body, int64(len(begun))); err != nil {
					return int64(first.Len()), err
				}
				close(read)
				return (&jsonscan.ListScanner{Shape: jsonscan.Kubernetes}).Read(io.MultiReader(&first, body), make([]byte, 100))
			})
			if result.Outcome != row.outcome || result.Reason != row.reason || result.Bytes != int64(row.bytes) {
				t.Errorf("came to %+v; want %s, %s and %d bytes", result, row.outcome, row.reason, row.bytes)
			}
		})
	}
	t.Run("the end of the run", func(t *testing.T) {
		_, api := serveRaw(t, func(*rawConn, uint32, int) {})
		ctx, cancel := context.WithCancelCause(t.Context())
		c := api.open(t, 1)[0]
		time.AfterFunc(20*time.Millisecond, func() { cancel(errors.New("interrupted")) })
		if result := get(ctx, c); result.Outcome != record.Failed || result.Reason != "cut-short" {
			t.Errorf("came to %+v; want it cut short", result)
		}
	})
	t.Run("a certificate that is not trusted", func(t *testing.T) {
		_, api := serveRaw(t, func(*rawConn, uint32, int) {})
		api.CAData = nil
		_, err := api.connect(t.Context(), 1)
		if err == nil || Failure(err).Reason != "certificate" {
			t.Errorf("%v came to %+v; want certificate", err, Failure(err))
		}
	})
	t.Run("a server that went away", func(t *testing.T) {
		s, api := serveRaw(t, func(c *rawConn, _ uint32, _ int) { _ = c.tcp.Close() })
		c := api.open(t, 1)[0]
		_ = s.listener.Close()
		get(t.Context(), c)
		if result := get(t.Context(), c); result.Outcome != record.Failed || result.Reason != "refused" {
			t.Errorf("came to %+v; want refused", result)
		}
	})
}

func answer(code int, body string, headers ...string) *http.Response {
	header := http.Header{}
	for i := 0; i < len(headers); i += 2 {
		header.Set(headers[i], headers[i+1])
	}
	return &http.Response{StatusCode: code, Header: header, Body: io.NopCloser(strings.NewReader(body))}
}

// status is a Kubernetes Status.
func status(reason, message string) string {
	text, _ := json.Marshal(map[string]string{"kind": "Status", "reason": reason, "message": message})
	return string(text)
}
