package assets

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"go/version"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"plimsoll.dev/plimsoll/internal/process"
)

// Phase is what a build is busy with.
type Phase string

// The phases of a build, in their order.
const (
	Waiting     Phase = "waiting"     // another plimsoll builds this part
	Downloading Phase = "downloading" // Done counts modules, Total is unknown
	Compiling   Phase = "compiling"   // Done and Total count packages
	Linking     Phase = "linking"
	Ready       Phase = "ready"
)

// Event is where a build stands.
type Event struct {
	Part, Version string
	Phase         Phase
	// Done of Total have been dealt with; Total is 0 where it cannot be known.
	Done, Total int
	// Elapsed since the build, or the wait for another one, began.
	Elapsed time.Duration
	// Expected duration of a first build of this part on two cores.
	Expected time.Duration
}

const (
	progressInterval = time.Second
	failureLines     = 20
)

// toolchain is a go command and the version that it has for a recipe.
type toolchain struct{ path, version string }

// findToolchain asks the go command for its version as if it were inside the
// module of the pins, where it may choose a newer toolchain than its own.
func findToolchain(ctx context.Context, r recipe) (toolchain, error) {
	path, err := exec.LookPath("go")
	if err != nil {
		return toolchain{}, fmt.Errorf("there is no Go toolchain: %w", err)
	}
	dir, err := os.MkdirTemp("", "plimsoll-go-")
	if err != nil {
		return toolchain{}, fmt.Errorf("ask %s for its version: %w", path, err)
	}
	defer os.RemoveAll(dir)
	if err := r.writePins(dir); err != nil {
		return toolchain{}, err
	}
	ask := func(variable string) (string, error) {
		cmd := exec.CommandContext(ctx, path, "env", variable)
		cmd.Dir, cmd.Env = dir, append(os.Environ(), r.environment()...)
		out, err := cmd.CombinedOutput()
		if err != nil {
			return "", fmt.Errorf("the Go toolchain %s is of no use: %w: %s", path, err, lastLines(string(out), 3))
		}
		return lastLines(string(out), 1), nil
	}
	v, err := ask("GOVERSION")
	if err != nil {
		return toolchain{}, err
	}
	if version.Compare(v, "go"+r.goVersion) < 0 {
		return toolchain{}, fmt.Errorf("the Go toolchain %s is too old: %s", path, v)
	}
	if r.part.CGO {
		compiler, err := ask("CC")
		if err != nil {
			return toolchain{}, err
		}
		if err := findCompiler(compiler); err != nil {
			return toolchain{}, fmt.Errorf("%s has parts in C: %w", r.part.Name, err)
		}
	}
	return toolchain{path, v}, nil
}

// findCompiler looks for the C compiler that go would use: a command, and
// perhaps options of it.
func findCompiler(command string) error {
	name, _, _ := strings.Cut(command, " ")
	if _, err := exec.LookPath(name); err != nil {
		return fmt.Errorf("there is no C compiler: %w (apt-get install gcc libc6-dev)", err)
	}
	return nil
}

func (r recipe) writePins(dir string) error {
	return errors.Join(
		os.WriteFile(filepath.Join(dir, "go.mod"), r.mod, 0o644),
		os.WriteFile(filepath.Join(dir, "go.sum"), r.sum, 0o644),
	)
}

// build makes the binary, unless another process has just made it.
func (f *Finder) build(ctx context.Context, r recipe, tools toolchain) (Binary, error) {
	e := r.entry(tools.version)
	if e.err != nil {
		return Binary{}, e.err
	}
	b := &build{recipe: r, tools: tools, entry: e, report: f.Progress, start: time.Now()}
	binary, err := b.run(ctx)
	switch {
	case err == nil:
		b.advance(Ready, 0, 0)
		return binary, nil
	case ctx.Err() != nil:
		return Binary{}, fmt.Errorf("build %s %s: %w", r.part.Name, r.version, context.Cause(ctx))
	default:
		return Binary{}, fmt.Errorf("build %s %s: %w\n%s", r.part.Name, r.version, explain(err, e), waysOut(r.part.Name))
	}
}

// build is one build under way.
type build struct {
	recipe recipe
	tools  toolchain
	entry  entry
	report func(Event)
	start  time.Time
	folder string // scratch, while the lock is held

	mu    sync.Mutex
	event Event
}

func (b *build) run(ctx context.Context) (Binary, error) {
	defer b.tick()()
	if err := os.MkdirAll(filepath.Dir(b.entry.dir), 0o755); err != nil {
		return Binary{}, err
	}
	unlock, err := lock(ctx, b.entry, func() { b.advance(Waiting, 0, 0) })
	if err != nil {
		return Binary{}, fmt.Errorf("lock %s: %w", b.entry.dir, err)
	}
	defer unlock()
	if binary, ok := cached(b.entry); ok {
		return binary, nil
	}
	if b.folder, err = b.entry.scratch(); err != nil {
		return Binary{}, err
	}
	defer os.RemoveAll(b.folder)
	if err := b.compile(ctx); err != nil {
		return Binary{}, err
	}
	rec := record{Version: b.recipe.version, Recipe: b.recipe.key(""), Go: b.tools.version}
	if err := b.entry.complete(b.dir("out"), rec); err != nil {
		return Binary{}, err
	}
	binary, ok := cached(b.entry)
	if !ok {
		return Binary{}, fmt.Errorf("%s vanished right after its build", b.entry.binary())
	}
	return binary, nil
}

func (b *build) dir(name string) string { return filepath.Join(b.folder, name) }

