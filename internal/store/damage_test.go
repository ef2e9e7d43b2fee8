package store

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"plimsoll.dev/plimsoll/internal/record"
)

// killed writes a run that did not come to its end, and gives its folder.
func killed(t testing.TB) (results *Results, dir string) {
	t.Helper()
	results = create(t)
	w := write(t, results, info())
	must(t, w.closeFiles())
	return results, w.Dir()
}

// readAll counts what can be read of a run.
func readAll(t *testing.T, dir string) (run *Run, counters, histograms int) {
	t.Helper()
	run, err := openRun(dir)
	must(t, err)
	run.Counters(func(record.Interval) { counters++ })
	run.Seconds(func(record.Interval, Clock, Second) error { histograms++; return nil })
	return run, counters, histograms
}

func TestARunCutAtAnyByteIsReadUpToItsLastWholeLine(t *testing.T) {
	_, dir := killed(t)
	_, allCounters, allHistograms := readAll(t, dir)
	for _, name := range []string{operationsFile, countersFile, eventsFile} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(dir, name)
			whole, err := os.ReadFile(path)
			must(t, err)
			defer func() { must(t, os.WriteFile(path, whole, 0o644)) }()
			const head = 4 // lines before the first histogram
			step := max(1, len(whole)/500)
			for length := len(whole); length >= 0; length -= step {
				must(t, os.Truncate(path, int64(length)))
				lines := bytes.Count(whole[:length], []byte("\n"))
				wantEvents, wantCounters, wantHistograms := len(events()), allCounters, allHistograms
				switch name {
				case eventsFile:
					wantEvents = lines
				case countersFile:
					wantCounters = lines
				case operationsFile:
					wantHistograms = max(0, lines-head)
				}
				run, counters, histograms := readAll(t, dir)
				if len(run.Events) != wantEvents || counters != wantCounters || histograms != wantHistograms {
					t.Fatalf("cut to %d bytes: %d events, %d counters and %d histograms, want %d, %d and %d",
						length, len(run.Events), counters, histograms, wantEvents, wantCounters, wantHistograms)
				}
				if len(run.Damage) > 0 {
					t.Fatalf("cut to %d bytes: damage = %q, want none", length, run.Damage)
				}
			}
		})
	}
}

