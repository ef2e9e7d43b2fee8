// Package workspace gives a plimsoll process a private folder for what must
// not outlive it: keys, kubeconfigs, data. The process removes it at its end; if
// it is killed, the next plimsoll does.
package workspace

import (
	"bufio"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"

	"plimsoll.dev/plimsoll/internal/ramdisk"
)

const (
	prefix    = "workspace-"
	lockFile  = "lock"
	ownedFile = "owned"
)

// Workspace is the folder of this process.
type Workspace struct {
	Dir   string
	lock  *os.File // held as long as the process lives
	owned *os.File
}

// Open makes a workspace under root, and removes those of processes that are gone.
func Open(root string) (*Workspace, error) {
	if err := os.MkdirAll(root, 0o700); err != nil {
		return nil, fmt.Errorf("make workspace: %w", err)
	}
	// One at a time: between its making and its locking a workspace looks like one left behind.
	gate, err := lock(filepath.Join(root, prefix+lockFile), unix.LOCK_EX)
	if err != nil {
		return nil, fmt.Errorf("make workspace: %w", err)
	}
	defer gate.Close()
	if err := sweep(root); err != nil {
		return nil, err
	}
	dir, err := os.MkdirTemp(root, prefix)
	if err != nil {
		return nil, fmt.Errorf("make workspace: %w", err)
	}
	w := &Workspace{Dir: dir}
	if w.lock, err = lock(filepath.Join(dir, lockFile), unix.LOCK_EX|unix.LOCK_NB); err != nil {
		return nil, fmt.Errorf("make workspace: %w", err)
	}
	if w.owned, err = os.OpenFile(filepath.Join(dir, ownedFile), os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600); err != nil {
		return nil, fmt.Errorf("make workspace: %w", err)
	}
	return w, nil
}

// Own notes a folder elsewhere that must go with the workspace, and what may
// yet be mounted on it.
func (w *Workspace) Own(path string) error {
	if _, err := fmt.Fprintln(w.owned, path); err != nil {
		return fmt.Errorf("note %s in the workspace: %w", path, err)
	}
	return nil
}

// Close removes the workspace and what it owns.
func (w *Workspace) Close() error {
	return errors.Join(w.owned.Close(), remove(w.Dir), w.lock.Close())
}

// sweep removes the workspaces that nobody holds any more.
func sweep(root string) error {
	dirs, err := filepath.Glob(filepath.Join(root, prefix+"*"+string(filepath.Separator)))
	if err != nil {
		return err
	}
	var errs []error
	for _, dir := range dirs {
		held, err := lock(filepath.Join(dir, lockFile), unix.LOCK_EX|unix.LOCK_NB)
		if err != nil {
			continue // its process lives
		}
		errs = append(errs, remove(dir), held.Close())
	}
	if err := errors.Join(errs...); err != nil {
		return fmt.Errorf("remove what a killed plimsoll left: %w", err)
	}
	return nil
}

// remove removes a workspace, and first what it owns, RAM disks among it.
func remove(dir string) error {
	var errs []error
	if file, err := os.Open(filepath.Join(dir, ownedFile)); err == nil {
		for lines := bufio.NewScanner(file); lines.Scan(); {
			if path := strings.TrimSpace(lines.Text()); filepath.IsAbs(path) {
				errs = append(errs, ramdisk.Remove(path))
			}
		}
		errs = append(errs, file.Close())
	}
	return errors.Join(append(errs, ramdisk.Remove(dir))...)
}

func lock(path string, how int) (*os.File, error) {
	file, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, err
	}
	if err := unix.Flock(int(file.Fd()), how); err != nil {
		return nil, errors.Join(err, file.Close())
	}
	return file, nil
}
