package sampler

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"
	"time"

	"plimsoll.dev/plimsoll/internal/metrics"
	"plimsoll.dev/plimsoll/internal/target"
)

// sampled samples one endpoint until enough is true, and queries what was kept.
func sampled(t *testing.T, handler http.HandlerFunc, enough func() bool, query string) (values []float64, errs []error) {
	t.Helper()
	server := httptest.NewServer(handler)
	defer server.Close()
	dir := t.TempDir()
	db, err := metrics.Create(dir)
	if err != nil {
		t.Fatal(err)
	}
	start := time.Now()
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	go func() {
		for ; !enough() && ctx.Err() == nil; time.Sleep(10 * time.Millisecond) {
		}
		cancel()
	}()
	s := Sampler{
		DB: db, Endpoints: []target.Endpoint{{Component: "etcd", URL: server.URL, Client: server.Client()}},
		Interval: 100 * time.Millisecond, Now: time.Now, Failed: func(err error) { errs = append(errs, err) },
	}
	s.Run(ctx)
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	r, err := metrics.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	got, err := r.Range(t.Context(), query, start, time.Now(), 100*time.Millisecond)
	if err != nil {
		t.Fatal(err)
	}
	for _, series := range got {
		for _, p := range series.Floats {
			values = append(values, p.F)
		}
	}
	return values, errs
}

func TestAnEndpointIsScraped(t *testing.T) {
	var n atomic.Int64
	values, errs := sampled(t, func(w http.ResponseWriter, _ *http.Request) {
		fmt.Fprintf(w, "# TYPE puts_total counter\nputs_total{kind=\"a\"} %d\nprocess_cpu_seconds_total 5\n", n.Add(1))
	}, func() bool { return n.Load() >= 5 }, `max_over_time(puts_total{component="etcd",kind="a"}[1s])`)
	if len(values) == 0 || values[len(values)-1] < 4 {
		t.Errorf("values = %v, want them to rise to 4 or more", values)
	}
	if len(errs) > 0 {
		t.Error(errs)
	}
}

func TestAnEndpointThatHangsIsAGapAndIsTold(t *testing.T) {
	var n atomic.Int64
	values, errs := sampled(t, func(_ http.ResponseWriter, r *http.Request) {
		n.Add(1)
		<-r.Context().Done()
	}, func() bool { return n.Load() >= 4 }, `up{component="etcd"}`)
	if len(errs) != 1 || !errors.Is(errs[0], context.DeadlineExceeded) {
		t.Errorf("errors = %v, want one: the deadline", errs)
	}
	for _, v := range values {
		if v != 0 {
			t.Errorf("up = %v, want 0", v)
		}
	}
}

func TestHalfAnExpositionIsNotKept(t *testing.T) {
	var n atomic.Int64
	values, errs := sampled(t, func(w http.ResponseWriter, _ *http.Request) {
		n.Add(1)
		fmt.Fprint(w, "puts_total 5\nputs_to")
	}, func() bool { return n.Load() >= 3 }, `puts_total`)
	if len(values) > 0 || len(errs) != 1 {
		t.Errorf("values = %v, errors = %v, want no value and one error", values, errs)
	}
}