func TestGarbageInTheMiddleIsSkippedAndTold(t *testing.T) {
	line := func(series string, begin float64, histogram []byte) string {
		return fmt.Sprintf("Tag=%s,%f,1.000000,5.000000,%s", series, begin, histogram)
	}
	begin := float64(info().Started.UnixMilli()) / 1000
	good := counts(1)
	for _, c := range []struct{ file, garbage, why string }{
		{eventsFile, "\x00\x00\x00\xff", "invalid character"},
		{eventsFile, `{"at":`, "unexpected end"},
		{eventsFile, `{"at":1e300,"kind":"run-ended"}`, "outside of any run"},
		{eventsFile, `{"at":-1,"kind":"run-ended"}`, "outside of any run"},
		{countersFile, `[1,2]`, "cannot unmarshal"},
		{countersFile, `{"second":1,"series":"gets.get.open","count":1}`, "is not phase, operation, timing and outcome"},
		{countersFile, `{"second":1,"series":"gets.get.open.ok.service","count":1}`, "is not phase, operation, timing and outcome"},
		{countersFile, `{"second":1,"series":"gets.get.ajar.ok","count":1}`, `unknown timing "ajar"`},
		{countersFile, `{"second":1,"series":"gets.get.open.fine","count":1}`, `unknown outcome "fine"`},
		{countersFile, `{"second":1,"series":"gets.get.open.ok","count":-1}`, "below zero"},
		{countersFile, `{"second":-1,"series":"gets.get.open.ok","count":1}`, "outside of any run"},
		{countersFile, `{"second":999999999999,"series":"gets.get.open.ok","count":1}`, "outside of any run"},
		{countersFile, `"` + strings.Repeat("x", 3*longestLine) + `"`, "longer than"},
		{operationsFile, "garbage", "not a tagged line"},
		{operationsFile, "1,2,3,4,5", "not a tagged line"},
		{operationsFile, line("gets.get.open.ok.service", begin, good[:20]), "not as long"},
		{operationsFile, line("gets.get.open.ok.wall", begin, good), `unknown clock "wall"`},
		{operationsFile, line("gets.get.open.ok", begin, good), "is not phase, operation, timing and outcome"},
		{operationsFile, line("gets", begin, good), "has no clock"},
		{operationsFile, line("gets.get.open.ok.service", 0, good), "outside of the run"},
		{operationsFile, "Tag=gets.get.open.ok.service,NaN,1,1," + string(good), "outside of the run"},
		{operationsFile, "Tag=gets.get.open.ok.service,soon,1,1," + string(good), "invalid syntax"},
	} {
		t.Run(c.file+" "+c.why, func(t *testing.T) {
			_, dir := killed(t)
			_, wantCounters, wantHistograms := readAll(t, dir)
			path := filepath.Join(dir, c.file)
			whole, err := os.ReadFile(path)
			must(t, err)
			lines := bytes.SplitAfter(whole, []byte("\n"))
			middle := len(lines) - 3
			damaged := slices.Insert(lines, middle, []byte(c.garbage+"\n"))
			must(t, os.WriteFile(path, bytes.Join(damaged, nil), 0o644))

			run, counters, histograms := readAll(t, dir)
			if len(run.Events) != len(events()) || counters != wantCounters || histograms != wantHistograms {
				t.Errorf("%d events, %d counters and %d histograms, want all: %d, %d and %d",
					len(run.Events), counters, histograms, len(events()), wantCounters, wantHistograms)
			}
			want := fmt.Sprintf("%s: line %d was skipped: ", c.file, middle+1)
			if len(run.Damage) != 1 || !strings.HasPrefix(run.Damage[0], want) || !strings.Contains(run.Damage[0], c.why) {
				t.Errorf("damage = %q, want %q and %q", run.Damage, want, c.why)
			}
			run.Counters(func(record.Interval) {})
			if len(run.Damage) != 1 {
				t.Errorf("damage is told again when read again: %q", run.Damage)
			}
		})
	}
}

func TestManyBadLinesAreOneDamage(t *testing.T) {
	_, dir := killed(t)
	must(t, os.WriteFile(filepath.Join(dir, eventsFile), []byte("{}\nbad\n\nbad\n"), 0o644))
	run, _, _ := readAll(t, dir)
	if want := "events.jsonl: 2 lines were skipped, the first of them line 2: "; len(run.Damage) != 1 || !strings.HasPrefix(run.Damage[0], want) {
		t.Errorf("damage = %q, want %q", run.Damage, want)
	}
}

func TestAFileThatIsGoneIsDamage(t *testing.T) {
	for _, name := range []string{environmentFile, eventsFile, countersFile, operationsFile} {
		t.Run(name, func(t *testing.T) {
			_, dir := killed(t)
			must(t, os.Remove(filepath.Join(dir, name)))
			run, _, _ := readAll(t, dir)
			if len(run.Damage) != 1 || !strings.Contains(run.Damage[0], name) {
				t.Errorf("damage = %q, want that %s is gone", run.Damage, name)
			}
		})
	}
	t.Run("a folder in its place", func(t *testing.T) {
		_, dir := killed(t)
		must(t, os.Remove(filepath.Join(dir, countersFile)))
		must(t, os.Mkdir(filepath.Join(dir, countersFile), 0o755))
		run, _, _ := readAll(t, dir)
		if len(run.Damage) != 1 || !strings.Contains(run.Damage[0], countersFile) {
			t.Errorf("damage = %q, want that %s cannot be read", run.Damage, countersFile)
		}
	})
}

