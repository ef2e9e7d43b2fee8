// Package ramdisk mounts file systems in memory (tmpfs) of plimsoll's own, and
// removes folders together with what is mounted in them.
package ramdisk

import (
	"bufio"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"plimsoll.dev/plimsoll/api/v1alpha1"
)

// Check says whether this process could mount a RAM disk of the size now; the
// error names the way out. The memory is looked at and not set aside.
func Check(size v1alpha1.Bytes) error {
	if os.Geteuid() != 0 {
		return fmt.Errorf("a RAM disk of %v cannot be mounted: only root may: run as root, or leave ramDisk out and name a folder that is in memory already, such as /dev/shm", size)
	}
	if free, ok := available(); ok && free < int64(size) {
		return fmt.Errorf("a RAM disk of %v does not fit: %d MiB of memory are free: make it smaller", size, free>>20)
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
	points, err := mountPoints(dir)
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

// mountPoints are those at dir and below it, in the order of mounting.
func mountPoints(dir string) ([]string, error) {
	resolved, err := filepath.EvalSymlinks(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	if resolved, err = filepath.Abs(resolved); err != nil {
		return nil, err
	}
	file, err := os.Open("/proc/self/mountinfo")
	if err != nil {
		return nil, fmt.Errorf("look for what is mounted on %s: %w", dir, err)
	}
	defer file.Close()
	var points []string
	lines := bufio.NewScanner(file)
	for lines.Scan() {
		// 36 35 98:0 /root /mount/point rw,noatime master:1 - ext4 /dev/vda1 rw
		if fields := strings.Fields(lines.Text()); len(fields) > 4 {
			point := unescape(fields[4])
			if point == resolved || strings.HasPrefix(point, resolved+"/") {
				points = append(points, point)
			}
		}
	}
	return points, lines.Err()
}

// unescape undoes what the kernel does to blanks in paths.
func unescape(path string) string {
	return strings.NewReplacer(`\040`, " ", `\011`, "\t", `\012`, "\n", `\134`, `\`).Replace(path)
}

// available is how many bytes of memory could be used without swapping, if the kernel says so.
func available() (bytes int64, ok bool) {
	data, err := os.ReadFile("/proc/meminfo")
	if err != nil {
		return 0, false
	}
	for line := range strings.Lines(string(data)) {
		if rest, found := strings.CutPrefix(line, "MemAvailable:"); found {
			kib, err := strconv.ParseInt(strings.TrimSuffix(strings.TrimSpace(rest), " kB"), 10, 64)
			return kib << 10, err == nil
		}
	}
	return 0, false
}
