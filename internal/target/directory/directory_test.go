package directory

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"plimsoll.dev/plimsoll/api/v1alpha1"
)

func TestAFolderOfPlimsollsOwnIsMadeAndRemoved(t *testing.T) {
	dir := t.TempDir()
	kept := filepath.Join(dir, "kept")
	if err := os.WriteFile(kept, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	var owned []string
	tg, err := Open(t.Context(), Options{
		Spec: v1alpha1.DirectoryTarget{Path: dir}, Dir: "/nowhere",
		Own: func(path string) error { owned = append(owned, path); return nil },
	})
	if err != nil {
		t.Fatal(err)
	}
	if filepath.Dir(tg.Folders()[0]) != dir || len(owned) != 1 || owned[0] != tg.Folders()[0] {
		t.Errorf("the folder is %s, and owned are %v", tg.Folders()[0], owned)
	}
	if err := os.WriteFile(filepath.Join(tg.Folders()[0], "x"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if err := tg.Close(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	if left, _ := os.ReadDir(dir); len(left) != 1 || left[0].Name() != "kept" {
		t.Errorf("left are %v", left)
	}
}

func TestTheRunDirectoryIsTheDefault(t *testing.T) {
	work := filepath.Join(t.TempDir(), "run", "work")
	tg, err := Open(t.Context(), Options{Dir: work})
	if err != nil {
		t.Fatal(err)
	}
	defer tg.Close(t.Context())
	if filepath.Dir(tg.Folders()[0]) != work {
		t.Errorf("the folder is %s", tg.Folders()[0])
	}
}

func TestARAMDiskIsMountedAndGoes(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("mounting takes root")
	}
	tg, err := Open(t.Context(), Options{Spec: v1alpha1.DirectoryTarget{RAMDisk: 1 << 20}, Dir: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	defer tg.Close(t.Context())
	if on := tg.Disk(); !on.InMemory() {
		t.Errorf("it is on %s", on.Words())
	}
	if err := tg.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(tg.Folders()[0]); !os.IsNotExist(err) {
		t.Errorf("it is there yet: %v", err)
	}
}

func TestAFolderThatIsMissingIsNotMade(t *testing.T) {
	missing := filepath.Join(t.TempDir(), "missing")
	_, err := Open(t.Context(), Options{Spec: v1alpha1.DirectoryTarget{Path: missing}})
	if err == nil || !strings.Contains(err.Error(), "is the disk mounted?") {
		t.Errorf("error is %v", err)
	}
}

func TestDescribeSaysWhatTheDiskIs(t *testing.T) {
	tg, err := Open(t.Context(), Options{Dir: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	defer tg.Close(t.Context())
	d, err := tg.Describe(t.Context())
	if err != nil || len(d.Components) != 1 || d.Components[0].Name != "disk" || !strings.Contains(d.Components[0].Version, "mounted ") {
		t.Errorf("description is %+v, %v", d, err)
	}
}

func TestWhatATargetNeedsIsCheckedBeforehand(t *testing.T) {
	dir := t.TempDir()
	for _, row := range []struct {
		name string
		spec v1alpha1.DirectoryTarget
		want string // empty: nothing is missing
	}{
		{"a folder", v1alpha1.DirectoryTarget{Path: dir}, ""},
		{"the run directory", v1alpha1.DirectoryTarget{}, ""},
		{"a folder that is not there", v1alpha1.DirectoryTarget{Path: filepath.Join(dir, "missing")}, "is the disk mounted?"},
		{"a RAM disk beyond all memory", v1alpha1.DirectoryTarget{RAMDisk: 1 << 60}, "a RAM disk of "},
	} {
		if err := Check(row.spec); (err == nil) != (row.want == "") || err != nil && !strings.Contains(err.Error(), row.want) {
			t.Errorf("%s: %v; want %q", row.name, err, row.want)
		}
	}
	if left, err := os.ReadDir(dir); err != nil || len(left) > 0 {
		t.Errorf("left are %v, %v", left, err)
	}
}
