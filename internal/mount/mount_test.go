package mount

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestMemoryIsKnownAsSuch(t *testing.T) {
	if _, err := os.Stat("/dev/shm"); err != nil {
		t.Skip("there is no /dev/shm")
	}
	m, err := Of(t.Context(), "/dev/shm")
	if err != nil {
		t.Fatal(err)
	}
	if !m.InMemory() || m.Point != "/dev/shm" {
		t.Skipf("/dev/shm is %+v here", m)
	}
	if c := strings.Join(m.Caveats(), "\n"); !strings.Contains(c, "a sync means nothing") {
		t.Errorf("caveats are %q", c)
	}
	link := filepath.Join(t.TempDir(), "link")
	if err := os.Symlink("/dev/shm", link); err != nil {
		t.Fatal(err)
	}
	t.Chdir("/dev/shm")
	for _, path := range []string{link, "."} {
		if found, err := Of(t.Context(), path); err != nil || found != m {
			t.Errorf("%s is on %+v, %v; want %+v", path, found, err, m)
		}
	}
}

func TestWhatASyncMeans(t *testing.T) {
	for _, row := range []struct {
		mount Mount
		want  string // in the caveats; empty for none at all
	}{
		{Mount{FileSystem: "ext4", Device: "/dev/sda1", Cache: "write back"}, ""},
		{Mount{FileSystem: "overlay"}, "container's overlay"},
		{Mount{FileSystem: "nfs4"}, "behind nfs4"},
		{Mount{FileSystem: "ext4", Options: "rw;rw,nobarrier"}, "syncs do not flush"},
		{Mount{FileSystem: "ext4", Cache: "write through"}, "no cache to flush"},
		{Mount{FileSystem: "xfs", Guest: "a virtual machine"}, "cannot know whether its host really flushes"},
	} {
		got := strings.Join(row.mount.Caveats(), "\n")
		if row.want == "" && got != "" || !strings.Contains(got, row.want) {
			t.Errorf("of %s it is said: %q", row.mount.Words(), got)
		}
	}
}

func TestThePathDecidesWhereTheDeviceDoesNot(t *testing.T) {
	all := []line{
		{Mount{Point: "/", FileSystem: "ext4"}, "254:0"},
		{Mount{Point: "/data", FileSystem: "btrfs"}, "0:30"}, // whose files have numbers of their own
		{Mount{Point: "/data/volume", FileSystem: "ext4", Options: "bound"}, "254:0"},
		{Mount{Point: "/data/volume/below", FileSystem: "tmpfs"}, "0:31"},
		{Mount{Point: "/data/volume/below", FileSystem: "xfs"}, "254:16"},
	}
	for _, row := range []struct {
		path, number string
		want         Mount
	}{
		{"/home", "254:0", all[0].Mount},
		{"/database", "254:0", all[0].Mount},
		{"/data/x", "0:99", all[1].Mount},
		{"/data/volume/x", "254:0", all[2].Mount},
		{"/data/volume/below/x", "254:16", all[4].Mount},
		{"/data/volume/below/x", "0:99", all[4].Mount},
	} {
		if found := holding(row.path, row.number, all); found != row.want {
			t.Errorf("%s of device %s is on %+v; want %+v", row.path, row.number, found, row.want)
		}
	}
}
