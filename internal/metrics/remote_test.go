package metrics

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log"
	"math"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/promql"
)

// prometheus speaks Prometheus's documented HTTP API over a run's database,
// with Prometheus's own engine behind it, and its limit of 11,000 steps.
func prometheus(t *testing.T, r *Reader) *httptest.Server {
	mux := http.NewServeMux()
	fail := func(w http.ResponseWriter, status int, kind string, err error) {
		w.WriteHeader(status)
		_ = json.NewEncoder(w).Encode(map[string]string{"status": "error", "errorType": kind, "error": err.Error()})
	}
	succeed := func(w http.ResponseWriter, data any) {
		_ = json.NewEncoder(w).Encode(map[string]any{"status": "success", "data": data})
	}
	moment := func(text string) time.Time {
		f, err := strconv.ParseFloat(text, 64)
		if err != nil {
			t.Errorf("time %q: %v", text, err)
		}
		return time.UnixMilli(int64(math.Round(f * 1000)))
	}
	mux.HandleFunc("/api/v1/query_range", func(w http.ResponseWriter, q *http.Request) {
		start, end := moment(q.FormValue("start")), moment(q.FormValue("end"))
		step, _ := strconv.ParseFloat(q.FormValue("step"), 64)
		if end.Sub(start).Seconds()/step > 11000 {
			fail(w, 400, "bad_data", errors.New("exceeded maximum resolution of 11,000 points per timeseries"))
			return
		}
		got, err := r.Range(q.Context(), q.FormValue("query"), start, end, time.Duration(step*1e9))
		if err != nil {
			fail(w, 422, "execution", err)
			return
		}
		succeed(w, map[string]any{"resultType": "matrix", "result": Model(got)})
	})
	mux.HandleFunc("/api/v1/query", func(w http.ResponseWriter, q *http.Request) {
		got, err := r.At(q.Context(), q.FormValue("query"), moment(q.FormValue("time")))
		if err != nil {
			fail(w, 422, "execution", err)
			return
		}
		result := []map[string]any{}
		for _, s := range Model(got) {
			result = append(result, map[string]any{"metric": s.Metric, "value": s.Values[0]})
		}
		succeed(w, map[string]any{"resultType": "vector", "result": result})
	})
	look := func(w http.ResponseWriter, q *http.Request, find func(names, []*labels.Matcher) ([]string, error)) {
		querier, err := r.db.Querier(math.MinInt64, math.MaxInt64)
		if err != nil {
			t.Error(err)
			return
		}
		defer querier.Close()
		_ = q.ParseForm()
		var matchers []*labels.Matcher
		for _, selector := range q.Form["match[]"] {
			if matchers, err = newParser().ParseMetricSelector(selector); err != nil {
				t.Error(err)
			}
		}
		found, err := find(localNames{querier}, matchers)
		if err != nil {
			fail(w, 422, "execution", err)
			return
		}
		succeed(w, found)
	}
	mux.HandleFunc("/api/v1/labels", func(w http.ResponseWriter, q *http.Request) {
		look(w, q, func(n names, m []*labels.Matcher) ([]string, error) { return n.LabelNames(q.Context(), m...) })
	})
	mux.HandleFunc("/api/v1/label/{name}/values", func(w http.ResponseWriter, q *http.Request) {
		look(w, q, func(n names, m []*labels.Matcher) ([]string, error) {
			return n.LabelValues(q.Context(), q.PathValue("name"), m...)
		})
	})
	server := httptest.NewServer(mux)
	t.Cleanup(server.Close)
	return server
}

// both opens the same series as a database and as a Prometheus.
func both(t *testing.T) (*Reader, *Remote, time.Time) {
	t.Helper()
	dir := t.TempDir()
	start := write(t, dir, true)
	local, err := Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = local.Close() })
	remote, err := OpenRemote(prometheus(t, local).URL+"/", nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = remote.Close() })
	return local, remote, start
}

