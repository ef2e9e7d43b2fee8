package store

import (
	"os"
	"path/filepath"
	"testing"
)

func TestAnUnfinishedRunIsSetAsideAndKept(t *testing.T) {
	results := create(t)
	for attempt := range 2 {
		w := write(t, results, info())
		must(t, w.Close(false))
		if results.Completed(info().Index, info().Name) {
			t.Fatal("a run that was cut short counts as completed")
		}
		must(t, results.SetAside(info().Index, info().Name))
		kept, err := os.ReadDir(results.Path(attemptsDir))
		must(t, err)
		if len(kept) != attempt+1 {
			t.Fatalf("%d attempts are kept, want %d", len(kept), attempt+1)
		}
		if _, err := os.Stat(filepath.Join(results.Path(attemptsDir), kept[attempt].Name(), runFile)); err != nil {
			t.Error(err)
		}
	}
	w := write(t, results, info())
	must(t, w.Close(true))
	runs, err := results.Runs()
	must(t, err)
	if len(runs) != 1 || !results.Completed(info().Index, info().Name) {
		t.Errorf("%d runs, want the one that was completed", len(runs))
	}
}
