package kube

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"k8s.io/client-go/rest"

	"plimsoll.dev/plimsoll/internal/target"
	"plimsoll.dev/plimsoll/internal/workload"
	"plimsoll.dev/plimsoll/internal/workload/httpconn"
)

// fakeAPI answers requests without a network, so that time in tests may be that of synctest.
type fakeAPI func(*http.Request) (*http.Response, error)

func (f fakeAPI) RoundTrip(r *http.Request) (*http.Response, error) {
	if r.URL.Path == "/version" {
		return answer(http.StatusOK, "{}"), nil
	}
	if err := r.Context().Err(); err != nil {
		return nil, err
	}
	return f(r)
}

func (f fakeAPI) RESTConfig(target.Identity) (*rest.Config, error) {
	return &rest.Config{Host: "http://fake", WrapTransport: func(http.RoundTripper) http.RoundTripper { return f }}, nil
}

// client gives a client of the fake.
func (f fakeAPI) client(t *testing.T) client {
	t.Helper()
	connections, err := httpconn.ConnectAPI(t.Context(), f, target.Load, httpconn.Options{Connections: 1})
	if err != nil {
		t.Fatal(err)
	}
	return client{httpconn.Client{Connection: connections[0], Timeout: requestTimeout}, new(Writes)}
}

func answer(code int, body string, headers ...string) *http.Response {
	header := http.Header{}
	for i := 0; i < len(headers); i += 2 {
		header.Set(headers[i], headers[i+1])
	}
	return &http.Response{StatusCode: code, Status: fmt.Sprint(code), Header: header, Body: io.NopCloser(strings.NewReader(body))}
}

// status is a Kubernetes Status.
func status(reason, message string) string {
	text, _ := json.Marshal(map[string]string{"kind": "Status", "reason": reason, "message": message})
	return string(text)
}

// part is a part of an operation as the timer saw it.
type part struct {
	kind string
	workload.Result
}

// parts is a timer that takes notes instead of the time, but for first bytes, which all walks have.
type parts []part

func (p *parts) Part(ctx context.Context, kind string, do func(context.Context) workload.Result) workload.Result {
	result := do(ctx)
	*p = append(*p, part{kind, result})
	return result
}

func (p *parts) Took(kind string, _ time.Duration, result workload.Result) {
	if kind == "first-byte" {
		return
	}
	*p = append(*p, part{kind, result})
}

// body is what a request's body says.
type body struct {
	Kind     string
	Metadata struct {
		Name   string
		Labels map[string]string
	}
	Data map[string]string
}

// readObject reads a request's body, which must be one object of the length announced.
func readObject(t *testing.T, r *http.Request) (o body) {
	t.Helper()
	text, err := io.ReadAll(r.Body)
	if err != nil {
		t.Error(err)
	}
	decoder := json.NewDecoder(bytes.NewReader(text))
	if err := decoder.Decode(&o); err != nil || decoder.More() {
		t.Errorf("body %q: %v", text, err)
	}
	if int64(len(text)) != r.ContentLength {
		t.Errorf("Content-Length %d of a body of %d bytes", r.ContentLength, len(text))
	}
	return o
}