func TestTheEventsOfACompleteRunCannotEndEarly(t *testing.T) {
	results := create(t)
	w := write(t, results, info())
	must(t, w.Close(true))
	must(t, os.Truncate(filepath.Join(w.Dir(), eventsFile), 100))
	if damage := only(t, results).Damage; len(damage) != 1 || !strings.Contains(damage[0], "lacks the end of the run") {
		t.Errorf("damage = %q, want that the end of the run is lacking", damage)
	}
}

func TestRunFileOfAnotherVersionOrDamaged(t *testing.T) {
	for name, c := range map[string]struct{ file, content, want string }{
		"a newer run":                 {runFile, `{"schemaVersion": 2, "steps": {"in": "another shape"}}`, "written by a newer plimsoll: its schema is version 2, this plimsoll reads up to 1; use the newer one"},
		"a newer environment":         {environmentFile, `{"schemaVersion": 2}`, "use the newer one"},
		"garbage":                     {runFile, "\x00\x01", "is damaged"},
		"half a file":                 {runFile, `{"schemaVersion": 1, "index":`, "is damaged"},
		"another shape":               {runFile, `{"schemaVersion": 1, "steps": 3}`, "is damaged"},
		"an empty file":               {runFile, "", "is damaged"},
		"an empty object":             {runFile, "{}", "has no schemaVersion"},
		"null":                        {runFile, "null", "has no schemaVersion"},
		"none, the only run's":        {runFile, "", "is missing"},
		"this version and no content": {runFile, `{"schemaVersion": 1}`, ""},
	} {
		t.Run(name, func(t *testing.T) {
			results, dir := killed(t)
			path := filepath.Join(dir, c.file)
			must(t, os.Remove(path))
			if c.want != "is missing" {
				must(t, os.WriteFile(path, []byte(c.content), 0o644))
			}
			_, err := results.Runs()
			if c.want == "" {
				must(t, err)
				return
			}
			if err == nil || !strings.Contains(err.Error(), path) || !strings.Contains(err.Error(), c.want) {
				t.Errorf("error = %v, want one that names %s and says %q", err, path, c.want)
			}
			if newer := strings.Contains(c.want, "newer"); newer != errors.Is(err, ErrNewer) {
				t.Errorf("error = %v: is of a newer version: %v, want %v", err, !newer, newer)
			}
		})
	}
}

func TestAnEnvironmentThatCannotBeReadIsDamage(t *testing.T) {
	results, dir := killed(t)
	must(t, os.WriteFile(filepath.Join(dir, environmentFile), []byte(`{"schemaVersion": 1, "host": {"os": "linux"}, "components": 1}`), 0o644))
	run := only(t, results)
	if len(run.Damage) != 1 || !strings.Contains(run.Damage[0], environmentFile+" is damaged") {
		t.Errorf("damage = %q, want that the environment is damaged", run.Damage)
	}
	if run.Environment.Host.OS != "" {
		t.Error("half of the environment was kept")
	}
}

func TestARunThatIsLostDoesNotTakeTheOthersWithIt(t *testing.T) {
	results, _ := killed(t)
	second := info()
	second.Index, second.Name = 2, "killed-early"
	w := write(t, results, second)
	must(t, w.Close(false))
	must(t, os.Remove(filepath.Join(w.Dir(), runFile)))
	runs, err := results.Runs()
	must(t, err)
	if len(runs) != 2 || runs[0].Unreadable != nil {
		t.Fatalf("%d runs, the first of them unreadable because of %v; want 2 and a readable one", len(runs), runs[0].Unreadable)
	}
	lost := runs[1]
	if lost.Info.Index != 2 || lost.Info.Name != "killed-early" || lost.Unreadable == nil || !strings.Contains(lost.Unreadable.Error(), runFile) {
		t.Errorf("the lost run is %d, %q, unreadable because of %v", lost.Info.Index, lost.Info.Name, lost.Unreadable)
	}
}

