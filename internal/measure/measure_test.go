package measure

import (
	"strings"
	"testing"
)

func TestParse(t *testing.T) {
	for text, want := range map[string]Measure{
		"success(walks)":              {"success", "walks", "", "", ""},
		"rate(walks.page)":            {"rate", "walks", "page", "", ""},
		"bytes(walks.page)":           {"bytes", "walks", "page", "", ""},
		"p99(gets.get.response)":      {"p99", "gets", "get", "response", ""},
		"p99.9( gets.get.response )":  {"p99.9", "gets", "get", "response", ""},
		"max(list-all.walk.service)":  {"max", "list-all", "walk", "service", ""},
		"stddev(list-all.walk.lag)":   {"stddev", "list-all", "walk", "lag", ""},
		"mean(list-all.walk.service)": {"mean", "list-all", "walk", "service", ""},
		"maxRSS(kube-apiserver)":      {"maxRSS", "", "", "", "kube-apiserver"},
		"meanCPU( steve )":            {"meanCPU", "", "", "", "steve"},
	} {
		got, err := Parse(text)
		if err != nil || got != want {
			t.Errorf("Parse(%q) = %+v, %v, want %+v", text, got, err, want)
		}
		if again, err := Parse(got.String()); err != nil || again != want {
			t.Errorf("Parse(%q) = %+v, %v: not what it was written from", got.String(), again, err)
		}
	}
}

func TestParseSaysWhatIsWrong(t *testing.T) {
	for text, want := range map[string]string{
		"":                        "not a measure",
		"p99":                     "not a measure",
		"p99(a.b.c.d)":            "between the brackets",
		"p99()":                   "between the brackets",
		"p98(gets.get.response)":  `no statistic is called "p98"`,
		"avg(gets.get.response)":  `no statistic is called "avg"`,
		"p99(gets.get)":           "name phase, operation and clock",
		"p99(gets.get.latency)":   `no clock is called "latency"`,
		"rate(gets.get.response)": "leave out .response",
		"bytes(gets)":             "of an operation",
		"maxRSS()":                "such as maxRSS(kube-apiserver)",
		"maxCPU(steve.cpu)":       "such as maxCPU(kube-apiserver)",
		"maxrss(steve)":           `no statistic is called "maxrss"`,
	} {
		if _, err := Parse(text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("Parse(%q) = %v, want an error with %q", text, err, want)
		}
	}
}

func FuzzParse(f *testing.F) {
	f.Add("p99(gets.get.response)")
	f.Add("success(walks)")
	f.Fuzz(func(t *testing.T, text string) {
		m, err := Parse(text)
		if err != nil {
			return
		}
		if again, err := Parse(m.String()); err != nil || again != m {
			t.Errorf("Parse(%q) = %+v, which is written %q and read as %+v, %v", text, m, m.String(), again, err)
		}
	})
}

func TestUnits(t *testing.T) {
	for text, want := range map[string][2]Unit{
		"p99(gets.get.response)": {Seconds, Seconds}, "rate(gets.get)": {PerSecond, PerSecond},
		"endRSS(steve)": {Bytes, Bytes}, "maxCPU(steve)": {CPUs, Count},
	} {
		m, err := Parse(text)
		if got := [2]Unit{m.Unit(), m.BoundUnit()}; err != nil || got != want {
			t.Errorf("%s is in %s, and bounds on it in %s, %v; want %s", text, got[0], got[1], err, want)
		}
	}
}
