package metrics

import (
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"strconv"
	"strings"
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
	counter := &Series{Labels: labels.FromStrings("__name__", "requests_total", "component", "etcd")}
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
	const expression = `rate(requests_total`
	if _, err := r.Range(t.Context(), expression, start, start, time.Second); err == nil || !strings.Contains(err.Error(), strconv.Quote(expression)) {
		t.Errorf("error = %v, want one that names %s", err, expression)
	}
}

func TestAValueDoesNotOutliveItsProcess(t *testing.T) {
	dir := t.TempDir()
	start := write(t, dir, true)
	r, err := Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	got, err := r.Range(t.Context(), `requests_total`, start, start.Add(2*time.Minute), time.Second)
	if err != nil || len(got) != 1 {
		t.Fatalf("%d series, %v; want 1", len(got), err)
	}
	for _, p := range got[0].Floats {
		if second := (p.T - start.UnixMilli()) / 1000; second >= 30+5 && second < 50 || second >= 60+5 {
			t.Errorf("second %d has the value %v of a sample that is more than five seconds old", second, p.F)
		}
	}
}

func TestAFolderWithoutADatabase(t *testing.T) {
	t.Run("empty, as a run that was killed at once leaves it", func(t *testing.T) {
		r, err := Open(t.TempDir())
		if err != nil {
			t.Fatal(err)
		}
		got, err := r.Range(t.Context(), `up`, time.Now(), time.Now(), time.Second)
		if err != nil || len(got) != 0 {
			t.Errorf("%d series, %v; want none", len(got), err)
		}
		if err := r.Close(); err != nil {
			t.Error(err)
		}
	})
	t.Run("missing", func(t *testing.T) {
		dir := filepath.Join(t.TempDir(), "missing")
		if _, err := Open(dir); err == nil || !strings.Contains(err.Error(), dir) {
			t.Errorf("error = %v, want one that names %s", err, dir)
		}
		if _, err := os.Stat(dir); err == nil {
			t.Error("reading made the folder")
		}
	})
}

// TestADamagedDatabaseIsReadAsFarAsItGoes cuts the log that a killed run leaves.
func TestADamagedDatabaseIsReadAsFarAsItGoes(t *testing.T) {
	dir := t.TempDir()
	db, err := Create(dir)
	if err != nil {
		t.Fatal(err)
	}
	start := time.Now().Truncate(time.Second)
	for second := range 60 {
		sample := Sample{&Series{Labels: labels.FromStrings("__name__", "requests_total")}, float64(second)}
		if err := db.Append(t.Context(), start.Add(time.Duration(second)*time.Second), []Sample{sample}); err != nil {
			t.Fatal(err)
		}
	}
	log := filepath.Join(dir, "wal", "00000000")
	whole, err := os.ReadFile(log)
	if err != nil {
		t.Fatal(err)
	}
	for length := len(whole); length > 0; length -= len(whole) / 10 {
		cut := filepath.Join(t.TempDir(), "wal")
		if err := os.Mkdir(cut, 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(cut, "00000000"), whole[:length], 0o644); err != nil {
			t.Fatal(err)
		}
		r, err := Open(filepath.Dir(cut))
		if err != nil {
			t.Fatal(err)
		}
		got, err := r.Range(t.Context(), `requests_total`, start, start.Add(time.Minute-time.Second), time.Second)
		if err != nil {
			t.Fatalf("cut to %d bytes: %v", length, err)
		}
		values := 0
		for _, series := range got {
			for _, p := range series.Floats {
				if second := (p.T - start.UnixMilli()) / 1000; p.F == float64(second) {
					values++
				}
			}
		}
		// The first record names the series; then every sample takes as much.
		if least := 60*length/len(whole) - 5; values < least || length == len(whole) && values != 60 {
			t.Errorf("cut to %d of %d bytes: %d of 60 values, want at least %d", length, len(whole), values, least)
		}
		if err := r.Close(); err != nil {
			t.Error(err)
		}
	}
	if err := db.Close(); err != nil {
		t.Error(err)
	}
}

// TestReadingChangesNothing also reads a database that is not on the file
// system of temporary files, long enough to have files beside its log.
func TestReadingChangesNothing(t *testing.T) {
	dir := t.TempDir() // before the folder of temporary files is another
	elsewhere, err := os.MkdirTemp("/dev/shm", "plimsoll-test-")
	if err == nil {
		t.Cleanup(func() { _ = os.RemoveAll(elsewhere) })
		t.Setenv("TMPDIR", elsewhere)
	}
	db, err := Create(dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() })
	start := time.Now().Truncate(time.Second)
	for second := range 600 {
		sample := Sample{&Series{Labels: labels.FromStrings("__name__", "requests_total")}, float64(second)}
		if err := db.Append(t.Context(), start.Add(time.Duration(second)*time.Second), []Sample{sample}); err != nil {
			t.Fatal(err)
		}
	}
	db.db.ForceHeadMMap()
	before := files(t, dir)
	r, err := Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	got, err := r.Range(t.Context(), `requests_total`, start, start.Add(599*time.Second), time.Second)
	if err != nil || len(got) != 1 || len(got[0].Floats) != 600 {
		t.Errorf("%d series, %v; want one of 600 values", len(got), err)
	}
	if err := r.Close(); err != nil {
		t.Error(err)
	}
	if after := files(t, dir); !maps.Equal(before, after) {
		t.Errorf("files = %v, and after reading %v", before, after)
	}
	if os.TempDir() != elsewhere {
		return // there is no /dev/shm here
	}
	if left := files(t, elsewhere); len(left) > 0 {
		t.Errorf("temporary files are left: %v", left)
	}
}

// files gives the sizes of all files in a folder.
func files(t *testing.T, dir string) map[string]int64 {
	t.Helper()
	sizes := map[string]int64{}
	err := fs.WalkDir(os.DirFS(dir), ".", func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		info, err := entry.Info()
		sizes[path] = info.Size()
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return sizes
}

func TestSamplesOfAMomentAreKeptAllOrNone(t *testing.T) {
	dir := t.TempDir()
	db, err := Create(dir)
	if err != nil {
		t.Fatal(err)
	}
	at := time.Now().Truncate(time.Second)
	good, bad := &Series{Labels: labels.FromStrings("__name__", "good")}, &Series{Labels: labels.EmptyLabels()}
	if err := db.Append(t.Context(), at, []Sample{{good, 1}, {bad, 1}}); err == nil {
		t.Error("a sample without a name was kept")
	}
	if err := db.Append(t.Context(), at.Add(time.Second), []Sample{{good, 2}}); err != nil {
		t.Error(err)
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	r, err := Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	got, err := r.Range(t.Context(), `good`, at, at.Add(time.Second), time.Second)
	if err != nil || len(got) != 1 || len(got[0].Floats) != 1 || got[0].Floats[0].F != 2 {
		t.Errorf("got %v, %v; want only the second sample", got, err)
	}
}
