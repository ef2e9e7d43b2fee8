package metrics

import (
	"testing"
	"time"

	"github.com/prometheus/prometheus/model/labels"
)

func write(t *testing.T, dir string, closed bool) time.Time {
	t.Helper()
	db, err := Create(dir)
	if err != nil {
		t.Fatal(err)
	}
	start := time.Now().Add(-time.Minute).Truncate(time.Second)
	counter := labels.FromStrings("__name__", "requests_total", "component", "etcd")
	for second := range 60 {
		if second >= 30 && second < 50 {
			continue // a gap
		}
		at := start.Add(time.Duration(second) * time.Second)
		if err := db.Append(t.Context(), at, []Sample{{counter, float64(10 * second)}}); err != nil {
			t.Fatal(err)
		}
	}
	if closed {
		if err := db.Close(); err != nil {
			t.Fatal(err)
		}
	} else {
		t.Cleanup(func() { _ = db.Close() }) // as a killed run leaves it: only the log ahead of any block
	}
	return start
}

func TestWhatIsAppendedCanBeQueried(t *testing.T) {
	for name, closed := range map[string]bool{"after an orderly end": true, "after a kill": false} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			start := write(t, dir, closed)
			r, err := Open(dir)
			if err != nil {
				t.Fatal(err)
			}
			defer r.Close()
			got, err := r.Range(t.Context(), `irate(requests_total{component="etcd"}[5s])`, start, start.Add(59*time.Second), time.Second)
			if err != nil {
				t.Fatal(err)
			}
			if len(got) != 1 {
				t.Fatalf("%d series, want 1", len(got))
			}
			for _, p := range got[0].Floats {
				second := (p.T - start.UnixMilli()) / 1000
				if second > 36 && second < 50 {
					t.Errorf("second %d lies in the gap and has a value", second)
				}
				if p.F < 9.99 || p.F > 10.01 {
					t.Errorf("rate in second %d = %v, want 10", second, p.F)
				}
			}
		})
	}
}

func TestAWrongExpressionIsNamed(t *testing.T) {
	dir := t.TempDir()
	start := write(t, dir, true)
	r, err := Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	if _, err := r.Range(t.Context(), `rate(requests_total`, start, start, time.Second); err == nil {
		t.Error("a broken expression gave no error")
	} else {
		t.Log(err)
	}
}
