package ramdisk

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"plimsoll.dev/plimsoll/api/v1alpha1"
)

// mounted gives a RAM disk of 1 MiB on a folder whose name has a blank.
func mounted(t *testing.T) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "a disk")
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := Mount(dir, 1<<20); err != nil {
		t.Skip(err)
	}
	t.Cleanup(func() { _ = Remove(dir) })
	return dir
}

func TestARAMDiskIsAsLargeAsAskedForAndGoes(t *testing.T) {
	dir := mounted(t)
	var stat unix.Statfs_t
	if err := unix.Statfs(dir, &stat); err != nil || stat.Type != unix.TMPFS_MAGIC || stat.Blocks*uint64(stat.Bsize) != 1<<20 {
		t.Errorf("it is of type %x, with %d bytes: %v", stat.Type, stat.Blocks*uint64(stat.Bsize), err)
	}
	if err := os.WriteFile(filepath.Join(dir, "large"), make([]byte, 2<<20), 0o600); !errors.Is(err, unix.ENOSPC) {
		t.Errorf("two MiB have room in one: %v", err)
	}
	if err := Remove(filepath.Dir(dir)); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(dir); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the folder is there yet: %v", err)
	}
	if mounts, err := os.ReadFile("/proc/self/mountinfo"); err != nil || strings.Contains(string(mounts), filepath.Dir(dir)) {
		t.Errorf("it is still mounted, or %v", err)
	}
}

func TestARAMDiskThatIsInUseGoesAllTheSame(t *testing.T) {
	dir := mounted(t)
	file, err := os.Create(filepath.Join(dir, "open"))
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	if err := Remove(dir); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(dir); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the folder is there yet: %v", err)
	}
}

func TestAFolderWithoutMountsIsRemovedToo(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "plain")
	if err := os.MkdirAll(filepath.Join(dir, "below"), 0o700); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if err := Remove(dir); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := os.Stat(dir); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("it is there yet: %v", err)
	}
}

func TestWhatDoesNotFitIsSaid(t *testing.T) {
	want := "make it smaller"
	if os.Geteuid() != 0 {
		want = "run as root"
	}
	if err := Check(v1alpha1.Bytes(1 << 60)); err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("error is %v", err)
	}
}
