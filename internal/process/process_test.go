package process

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// helperEnv makes the test binary play plimsoll: it starts a child and waits to be killed.
const helperEnv = "PLIMSOLL_TEST_SUPERVISOR_DIR"

func TestMain(m *testing.M) {
	if dir := os.Getenv(helperEnv); dir != "" {
		supervise(dir)
	}
	os.Exit(m.Run())
}

func shell(t *testing.T, script string) Spec {
	t.Helper()
	return Spec{
		Name: "sleeper", Path: "/bin/sh", Args: []string{"-c", script}, Env: []string{"PATH=" + os.Getenv("PATH")},
		LogPath: filepath.Join(t.TempDir(), "sleeper.log"), ReadyTimeout: 5 * time.Second, Grace: 5 * time.Second,
	}
}

func exists(path string) func(context.Context) error {
	return func(context.Context) error {
		_, err := os.Stat(path)
		return err
	}
}

func alive(pid int) bool {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	return err == nil && !strings.Contains(string(stat), ") Z ")
}

func waitGone(t *testing.T, pid int) {
	t.Helper()
	for deadline := time.Now().Add(5 * time.Second); alive(pid); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("process %d is still alive", pid)
		}
	}
}

func readPID(t *testing.T, path string) int {
	t.Helper()
	for deadline := time.Now().Add(5 * time.Second); time.Now().Before(deadline); time.Sleep(5 * time.Millisecond) {
		text, _ := os.ReadFile(path)
		if pid, err := strconv.Atoi(strings.TrimSpace(string(text))); err == nil && strings.HasSuffix(string(text), "\n") {
			return pid
		}
	}
	t.Fatalf("no process id in %s", path)
	return 0
}

func TestStartWaitsForReadiness(t *testing.T) {
	flag := filepath.Join(t.TempDir(), "ready")
	spec := shell(t, "sleep 0.2; touch "+flag+"; echo up; echo trouble >&2; exec sleep 60")
	spec.Ready = exists(flag)
	start := time.Now()
	p, err := Start(t.Context(), spec)
	if err != nil {
		t.Fatal(err)
	}
	if took := time.Since(start); took < 200*time.Millisecond {
		t.Errorf("ready after %s, before the process said so", took)
	}
	if p.Err() != nil {
		t.Errorf("a running process has an error: %v", p.Err())
	}
	if err := p.Stop(t.Context()); err != nil {
		t.Fatal(err)
	}
	if log, _ := os.ReadFile(spec.LogPath); string(log) != "up\ntrouble\n" && string(log) != "trouble\nup\n" {
		t.Errorf("log is %q", log)
	}
	if err := p.Stop(t.Context()); err != nil || p.Err() != nil {
		t.Errorf("second stop: %v, error of a stopped process: %v", err, p.Err())
	}
}

func TestEarlyExit(t *testing.T) {
	for _, row := range []struct {
		name, script string
		cause        error
		want         []string
	}{
		{"an unknown flag", "echo starting; echo 'Error: unknown flag: --nonsense' >&2; exit 3", nil,
			[]string{"exit status 3", "it does not know a flag: Error: unknown flag: --nonsense", "| starting"}},
		{"a taken port", "echo 'listen tcp 127.0.0.1:2379: bind: address already in use'; exit 1", ErrAddressInUse,
			[]string{"127.0.0.1:2379"}},
		{"a full disk", "echo 'write wal: no space left on device'; exit 1", ErrDiskFull, []string{"the disk is full"}},
		{"a cause that a long usage text follows", "echo 'flag provided but not defined: -x'; seq 1 500; exit 2", nil,
			[]string{"does not know a flag: flag provided but not defined: -x", "| 481", "| 500"}},
		{"success, which nobody asked for", "exit 0", nil, []string{"exit status 0", "is empty"}},
		{"a kill from outside", "kill -KILL $$", nil, []string{"signal: killed", "lack of memory"}},
	} {
		t.Run(row.name, func(t *testing.T) {
			spec := shell(t, row.script)
			spec.Ready = func(context.Context) error { return errors.New("never") }
			start := time.Now()
			_, err := Start(t.Context(), spec)
			var exit *ExitError
			if !errors.As(err, &exit) {
				t.Fatalf("not an exit error: %v", err)
			}
			if took := time.Since(start); took > 2*time.Second {
				t.Errorf("noticed after %s", took)
			}
			for _, want := range append(row.want, "sleeper", spec.LogPath) {
				if !strings.Contains(err.Error(), want) {
					t.Errorf("no %q in: %v", want, err)
				}
			}
			if row.cause != nil && !errors.Is(err, row.cause) {
				t.Errorf("cause is %v", exit.Cause)
			}
			if len(exit.Tail) > tailLines {
				t.Errorf("%d lines of log", len(exit.Tail))
			}
		})
	}
}

