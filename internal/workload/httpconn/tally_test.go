package httpconn

import (
	"context"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"

	"plimsoll.dev/plimsoll/internal/record"
	"plimsoll.dev/plimsoll/internal/target"
)

// counting gives a client of a server whose requests are tallied.
func counting(t *testing.T, handler http.HandlerFunc) (*Client, *prometheus.Registry) {
	t.Helper()
	_, api := serve(t, 100, handler)
	registry := prometheus.NewRegistry()
	tally, err := NewTally(registry, map[string]string{"uid-1": "global-default", "uid-2": "workload-low"})
	if err != nil {
		t.Fatal(err)
	}
	opened, err := ConnectAPI(t.Context(), api, target.Load, Options{Connections: 1, Count: tally.Of("churn", "load")})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = opened.Close() })
	return &Client{Connection: opened[0], Timeout: requestTimeout}, registry
}

func TestRequestsAreTalliedByWhoRefusedThem(t *testing.T) {
	client, registry := counting(t, func(w http.ResponseWriter, r *http.Request) {
		level := map[string]string{"/known": "uid-2", "/new": "uid-9"}[r.URL.Path]
		if level != "" {
			w.Header().Set(flowSchemaHeader, "uid-1")
			w.Header().Set(priorityLevelHeader, level)
		}
		if r.URL.Path == "/hang" {
			<-r.Context().Done()
		}
		if r.URL.Path != "/fine" {
			w.Header().Set("Retry-After", map[string]string{"/new": "later"}[r.URL.Path]+map[string]string{"/known": "1", "/full": "1"}[r.URL.Path])
			w.WriteHeader(http.StatusTooManyRequests)
		}
	})
	for _, row := range []struct {
		path    string
		outcome record.Outcome
		reason  string
	}{
		{"/fine", record.OK, ""},
		{"/fine", record.OK, ""},
		{"/full", record.Rejected, "http-429"}, // without priority and fairness nobody is named
		{"/known", record.Rejected, "http-429-by-workload-low"},
		{"/new", record.Rejected, "http-429-by-unknown"}, // a level made since names were asked for
		{"/hang", record.TimedOut, "timeout"},
	} {
		client.Timeout = requestTimeout
		if row.path == "/hang" {
			client.Timeout = time.Millisecond
		}
		result := client.Do(t.Context(), Request{Method: http.MethodGet, Path: row.path}, Discard)
		if result.Outcome != row.outcome || result.Reason != row.reason {
			t.Errorf("%s came to %s %q; want %s %q", row.path, result.Outcome, result.Reason, row.outcome, row.reason)
		}
	}
	over, cancel := context.WithCancel(t.Context())
	cancel()
	client.Do(over, Request{Method: http.MethodGet, Path: "/fine"}, Discard)

	// The proof of the connection is not among them.
	want := `
# HELP plimsoll_requests_total Requests of load users, by how they were answered.
# TYPE plimsoll_requests_total counter
plimsoll_requests_total{code="200",flow_schema="",phase="churn",priority_level="",retry_after="",user="load"} 2
plimsoll_requests_total{code="429",flow_schema="",phase="churn",priority_level="",retry_after="1",user="load"} 1
plimsoll_requests_total{code="429",flow_schema="global-default",phase="churn",priority_level="workload-low",retry_after="1",user="load"} 1
plimsoll_requests_total{code="429",flow_schema="global-default",phase="churn",priority_level="unknown",retry_after="other",user="load"} 1
plimsoll_requests_total{code="timeout",flow_schema="",phase="churn",priority_level="",retry_after="",user="load"} 1
plimsoll_requests_total{code="cut-short",flow_schema="",phase="churn",priority_level="",retry_after="",user="load"} 1
`
	if err := testutil.GatherAndCompare(registry, strings.NewReader(want)); err != nil {
		t.Error(err)
	}
}

func TestWithoutATallyNothingIsNamed(t *testing.T) {
	var tally *Tally
	_, api := serve(t, 100, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set(priorityLevelHeader, "uid")
		w.WriteHeader(http.StatusTooManyRequests)
	})
	connection := api.open(t, 1)[0]
	connection.count = tally.Of("churn", "load")
	client := Client{Connection: connection, Timeout: requestTimeout}
	if result := client.Do(t.Context(), Request{Method: http.MethodGet, Path: "/"}, func(io.Reader) (int64, error) { return 0, nil }); result.Reason != "http-429" {
		t.Errorf("came to %+v", result)
	}
}
