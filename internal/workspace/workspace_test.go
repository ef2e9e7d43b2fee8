package workspace

import (
	"bufio"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"plimsoll.dev/plimsoll/internal/ramdisk"
)

// TestMain lets a child of the tests open a workspace and wait to be killed.
func TestMain(m *testing.M) {
	root := os.Getenv("PLIMSOLL_TEST_WORKSPACE")
	if root == "" {
		os.Exit(m.Run())
	}
	w, err := Open(root)
	if err == nil {
		err = errors.Join(w.Own(filepath.Join(root, "elsewhere")), os.WriteFile(filepath.Join(w.Dir, "key"), nil, 0o600))
	}
	if err == nil && os.Geteuid() == 0 {
		err = ramdisk.Mount(filepath.Join(root, "elsewhere"), 1<<20)
	}
	fmt.Println(w.Dir, err)
	select {}
}

// child is a process with a workspace.
func child(t *testing.T, root string) (dir string, kill func()) {
	t.Helper()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), "PLIMSOLL_TEST_WORKSPACE="+root)
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	kill = func() { _ = cmd.Process.Kill(); _ = cmd.Wait() }
	t.Cleanup(kill)
	line, err := bufio.NewReader(out).ReadString('\n')
	var message string
	if _, scanned := fmt.Sscan(line, &dir, &message); err != nil || scanned != nil || message != "<nil>" {
		t.Fatalf("the child says %q, %v", line, err)
	}
	return dir, kill
}

func gone(path string) bool {
	_, err := os.Stat(path)
	return errors.Is(err, fs.ErrNotExist)
}

func TestTheWorkspaceOfAKilledProcessIsRemovedByTheNext(t *testing.T) {
	root := t.TempDir()
	elsewhere := filepath.Join(root, "elsewhere")
	if err := os.Mkdir(elsewhere, 0o700); err != nil {
		t.Fatal(err)
	}
	left, kill := child(t, root)
	if os.Geteuid() == 0 && !mountedAt(t, elsewhere) {
		t.Fatal("the child has no RAM disk")
	}

	beside, err := Open(root)
	if err != nil {
		t.Fatal(err)
	}
	if gone(left) || gone(elsewhere) {
		t.Error("the workspace of a living process was removed")
	}
	if err := beside.Close(); err != nil {
		t.Error(err)
	}

	kill()
	next, err := Open(root)
	if err != nil {
		t.Fatal(err)
	}
	defer next.Close()
	if !gone(left) || !gone(elsewhere) {
		t.Error("what a killed process left is still there")
	}
	if mountedAt(t, elsewhere) {
		t.Error("its RAM disk is still mounted")
	}
}

func mountedAt(t *testing.T, path string) bool {
	t.Helper()
	mounts, err := os.ReadFile("/proc/self/mounts")
	if err != nil {
		t.Fatal(err)
	}
	return strings.Contains(string(mounts), " "+path+" ")
}

func TestCloseRemovesTheWorkspaceAndWhatItOwns(t *testing.T) {
	w, err := Open(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	owned := t.TempDir()
	if err := w.Own(owned); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	if !gone(w.Dir) || !gone(owned) {
		t.Error("something is left")
	}
}
