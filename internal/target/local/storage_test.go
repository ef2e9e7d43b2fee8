package local

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"golang.org/x/sys/unix"

	"plimsoll.dev/plimsoll/api/v1alpha1"
)

// etcdOn gives a target of etcd alone.
func etcdOn(e v1alpha1.Etcd) v1alpha1.LocalTarget {
	return v1alpha1.LocalTarget{KubeAPIServer: disabled(), Datastore: v1alpha1.Datastore{Etcd: &e}}
}

func TestEtcdOnARAMDisk(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("mounting takes root")
	}
	var owned []string
	o := options(t, etcdOn(v1alpha1.Etcd{Members: 1, RAMDisk: 256 << 20}))
	o.Own = func(path string) error { owned = append(owned, path); return nil }
	tg := boot(t, o)
	data := tg.Folders()[0]
	var stat unix.Statfs_t
	if err := unix.Statfs(filepath.Join(data, "etcd", "member"), &stat); err != nil || stat.Type != unix.TMPFS_MAGIC || stat.Blocks*uint64(stat.Bsize) != 256<<20 {
		t.Errorf("etcd's data is on a file system of type %x, with %d bytes: %v", stat.Type, stat.Blocks*uint64(stat.Bsize), err)
	}
	if !slices.Contains(owned, data) {
		t.Errorf("whom it has to go with is not told of it, but of %v", owned)
	}
	if err := tg.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(data); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("it is there yet: %v", err)
	}
}

func TestEtcdWithItsLogApart(t *testing.T) {
	data, log := t.TempDir(), t.TempDir()
	tg := boot(t, options(t, etcdOn(v1alpha1.Etcd{Members: 3, DataDir: data, WALDir: log})))
	folders := tg.Folders()
	if len(folders) != 2 || filepath.Dir(folders[0]) != log || filepath.Dir(folders[1]) != data {
		t.Fatalf("the folders are %v", folders)
	}
	for where, want := range map[string]int{filepath.Join(folders[0], "*", "*.wal"): 3, filepath.Join(folders[1], "*", "member", "wal", "*"): 0, filepath.Join(folders[1], "*", "member", "snap", "db"): 3} {
		if found, err := filepath.Glob(where); err != nil || len(found) != want {
			t.Errorf("%d files are %s instead of %d, %v", len(found), where, want, err)
		}
	}
	if err := tg.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	for _, dir := range []string{data, log} {
		if left, err := os.ReadDir(dir); err != nil || len(left) > 0 {
			t.Errorf("left in %s are %v, %v", dir, left, err)
		}
	}
}
