// Package assets finds the binaries of the real parts, and builds the missing
// ones from their pinned modules into a cache.
package assets

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"time"
)

// ErrNotFound is a part that is nowhere, and was not or could not be built.
var ErrNotFound = errors.New("no binary")

// ErrNotBuilt is, beside ErrNotFound, a part that can be built.
var ErrNotBuilt = errors.New("yet: it will be built")

// Where a binary was found.
const (
	Built             = "built"
	Assets            = "assets"
	KubebuilderAssets = "kubebuilder-assets"
	Path              = "path"
	// Plimsoll is a program that is plimsoll itself.
	Plimsoll = "plimsoll"
)

const versionTimeout = 20 * time.Second

// Binary is one part, ready to be executed.
type Binary struct {
	// Path is absolute.
	Path string
	// Version such as v1.36.3: the pinned one when built, else what the binary says of itself.
	Version string
	// Source is built, assets, kubebuilder-assets or path.
	Source string
	// SHA256 of the file, in hexadecimal.
	SHA256 string
}

// Finder finds binaries: in $PLIMSOLL_ASSETS, in $KUBEBUILDER_ASSETS, in the
// cache, by building, and on PATH when there is no Go toolchain to build with.
// The zero value is ready for use.
type Finder struct {
	// Progress hears how a build advances, from one goroutine at a time, and at
	// least once a second. Nil for silence.
	Progress func(Event)
}

// Find gives the binary of the named part, and builds it if need be. Without a
// binary and without a Go toolchain the error is ErrNotFound and lists the ways out.
func (f *Finder) Find(ctx context.Context, name string) (Binary, error) {
	return f.find(ctx, name, f.build)
}

// Locate is Find without building: ErrNotBuilt stands for a part that Find would build.
func (f *Finder) Locate(ctx context.Context, name string) (Binary, error) {
	return f.find(ctx, name, func(_ context.Context, r recipe, _ toolchain) (Binary, error) {
		return Binary{}, fmt.Errorf("%w of %s %s %w", ErrNotFound, name, r.version, ErrNotBuilt)
	})
}

type builder func(context.Context, recipe, toolchain) (Binary, error)

func (f *Finder) find(ctx context.Context, name string, build builder) (Binary, error) {
	r, err := recipeOf(name)
	if err != nil {
		return Binary{}, err
	}
	for _, folder := range []struct{ variable, source string }{
		{"PLIMSOLL_ASSETS", Assets}, {"KUBEBUILDER_ASSETS", KubebuilderAssets},
	} {
		dir := os.Getenv(folder.variable)
		if dir == "" {
			continue
		}
		if dir, err = filepath.Abs(dir); err != nil {
			return Binary{}, fmt.Errorf("find %s in $%s: %w", name, folder.variable, err)
		}
		if path, err := exec.LookPath(filepath.Join(dir, name)); err == nil {
			return inspect(ctx, path, folder.source)
		}
	}
	tools, noTools := findToolchain(ctx, r)
	if err := ctx.Err(); err != nil {
		return Binary{}, fmt.Errorf("find %s: %w", name, err)
	}
	if noTools == nil {
		if b, ok := cached(r.entry(tools.version)); ok {
			return b, nil
		}
		return build(ctx, r, tools)
	}
	if b, ok := cachedByAnyToolchain(r); ok {
		return b, nil
	}
	if path, err := exec.LookPath(name); err == nil {
		return inspect(ctx, path, Path)
	}
	return Binary{}, fmt.Errorf("%w of %s %s, and none can be built: %w\n%s\n  - install Go %s or newer%s: plimsoll then builds %s once, in about %.0f min",
		ErrNotFound, name, r.version, noTools, waysOut(name), r.goVersion, r.part.compilerToo(), name, r.part.ExpectedBuild.Minutes())
}

func (p Part) compilerToo() string {
	if p.CGO {
		return " and a C compiler"
	}
	return ""
}

// waysOut lists what helps when a part cannot be built.
func waysOut(name string) string {
	return fmt.Sprintf(`ways out:
  - set PLIMSOLL_ASSETS to a folder that holds %[1]s
  - set KUBEBUILDER_ASSETS to such a folder, as for envtest
  - without a Go toolchain, %[1]s is also looked for on PATH`, name)
}

// inspect describes a binary that plimsoll has not built.
func inspect(ctx context.Context, path, source string) (Binary, error) {
	path, err := filepath.Abs(path)
	if err != nil {
		return Binary{}, fmt.Errorf("find %s: %w", path, err)
	}
	version, err := askVersion(ctx, path)
	if err != nil {
		return Binary{}, err
	}
	sum, err := Hash(path)
	if err != nil {
		return Binary{}, fmt.Errorf("hash %s: %w", path, err)
	}
	return Binary{Path: path, Version: version, Source: source, SHA256: sum}, nil
}

func askVersion(ctx context.Context, path string) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, versionTimeout)
	defer cancel()
	cmd := exec.CommandContext(ctx, path, "--version")
	cmd.WaitDelay = time.Second
	out, err := cmd.CombinedOutput()
	if err != nil {
		return "", fmt.Errorf("ask %s for its version: %w: %s", path, err, lastLines(string(out), 3))
	}
	m := regexp.MustCompile(`\bv?(\d+\.\d+\.\d+\S*)`).FindSubmatch(out)
	if m == nil {
		return "", fmt.Errorf("ask %s for its version: it answers %q", path, lastLines(string(out), 3))
	}
	return "v" + string(m[1]), nil
}

// Hash gives the SHA-256 of a file, in hexadecimal.
func Hash(path string) (string, error) {
	file, err := os.Open(path)
	if err != nil {
		return "", err
	}
	defer file.Close()
	h := sha256.New()
	if _, err := io.Copy(h, file); err != nil {
		return "", err
	}
	return hex.EncodeToString(h.Sum(nil)), nil
}