func TestAPrometheusAnswersAsTheRunsOwnMetricsDo(t *testing.T) {
	local, remote, start := both(t)
	if err := remote.Check(t.Context()); err != nil {
		t.Error(err)
	}
	for _, expression := range []string{
		`requests_total`, `irate(requests_total{component="etcd"}[5s])`, `requests_total / 0`, `0 * requests_total / 0`,
		`scalar(requests_total)`, `requests_total > 1e9`, `sum(requests_total) or vector(3)`,
	} {
		want, errLocal := local.Range(t.Context(), expression, start, start.Add(59*time.Second), time.Second)
		got, err := remote.Range(t.Context(), expression, start, start.Add(59*time.Second), time.Second)
		if err != nil || errLocal != nil || fmt.Sprint(got) != fmt.Sprint(want) {
			t.Errorf("%s: %v, %v\nwant %v, %v", expression, got, err, want, errLocal)
		}
		want, errLocal = local.At(t.Context(), expression, start.Add(10*time.Second))
		got, err = remote.At(t.Context(), expression, start.Add(10*time.Second))
		if err != nil || errLocal != nil || fmt.Sprint(got) != fmt.Sprint(want) {
			t.Errorf("%s at a moment: %v, %v\nwant %v, %v", expression, got, err, want, errLocal)
		}
	}
	for _, expression := range []string{`requests`, `requests_total{verb="GET"}`, `requests_total{component="etdc"}`, `requests_total > 1e9`} {
		want, _ := local.WhyNothing(t.Context(), expression)
		if got, err := remote.WhyNothing(t.Context(), expression); err != nil || !strings.HasPrefix(got, want) {
			t.Errorf("%s: %q, %v; want %q", expression, got, err, want)
		}
	}
}

func TestALongRangeIsAskedForInPieces(t *testing.T) {
	_, remote, start := both(t)
	got, err := remote.Range(t.Context(), `vector(1)`, start, start.Add(24_999*time.Second), time.Second)
	if err != nil || len(got) != 1 || len(got[0].Floats) != 25_000 {
		t.Fatalf("%d series, %v; want one of 25000 values", len(got), err)
	}
	for i, p := range got[0].Floats {
		if p.T != start.UnixMilli()+int64(i)*1000 {
			t.Fatalf("value %d is of %d", i, p.T)
		}
	}
}

func TestErrorsOfAPrometheusNameItAndTheWayOut(t *testing.T) {
	answer := func(status int, body string) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Location", "/login")
			w.WriteHeader(status)
			fmt.Fprint(w, body)
		}
	}
	for name, test := range map[string]struct {
		handler http.HandlerFunc
		want    string
	}{
		"unauthorized": {answer(401, "secret page"), "(401): give a valid token with --prometheus-token-file"},
		"forbidden":    {answer(403, ""), "(403): give a valid token"},
		"elsewhere":    {answer(404, "not found"), "no query API there (404)"},
		"login":        {answer(302, ""), "a redirect (302)"},
		"a page":       {answer(200, "<html>"), "not as a Prometheus does"},
		"overloaded":   {answer(503, ""), "server error: 503"},
		"query error":  {answer(422, `{"status":"error","errorType":"execution","error":"many-to-many"}`), `does not evaluate "up": many-to-many (execution)`},
		"no number":    {answer(200, `{"status":"success","data":{"resultType":"string","result":[1,"a"]}}`), "not as a Prometheus does"},
		"no result":    {answer(200, `{"status":"success","data":{"resultType":"vector","result":"?"}}`), "not as a Prometheus does"},
	} {
		t.Run(name, func(t *testing.T) {
			server := httptest.NewServer(test.handler)
			defer server.Close()
			remote, err := OpenRemote(server.URL, nil)
			if err != nil {
				t.Fatal(err)
			}
			_, err = remote.At(t.Context(), "up", time.Now())
			if err == nil || !strings.Contains(err.Error(), test.want) || !strings.Contains(err.Error(), server.URL) || strings.Contains(err.Error(), "secret") {
				t.Errorf("error = %v, want one with %q and %s", err, test.want, server.URL)
			}
		})
	}
	t.Run("nobody there", func(t *testing.T) {
		remote, err := OpenRemote("http://127.0.0.1:1", nil)
		if err != nil {
			t.Fatal(err)
		}
		if err := remote.Check(t.Context()); err == nil || !strings.Contains(err.Error(), "reach Prometheus http://127.0.0.1:1: dial tcp") || !strings.Contains(err.Error(), "is it running") {
			t.Errorf("error = %v", err)
		}
	})
	t.Run("no certificate that is trusted", func(t *testing.T) {
		server := httptest.NewUnstartedServer(answer(200, ""))
		server.Config.ErrorLog = log.New(io.Discard, "", 0)
		server.StartTLS()
		defer server.Close()
		remote, err := OpenRemote(server.URL, nil)
		if err != nil {
			t.Fatal(err)
		}
		if err := remote.Check(t.Context()); err == nil || !strings.Contains(err.Error(), "SSL_CERT_FILE") {
			t.Errorf("error = %v", err)
		}
	})
	t.Run("an expression that does not parse", func(t *testing.T) {
		remote, _ := OpenRemote("http://127.0.0.1:1", nil)
		if _, err := remote.At(t.Context(), "rate(x", time.Now()); err == nil || !strings.Contains(err.Error(), "character 7") {
			t.Errorf("error = %v", err)
		}
	})
	t.Run("cancelled", func(t *testing.T) {
		remote, _ := OpenRemote("http://127.0.0.1:1", nil)
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		if err := remote.Check(ctx); !errors.Is(err, context.Canceled) {
			t.Errorf("error = %v", err)
		}
	})
}

