// Package mount says what a folder is mounted on, and what a sync means there.
package mount

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/shirou/gopsutil/v4/host"
	"golang.org/x/sys/unix"
)

// Mount is a file system as it is mounted, and the disk below it. What cannot be
// found out is left empty.
type Mount struct {
	// Point is the folder that it is mounted on.
	Point string `json:"-"`
	// FileSystem is its type, such as ext4.
	FileSystem string `json:"fileSystem"`
	// Device is what is mounted, such as /dev/vda1, and Model what that calls itself.
	Device string `json:"device"`
	Model  string `json:"diskModel,omitempty"`
	// Options are those of the mount and, after a semicolon, of the file system.
	Options string `json:"mountOptions,omitempty"`
	// Cache is what the kernel holds of the device's own cache: "write back" (a sync flushes it) or
	// "write through" (the kernel thinks that there is nothing to flush).
	Cache string `json:"diskCache,omitempty"`
	// Guest says that this machine is one, such as "a virtual machine" or "a guest (docker)".
	Guest string `json:"guest,omitempty"`
}

// Of finds out what path is mounted on, also where it leads there by links.
func Of(ctx context.Context, path string) (Mount, error) {
	resolved, err := resolve(path)
	var number string
	if err == nil {
		number, err = device(resolved)
	}
	var all []line
	if err == nil {
		all, err = table()
	}
	if err != nil {
		return Mount{}, fmt.Errorf("find out what %s is mounted on: %w", path, err)
	}
	m := holding(resolved, number, all)
	m.Device = kernelName(m.Device, number)
	m.Guest = guest(ctx)
	if disk, err := wholeDisk(number); err == nil {
		m.Cache, m.Model = read(disk, "queue/write_cache"), read(disk, "device/model")
	}
	return m, nil
}

// kernelName is the kernel's own name for a device, which its figures of disks have too.
func kernelName(device, number string) string {
	switch {
	case device == "/dev/root":
		if link, err := os.Readlink("/sys/dev/block/" + number); err == nil {
			return "/dev/" + filepath.Base(link)
		}
	case strings.HasPrefix(device, "/dev/mapper/"): // by its link, as the number of btrfs is of no device
		if resolved, err := filepath.EvalSymlinks(device); err == nil {
			return resolved
		}
	}
	return device
}

// Below gives the points of what is mounted on dir and in it, in the order of mounting.
func Below(dir string) ([]string, error) {
	resolved, err := resolve(dir)
	if err != nil {
		return nil, err
	}
	all, err := table()
	if err != nil {
		return nil, fmt.Errorf("find out what is mounted on %s: %w", dir, err)
	}
	var points []string
	for _, m := range all {
		if within(m.Point, resolved) {
			points = append(points, m.Point)
		}
	}
	return points, nil
}

// DiskNumber is that of the whole disk, rather than of its partition, that a folder is on, such as 254:0.
func DiskNumber(folder string) (string, error) {
	number, err := device(folder)
	if err != nil {
		return "", err
	}
	disk, err := wholeDisk(number)
	if err != nil {
		return "", fmt.Errorf("%s is on no block device; it may be memory, or a network's", folder)
	}
	whole, err := os.ReadFile(filepath.Join(disk, "dev"))
	if err != nil {
		return "", fmt.Errorf("find out the number of the disk that %s is on: %w", folder, err)
	}
	return strings.TrimSpace(string(whole)), nil
}

// line is one of the kernel's table of mounts.
type line struct {
	Mount
	number string // of the device
}

// table gives what is mounted in this process's view, in the order of mounting.
func table() ([]line, error) {
	file, err := os.Open("/proc/self/mountinfo")
	if err != nil {
		return nil, err
	}
	defer file.Close()
	var all []line
	lines := bufio.NewScanner(file)
	for lines.Scan() {
		// 36 35 98:0 /root /mount/point rw,noatime master:1 - ext4 /dev/vda1 rw,errors=continue
		before, after, _ := strings.Cut(lines.Text(), " - ")
		left, right := strings.Fields(before), strings.Fields(after)
		if len(left) < 6 || len(right) < 3 {
			continue
		}
		all = append(all, line{
			Mount: Mount{Point: unescape(left[4]), FileSystem: right[0], Device: right[1], Options: left[5] + ";" + right[2]}, number: left[2],
		})
	}
	return all, lines.Err()
}

// unescape undoes what the kernel does to blanks in paths.
func unescape(path string) string {
	return strings.NewReplacer(`\040`, " ", `\011`, "\t", `\012`, "\n", `\134`, `\`).Replace(path)
}

// holding finds the mount that holds path by its device's number and, where that
// is of several mounts, or of none because the file system deals in numbers of its
// own, by the path.
func holding(path, number string, all []line) (found Mount) {
	highest := -1
	for _, m := range all {
		rank := len(m.Point)
		if m.number == number {
			rank += unix.PathMax
		}
		if within(path, m.Point) && rank >= highest { // of mounts over mounts, the last one counts
			highest, found = rank, m.Mount
		}
	}
	return found
}

func within(path, folder string) bool {
	return folder == "/" || path == folder || strings.HasPrefix(path, folder+"/")
}

func resolve(path string) (string, error) {
	absolute, err := filepath.Abs(path)
	if err != nil {
		return "", err
	}
	return filepath.EvalSymlinks(absolute)
}

// device is the number of that which a path is on; it need not be one of a block device.
func device(path string) (string, error) {
	var stat unix.Stat_t
	if err := unix.Stat(path, &stat); err != nil {
		return "", fmt.Errorf("stat %s: %w", path, err)
	}
	return fmt.Sprintf("%d:%d", unix.Major(stat.Dev), unix.Minor(stat.Dev)), nil
}

// wholeDisk is the kernel's folder about a block device or, if that is a partition, about its disk.
func wholeDisk(number string) (string, error) {
	folder, err := filepath.EvalSymlinks("/sys/dev/block/" + number)
	if err != nil {
		return "", err
	}
	if _, err := os.Stat(filepath.Join(folder, "partition")); err == nil {
		folder = filepath.Dir(folder)
	}
	return folder, nil
}

func read(folder, name string) string {
	text, _ := os.ReadFile(filepath.Join(folder, name))
	return strings.TrimSpace(string(text))
}

// guest asks the CPU first, which knows of a hypervisor also from within a container.
func guest(ctx context.Context) string {
	if strings.Contains(read("/proc", "cpuinfo"), " hypervisor") {
		return "a virtual machine"
	}
	if system, role, err := host.VirtualizationWithContext(ctx); err == nil && role == "guest" {
		return "a guest (" + system + ")"
	}
	return ""
}
