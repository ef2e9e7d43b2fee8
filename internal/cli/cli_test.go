package cli

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"
	"golang.org/x/sys/unix"

	"plimsoll.dev/plimsoll/internal/assets"
	"plimsoll.dev/plimsoll/internal/store"
)

func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){
		"plimsoll": func() { os.Exit(Main(System(), os.Args[1:])) },
	})
}

// The scripts drive the real command line against the real parts.
func TestScripts(t *testing.T) {
	cache, err := assets.CacheDir()
	if err != nil {
		t.Fatal(err)
	}
	// Scripts wait for things for a minute, and a first build takes longer.
	for _, part := range []string{"etcd", "kube-apiserver", "kube-controller-manager", "kine"} {
		if _, err := (&assets.Finder{}).Find(t.Context(), part); err != nil {
			t.Fatal(err)
		}
	}
	testscript.Run(t, testscript.Params{
		Dir:                 "testdata",
		RequireExplicitExec: true,
		Setup: func(env *testscript.Env) error {
			// Scripts have a home of their own, but share the parts and the Go caches.
			for _, name := range []string{"GOPATH", "GOMODCACHE", "GOCACHE", "GOPROXY", "GOSUMDB", "GONOSUMDB", "GOFLAGS"} {
				if value, err := exec.Command("go", "env", name).Output(); err == nil {
					env.Setenv(name, strings.TrimSpace(string(value)))
				}
			}
			// A cache of the script's own, with the parts of everyone's: what a run leaves there is looked at.
			if err := os.MkdirAll(filepath.Join(env.WorkDir, "cache"), 0o755); err != nil {
				return err
			}
			if err := os.Symlink(filepath.Join(cache, "components"), filepath.Join(env.WorkDir, "cache/components")); err != nil {
				return err
			}
			env.Setenv("PLIMSOLL_CACHE", filepath.Join(env.WorkDir, "cache"))
			program, err := exec.LookPath("plimsoll") // testscript.Main has put it there
			if err != nil {
				return err
			}
			env.Setenv("PLIMSOLL_BIN", filepath.Dir(program))
			env.Defer(func() { noOrphans(env.WorkDir) })
			small, err := os.ReadFile("testdata/small.yaml")
			if err != nil {
				return err
			}
			return os.WriteFile(filepath.Join(env.WorkDir, "small.yaml"), small, 0o644)
		},
		Condition: func(condition string) (bool, error) {
			switch condition {
			case "root":
				return os.Geteuid() == 0, nil
			case "throttle":
				_, err := os.Stat(blkio + "/blkio.throttle.write_iops_device")
				return os.Geteuid() == 0 && err == nil, nil
			}
			return false, fmt.Errorf("unknown condition %s", condition)
		},
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"exits":      exits,
			"waitfor":    waitFor,
			"fell":       fell,
			"orphans":    orphans,
			"listen":     listen,
			"edit":       edit,
			"smalldisk":  smallDisk,
			"slowdisk":   slowDisk,
			"within":     within,
			"kube":       kube,
			"refused":    refused,
			"credential": credential,
			"postgres":   postgres,
			"sql":        sql,
		},
	})
}

// exits CODE COMMAND... runs a command, keeps its output in the files out and
// err, and fails unless it exits with CODE.
func exits(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: exits CODE COMMAND...")
	}
	want, err := strconv.Atoi(args[0])
	ts.Check(err)
	path, err := lookPath(ts, args[1])
	ts.Check(err)
	out, err := os.Create(ts.MkAbs("out"))
	ts.Check(err)
	defer out.Close()
	errs, err := os.Create(ts.MkAbs("err"))
	ts.Check(err)
	defer errs.Close()
	cmd := exec.Command(path, args[2:]...)
	cmd.Dir, cmd.Env, cmd.Stdout, cmd.Stderr = ts.MkAbs("."), environ(ts), out, errs
	err = cmd.Run()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		ts.Fatalf("%v", err)
	}
	if got := cmd.ProcessState.ExitCode(); got != want {
		ts.Fatalf("%s exited with %d, want %d\n%s\n%s", strings.Join(args[1:], " "), got, want, ts.ReadFile("out"), ts.ReadFile("err"))
	}
}

