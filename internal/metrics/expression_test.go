package metrics

import (
	"strings"
	"testing"
)

func TestCheckExpression(t *testing.T) {
	for expression, want := range map[string]string{
		`up`: "", `1 + 1`: "", `rate(x_total[5s])`: "", `max_over_time(process_resident_memory_bytes{component="etcd"}[5m])`: "",
		``:                          "not PromQL",
		`rate(x_total[5s]`:          "character 17: unclosed left parenthesis",
		`rate(x_total)`:             "character 6: expected type range vector",
		`histogram_quantil(0.9, x)`: `character 1: unknown function with name "histogram_quantil"`,
		"sum by (le) (\n  rate(x))": "line 2, character 8: expected type range vector",
		`x{a="ü",b=}`:               "character 11",
		`x_total[5s]`:               "a range vector: put it into a function",
		`"text"`:                    "a string",
	} {
		err := CheckExpression(expression)
		switch {
		case want == "" && err != nil:
			t.Errorf("%s: %v", expression, err)
		case want != "" && (err == nil || !strings.Contains(err.Error(), want)):
			t.Errorf("%s: error = %v, want one with %q", expression, err, want)
		}
	}
}

func TestWhyNothing(t *testing.T) {
	dir := t.TempDir()
	write(t, dir, true) // requests_total{component="etcd"}
	r, err := Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	for expression, want := range map[string]string{
		`requests`:                                 "no metric is called requests; like it are requests_total",
		`rate(request_totals[5s])`:                 "like it are requests_total",
		`cpu`:                                      "no metric is called cpu",
		`requests_total{component="etdc"}`:         `requests_total has no component="etdc"; it has etcd`,
		`requests_total{verb="GET"}`:               "requests_total has no label verb; it has component",
		`requests_total{component=~"kube.*"}`:      `no series of requests_total matches {component=~"kube.*"}`,
		`{component="kine"}`:                       `no series matches {component="kine"}`,
		`requests_total > 1e9`:                     "its metrics are there",
		`requests_total / requests + requests_tot`: "no metric is called requests; like it are requests_total; no metric is called requests_tot; like",
		`vector(1) > 2`:                            "its metrics are there",
	} {
		if why, err := r.WhyNothing(t.Context(), expression); err != nil || !strings.Contains(why, want) {
			t.Errorf("%s: %q, %v; want %q", expression, why, err, want)
		}
	}
	empty, err := Open(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	defer empty.Close()
	if why, err := empty.WhyNothing(t.Context(), "up"); err != nil || !strings.Contains(why, "no metrics at all") {
		t.Errorf("of an empty database: %q, %v", why, err)
	}
}

func TestAMoment(t *testing.T) {
	dir := t.TempDir()
	start := write(t, dir, true)
	r, err := Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	for expression, want := range map[string]float64{"requests_total": 100, "scalar(requests_total) + 1": 101} {
		got, err := r.At(t.Context(), expression, start.Add(10e9))
		if err != nil || len(got) != 1 || len(got[0].Floats) != 1 || got[0].Floats[0].F != want {
			t.Errorf("%s = %v, %v, want %v", expression, got, err, want)
		}
	}
	if got, err := r.At(t.Context(), "requests_total", start.Add(40e9)); err != nil || len(got) != 0 {
		t.Errorf("in the gap: %v, %v, want nothing", got, err)
	}
}
