// Package process supervises one child process: it starts it, waits until it
// is ready, notices its exit at once and says why, and stops it with all that
// it started. A child never outlives plimsoll, not even a plimsoll that is
// killed with SIGKILL.
package process

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"sync/atomic"
	"syscall"
	"time"
)

const (
	defaultReadyTimeout = 30 * time.Second
	defaultGrace        = 10 * time.Second
	readyInterval       = 25 * time.Millisecond
	reapTimeout         = 10 * time.Second
)

// Spec says what to start and when it counts as ready.
type Spec struct {
	// Name of the component, for messages.
	Name string
	// Path of the binary, and its arguments without the binary's own name.
	Path string
	Args []string
	// Env is the whole environment, as KEY=value; nothing is inherited.
	Env []string
	// Dir is the working directory; plimsoll's own when empty.
	Dir string
	// LogPath is the file that standard output and standard error are appended to.
	LogPath string
	// Ready is asked every 25 ms until it returns nil. It must respect its
	// context. Nil means ready at once.
	Ready func(context.Context) error
	// ReadyTimeout bounds the wait for Ready. Default 30s.
	ReadyTimeout time.Duration
	// StopSignal asks the process to end. Default SIGTERM.
	StopSignal syscall.Signal
	// DeathSignal is what the kernel sends when plimsoll dies. Default SIGKILL; another
	// one is for a process whose children leave its group, and that ends them itself.
	DeathSignal syscall.Signal
	// Credential is the user that it runs as; plimsoll's own when nil.
	Credential *syscall.Credential
	// Grace is the time between StopSignal and SIGKILL. Default 10s.
	Grace time.Duration
}

// Process is one running or finished child.
type Process struct {
	spec     Spec
	cmd      *exec.Cmd
	started  time.Time
	logStart int64

	asked  atomic.Bool
	exited chan struct{}
	err    error // written before exited is closed
}

// Start starts the process and returns when it is ready. ctx bounds the start
// only; afterwards the process runs until Stop. When it exits first the error
// is an *ExitError; after any error nothing of it is left running.
func Start(ctx context.Context, spec Spec) (*Process, error) {
	p := &Process{spec: spec.withDefaults(), exited: make(chan struct{})}
	if err := p.fork(); err != nil {
		return nil, fmt.Errorf("start %s: %w", spec.Name, err)
	}
	if err := p.awaitReady(ctx); err != nil {
		stopped, cancel := context.WithCancel(ctx)
		cancel() // a start that failed has no state worth a grace period
		return nil, errors.Join(err, p.Stop(stopped))
	}
	return p, nil
}

// Run starts the process and returns when it has ended. Unless it has succeeded
// the error is an *ExitError. It is killed when ctx is over.
func Run(ctx context.Context, spec Spec) error {
	p := &Process{spec: spec.withDefaults(), exited: make(chan struct{})}
	if err := p.fork(); err != nil {
		return fmt.Errorf("start %s: %w", spec.Name, err)
	}
	select {
	case <-p.exited:
	case <-ctx.Done():
		return errors.Join(fmt.Errorf("run %s: %w", spec.Name, context.Cause(ctx)), p.Stop(ctx))
	}
	if p.cmd.ProcessState.Success() {
		return nil
	}
	return p.err
}

func (s Spec) withDefaults() Spec {
	s.ReadyTimeout = cmp.Or(s.ReadyTimeout, defaultReadyTimeout)
	s.StopSignal = cmp.Or(s.StopSignal, syscall.SIGTERM)
	s.Grace = cmp.Or(s.Grace, defaultGrace)
	if s.Env == nil {
		s.Env = []string{} // exec takes nil for "inherit"
	}
	return s
}