func TestTailLeavesOutAnEarlierProcess(t *testing.T) {
	spec := shell(t, "echo new; exit 1")
	if err := os.WriteFile(spec.LogPath, []byte("address already in use\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	spec.Ready = func(context.Context) error { return errors.New("never") }
	_, err := Start(t.Context(), spec)
	if errors.Is(err, ErrAddressInUse) || !strings.Contains(err.Error(), "| new") {
		t.Errorf("error is %v", err)
	}
}

func TestNotReadyInTime(t *testing.T) {
	pidFile := filepath.Join(t.TempDir(), "pid")
	spec := shell(t, "echo $$ >"+pidFile+"; echo still thinking; exec sleep 60")
	spec.ReadyTimeout = 300 * time.Millisecond
	spec.Ready = func(context.Context) error { return errors.New("connection refused") }
	_, err := Start(t.Context(), spec)
	for _, want := range []string{"sleeper was not ready within 300ms", "connection refused", "| still thinking", spec.LogPath} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("no %q in: %v", want, err)
		}
	}
	waitGone(t, readPID(t, pidFile))
}

func TestStartIsCancelled(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	time.AfterFunc(100*time.Millisecond, cancel)
	spec := shell(t, "exec sleep 60")
	spec.Ready = func(ctx context.Context) error { <-ctx.Done(); return ctx.Err() }
	if _, err := Start(ctx, spec); !errors.Is(err, context.Canceled) {
		t.Errorf("error is %v", err)
	}
}

func TestStartOfAMissingBinary(t *testing.T) {
	spec := shell(t, "")
	spec.Path = "/nonexistent/sleeper"
	if _, err := Start(t.Context(), spec); !errors.Is(err, os.ErrNotExist) || !strings.Contains(err.Error(), "start sleeper") {
		t.Errorf("error is %v", err)
	}
}

func TestExitIsNoticedAtOnce(t *testing.T) {
	p, err := Start(t.Context(), shell(t, "echo last words; exec sleep 60"))
	if err != nil {
		t.Fatal(err)
	}
	time.Sleep(100 * time.Millisecond)
	killed := time.Now()
	_ = syscall.Kill(p.PID(), syscall.SIGSEGV)
	<-p.Exited()
	if took := time.Since(killed); took > 100*time.Millisecond {
		t.Errorf("noticed after %s", took)
	}
	if err := p.Err(); err == nil || !strings.Contains(err.Error(), "| last words") {
		t.Errorf("error is %v", err)
	}
}

func TestAKillIsAskedFor(t *testing.T) {
	last := filepath.Join(t.TempDir(), "last")
	p, err := Start(t.Context(), shell(t, "trap 'touch "+last+"' TERM EXIT; while :; do sleep 0.05; done"))
	if err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if err := p.Kill(); err != nil {
			t.Fatal(err)
		}
	}
	if p.Running() || p.Err() != nil {
		t.Errorf("running: %v, error: %v", p.Running(), p.Err())
	}
	if _, err := os.Stat(last); err == nil {
		t.Error("it had time for a last deed")
	}
	waitGone(t, p.PID())
}

func TestStopKillsWhoIgnoresIt(t *testing.T) {
	flag := filepath.Join(t.TempDir(), "ready")
	spec := shell(t, "trap '' TERM; touch "+flag+"; while :; do sleep 0.05; done")
	spec.Ready, spec.Grace = exists(flag), 200*time.Millisecond
	p, err := Start(t.Context(), spec)
	if err != nil {
		t.Fatal(err)
	}
	start := time.Now()
	if err := p.Stop(t.Context()); err != nil {
		t.Fatal(err)
	}
	if took := time.Since(start); took < spec.Grace || took > 2*time.Second {
		t.Errorf("stopped after %s", took)
	}
	waitGone(t, p.PID())
}

