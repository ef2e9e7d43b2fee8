// Package ramdisk mounts file systems in memory (tmpfs) of plimsoll's own, and
// removes folders together with what is mounted in them.
package ramdisk

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"

	"github.com/shirou/gopsutil/v4/mem"
	"golang.org/x/sys/unix"

	"plimsoll.dev/plimsoll/api/v1alpha1"
	"plimsoll.dev/plimsoll/internal/mount"
)

// Check says whether this process could mount a RAM disk of the size now; the
// error names the way out. The memory is looked at and not set aside.
func Check(size v1alpha1.Bytes) error {
	if os.Geteuid() != 0 {
		return fmt.Errorf("a RAM disk of %v cannot be mounted: only root may: run as root, or leave ramDisk out and name a folder that is in memory already, such as /dev/shm", size)
	}
	if memory, err := mem.VirtualMemory(); err == nil && memory.Available < uint64(size) {
		return fmt.Errorf("a RAM disk of %v does not fit: %d MiB of memory are free: make it smaller", size, memory.Available>>20)
	}
	return nil
}

// Mount mounts a RAM disk on dir, which must exist and be empty. Remove takes it away.
func Mount(dir string, size v1alpha1.Bytes) error {
	if err := Check(size); err != nil {
		return err
	}
	err := unix.Mount("plimsoll", dir, "tmpfs", unix.MS_NOSUID|unix.MS_NODEV|unix.MS_NOEXEC, fmt.Sprintf("size=%d,mode=0700", int64(size)))
	switch {
	case errors.Is(err, unix.EPERM), errors.Is(err, unix.EACCES):
		return fmt.Errorf("mount a RAM disk of %v on %s: %w: a container may not (it needs CAP_SYS_ADMIN): leave ramDisk out and name a folder that is in memory already, such as /dev/shm", size, dir, err)
	case err != nil:
		return fmt.Errorf("mount a RAM disk of %v on %s: %w", size, dir, err)
	}
	return nil
}

// Remove removes dir with all that is in it, and first what is mounted there:
// what still uses a mount keeps it until it ends, but nobody finds it any more.
// That there is no dir is no error.
func Remove(dir string) error {
	points, err := mount.Below(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	for _, point := range slices.Backward(points) { // the last one mounted first
		if err := unix.Unmount(point, unix.MNT_DETACH|unix.UMOUNT_NOFOLLOW); err != nil {
			return fmt.Errorf("unmount the RAM disk on %s: %w", point, err)
		}
	}
	return os.RemoveAll(dir)
}