func TestAddresses(t *testing.T) {
	for address, want := range map[string]string{
		"http://prometheus:9090": "http://prometheus:9090", "https://example.org/prometheus/": "https://example.org/prometheus",
		"http://me:hidden@prometheus:9090": "http://prometheus:9090",
		"prometheus:9090":                  "", "ftp://prometheus": "", "http://": "", "http://p/?token=hidden": "", "http://me:hidden@p:x y": "", "": "",
	} {
		remote, err := OpenRemote(address, nil)
		switch {
		case want == "" && (!errors.Is(err, ErrURL) || strings.Contains(err.Error(), "hidden")):
			t.Errorf("%s: error = %v", address, err)
		case want != "" && (err != nil || remote.URL() != want):
			t.Errorf("%s: %v, %v; want %s", address, remote, err, want)
		}
	}
}

func TestCredentials(t *testing.T) {
	var seen atomic.Value
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, q *http.Request) {
		seen.Store(q.Header.Get("Authorization"))
		fmt.Fprint(w, `{"status":"success","data":{"resultType":"vector","result":[]}}`)
	}))
	defer server.Close()
	token, failure := "first", error(nil)
	remote, err := OpenRemote(server.URL, func() (string, error) { return token, failure })
	if err != nil {
		t.Fatal(err)
	}
	for _, token = range []string{"first", "renewed"} {
		if err := remote.Check(t.Context()); err != nil || seen.Load() != "Bearer "+token {
			t.Errorf("%v, %v; want token %s", seen.Load(), err, token)
		}
	}
	failure = errors.New("open token: gone")
	if err := remote.Check(t.Context()); !errors.Is(err, failure) {
		t.Errorf("error = %v, want %v", err, failure)
	}
	token, failure = "a\nb-hidden", nil
	if err := remote.Check(t.Context()); err == nil || strings.Contains(err.Error(), "hidden") {
		t.Errorf("error = %v, want one without the token", err)
	}
	basic, err := OpenRemote(strings.Replace(server.URL, "http://", "http://me:hidden@", 1), nil)
	if err != nil {
		t.Fatal(err)
	}
	if err := basic.Check(t.Context()); err != nil || !strings.HasPrefix(seen.Load().(string), "Basic ") {
		t.Errorf("%v, %v; want basic authentication", seen.Load(), err)
	}
}

func TestJoin(t *testing.T) {
	series := func(name string, times ...int64) promql.Series {
		s := promql.Series{Metric: labels.FromStrings("a", name)}
		for _, at := range times {
			s.Floats = append(s.Floats, promql.FPoint{T: at, F: float64(at)})
		}
		return s
	}
	got := Join(promql.Matrix{series("x", 1, 2)}, promql.Matrix{series("y", 2), series("x", 2, 3)})
	if want := (promql.Matrix{series("x", 1, 2, 3), series("y", 2)}); fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("%v, want %v", got, want)
	}
	again := FromModel(Model(got))
	if fmt.Sprint(again) != fmt.Sprint(got) {
		t.Errorf("%v, want %v", again, got)
	}
}
