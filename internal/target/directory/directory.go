// Package directory is the target that is a folder on the disk under test:
// nothing is started. What plimsoll writes there it writes into a folder of
// its own, and removes that.
package directory

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"

	"plimsoll.dev/plimsoll/api/v1alpha1"
	"plimsoll.dev/plimsoll/internal/mount"
	"plimsoll.dev/plimsoll/internal/ramdisk"
	"plimsoll.dev/plimsoll/internal/target"
)

// Options say which folder is under test.
type Options struct {
	// Spec of the target, from the scenario.
	Spec v1alpha1.DirectoryTarget
	// Dir is the run's working directory, in which the target is if the spec names no folder.
	Dir string
	// Own, if set, is told of the folder that is made and that Close removes.
	Own func(path string) error
}

// Target is a folder of plimsoll's own on the disk under test.
type Target struct {
	path string // of plimsoll's own folder
	disk mount.Mount
}

var (
	_ target.Target = (*Target)(nil)
	_ target.Folder = (*Target)(nil)
)

// Check says whether a target of the spec could be opened now: whether the folder
// that it names may be written to, or its RAM disk has room in memory.
func Check(spec v1alpha1.DirectoryTarget) error {
	if spec.Path != "" {
		return noFolder(target.CheckFolder(spec.Path))
	}
	if spec.RAMDisk == 0 {
		return nil
	}
	return ramdisk.Check(spec.RAMDisk)
}

// Open makes plimsoll's own folder. The folder of the spec is not made when it
// is missing: a mistyped mount point would measure the wrong disk.
func Open(ctx context.Context, o Options) (*Target, error) {
	if o.Spec.Path == "" {
		if err := os.MkdirAll(o.Dir, 0o755); err != nil {
			return nil, fmt.Errorf("make the run's working directory: %w", err)
		}
	}
	own, err := target.MakeFolder(cmp.Or(o.Spec.Path, o.Dir))
	if err != nil {
		return nil, noFolder(err)
	}
	t := &Target{path: own}
	if err := t.open(ctx, o); err != nil {
		return nil, errors.Join(err, t.Close(ctx))
	}
	return t, nil
}

func noFolder(err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("make a folder on the disk under test: %w", err)
}

// open mounts the RAM disk, if there is to be one, and looks at what the folder is on.
func (t *Target) open(ctx context.Context, o Options) (err error) {
	if o.Own != nil {
		if err := o.Own(t.path); err != nil {
			return err
		}
	}
	if size := (v1alpha1.Target{Directory: &o.Spec}).RAMDisk(); size > 0 {
		if err := ramdisk.Mount(t.path, size); err != nil {
			return err
		}
	}
	t.disk, err = mount.Of(ctx, t.path)
	return err
}

// Folders is the one in which workloads may write.
func (t *Target) Folders() []string { return []string{t.path} }

// Disk is what the folder is on.
func (t *Target) Disk() mount.Mount { return t.disk }

// Describe says what the disk is, as far as this machine can know.
func (t *Target) Describe(context.Context) (target.Description, error) {
	return target.Description{Components: []target.ComponentDescription{
		{Name: "disk", Version: t.disk.Words(), Source: "directory", Args: t.disk.Caveats()},
	}}, nil
}

// Endpoints are none: a folder has no metrics but the host's.
func (t *Target) Endpoints() []target.Endpoint { return nil }

// Close removes plimsoll's own folder.
func (t *Target) Close(context.Context) error {
	if err := ramdisk.Remove(t.path); err != nil {
		return fmt.Errorf("remove plimsoll's folder on the disk under test: %w", err)
	}
	return nil
}
