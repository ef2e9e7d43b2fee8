package local

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"plimsoll.dev/plimsoll/api/v1alpha1"
	"plimsoll.dev/plimsoll/internal/ramdisk"
	"plimsoll.dev/plimsoll/internal/target"
)

// folders are the absolute paths that components are given.
type folders struct {
	secrets, logs string
	data          string // with one for each component
	wal           string // with one for each member of etcd; empty if their logs are with their data
}

// all are those with data; the first is on the disk that answers wait for.
func (f folders) all() []string {
	if f.wal != "" {
		return []string{f.wal, f.data}
	}
	return []string{f.data}
}

// home is the folder for a component's data.
func (p *plane) home(name string) string { return filepath.Join(p.where.data, p.prefix+name) }

// log is the file with what a component says.
func (p *plane) log(name string) string { return filepath.Join(p.where.logs, p.prefix+name+".log") }

// Folders are those of etcd's write-ahead logs, if these are apart, and of the
// components' data, in both of which each has one of its own.
func (t *Target) Folders() []string {
	all := t.where.all()
	if t.downstream != nil {
		all = append(all, t.downstream.where.all()...)
	}
	return all
}

// makeFolders makes those of a plane.
func (t *Target) makeFolders(p *plane) (f folders, err error) {
	dir, err := filepath.Abs(t.options.Dir)
	if err != nil {
		return f, fmt.Errorf("find the working directory: %w", err)
	}
	if f.logs, err = filepath.Abs(t.options.LogDir); err != nil {
		return f, fmt.Errorf("find the log directory: %w", err)
	}
	if err := errors.Join(os.MkdirAll(dir, 0o755), os.MkdirAll(f.logs, 0o755)); err != nil {
		return f, fmt.Errorf("make the target's folders: %w", err)
	}
	f.secrets = filepath.Join(cmp.Or(t.options.SecretDir, dir), p.prefix+"secrets")
	if err := t.mkdir(f.secrets); err != nil {
		return f, err
	}
	if f.data, err = t.makeDataFolder(filepath.Join(dir, p.prefix+"data"), p.spec); err != nil {
		return f, err
	}
	if p.account != nil {
		f.data, err = t.openTo(p.account, f.data, chosenDataDir(p.spec) != "")
		return f, err
	}
	if chosen := chosenWALDir(p.spec); chosen != "" {
		f.wal, err = t.mkdirIn(chosen)
	}
	return f, err
}

// makeDataFolder makes the folder for data where the document wants it: in
// one of its choice, on a RAM disk, or at a path in the working directory.
func (t *Target) makeDataFolder(data string, spec v1alpha1.LocalTarget) (string, error) {
	if chosen := chosenDataDir(spec); chosen != "" {
		return t.mkdirIn(chosen)
	}
	if err := t.mkdir(data); err != nil {
		return "", err
	}
	if size := (v1alpha1.Target{Local: &spec}).RAMDisk(); size > 0 {
		return data, ramdisk.Mount(data, size)
	}
	return data, nil
}

// chosenDataDir is the document's folder for data, if it names one.
func chosenDataDir(spec v1alpha1.LocalTarget) string {
	switch {
	case spec.Datastore.Kine != nil:
		return spec.Datastore.Kine.DataDir
	case spec.Datastore.Etcd != nil:
		return spec.Datastore.Etcd.DataDir
	}
	return ""
}

// chosenWALDir is the document's folder for etcd's write-ahead logs, if it names one.
func chosenWALDir(spec v1alpha1.LocalTarget) string {
	if spec.Datastore.Etcd == nil {
		return ""
	}
	return spec.Datastore.Etcd.WALDir
}

// mkdirIn makes a folder in one of the document's choice.
func (t *Target) mkdirIn(parent string) (string, error) {
	dir, err := target.MakeFolder(parent)
	if err != nil {
		return "", noFolder(err)
	}
	return dir, t.keep(dir)
}

func noFolder(err error) error { return fmt.Errorf("make a folder for the datastore's data: %w", err) }

// mkdir makes a folder that must be new, since Close removes it with all that is in it.
func (t *Target) mkdir(dir string) error {
	if err := os.Mkdir(dir, 0o700); err != nil {
		return fmt.Errorf("make a folder for the target: %w", err)
	}
	return t.keep(dir)
}

// keep notes a folder that Close must remove.
func (t *Target) keep(dir string) error {
	t.made = append(t.made, dir)
	if t.options.Own == nil {
		return nil
	}
	return t.options.Own(dir)
}