// fork starts the child with its log as its output and watches for its exit.
func (p *Process) fork() error {
	log, err := os.OpenFile(p.spec.LogPath, os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o644)
	if err != nil {
		return fmt.Errorf("open its log: %w", err)
	}
	defer log.Close()
	if info, err := log.Stat(); err == nil {
		p.logStart = info.Size()
	}

	// A file, not a pipe: the child must not stall or die with its reader.
	p.cmd = exec.Command(p.spec.Path, p.spec.Args...)
	p.cmd.Env, p.cmd.Dir, p.cmd.Stdout, p.cmd.Stderr = p.spec.Env, p.spec.Dir, log, log
	p.cmd.SysProcAttr = &syscall.SysProcAttr{Credential: p.spec.Credential, Pdeathsig: p.spec.DeathSignal}
	p.started = time.Now()
	done, err := Fork(p.cmd)
	if err != nil {
		return err
	}
	go func() {
		<-done
		if !p.asked.Load() {
			p.err = p.exitError()
		}
		close(p.exited)
	}()
	return nil
}

// awaitReady polls until the process is ready, has exited, or ran out of time.
func (p *Process) awaitReady(parent context.Context) error {
	ctx, cancel := context.WithTimeout(parent, p.spec.ReadyTimeout)
	defer cancel()
	go func() {
		select {
		case <-p.exited:
			cancel() // ends a probe that is under way
		case <-ctx.Done():
		}
	}()
	tick := time.NewTicker(readyInterval)
	defer tick.Stop()
	for {
		var probe error
		if p.spec.Ready != nil {
			probe = p.spec.Ready(ctx)
		}
		if !p.Running() {
			return p.err
		}
		if probe == nil {
			return nil
		}
		select {
		case <-tick.C:
		case <-p.exited:
			return p.err
		case <-ctx.Done():
			if parent.Err() != nil {
				return fmt.Errorf("start %s: %w", p.spec.Name, context.Cause(parent))
			}
			return p.notReady(probe)
		}
	}
}

// PID is the process id, which is also the id of its group.
func (p *Process) PID() int { return p.cmd.Process.Pid }

// Name is the component's name.
func (p *Process) Name() string { return p.spec.Name }

// Exited is closed when the process has ended and has been reaped.
func (p *Process) Exited() <-chan struct{} { return p.exited }

// Running says that the process has not ended.
func (p *Process) Running() bool {
	select {
	case <-p.exited:
		return false
	default:
		return true
	}
}

// Err is the *ExitError of a process that ended without having been asked to,
// whatever its exit status; nil while it runs, and after Stop and Kill.
func (p *Process) Err() error {
	if p.Running() {
		return nil
	}
	return p.err
}

// Stop asks the process group to end and kills it when its grace period or ctx
// is over. It returns when the process has been reaped, and is safe to call
// again, and for a process that has exited by itself.
func (p *Process) Stop(ctx context.Context) error {
	if !p.Running() {
		return nil
	}
	p.asked.Store(true)
	signalGroup(p.PID(), p.spec.StopSignal)
	p.Resume() // what is stopped cannot end

	grace := time.NewTimer(p.spec.Grace)
	defer grace.Stop()
	select {
	case <-p.exited:
		return nil
	case <-grace.C:
	case <-ctx.Done():
	}
	return p.kill()
}

// Kill ends the process group at once, as if its machine had lost its power, and
// returns when the process has been reaped. Err is nil afterwards, as after Stop.
func (p *Process) Kill() error {
	if !p.Running() {
		return nil
	}
	p.asked.Store(true)
	return p.kill()
}

func (p *Process) kill() error {
	signalGroup(p.PID(), syscall.SIGKILL)
	reap := time.NewTimer(reapTimeout)
	defer reap.Stop()
	select {
	case <-p.exited:
		return nil
	case <-reap.C:
		return fmt.Errorf("stop %s: process %d is still there %s after SIGKILL, probably waiting for its disk",
			p.spec.Name, p.PID(), reapTimeout)
	}
}

// Pause stops the process group until Resume, as if its machine stood still.
func (p *Process) Pause() { p.signal(syscall.SIGSTOP) }

// Resume lets the process group go on; it does nothing to one that is not paused.
func (p *Process) Resume() { p.signal(syscall.SIGCONT) }

// signal leaves one alone that has been reaped: its id may be another's by now.
func (p *Process) signal(s syscall.Signal) {
	if p.Running() {
		signalGroup(p.PID(), s)
	}
}
