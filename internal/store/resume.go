package store

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// attemptsDir holds what is left of runs that did not complete and were begun again.
const attemptsDir = "attempts"

// Completed says whether the run was carried out as planned.
func (r *Results) Completed(index int, name string) bool {
	return exists(filepath.Join(r.runDir(index, name), completeFile))
}

// PlanJSON is the plan as it was written.
func (r *Results) PlanJSON() ([]byte, error) {
	data, err := os.ReadFile(r.Path(PlanFile))
	if err != nil {
		return nil, fmt.Errorf("read the plan of %s: %w", r.Dir, err)
	}
	return data, nil
}

func (r *Results) runDir(index int, name string) string {
	return filepath.Join(r.Dir, runsDir, runFolder(RunInfo{Index: index, Name: name}))
}

// SetAside moves what an earlier attempt at a run left out of the way: it is
// kept, but is no run of the experiment.
func (r *Results) SetAside(index int, name string) error {
	dir := r.runDir(index, name)
	if !exists(dir) {
		return nil
	}
	attempts := filepath.Join(r.Dir, attemptsDir)
	err := os.MkdirAll(attempts, 0o755)
	for i := 1; err == nil; i++ {
		err = os.Rename(dir, filepath.Join(attempts, fmt.Sprintf("%s-%d", filepath.Base(dir), i)))
		if !errors.Is(err, fs.ErrExist) {
			break
		}
		err = nil
	}
	if err != nil {
		return fmt.Errorf("set aside what is left of %s: %w", filepath.Base(dir), err)
	}
	return nil
}