func environ(ts *testscript.TestScript) []string {
	var env []string
	for _, name := range []string{"PATH", "HOME", "TMPDIR", "PLIMSOLL_CACHE", "PLIMSOLL_ASSETS", "GOPATH", "GOMODCACHE", "GOCACHE", "GOPROXY", "GOSUMDB", "GOFLAGS"} {
		if value := ts.Getenv(name); value != "" {
			env = append(env, name+"="+value)
		}
	}
	return env
}

func lookPath(ts *testscript.TestScript, name string) (string, error) {
	for _, dir := range filepath.SplitList(ts.Getenv("PATH")) {
		if info, err := os.Stat(filepath.Join(dir, name)); err == nil && info.Mode()&0o111 != 0 {
			return filepath.Join(dir, name), nil
		}
	}
	return "", fmt.Errorf("%s is not on the script's PATH", name)
}

// waitfor FILE PATTERN waits, for at most a minute, until a file has a match.
// FILE may be a glob.
func waitFor(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: waitfor FILE PATTERN")
	}
	pattern, err := regexp.Compile(args[1])
	ts.Check(err)
	for deadline := time.Now().Add(time.Minute); time.Now().Before(deadline); time.Sleep(50 * time.Millisecond) {
		files, err := filepath.Glob(ts.MkAbs(args[0]))
		ts.Check(err)
		for _, file := range files {
			if data, err := os.ReadFile(file); err == nil && pattern.Match(data) {
				return
			}
		}
	}
	ts.Fatalf("%s: no match of %s within a minute", args[0], args[1])
}

// fell RESULTS COMPONENT kills a component of the run that goes on in RESULTS.
// PostgreSQL, of which a kill leaves a segment of shared memory in the kernel, is
// told to end at once.
func fell(ts *testscript.TestScript, neg bool, args []string) {
	signals := map[string]syscall.Signal{"postgres": syscall.SIGQUIT}
	if neg || len(args) != 2 {
		ts.Fatalf("usage: fell RESULTS COMPONENT")
	}
	files, err := filepath.Glob(ts.MkAbs(args[0] + "/runs/*/environment.json"))
	ts.Check(err)
	if len(files) != 1 {
		ts.Fatalf("%d environments in %s", len(files), args[0])
	}
	data, err := os.ReadFile(files[0])
	ts.Check(err)
	var environment store.Environment
	ts.Check(json.Unmarshal(data, &environment))
	for _, c := range environment.Components {
		if c.Name == args[1] {
			signal, ok := signals[c.Name]
			if !ok {
				signal = syscall.SIGKILL
			}
			ts.Check(syscall.Kill(c.PID, signal))
			return
		}
	}
	ts.Fatalf("the run has no component %s", args[1])
}

// orphans fails if a process still works in the script's folder. "! orphans"
// is how it is used; it waits two seconds for killed processes to be gone.
func orphans(ts *testscript.TestScript, neg bool, args []string) {
	if !neg || len(args) != 0 {
		ts.Fatalf("usage: ! orphans")
	}
	if left := noOrphans(ts.MkAbs(".")); left != "" {
		ts.Fatalf("left running:\n%s", left)
	}
}

// noOrphans gives, and kills, the components that name dir in their arguments.
func noOrphans(dir string) string {
	var left []string
	for deadline := time.Now().Add(2 * time.Second); time.Now().Before(deadline); time.Sleep(50 * time.Millisecond) {
		if left = componentsOf(dir); len(left) == 0 {
			return ""
		}
	}
	for _, line := range left {
		if pid, err := strconv.Atoi(strings.Fields(line)[0]); err == nil {
			_ = syscall.Kill(pid, syscall.SIGKILL)
		}
	}
	return strings.Join(left, "\n")
}

func componentsOf(dir string) []string {
	var found []string
	commands, _ := filepath.Glob("/proc/[0-9]*/cmdline")
	for _, file := range commands {
		data, err := os.ReadFile(file)
		line := strings.ReplaceAll(string(data), "\x00", " ")
		if err != nil || !strings.Contains(line, dir+"/") {
			continue
		}
		if name := filepath.Base(strings.Fields(line)[0]); name == "etcd" || name == "kube-apiserver" || name == "kine" {
			found = append(found, filepath.Base(filepath.Dir(file))+" "+line)
		}
	}
	return found
}

