package process

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"syscall"
	"time"
)

// Causes that a caller can act upon; errors.Is finds them in an *ExitError.
var (
	ErrAddressInUse = errors.New("an address that it wants is in use")
	ErrDiskFull     = errors.New("the disk is full")
)

const (
	tailLines = 20
	tailBytes = 64 << 10
	lineBytes = 400
)

// ExitError is the end of a process that was not asked to end.
type ExitError struct {
	Name string
	PID  int
	// Ran is the time from its start to its end.
	Ran time.Duration
	// State is the exit status or the signal.
	State string
	// Cause is the likely reason, guessed from the state and the log; nil if there is no guess.
	Cause error
	// Log is the path of the log file, Tail its last lines.
	Log  string
	Tail []string
}

// Error says what ended, how, why probably, and where to read on, followed by
// the last lines of the log.
func (e *ExitError) Error() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s (process %d) ended by itself after %s with %s", e.Name, e.PID, e.Ran.Round(time.Millisecond), e.State)
	if e.Cause != nil {
		fmt.Fprintf(&b, "; likely cause: %s", e.Cause)
	}
	writeTail(&b, e.Log, e.Tail)
	return b.String()
}

// Unwrap gives the likely cause.
func (e *ExitError) Unwrap() error { return e.Cause }

func (p *Process) exitError() *ExitError {
	lines := readTail(p.spec.LogPath, p.logStart)
	e := &ExitError{
		Name: p.spec.Name, PID: p.PID(), Ran: time.Since(p.started), State: p.cmd.ProcessState.String(),
		Cause: likelyCause(lines), Log: p.spec.LogPath, Tail: last(lines),
	}
	if s, ok := p.cmd.ProcessState.Sys().(syscall.WaitStatus); ok && s.Signaled() && s.Signal() == syscall.SIGKILL {
		e.Cause = errors.New("it was killed from outside, by a person or by the kernel for lack of memory (see dmesg)")
	}
	return e
}

// notReady is the error of a process that runs and does not become ready.
func (p *Process) notReady(probe error) error {
	lines := readTail(p.spec.LogPath, p.logStart)
	var b strings.Builder
	if cause := likelyCause(lines); cause != nil {
		fmt.Fprintf(&b, "; likely cause: %s", cause)
	}
	writeTail(&b, p.spec.LogPath, last(lines))
	return fmt.Errorf("%s was not ready within %s: %w%s", p.spec.Name, p.spec.ReadyTimeout, probe, b.String())
}

// likelyCause looks for the first known trouble in the lines of a log.
func likelyCause(lines []string) error {
	for _, c := range []struct {
		sign string
		err  error
	}{
		{"address already in use", ErrAddressInUse},
		{"no space left on device", ErrDiskFull},
		{"database or disk is full", ErrDiskFull}, // SQLite's words
		{"unrecognized configuration parameter", errors.New("it does not know a setting")},
		{"unknown variable", errors.New("it does not know a setting")},
		{"unknown flag", errors.New("it does not know a flag")},
		{"unknown shorthand flag", errors.New("it does not know a flag")},
		{"flag provided but not defined", errors.New("it does not know a flag")},
		{"invalid argument", errors.New("it does not accept the value of a flag")},
		{"invalid value", errors.New("it does not accept the value of a flag")},
		{"read-only file system", errors.New("it may not write there")},
		{"permission denied", errors.New("it may not do that")},
		{"too many open files", errors.New("the limit of open files is too low (ulimit -n)")},
		{"cannot allocate memory", errors.New("there is not enough memory")},
		{"out of memory", errors.New("there is not enough memory")},
		{`"command failed"`, errors.New("it gave up")}, // how Kubernetes' programs report what made them end
		{"panic: ", errors.New("it panicked")},
	} {
		for _, line := range lines {
			if strings.Contains(strings.ToLower(line), c.sign) {
				return fmt.Errorf("%w: %s", c.err, line)
			}
		}
	}
	return nil
}

// readTail reads the last lines of a log, from offset on at most.
func readTail(path string, offset int64) []string {
	f, err := os.Open(path)
	if err != nil {
		return nil
	}
	defer f.Close()
	if info, err := f.Stat(); err == nil {
		offset = max(offset, info.Size()-tailBytes)
	}
	text, _ := io.ReadAll(io.NewSectionReader(f, offset, tailBytes))
	var lines []string
	for line := range bytes.Lines(text) {
		if line = bytes.TrimSpace(line); len(line) > lineBytes {
			line = append(line[:lineBytes:lineBytes], "…"...)
		}
		if len(line) > 0 {
			lines = append(lines, string(line))
		}
	}
	return lines
}

func last(lines []string) []string { return lines[max(0, len(lines)-tailLines):] }

func writeTail(b *strings.Builder, path string, lines []string) {
	if len(lines) == 0 {
		fmt.Fprintf(b, "\nits log %s is empty", path)
		return
	}
	fmt.Fprintf(b, "\nits log %s ends with\n  | %s", path, strings.Join(lines, "\n  | "))
}
