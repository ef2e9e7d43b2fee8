package analysis

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"plimsoll.dev/plimsoll/internal/metrics"
	"plimsoll.dev/plimsoll/internal/store"
)

// prometheus answers "up" with a series that has 3 at most, "nothing" with
// nothing, and everything else with an error, and notes what it was asked.
func prometheus(t *testing.T) (remote *metrics.Remote, asked *[]string, stop func()) {
	t.Helper()
	asked = new([]string)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, q *http.Request) {
		expression := q.FormValue("query")
		*asked = append(*asked, fmt.Sprint(q.URL.Path, " ", expression, " ", q.FormValue("start"), "-", q.FormValue("end"), q.FormValue("time")))
		over := strings.HasSuffix(q.URL.Path, "query_range")
		switch {
		case strings.Contains(q.FormValue("match[]"), "nothing"):
			fmt.Fprint(w, `{"status":"success","data":[]}`)
		case strings.Contains(q.URL.Path, "/label/"):
			fmt.Fprint(w, `{"status":"success","data":["up"]}`)
		case expression == "up" && over:
			fmt.Fprintf(w, `{"status":"success","data":{"resultType":"matrix","result":[{"metric":{"job":"a"},"values":[[%s,"1"],[%[1]s.5,"3"],[%[1]s.6,"NaN"]]}]}}`, "1795232164")
		case expression == "nothing" && over:
			fmt.Fprint(w, `{"status":"success","data":{"resultType":"matrix","result":[]}}`)
		case expression == "up" || expression == "nothing":
			fmt.Fprint(w, `{"status":"success","data":{"resultType":"vector","result":[]}}`)
		default:
			w.WriteHeader(http.StatusUnauthorized)
		}
	}))
	t.Cleanup(server.Close)
	remote, err := metrics.OpenRemote(server.URL, nil)
	must(t, err)
	return remote, asked, server.Close
}

func TestAnswersOfAPrometheusAreKept(t *testing.T) {
	remote, asked, stop := prometheus(t)
	f := begin(t, expression("up", 5, 0), expression("nothing", 5, 0), expression("refused", 5, 0), expression("up", 2, 0), bound("success(gets)", 1, 0))
	f.events()
	f.usageOfTwo()
	f.planned()
	if err := Ask(t.Context(), f.results, remote); err == nil || strings.Contains(f.analyze().Objectives[1].Note, "not measured") {
		t.Errorf("error = %v: an attempt in vain changed a run that its own metrics judge", err)
	}
	*asked = nil
	judgedBy(t, f, remote.URL())
	err := Ask(t.Context(), f.results, remote)
	if err == nil || !strings.Contains(err.Error(), "401") || !strings.Contains(err.Error(), "no metric is called nothing") {
		t.Errorf("error = %v, want one of the objectives that have no answer", err)
	}
	span := fmt.Sprintf("%.3f-%.3f", float64(start().UnixMilli())/1000+2, float64(start().UnixMilli())/1000+12)
	if first := (*asked)[0]; !strings.HasPrefix(first, "/api/v1/query_range up ") || !strings.Contains(first, strings.Split(span, ".")[0]) {
		t.Errorf("asked %q, want the measured steps, %s", first, span)
	}
	stop() // from now on the directory is all there is
	for _, when := range []string{"at once", "after an attempt in vain"} {
		run := f.analyze()
		held, nothing, refused, missed := run.Objectives[0], run.Objectives[1], run.Objectives[2], run.Objectives[3]
		if !held.Held || held.Value == nil || *held.Value != 3 || held.N != 2 || held.Note != "evaluated by Prometheus "+remote.URL() {
			t.Errorf("%s: %+v, want it held with 3", when, held)
		}
		if missed.Held || missed.Value == nil {
			t.Errorf("%s: %+v, want it missed with 3", when, missed)
		}
		if when == "at once" && (nothing.Held || !strings.Contains(nothing.Note, "not measured: the expression gives no value") || !strings.Contains(nothing.Note, "no metric is called nothing")) {
			t.Errorf("nothing: %+v", nothing)
		}
		if when == "at once" && (refused.Held || !strings.Contains(refused.Note, "not measured") || !strings.Contains(refused.Note, "--prometheus-token-file")) {
			t.Errorf("refused: %+v", refused)
		}
		warnings := 0
		for _, w := range run.Warnings {
			if w.About == "prometheus" && strings.Contains(w.Mend, "--prometheus "+remote.URL()) {
				warnings++
			}
		}
		if warnings != 2 {
			t.Errorf("%s: %d warnings of what was not measured, want 2: %v", when, warnings, run.Warnings)
		}
		if err := Ask(t.Context(), f.results, remote); err == nil || !strings.Contains(err.Error(), "reach Prometheus") {
			t.Errorf("error = %v, want that nobody is there", err)
		}
	}
}

// judgedBy makes the run one that was to be judged by a Prometheus.
func judgedBy(t *testing.T, f *fixture, url string) {
	t.Helper()
	file := filepath.Join(f.writer.Dir(), "run.json")
	data, err := os.ReadFile(file)
	must(t, err)
	must(t, os.WriteFile(file, []byte(strings.Replace(string(data), "{", `{"prometheus": "`+url+`",`, 1)), 0o644))
}

func TestAPrometheusThatWasNeverAsked(t *testing.T) {
	o := (&Run{}).expressionsOf(nil, &store.Run{Info: store.RunInfo{Prometheus: "http://p"}})
	if _, err := o.evaluate(t.Context(), "up", moments{}); err == nil || !strings.Contains(err.Error(), "plimsoll report DIR --prometheus http://p") {
		t.Errorf("error = %v, want the way to ask it", err)
	}
	if _, err := kept(&store.Queries{Prometheus: "http://p"})(t.Context(), "up", moments{}); err == nil || !strings.Contains(err.Error(), "http://p was not asked") {
		t.Errorf("error = %v", err)
	}
}
