package local

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"plimsoll.dev/plimsoll/api/v1alpha1"
	"plimsoll.dev/plimsoll/internal/assets"
)

// killedEnv makes the test binary play a plimsoll whose target has the backend of
// this name, and that waits to be killed; killedDirEnv is its folder.
const (
	killedEnv    = "PLIMSOLL_TEST_KILLED"
	killedDirEnv = "PLIMSOLL_TEST_KILLED_DIR"
)

func TestMain(m *testing.M) {
	if backend := os.Getenv(killedEnv); backend != "" {
		dir := os.Getenv(killedDirEnv)
		spec := kineTarget(v1alpha1.Kine{Backend: v1alpha1.Backend(backend), DataDir: dir})
		spec.KubeAPIServer = disabled()
		_, err := Start(context.Background(), Options{
			Spec: spec, Dir: filepath.Join(dir, "work"), LogDir: filepath.Join(dir, "logs"), Binaries: &assets.Finder{},
		})
		fmt.Println("started:", err)
		select {}
	}
	os.Exit(m.Run())
}

// at counts the processes that have their working directory under dir.
func at(dir string) int {
	n := 0
	links, _ := filepath.Glob("/proc/[0-9]*/cwd")
	for _, link := range links {
		if cwd, err := os.Readlink(link); err == nil && strings.HasPrefix(cwd, dir) {
			n++
		}
	}
	return n
}

func TestNoDatabaseOutlivesAKilledPlimsoll(t *testing.T) {
	if testing.Short() {
		t.Skip("boots real parts")
	}
	for _, backend := range []v1alpha1.Backend{v1alpha1.Postgres, v1alpha1.MariaDB} {
		t.Run(string(backend), func(t *testing.T) {
			// Not t.TempDir: the parent of that is closed to other users.
			dir, err := os.MkdirTemp("", "plimsoll-killed-")
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { _ = os.RemoveAll(dir) })
			if err := os.Chmod(dir, 0o755); err != nil {
				t.Fatal(err)
			}
			plimsoll := exec.Command(os.Args[0])
			plimsoll.Env = append(os.Environ(), killedEnv+"="+string(backend), killedDirEnv+"="+dir)
			out, err := plimsoll.StdoutPipe()
			if err := errors.Join(err, plimsoll.Start()); err != nil {
				t.Fatal(err)
			}
			line, err := bufio.NewReader(out).ReadString('\n')
			if err != nil || line != "started: <nil>\n" {
				t.Fatalf("it says %q, %v", line, err)
			}
			if n := at(dir); n == 0 {
				t.Fatal("no process of the database is seen")
			}
			_ = plimsoll.Process.Kill()
			_ = plimsoll.Wait()
			killed := time.Now()
			for at(dir) > 0 {
				if time.Since(killed) > 10*time.Second {
					t.Fatalf("%d processes are left", at(dir))
				}
				time.Sleep(10 * time.Millisecond)
			}
			t.Logf("gone after %s", time.Since(killed).Round(time.Millisecond))
		})
	}
}
