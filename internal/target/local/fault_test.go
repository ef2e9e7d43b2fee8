package local

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"plimsoll.dev/plimsoll/internal/process"
)

// writing is a target whose one component writes to the disk, and notes when it did.
func writing(t *testing.T) (tg *Target, ticks func() int64) {
	t.Helper()
	dir := t.TempDir()
	file := filepath.Join(dir, "ticks")
	p, err := process.Start(t.Context(), process.Spec{
		Name: "etcd", Path: "/bin/sh", LogPath: filepath.Join(dir, "log"), Env: []string{"PATH=" + os.Getenv("PATH")},
		Args: []string{"-c", "while :; do dd if=/dev/zero of=" + file + " bs=512 count=1 oflag=append,dsync conv=notrunc status=none; done"},
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = p.Stop(t.Context()) })
	return &Target{plane: &plane{where: folders{data: dir}}, running: map[string]*process.Process{"etcd": p}}, func() int64 {
		info, err := os.Stat(file)
		if err != nil {
			return 0
		}
		return info.Size() / 512
	}
}

func TestASlowDisk(t *testing.T) {
	tg, ticks := writing(t)
	if _, err := tg.SlowDisk("etcdd", 1); err == nil || !strings.Contains(err.Error(), "no component etcdd runs") {
		t.Errorf("error is %v", err)
	}
	d, err := tg.SlowDisk("etcd", 2)
	if err != nil {
		t.Skipf("disks cannot be throttled here: %v", err)
	}
	group := d.(*slowDisk).group
	if err := d.Begin(); err != nil {
		t.Fatal(err)
	}
	time.Sleep(200 * time.Millisecond) // what was under way
	before, began := ticks(), time.Now()
	time.Sleep(2 * time.Second)
	n := ticks() - before
	if took := time.Since(began).Seconds(); float64(n) > 2*took+1 {
		t.Errorf("%d writes in %.1f s, of 2 a second", n, took)
	}
	for range 2 {
		if err := d.End(); err != nil {
			t.Error(err)
		}
	}
	if _, err := os.Stat(group); !os.IsNotExist(err) {
		t.Errorf("the group is still there: %v", err)
	}
	if now, err := groupOf(tg.running["etcd"].PID()); err != nil || now != d.(*slowDisk).origin {
		t.Errorf("the process is in %s, %v", now, err)
	}
}

func TestMemoryIsNoDisk(t *testing.T) {
	var fs unix.Statfs_t
	if err := unix.Statfs("/dev/shm", &fs); err != nil || fs.Type != unix.TMPFS_MAGIC {
		t.Skip("/dev/shm is no tmpfs here")
	}
	tg, _ := writing(t)
	tg.where.data = "/dev/shm"
	if _, err := tg.SlowDisk("etcd", 1); err == nil || !strings.Contains(err.Error(), "no block device") {
		t.Errorf("error is %v", err)
	}
}

func TestGroupsOfKilledProcessesAreSwept(t *testing.T) {
	gone := exec.Command("true")
	if err := gone.Run(); err != nil {
		t.Fatal(err)
	}
	left, err := os.MkdirTemp(blkio, fmt.Sprintf("%s%d-", groupPrefix, gone.Process.Pid))
	if err != nil {
		t.Skipf("no groups can be made here: %v", err)
	}
	ours, err := os.MkdirTemp(blkio, fmt.Sprintf("%s%d-", groupPrefix, os.Getpid()))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = unix.Rmdir(ours) })
	sweepGroups()
	if _, err := os.Stat(left); !os.IsNotExist(err) {
		t.Error("it is still there")
	}
	if _, err := os.Stat(ours); err != nil {
		t.Errorf("that of a process that lives: %v", err)
	}
}