func TestPauseAndResume(t *testing.T) {
	ready := filepath.Join(t.TempDir(), "ready")
	spec := shell(t, "echo >> "+ready+"; exec sleep 60") // which does not fork: a shell that does is not seen to be stopped
	spec.Ready, spec.Grace = exists(ready), 20*time.Second
	p, err := Start(t.Context(), spec)
	if err != nil {
		t.Fatal(err)
	}
	state := func() string {
		text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", p.PID()))
		if err != nil {
			t.Fatal(err)
		}
		_, rest, _ := strings.Cut(string(text), ") ")
		return rest[:1]
	}
	becomes := func(stopped bool) {
		t.Helper()
		for range 200 {
			if (state() == "T") == stopped {
				return
			}
			time.Sleep(10 * time.Millisecond)
		}
		t.Errorf("stopped is not %v: state %s", stopped, state())
	}
	p.Pause()
	becomes(true)
	p.Resume()
	becomes(false)
	p.Pause()
	becomes(true)
	if err := p.Stop(t.Context()); err != nil { // what is paused ends when it is asked to
		t.Fatal(err)
	}
	waitGone(t, p.PID())
	p.Pause() // of nobody any more
	p.Resume()
}

func TestStopAtOnceWhenTheContextIsOver(t *testing.T) {
	flag := filepath.Join(t.TempDir(), "ready")
	spec := shell(t, "trap '' TERM; touch "+flag+"; while :; do sleep 0.05; done")
	spec.Ready, spec.Grace = exists(flag), time.Minute
	p, err := Start(t.Context(), spec)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := p.Stop(ctx); err != nil {
		t.Fatal(err)
	}
	waitGone(t, p.PID())
}

func TestGrandchildrenGo(t *testing.T) {
	for _, row := range []struct{ name, end string }{
		{"when the process is stopped", "wait"},
		{"when the process ends by itself", "sleep 0.1; exit 1"},
	} {
		t.Run(row.name, func(t *testing.T) {
			pidFile := filepath.Join(t.TempDir(), "pid")
			p, err := Start(t.Context(), shell(t, "(trap '' TERM; exec sleep 60) & echo $! >"+pidFile+"; "+row.end))
			if err != nil {
				t.Fatal(err)
			}
			grandchild := readPID(t, pidFile)
			if row.end == "wait" {
				_ = p.Stop(t.Context())
			}
			<-p.Exited()
			waitGone(t, grandchild)
		})
	}
}

// supervise is what the helper process does.
func supervise(dir string) {
	_, err := Start(context.Background(), Spec{
		Name: "orphan", Path: "/bin/sh", Args: []string{"-c", "echo $$ >" + dir + "/pid; exec sleep 60"},
		Env: []string{"PATH=" + os.Getenv("PATH")}, LogPath: filepath.Join(dir, "orphan.log"),
	})
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	select {}
}

func TestNoOrphanWhenTheSupervisorIsKilled(t *testing.T) {
	dir := t.TempDir()
	supervisor := exec.Command(os.Args[0])
	supervisor.Env = append(os.Environ(), helperEnv+"="+dir)
	supervisor.Stderr = os.Stderr
	if err := supervisor.Start(); err != nil {
		t.Fatal(err)
	}
	child := readPID(t, filepath.Join(dir, "pid"))
	// Long enough for an idle thread that did the fork to be gone, if it could go.
	time.Sleep(300 * time.Millisecond)
	if !alive(child) {
		t.Fatal("the child died while its supervisor lived")
	}
	_ = supervisor.Process.Kill()
	_ = supervisor.Wait()
	waitGone(t, child)
}

func TestRunToTheEnd(t *testing.T) {
	if err := Run(t.Context(), shell(t, "echo made")); err != nil {
		t.Error(err)
	}
	var exit *ExitError
	if err := Run(t.Context(), shell(t, "echo no space left on device; exit 3")); !errors.As(err, &exit) || !errors.Is(err, ErrDiskFull) {
		t.Errorf("error of a failure is %v", err)
	}
	ctx, cancel := context.WithTimeoutCause(t.Context(), 100*time.Millisecond, errors.New("enough"))
	defer cancel()
	if err := Run(ctx, shell(t, "exec sleep 60")); err == nil || !strings.Contains(err.Error(), "enough") {
		t.Errorf("error of a cancelled one is %v", err)
	}
}

func TestAnotherUser(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("only root may change users")
	}
	spec := shell(t, "id -u; id -g")
	spec.Credential = &syscall.Credential{Uid: 65534, Gid: 65534}
	if err := Run(t.Context(), spec); err != nil {
		t.Fatal(err)
	}
	if log, _ := os.ReadFile(spec.LogPath); string(log) != "65534\n65534\n" {
		t.Errorf("it ran as %q", log)
	}
}
