package httpconn

import (
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"strconv"
	"strings"
	"syscall"

	"plimsoll.dev/plimsoll/internal/record"
	"plimsoll.dev/plimsoll/internal/workload"
)

// cutShort is the reason of what the end of the run cut short.
const cutShort = "cut-short"

// Failure classifies a request that got no whole answer. An error that has a
// method Reason gives its own.
func Failure(err error) workload.Result {
	var certificate *tls.CertificateVerificationError
	var timeout interface{ Timeout() bool } // a deadline of ours, or one of the dialler, the handshake or the kernel
	var own interface{ Reason() string }
	outcome, reason := record.Failed, "transport"
	switch {
	case errors.Is(err, context.Canceled):
		reason = cutShort
	case errors.As(err, &timeout) && timeout.Timeout():
		outcome, reason = record.TimedOut, "timeout"
	case errors.Is(err, syscall.ECONNREFUSED):
		reason = "refused"
	case errors.Is(err, syscall.ECONNRESET), errors.Is(err, syscall.EPIPE):
		reason = "reset"
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		reason = "closed"
	case errors.As(err, &certificate):
		reason = "certificate"
	case errors.As(err, &own):
		reason = own.Reason()
	default:
		reason = http2Reason(err)
	}
	return workload.Result{Outcome: outcome, Reason: reason}
}

// http2Reason knows HTTP/2 errors by their text, since net/http does not export them.
func http2Reason(err error) string {
	text := err.Error()
	for _, known := range []struct{ text, reason string }{
		{"GOAWAY", "goaway"},
		{"stream error", "stream-reset"},
		{"client connection lost", "reset"},
		{"client connection force closed", "closed"},
		{"client conn", "closed"}, // … is closed, not usable, could not be established
	} {
		if strings.Contains(text, known.text) {
			return known.reason
		}
	}
	return "transport"
}

// maxRefusal bounds what is read of an answer that is not a success.
const maxRefusal = 16 << 10

// Refusal classifies an answer that is not a success. The reason of one that
// priority and fairness refused names the level, as far as the count of the
// connection knows it: http-429-by-workload-low.
func (c *Connection) Refusal(response *http.Response) workload.Result {
	result, _ := refusal(response)
	if level := c.count.rejectedBy(response); level != "" {
		result.Reason += "-by-" + level
	}
	return result
}

// refusal classifies an answer that is not a success, and gives what the
// server said, for people.
func refusal(response *http.Response) (workload.Result, string) {
	body, _ := io.ReadAll(io.LimitReader(response.Body, maxRefusal))
	result := workload.Result{Outcome: record.Failed, Reason: "http-" + strconv.Itoa(response.StatusCode), Bytes: int64(len(body))}
	switch {
	case response.StatusCode == http.StatusTooManyRequests,
		response.StatusCode == http.StatusServiceUnavailable && response.Header.Get("Retry-After") != "":
		result.Outcome = record.Rejected
	case response.StatusCode == http.StatusGatewayTimeout:
		result.Outcome = record.TimedOut
	}
	// A Kubernetes Status tells more, and so does an error of Steve; their reasons are closed sets.
	var status struct {
		Reason, Message string
		Code            any // of Steve a text
	}
	if json.Unmarshal(body, &status) != nil {
		return result, strings.TrimSpace(string(body))
	}
	if reason := datastoreReason(status.Message); reason != "" {
		result.Reason = reason
	} else if status.Reason != "" {
		result.Reason += "-" + status.Reason
	} else if code, ok := status.Code.(string); ok && code != "" {
		result.Reason += "-" + strings.ReplaceAll(code, " ", "-")
	}
	return result, status.Message
}

// datastoreReason knows the errors of etcd that the API server passes on in a
// message. The first that fits counts, so the more telling ones come first.
func datastoreReason(message string) string {
	for _, known := range []struct{ text, reason string }{
		{"mvcc: database space exceeded", "etcd-no-space"},
		{"etcdserver: request is too large", "etcd-request-too-large"},
		{"etcdserver: too many requests", "etcd-too-many-requests"},
		{"etcdserver: leader changed", "etcd-leader-changed"},
		{"etcdserver: no leader", "etcd-no-leader"},
		{"etcdserver: request timed out", "etcd-request-timed-out"},
		{"connection refused", "etcd-refused"},
	} {
		if strings.Contains(message, known.text) {
			return known.reason
		}
	}
	return ""
}