func FuzzReaders(f *testing.F) {
	for _, name := range []string{runFile, environmentFile, eventsFile, countersFile, operationsFile} {
		f.Add(name, []byte("{}\n"))
	}
	f.Add(eventsFile, []byte(`{"at":1e308,"kind":"run-ended"}`+"\n"+`{"at":1,"kind":"phase-started","name":"gets"}`+"\n"))
	f.Add(countersFile, []byte(`{"second":1,"series":"gets.get.open.ok","count":9223372036854775807,"reasons":{"a":-1}}`+"\n"))
	f.Add(operationsFile, fmt.Appendf(nil, "Tag=gets.get.open.ok.service,1795232162.478,1,1,%s\n", counts(3, -4, 1)))
	f.Add(runFile, []byte(`{"schemaVersion":1,"index":-5,"started":"0001-01-01T00:00:00Z","steps":[{"phases":[{}]}]}`))
	dir := f.TempDir()
	f.Fuzz(func(t *testing.T, name string, content []byte) {
		if !slices.Contains([]string{runFile, environmentFile, eventsFile, countersFile, operationsFile}, name) {
			return
		}
		path := filepath.Join(dir, name)
		must(t, os.WriteFile(path, content, 0o644))
		defer os.Remove(path)
		run, err := openRun(dir)
		if err != nil {
			return
		}
		run.Info.Started = info().Started
		run.Counters(func(i record.Interval) {
			if i.Second < 0 || i.Second > longestRun || i.Count < 0 {
				t.Errorf("an impossible interval was read: %+v", i)
			}
		})
		h := record.NewHistogram()
		run.Seconds(func(_ record.Interval, _ Clock, s Second) error { return s.AddTo(h) })
	})
}

// FuzzRuns damages any file of a whole run; whatever is left can be read, and
// nothing panics.
func FuzzRuns(f *testing.F) {
	names := []string{runFile, environmentFile, eventsFile, countersFile, operationsFile, queriesFile, filepath.Join(logsDir, "etcd.log"), completeFile}
	for i := range names {
		f.Add(uint8(i), uint16(0), []byte(nil))
		f.Add(uint8(i), uint16(40), []byte(`"at":1e999,`))
		f.Add(uint8(i), uint16(2), []byte("W1121 03:36:02.478406 1 a.go:1] slow\n9999-99-99T99:99:99Z \n0000-00-00 00:00:00\n"))
	}
	whole := map[string][]byte{}
	_, source := killed(f)
	must(f, os.WriteFile(filepath.Join(source, logsDir, "etcd.log"), []byte("I1121 03:36:02.478406 1 a.go:1] begins\n"), 0o644))
	for _, name := range names {
		whole[name], _ = os.ReadFile(filepath.Join(source, name))
	}
	results, err := Create(f.TempDir(), nil, nil)
	must(f, err)
	dir := filepath.Join(results.Dir, runsDir, "0001-fuzzed")
	must(f, os.MkdirAll(filepath.Join(dir, logsDir), 0o755))
	f.Fuzz(func(t *testing.T, which uint8, at uint16, damage []byte) {
		damaged := names[int(which)%len(names)]
		for _, name := range names {
			content := whole[name]
			if name == damaged { // overwritten from somewhere on, and cut off behind that
				content = append(slices.Clone(content[:min(int(at), len(content))]), damage...)
			}
			must(t, os.WriteFile(filepath.Join(dir, name), content, 0o644))
		}
		runs, err := results.Runs()
		if err != nil {
			return
		}
		for _, run := range runs {
			run.Counters(func(i record.Interval) {
				if i.Second < 0 || i.Second > longestRun || i.Count < 0 {
					t.Errorf("an impossible interval was read: %+v", i)
				}
			})
			h := record.NewHistogram()
			run.Seconds(func(_ record.Interval, _ Clock, second Second) error {
				if median, any := second.Median(); any && median < 0 {
					t.Errorf("an impossible median was read: %v", median)
				}
				return second.AddTo(h)
			})
			run.LogLines(func(l LogLine) {
				if !(l.At >= -longestRun && l.At <= longestRun) {
					t.Errorf("a line was written at an impossible time: %v", l.At)
				}
			})
		}
	})
}
