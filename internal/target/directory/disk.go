package directory

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

// Disk is what a folder is on. What cannot be found out is left empty.
type Disk struct {
	// FileSystem is its type, such as ext4, and Options those that it is mounted with.
	FileSystem string
	Options    string
	// Device is what is mounted, such as /dev/vda1, and Model what it calls itself.
	Device string
	Model  string
	// Cache is what the kernel holds of the device's own cache: "write back" (a sync flushes it) or
	// "write through" (the kernel thinks that there is nothing to flush).
	Cache string
	// Rotational says that it has, or claims to have, platters.
	Rotational bool
	// Guest says that this machine is one, such as "a virtual machine" or "a guest (docker)".
	Guest string
}

// Look finds out what path is on.
func Look(ctx context.Context, path string) (Disk, error) {
	absolute, err := filepath.Abs(path)
	if err == nil {
		absolute, err = filepath.EvalSymlinks(absolute)
	}
	var stat unix.Stat_t
	if err == nil {
		err = unix.Stat(absolute, &stat)
	}
	if err != nil {
		return Disk{}, fmt.Errorf("look at %s: %w", path, err)
	}
	var d Disk
	number := fmt.Sprintf("%d:%d", unix.Major(stat.Dev), unix.Minor(stat.Dev))
	d.mount(number, absolute)
	d.block(number)
	d.Guest = guest(ctx)
	return d, nil
}

// guest asks the CPU first, which knows of a hypervisor also from within a container.
func guest(ctx context.Context) string {
	if info, err := os.ReadFile("/proc/cpuinfo"); err == nil && strings.Contains(string(info), " hypervisor") {
		return "a virtual machine"
	}
	if info, err := host.InfoWithContext(ctx); err == nil && info.VirtualizationRole == "guest" {
		return "a guest (" + info.VirtualizationSystem + ")"
	}
	return ""
}

// mount finds the file system by its device number, and where that is of several
// mounts, or of none because the file system deals in numbers of its own, by the path.
func (d *Disk) mount(number, path string) {
	file, err := os.Open("/proc/self/mountinfo")
	if err != nil {
		return
	}
	defer file.Close()
	longest := -1
	for lines := bufio.NewScanner(file); lines.Scan(); {
		// 36 35 98:0 /root /mount/point rw,noatime master:1 - ext4 /dev/vda1 rw,errors=continue
		before, after, _ := strings.Cut(lines.Text(), " - ")
		left, right := strings.Fields(before), strings.Fields(after)
		if len(left) < 6 || len(right) < 3 {
			continue
		}
		point := strings.NewReplacer(`\040`, " ", `\011`, "\t", `\134`, `\`).Replace(left[4])
		if !within(path, point) {
			continue
		}
		rank := len(point)
		if left[2] == number {
			rank += unix.PathMax
		}
		if rank >= longest { // of mounts over mounts, the last one counts
			longest = rank
			d.FileSystem, d.Device, d.Options = right[0], right[1], left[5]+";"+right[2]
		}
	}
}

func within(path, folder string) bool {
	return folder == "/" || path == folder || strings.HasPrefix(path, folder+"/")
}

// block asks the kernel about the block device, if there is one below.
func (d *Disk) block(number string) {
	root := "/sys/dev/block/" + number
	if resolved, err := filepath.EvalSymlinks(root); err == nil {
		root = resolved
	}
	if _, err := os.Stat(root + "/partition"); err == nil {
		root = filepath.Dir(root)
	}
	read := func(name string) string {
		data, err := os.ReadFile(root + "/" + name)
		if err != nil {
			return ""
		}
		return strings.TrimSpace(string(data))
	}
	d.Cache, d.Rotational, d.Model = read("queue/write_cache"), read("queue/rotational") == "1", read("device/model")
}

// InMemory says that nothing written there is ever on a disk.
func (d Disk) InMemory() bool { return d.FileSystem == "tmpfs" || d.FileSystem == "ramfs" }

// String is one line, such as "ext4 on /dev/vda, mounted rw,relatime".
func (d Disk) String() string {
	words := d.FileSystem
	if words == "" {
		words = "an unknown file system"
	}
	if d.Device != "" && !d.InMemory() {
		words += " on " + d.Device
	}
	if d.Model != "" {
		words += " (" + d.Model + ")"
	}
	if d.Options != "" {
		words += ", mounted " + strings.ReplaceAll(d.Options, ";", " and ")
	}
	return words
}

// Caveats are sentences about what a sync means there.
func (d Disk) Caveats() []string {
	var all []string
	switch {
	case d.InMemory():
		all = append(all, "this is memory: a sync means nothing, and what is written is gone with the machine")
	case d.FileSystem == "overlay":
		all = append(all, "this is a container's overlay: syncs go through to the file system below, unless it is mounted volatile; a volume is what etcd should have")
	case strings.HasPrefix(d.FileSystem, "nfs"), strings.HasPrefix(d.FileSystem, "fuse"), d.FileSystem == "9p", d.FileSystem == "virtiofs", d.FileSystem == "cifs":
		all = append(all, "what a sync means is for the server or process behind "+d.FileSystem+" to say")
	}
	for _, option := range strings.FieldsFunc(d.Options, func(r rune) bool { return r == ',' || r == ';' }) {
		if option == "nobarrier" || option == "barrier=0" || option == "volatile" {
			all = append(all, "it is mounted "+option+": syncs do not flush, and a power cut loses what was acknowledged")
		}
	}
	if d.Cache == "write through" {
		all = append(all, "the device says that it has no cache to flush (write through), so a sync ends when the write has")
	}
	if d.Guest != "" && !d.InMemory() {
		all = append(all, "this is "+d.Guest+", which cannot know whether its host really flushes")
	}
	return all
}
