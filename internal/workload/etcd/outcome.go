package etcd

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/url"
	"strconv"
	"strings"
	"syscall"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"plimsoll.dev/plimsoll/internal/record"
	"plimsoll.dev/plimsoll/internal/workload"
)

// Reasons that are of this package's own making.
const (
	exists   = "exists"    // a create met a key that is there
	conflict = "conflict"  // the key has changed
	retried  = "retried"   // an update that succeeded at a later attempt
	applied  = "applied"   // an update without an answer that was there when it was read back
	lost     = "lost"      // an update without an answer that was not there
	unknown  = "unknown"   // neither the update nor the reading back was answered
	cutShort = "cut-short" // by the end of the run
	notThere = "key-not-there"
)

// failure classifies a request that got no good answer.
func failure(err error) workload.Result {
	s, _ := status.FromError(err)
	text := s.Message()
	for _, known := range []struct {
		text    string
		outcome record.Outcome
		reason  string
	}{ // the first that fits counts, so the more telling ones come first
		{"database space exceeded", record.Failed, "no-space"},
		{"too many requests", record.Rejected, "too-many-requests"},
		{"request timed out", record.TimedOut, "request-timed-out"},
		{"leader changed", record.Failed, "leader-changed"},
		{"no leader", record.Failed, "no-leader"},
		{"not leader", record.Failed, "not-leader"},
		{"server stopped", record.Failed, "stopped"},
		{"request is too large", record.Failed, "request-too-large"},
		{"has been compacted", record.Failed, "compacted"},
		{"lease not found", record.Failed, "lease-not-found"},
		{"connection refused", record.Failed, refused},
		{"connection reset", record.Failed, "reset"},
		{"broken pipe", record.Failed, "reset"},
		{"GOAWAY", record.Failed, "goaway"},
		{"EOF", record.Failed, "closed"},
		{"closed", record.Failed, "closed"},
	} {
		if strings.Contains(text, known.text) {
			return workload.Result{Outcome: known.outcome, Reason: known.reason}
		}
	}
	switch s.Code() {
	case codes.DeadlineExceeded:
		return workload.Result{Outcome: record.TimedOut, Reason: "timeout"}
	case codes.Canceled:
		return workload.Result{Outcome: record.Failed, Reason: cutShort}
	case codes.Unknown:
		return workload.Result{Outcome: record.Failed, Reason: "unknown-error"}
	}
	return workload.Result{Outcome: record.Failed, Reason: strings.ToLower(s.Code().String())}
}

// refused is the reason of a request that found no server.
const refused = "refused"

// uncertain says whether a write that ended so may have been applied, or may yet be.
func uncertain(r workload.Result) bool {
	switch r.Reason {
	case "no-space", "too-many-requests", "request-too-large", refused, conflict, exists:
		return false
	}
	return r.Outcome == record.TimedOut || r.Outcome == record.Failed
}

// asStatus gives an error of the network, or of a context, as gRPC would.
func asStatus(err error) error {
	var timeout net.Error
	code := codes.Unavailable
	switch {
	case err == nil:
		return nil
	case errors.Is(err, context.Canceled):
		code = codes.Canceled
	case errors.Is(err, context.DeadlineExceeded), errors.As(err, &timeout) && timeout.Timeout():
		code = codes.DeadlineExceeded
	case errors.Is(err, syscall.ECONNREFUSED), errors.Is(err, syscall.ECONNRESET), errors.Is(err, io.EOF):
	default:
		if _, ok := status.FromError(err); ok {
			return err
		}
	}
	return status.Error(code, err.Error())
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
