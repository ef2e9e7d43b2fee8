package assets

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"plimsoll.dev/plimsoll/internal/process"
)

// helperEnv makes the test binary play a plimsoll that looks for etcd.
const helperEnv = "PLIMSOLL_TEST_FIND"

func TestMain(m *testing.M) {
	if os.Getenv(helperEnv) != "" {
		_, err := (&Finder{}).Find(context.Background(), "etcd")
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Exit(m.Run())
}

// fakeGo answers as the go command does, and does in a build what its $BUILD says.
const fakeGo = `#!/bin/sh
case $1 in
env) echo ${FAKE_GOVERSION:-go1.26.0} ;;
list) echo "go: downloading example.org/a v1.0.0" >&2; printf 'example.org/a\nexample.org/main\n' ;;
build)
	while [ "$1" != -o ]; do shift; done
	out=$2
	echo built >>"$BUILDS"
	echo example.org/a >&2
	eval "$BUILD"
	echo example.org/main >&2
	printf '#!/bin/sh\necho etcd Version: 9.9.9\n' >"$out"
	chmod +x "$out"
esac
`

// world is a machine without a network, with a fake Go toolchain.
type world struct{ cache, tools, builds string }

func newWorld(t *testing.T, build string) world {
	t.Helper()
	dir := t.TempDir()
	w := world{cache: filepath.Join(dir, "cache"), tools: filepath.Join(dir, "tools"), builds: filepath.Join(dir, "builds")}
	w.program(t, w.tools, "go", fakeGo)
	t.Setenv("PLIMSOLL_CACHE", w.cache)
	t.Setenv("PLIMSOLL_ASSETS", "")
	t.Setenv("KUBEBUILDER_ASSETS", "")
	t.Setenv("PATH", w.tools+":/bin:/usr/bin")
	t.Setenv("BUILD", build)
	t.Setenv("BUILDS", w.builds)
	return w
}

func (w world) program(t *testing.T, dir, name, text string) {
	t.Helper()
	if err := os.MkdirAll(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o755); err != nil {
		t.Fatal(err)
	}
}

// folder makes a folder with an etcd that calls itself version.
func (w world) folder(t *testing.T, version string) string {
	t.Helper()
	dir := t.TempDir()
	w.program(t, dir, "etcd", "#!/bin/sh\necho etcd Version: "+version+"\n")
	return dir
}

func (w world) buildCount(t *testing.T) int {
	t.Helper()
	text, _ := os.ReadFile(w.builds)
	return strings.Count(string(text), "\n")
}

func (w world) entries(t *testing.T, pattern string) []string {
	t.Helper()
	found, err := filepath.Glob(filepath.Join(w.cache, "components", pattern))
	if err != nil {
		t.Fatal(err)
	}
	return found
}

func find(t *testing.T, name string) Binary {
	t.Helper()
	b, err := (&Finder{}).Find(t.Context(), name)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func TestOrderOfSearch(t *testing.T) {
	w := newWorld(t, "")
	noGo := func() { t.Setenv("PATH", w.folder(t, "1.0.4")+":/nonexistent") }
	ours, envtest := w.folder(t, "1.0.1"), w.folder(t, "1.0.2")
	pinned, err := Parts()[0].Version()
	if err != nil {
		t.Fatal(err)
	}
	for _, row := range []struct {
		name            string
		setup           func()
		source, version string
	}{
		{"plimsoll's assets come first", func() {
			t.Setenv("PLIMSOLL_ASSETS", ours)
			t.Setenv("KUBEBUILDER_ASSETS", envtest)
		}, Assets, "v1.0.1"},
		{"then those of envtest", func() { t.Setenv("PLIMSOLL_ASSETS", t.TempDir()) }, KubebuilderAssets, "v1.0.2"},
		{"a relative folder will do", func() { t.Chdir(ours); t.Setenv("KUBEBUILDER_ASSETS", ".") }, KubebuilderAssets, "v1.0.1"},
		{"without a toolchain and a build, PATH is the last resort", func() { t.Setenv("KUBEBUILDER_ASSETS", t.TempDir()); noGo() }, Path, "v1.0.4"},
		{"with a toolchain it is built", func() { t.Setenv("PATH", w.tools+":/bin:/usr/bin") }, Built, pinned},
		{"once built it is found without a toolchain", noGo, Built, pinned},
	} {
		row.setup()
		b := find(t, "etcd")
		if b.Source != row.source || b.Version != row.version || !filepath.IsAbs(b.Path) || len(b.SHA256) != 64 {
			t.Errorf("%s: got %+v", row.name, b)
		}
	}
	if n := w.buildCount(t); n != 1 {
		t.Errorf("built %d times", n)
	}
}

func TestLocateDoesNotBuild(t *testing.T) {
	w := newWorld(t, "")
	if _, err := (&Finder{}).Locate(t.Context(), "etcd"); !errors.Is(err, ErrNotFound) {
		t.Errorf("error is %v", err)
	}
	built := find(t, "etcd")
	if b, err := (&Finder{}).Locate(t.Context(), "etcd"); err != nil || b != built {
		t.Errorf("located %+v, %v", b, err)
	}
	if n := w.buildCount(t); n != 1 {
		t.Errorf("built %d times", n)
	}
}

func TestAPartInCNeedsACompiler(t *testing.T) {
	w := newWorld(t, "")
	// The go command answers every question for a variable alike: the compiler is called go1.26.0.
	_, err := (&Finder{}).Find(t.Context(), "kine")
	for _, want := range []string{"kine has parts in C: there is no C compiler", "apt-get install gcc", "PLIMSOLL_ASSETS", "and a C compiler"} {
		if !errors.Is(err, ErrNotFound) || errors.Is(err, ErrNotBuilt) || !strings.Contains(err.Error(), want) {
			t.Errorf("no %q in %v", want, err)
		}
	}
	w.program(t, w.tools, "go1.26.0", "")
	if b := find(t, "kine"); b.Source != Built {
		t.Errorf("found %+v", b)
	}
}

func TestOnlyPartsInCAreBuiltWithACompiler(t *testing.T) {
	for _, p := range Parts() {
		r, err := p.recipe()
		if err != nil {
			t.Fatal(err)
		}
		want := "CGO_ENABLED=0"
		if p.Name == "kine" {
			want = "CGO_ENABLED=1"
		}
		if !slices.Contains(r.environment(), want) {
			t.Errorf("%s is built with %v", p.Name, r.environment())
		}
	}
}

func TestNoToolchainListsTheWaysOut(t *testing.T) {
	for _, row := range []struct{ name, path, version, want string }{
		{"no go at all", "/nonexistent", "", "there is no Go toolchain"},
		{"an old go", "", "go1.19.8", "is too old: go1.19.8"},
	} {
		t.Run(row.name, func(t *testing.T) {
			newWorld(t, "")
			t.Setenv("FAKE_GOVERSION", row.version)
			if row.path != "" {
				t.Setenv("PATH", row.path)
			}
			_, err := (&Finder{}).Find(t.Context(), "etcd")
			if !errors.Is(err, ErrNotFound) {
				t.Fatalf("error is %v", err)
			}
			for _, want := range []string{row.want, "etcd v3.", "install Go 1.26", "PLIMSOLL_ASSETS", "KUBEBUILDER_ASSETS", "PATH"} {
				if !strings.Contains(err.Error(), want) {
					t.Errorf("no %q in: %v", want, err)
				}
			}
		})
	}
}

func TestUnknownPart(t *testing.T) {
	if _, err := (&Finder{}).Find(t.Context(), "etdc"); err == nil || !strings.Contains(err.Error(), "kube-apiserver") {
		t.Errorf("error is %v", err)
	}
}

func TestKeyChangesWithAllThatDecidesTheBinary(t *testing.T) {
	base, err := recipeOf("etcd")
	if err != nil {
		t.Fatal(err)
	}
	seen := map[string]string{base.key("go1.26.0"): "nothing"}
	for name, key := range map[string]func(recipe) string{
		"the pins":      func(r recipe) string { r.mod = append([]byte("// x\n"), r.mod...); return r.key("go1.26.0") },
		"the checksums": func(r recipe) string { r.sum = r.sum[1:]; return r.key("go1.26.0") },
		"the flags":     func(r recipe) string { r.ldflags += " -w"; return r.key("go1.26.0") },
		"the package":   func(r recipe) string { r.part.Package += "/x"; return r.key("go1.26.0") },
		"the toolchain": func(r recipe) string { return r.key("go1.26.1") },
	} {
		k := key(base)
		if other, ok := seen[k]; ok {
			t.Errorf("a change of %s gives the key of a change of %s", name, other)
		}
		seen[k] = name
	}
	if first, again := base.key("go1.26.0"), base.key("go1.26.0"); first != again {
		t.Error("the key is not stable")
	}
}

func TestEveryPartHasItsPins(t *testing.T) {
	for _, p := range Parts() {
		r, err := p.recipe()
		if err != nil {
			t.Errorf("%s: %v", p.Name, err)
		}
		if !strings.HasPrefix(r.version, "v") || r.goVersion == "" || strings.Contains(r.ldflags, "{") {
			t.Errorf("%s: version %q, go %q, flags %q", p.Name, r.version, r.goVersion, r.ldflags)
		}
	}
}

func TestConcurrentFindsBuildOnce(t *testing.T) {
	w := newWorld(t, "sleep 0.5")
	var mu sync.Mutex
	phases := map[Phase]int{}
	f := &Finder{Progress: func(e Event) { mu.Lock(); phases[e.Phase]++; mu.Unlock() }}
	var group sync.WaitGroup
	for range 4 {
		group.Go(func() {
			if _, err := f.Find(t.Context(), "etcd"); err != nil {
				t.Error(err)
			}
		})
	}
	group.Wait()
	if n := w.buildCount(t); n != 1 {
		t.Errorf("built %d times", n)
	}
	for _, p := range []Phase{Waiting, Downloading, Compiling, Linking, Ready} {
		if phases[p] == 0 {
			t.Errorf("nobody heard of %s: %v", p, phases)
		}
	}
}

func TestKilledBuildLeavesNothing(t *testing.T) {
	w := newWorld(t, `echo part >"$out"; touch "$BUILDS.begun"; sleep 30`)
	helper := exec.Command(os.Args[0])
	helper.Env = append(os.Environ(), helperEnv+"=1")
	if err := helper.Start(); err != nil {
		t.Fatal(err)
	}
	for i := 0; ; i++ {
		if _, err := os.Stat(w.builds + ".begun"); err == nil {
			break
		}
		if i > 1000 {
			t.Fatal("the build does not begin")
		}
		time.Sleep(10 * time.Millisecond)
	}
	_ = helper.Process.Kill()
	_ = helper.Wait()
	if _, err := (&Finder{}).Locate(t.Context(), "etcd"); !errors.Is(err, ErrNotFound) {
		t.Errorf("a killed build was taken for a complete one: %v", err)
	}
	if len(w.entries(t, "*.tmp-*")) != 1 {
		t.Error("the killed build left no scratch folder to remove; this test is blind")
	}

	t.Setenv("BUILD", "")
	find(t, "etcd")
	if left := w.entries(t, "*.tmp-*"); len(left) != 0 {
		t.Errorf("still there: %s", left)
	}
}

func TestInterruptedBuildLeavesNothing(t *testing.T) {
	w := newWorld(t, `echo part >"$out"; exec sleep 30`)
	ctx, cancel := context.WithTimeout(t.Context(), 500*time.Millisecond)
	defer cancel()
	start := time.Now()
	if _, err := (&Finder{}).Find(ctx, "etcd"); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("error is %v", err)
	}
	if took := time.Since(start); took > 5*time.Second {
		t.Errorf("took %s to stop", took)
	}
	if left := w.entries(t, "*"); len(left) != 1 || !strings.HasSuffix(left[0], ".lock") {
		t.Errorf("left behind: %s", left)
	}
}

func TestFailedBuild(t *testing.T) {
	for _, row := range []struct {
		name, build string
		cause       error
		want        []string
	}{
		{"shows what go said", "seq 1 100 >&2; echo 'main.go:3: undefined: x' >&2; exit 1", nil,
			[]string{"build etcd v3.", "go build: exit status 1", "| main.go:3: undefined: x", "PLIMSOLL_ASSETS"}},
		{"names a full disk", "echo 'write /x: no space left on device' >&2; exit 1", process.ErrDiskFull, []string{"the disk is full"}},
		{"names a missing network", "echo 'dial tcp: lookup example.org: no such host' >&2; exit 1", nil, []string{"is the network up"}},
	} {
		t.Run(row.name, func(t *testing.T) {
			newWorld(t, row.build)
			_, err := (&Finder{}).Find(t.Context(), "etcd")
			if err == nil || row.cause != nil && !errors.Is(err, row.cause) {
				t.Fatalf("error is %v", err)
			}
			for _, want := range row.want {
				if !strings.Contains(err.Error(), want) {
					t.Errorf("no %q in: %v", want, err)
				}
			}
			if strings.Contains(err.Error(), "| 80\n") {
				t.Errorf("too many lines: %v", err)
			}
		})
	}
}

func TestDamagedEntryIsBuiltAnew(t *testing.T) {
	for _, row := range []struct {
		name   string
		damage func(path string) error
		builds int
	}{
		{"a truncated binary", func(path string) error { return os.Truncate(path, 3) }, 2},
		{"a changed binary of the same size", func(path string) error {
			text, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			text[len(text)-2] = 'x'
			return os.WriteFile(path, text, 0o755)
		}, 2},
		{"a lost record", func(path string) error { return os.Remove(filepath.Join(filepath.Dir(path), recordFile)) }, 2},
		{"a copy with another time is fine", func(path string) error { return os.Chtimes(path, time.Now(), time.Unix(1, 0)) }, 1},
	} {
		t.Run(row.name, func(t *testing.T) {
			w := newWorld(t, "")
			before := find(t, "etcd")
			if err := row.damage(before.Path); err != nil {
				t.Fatal(err)
			}
			if after := find(t, "etcd"); after != before {
				t.Errorf("was %+v, is %+v", before, after)
			}
			if n := w.buildCount(t); n != row.builds {
				t.Errorf("built %d times", n)
			}
		})
	}
}
