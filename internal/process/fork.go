package process

import (
	"os/exec"
	"runtime"
	"syscall"

	"golang.org/x/sys/unix"
)

// Fork starts cmd in a process group of its own, to be killed when plimsoll
// dies. The channel delivers what cmd.Wait returns; by then nothing of the
// group is left.
func Fork(cmd *exec.Cmd) (<-chan error, error) {
	if cmd.SysProcAttr == nil {
		cmd.SysProcAttr = &syscall.SysProcAttr{}
	}
	cmd.SysProcAttr.Setpgid = true
	if cmd.SysProcAttr.Pdeathsig == 0 {
		cmd.SysProcAttr.Pdeathsig = syscall.SIGKILL
	}

	started, done := make(chan error), make(chan error, 1)
	go func() {
		// The kernel sends Pdeathsig when the thread that forked ends, not the
		// process. So that thread is kept for as long as the child lives.
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		err := cmd.Start()
		started <- err
		if err != nil {
			return
		}
		awaitExit(cmd.Process.Pid)
		// Before the reaping, while the id cannot belong to anyone else.
		signalGroup(cmd.Process.Pid, syscall.SIGKILL)
		done <- cmd.Wait()
	}()
	if err := <-started; err != nil {
		return nil, err
	}
	return done, nil
}

// KillGroup kills a command started by Fork and all that it started.
func KillGroup(cmd *exec.Cmd) { signalGroup(cmd.Process.Pid, syscall.SIGKILL) }

// awaitExit returns when the child has ended, and leaves it to be reaped.
func awaitExit(pid int) {
	for unix.Waitid(unix.P_PID, pid, nil, unix.WEXITED|unix.WNOWAIT, nil) == unix.EINTR {
	}
}

// signalGroup ignores its error: the only likely one is that nobody is left.
func signalGroup(pid int, s syscall.Signal) { _ = syscall.Kill(-pid, s) }