// compile leaves the binary in the scratch folder "out".
func (b *build) compile(ctx context.Context) error {
	for _, name := range []string{"module", "tmp", "out"} {
		if err := os.Mkdir(b.dir(name), 0o755); err != nil {
			return err
		}
	}
	if err := b.recipe.writePins(b.dir("module")); err != nil {
		return err
	}
	downloaded := 0
	b.advance(Downloading, 0, 0)
	stale, err := b.goCommand(ctx, func(line string) bool {
		if !strings.HasPrefix(line, "go: downloading ") {
			return false
		}
		downloaded++
		b.advance(Downloading, downloaded, 0)
		return true
	}, "list", "-deps", "-f", "{{if .Stale}}{{.ImportPath}}{{end}}")
	if err != nil {
		return err
	}

	todo, compiled := strings.Fields(stale), 0
	position := func() {
		phase := Compiling
		if compiled >= len(todo)-1 { // all but the program itself, which is small to compile and large to link
			phase = Linking
		}
		b.advance(phase, compiled, len(todo))
	}
	position()
	_, err = b.goCommand(ctx, func(line string) bool {
		if !slices.Contains(todo, line) {
			return false
		}
		compiled++
		position()
		return true
	}, "build", "-v", "-o", filepath.Join(b.dir("out"), b.recipe.part.Name))
	return err
}

// goCommand runs a go command on the part's package and returns its standard
// output. progress hears the lines of its standard error and says which of them
// do not belong into an error message.
func (b *build) goCommand(ctx context.Context, progress func(string) bool, verb string, args ...string) (string, error) {
	args = slices.Concat([]string{verb}, b.recipe.flags(), args, []string{b.recipe.part.Package})
	cmd := exec.Command(b.tools.path, args...)
	cmd.Dir = b.dir("module")
	cmd.Env = append(os.Environ(), b.recipe.environment()...)
	cmd.Env = append(cmd.Env, "PWD="+cmd.Dir, "GOTMPDIR="+b.dir("tmp")) // what a killed go leaves goes with the scratch folder
	var stdout bytes.Buffer
	stderr := &lineWriter{progress: progress}
	cmd.Stdout, cmd.Stderr = &stdout, stderr
	done, err := process.Fork(cmd)
	if err != nil {
		return "", fmt.Errorf("run %s: %w", b.tools.path, err)
	}
	select {
	case err = <-done:
	case <-ctx.Done():
		process.KillGroup(cmd)
		<-done
		return "", ctx.Err()
	}
	if err != nil {
		return "", &goError{verb: verb, err: err, lines: append(stderr.kept, string(stderr.rest))}
	}
	return stdout.String(), nil
}

// advance reports a new position.
func (b *build) advance(phase Phase, done, total int) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.event.Phase, b.event.Done, b.event.Total = phase, done, total
	b.tell()
}

// tell reports the position; b.mu is held.
func (b *build) tell() {
	if b.report == nil || b.event.Phase == "" {
		return
	}
	b.event.Part, b.event.Version, b.event.Expected = b.recipe.part.Name, b.recipe.version, b.recipe.part.ExpectedBuild
	b.event.Elapsed = time.Since(b.start)
	b.report(b.event)
}

// tick repeats the position every second until it is stopped.
func (b *build) tick() (stop func()) {
	ticker, done := time.NewTicker(progressInterval), make(chan struct{})
	var ended sync.WaitGroup
	ended.Go(func() {
		for {
			select {
			case <-ticker.C:
				b.mu.Lock()
				b.tell()
				b.mu.Unlock()
			case <-done:
				return
			}
		}
	})
	return func() { ticker.Stop(); close(done); ended.Wait() }
}

// goError is a go command that failed.
type goError struct {
	verb  string
	err   error
	lines []string
}

func (e *goError) Error() string {
	return fmt.Sprintf("go %s: %s; its last lines:\n  | %s", e.verb, e.err, strings.TrimRight(strings.Join(e.lines, "\n  | "), "\n |"))
}

func (e *goError) Unwrap() error { return e.err }

// explain puts the likely cause before the error of a failed build.
func explain(err error, e entry) error {
	text := err.Error()
	for _, c := range []struct {
		cause error
		signs []string
	}{
		{fmt.Errorf("%w: building needs space beside %s and in the folders that `go env GOCACHE GOMODCACHE` names", process.ErrDiskFull, e.dir),
			[]string{"no space left on device", "disk quota exceeded"}},
		{errors.New("modules could not be downloaded: is the network up, and is the GOPROXY of `go env` reachable?"),
			[]string{"no such host", "connection refused", "i/o timeout", "module lookup disabled", "network is unreachable", "TLS handshake"}},
		{errors.New("the C compiler finds no headers of the C library (apt-get install libc6-dev)"),
			[]string{"stdlib.h: No such file", "stdio.h: No such file"}},
		{errors.New("the compiler was killed, probably for lack of memory"), []string{"signal: killed"}},
	} {
		for _, sign := range c.signs {
			if strings.Contains(text, sign) {
				return fmt.Errorf("%w\n%w", c.cause, err)
			}
		}
	}
	return err
}

// lineWriter hands on whole lines and keeps the last that are no progress.
type lineWriter struct {
	progress func(string) bool
	rest     []byte
	kept     []string
}

func (w *lineWriter) Write(p []byte) (int, error) {
	w.rest = append(w.rest, p...)
	for {
		line, rest, found := bytes.Cut(w.rest, []byte("\n"))
		if !found {
			return len(p), nil
		}
		w.rest = rest
		if !w.progress(string(line)) {
			w.kept = append(w.kept, string(line))
			w.kept = w.kept[max(0, len(w.kept)-failureLines):]
		}
	}
}

func lastLines(text string, n int) string {
	lines := strings.Split(strings.TrimSpace(text), "\n")
	return strings.Join(lines[max(0, len(lines)-n):], "\n")
}