// listen VARIABLE takes a free port until the script ends and keeps its number.
func listen(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: listen VARIABLE")
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	ts.Check(err)
	ts.Defer(func() { _ = listener.Close() })
	ts.Setenv(args[0], strconv.Itoa(listener.Addr().(*net.TCPAddr).Port))
}

// edit FILE OLD NEW replaces every match of a pattern. FILE may be a glob.
func edit(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 3 {
		ts.Fatalf("usage: edit FILE OLD NEW")
	}
	pattern, err := regexp.Compile(args[1])
	ts.Check(err)
	files, err := filepath.Glob(ts.MkAbs(args[0]))
	ts.Check(err)
	if len(files) == 0 {
		ts.Fatalf("no file is called %s", args[0])
	}
	for _, file := range files {
		data, err := os.ReadFile(file)
		ts.Check(err)
		if !pattern.Match(data) {
			ts.Fatalf("%s: no match of %s", file, args[1])
		}
		ts.Check(os.WriteFile(file, pattern.ReplaceAll(data, []byte(os.Expand(args[2], ts.Getenv))), 0o644))
	}
}

// smalldisk DIR SIZE mounts a file system of the size until the script ends.
func smallDisk(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: smalldisk DIR SIZE")
	}
	dir := ts.MkAbs(args[0])
	ts.Check(os.MkdirAll(dir, 0o755))
	ts.Check(syscall.Mount("tmpfs", dir, "tmpfs", 0, "size="+args[1]))
	ts.Defer(func() { _ = syscall.Unmount(dir, syscall.MNT_DETACH) })
}

// blkio is where version 1 of control groups throttles disks.
const blkio = "/sys/fs/cgroup/blkio"

// slowdisk VARIABLE WRITES makes a control group whose processes may write to the
// disk of the script's folder only so often a second, and keeps its folder.
func slowDisk(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: slowdisk VARIABLE WRITES")
	}
	group, err := os.MkdirTemp(blkio, "plimsoll-test-")
	ts.Check(err)
	ts.Defer(func() { _ = os.Remove(group) })
	var stat syscall.Stat_t
	ts.Check(syscall.Stat(ts.MkAbs("."), &stat))
	device, err := filepath.EvalSymlinks(fmt.Sprintf("/sys/dev/block/%d:%d", unix.Major(stat.Dev), unix.Minor(stat.Dev)))
	ts.Check(err)
	if _, err := os.Stat(device + "/partition"); err == nil {
		device = filepath.Dir(device)
	}
	number, err := os.ReadFile(device + "/dev")
	ts.Check(err)
	rule := strings.TrimSpace(string(number)) + " " + args[1]
	ts.Check(os.WriteFile(group+"/blkio.throttle.write_iops_device", []byte(rule), 0o644))
	ts.Setenv(args[0], group)
}

// within SECONDS COMMAND... fails if the script's command takes longer.
func within(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: within SECONDS COMMAND...")
	}
	limit, err := strconv.ParseFloat(args[0], 64)
	ts.Check(err)
	start := time.Now()
	ts.Check(ts.Exec(args[1], args[2:]...))
	if took := time.Since(start).Seconds(); took > limit {
		ts.Fatalf("%s took %.1f s, over %v s", strings.Join(args[1:], " "), took, limit)
	}
}

func TestEveryVerbHasAnExample(t *testing.T) {
	for _, command := range newRoot(System()).Commands() {
		if command.Name() == "completion" { // cobra's own; it explains itself
			continue
		}
		if command.Example == "" || command.Short == "" {
			t.Errorf("%s has no example or summary", command.Name())
		}
	}
}

func TestLinesOfProgressFitTheTerminal(t *testing.T) {
	var out strings.Builder
	d := newDisplay(Environment{Stderr: &out, Width: func() int { return 20 }})
	d.draw([]string{strings.Repeat("é", 50)})
	d.draw([]string{"short"})
	d.Say("done")
	lines := bufio.NewScanner(strings.NewReader(out.String()))
	for lines.Scan() {
		if n := len([]rune(regexp.MustCompile(`\x1b\[[0-9]*[AJ]`).ReplaceAllString(lines.Text(), ""))); n > 19 {
			t.Errorf("a line of %d characters on a terminal of 20", n)
		}
	}
	if strings.Count(out.String(), "\x1b[1A\x1b[J") != 2 {
		t.Errorf("the live line was not replaced twice: %q", out.String())
	}
}
