package sampler

import (
	"context"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"plimsoll.dev/plimsoll/internal/metrics"
)

func TestOwnCountersAreSampled(t *testing.T) {
	dir := t.TempDir()
	db, err := metrics.Create(dir)
	if err != nil {
		t.Fatal(err)
	}
	registry := prometheus.NewRegistry()
	requests := prometheus.NewCounterVec(prometheus.CounterOpts{Name: "requests_total"}, []string{"code"})
	running := prometheus.NewGauge(prometheus.GaugeOpts{Name: "running"})
	registry.MustRegister(requests, running)
	requests.WithLabelValues("200").Add(7)
	running.Set(3)
	start := time.Now()
	ctx, cancel := context.WithTimeout(t.Context(), 1500*time.Millisecond)
	defer cancel()
	time.AfterFunc(500*time.Millisecond, func() { requests.WithLabelValues("429").Inc() })
	time.AfterFunc(1250*time.Millisecond, func() { requests.WithLabelValues("429").Inc() }) // after the last tick
	s := Sampler{DB: db, Own: []prometheus.Gatherer{registry}, Interval: time.Second, Now: time.Now, Failed: func(err error) { t.Error(err) }}
	s.Run(ctx)
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	r, err := metrics.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	for expression, want := range map[string]float64{
		`requests_total{code="200"}`: 7, `requests_total{code="429"}`: 2, `running`: 3,
	} {
		got, err := r.At(t.Context(), expression, start.Add(2*time.Second))
		if err != nil {
			t.Fatal(err)
		}
		if len(got) != 1 || got[0].Floats[0].F != want {
			t.Errorf("%s gives %v; want %v", expression, got, want)
		}
	}
}
