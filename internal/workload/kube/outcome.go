package kube

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

// failure classifies a request that got no whole answer.
func failure(err error) workload.Result {
	var certificate *tls.CertificateVerificationError
	outcome, reason := record.Failed, "transport"
	switch {
	case errors.Is(err, context.DeadlineExceeded):
		outcome, reason = record.TimedOut, "timeout"
	case errors.Is(err, context.Canceled):
		reason = "cut-short" // by the end of the run
	case errors.Is(err, syscall.ECONNREFUSED):
		reason = "refused"
	case errors.Is(err, syscall.ECONNRESET), errors.Is(err, syscall.EPIPE):
		reason = "reset"
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		reason = "closed"
	case errors.As(err, &certificate):
		reason = "certificate"
	case errors.Is(err, errList):
		reason = "not-a-list"
	// net/http does not export its HTTP/2 errors.
	case strings.Contains(err.Error(), "GOAWAY"):
		reason = "goaway"
	case strings.Contains(err.Error(), "stream error"):
		reason = "stream-reset"
	case strings.Contains(err.Error(), "connection lost"), strings.Contains(err.Error(), "connection force closed"):
		reason = "reset"
	}
	return workload.Result{Outcome: outcome, Reason: reason}
}

// refusal classifies an answer that is not a success.
func refusal(response *http.Response) workload.Result {
	body, _ := io.ReadAll(io.LimitReader(response.Body, 16<<10))
	result := workload.Result{Outcome: record.Failed, Reason: "http-" + strconv.Itoa(response.StatusCode), Bytes: int64(len(body))}
	switch {
	case response.StatusCode == http.StatusTooManyRequests,
		response.StatusCode == http.StatusServiceUnavailable && response.Header.Get("Retry-After") != "":
		result.Outcome = record.Rejected
		return result
	case response.StatusCode == http.StatusGatewayTimeout:
		result.Outcome = record.TimedOut
	}
	// A Kubernetes Status tells more; its reasons are a closed set.
	var status struct{ Reason, Message string }
	if json.Unmarshal(body, &status) != nil {
		return result
	}
	for text, reason := range datastoreErrors() {
		if strings.Contains(status.Message, text) {
			result.Reason = reason
			return result
		}
	}
	if status.Reason != "" {
		result.Reason += "-" + status.Reason
	}
	return result
}

// datastoreErrors are the errors of etcd that the API server passes on in a
// message, and what they are counted as.
func datastoreErrors() map[string]string {
	return map[string]string{
		"etcdserver: request timed out": "etcd-request-timed-out",
		"etcdserver: leader changed":    "etcd-leader-changed",
		"etcdserver: no leader":         "etcd-no-leader",
		"etcdserver: too many requests": "etcd-too-many-requests",
		"mvcc: database space exceeded": "etcd-no-space",
		"connection refused":            "etcd-refused",
	}
}
