package store

import (
	"os"
	"path/filepath"
	"testing"
	"time"
)

func TestLogsSayWhenInManyWays(t *testing.T) {
	results, err := Create(t.TempDir(), nil, nil)
	must(t, err)
	started := time.Date(2026, 12, 31, 23, 59, 50, 250_000_000, time.UTC)
	w, err := results.CreateRun(RunInfo{Index: 1, Name: "logs", Started: started})
	must(t, err)
	for name, text := range map[string]string{
		"etcd.log": `{"level":"info","ts":"2026-12-31T23:59:52.250000Z","msg":"ready"}` + "\n" +
			`{"level":"warn","ts":"2027-01-01T00:00:05.25Z","msg":"apply request took too long"}` + "\nno time\n",
		"kube-apiserver.log": "I1231 23:59:51.250000 7 a.go:1] begins\nE0101 00:00:10.250000 7 a.go:1] fails\ngoroutine 1 [running]:\n",
		"etcd-abroad.log":    "I0101 05:29:51.250000 7 a.go:1] where it is half past five\nW0101 05:29:53.250000 7 a.go:1] and later\n",
		"zap.log":            `{"level":"error","ts":1798761595.25,"msg":"old form"}` + "\n",
		"postgres.log":       "2026-12-31 23:59:52.250 UTC [7] LOG:  begins\n2026-12-31 23:59:54.250 UTC [7] ERROR:  no\n",
		"kine.log":           `time="2027-01-01T00:59:53+01:00" level=warning msg="slow"` + "\n",
		"notes.txt":          "2026-12-31T23:59:52Z is no log\n",
	} {
		must(t, os.WriteFile(filepath.Join(w.LogDir(), name), []byte(text), 0o644))
	}
	must(t, w.Close(true))
	runs, err := results.Runs()
	must(t, err)
	type moment struct {
		at    float64
		grave bool
	}
	got := map[string][]moment{}
	runs[0].LogLines(func(l LogLine) { got[l.Component] = append(got[l.Component], moment{l.At, l.Grave}) })
	want := map[string][]moment{
		"etcd":           {{2, false}, {15, true}},
		"kube-apiserver": {{1, false}, {20, true}},
		"etcd-abroad":    {{1, false}, {3, true}},
		"zap":            {{5, true}},
		"postgres":       {{2, false}, {4, true}},
		"kine":           {{2.75, true}},
	}
	for component, lines := range want {
		if len(got[component]) != len(lines) {
			t.Errorf("%s: %v, want %v", component, got[component], lines)
			continue
		}
		for i, l := range lines {
			if g := got[component][i]; g.grave != l.grave || g.at < l.at-0.001 || g.at > l.at+0.001 {
				t.Errorf("%s, line %d: %v, want %v", component, i, g, l)
			}
		}
	}
	if len(got) != len(want) || len(runs[0].Damage) > 2 {
		t.Errorf("components = %v, damage = %v", got, runs[0].Damage)
	}
}
