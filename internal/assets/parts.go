package assets

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"runtime"
	"strings"
	"time"

	"plimsoll.dev/plimsoll/components"
)

// Part is one real program that plimsoll can build.
type Part struct {
	// Name of the part and of its binary.
	Name string
	// Pins is the stem of its files in the components folder.
	Pins string
	// Package that is built, and the Module that gives it its version.
	Package, Module string
	// LDFlags of the linker; {version}, {major} and {minor} stand for those of the module.
	LDFlags string
	// CGO says that it has parts in C, so that its build needs a C compiler.
	CGO bool
	// ExpectedBuild is the time of a first build on two cores, downloads included.
	ExpectedBuild time.Duration
}

const kubernetesLDFlags = "-s -w -X k8s.io/component-base/version.gitVersion={version}" +
	" -X k8s.io/component-base/version.gitMajor={major} -X k8s.io/component-base/version.gitMinor={minor}"

// Parts lists the parts that plimsoll can build.
func Parts() []Part {
	return []Part{
		{
			Name: "etcd", Pins: "etcd", Package: "go.etcd.io/etcd/server/v3", Module: "go.etcd.io/etcd/server/v3",
			LDFlags: "-s -w", ExpectedBuild: time.Minute,
		},
		{
			Name: "kube-apiserver", Pins: "kubernetes", Package: "k8s.io/kubernetes/cmd/kube-apiserver", Module: "k8s.io/kubernetes",
			LDFlags: kubernetesLDFlags, ExpectedBuild: 4 * time.Minute,
		},
		{
			Name: "kube-controller-manager", Pins: "kubernetes", Package: "k8s.io/kubernetes/cmd/kube-controller-manager", Module: "k8s.io/kubernetes",
			LDFlags: kubernetesLDFlags, ExpectedBuild: 2 * time.Minute,
		},
		{
			Name: "kube-scheduler", Pins: "kubernetes", Package: "k8s.io/kubernetes/cmd/kube-scheduler", Module: "k8s.io/kubernetes",
			LDFlags: kubernetesLDFlags, ExpectedBuild: time.Minute,
		},
		{
			// Its version is a constant of its own.
			Name: "kwok", Pins: "kwok", Package: "sigs.k8s.io/kwok/cmd/kwok", Module: "sigs.k8s.io/kwok",
			LDFlags: "-s -w", ExpectedBuild: 2 * time.Minute,
		},
		{
			// In C is its SQLite.
			Name: "kine", Pins: "kine", Package: "github.com/k3s-io/kine", Module: "github.com/k3s-io/kine",
			LDFlags: "-s -w -X github.com/k3s-io/kine/pkg/version.Version={version}", CGO: true, ExpectedBuild: 2 * time.Minute,
		},
		steve("steve"), steve("steve-v0.9.15"), steve("steve-v0.8.0"),
	}
}

// steve is Rancher's API, of the version that the pins of this name have. Its
// SQLite is translated into Go.
func steve(name string) Part {
	return Part{
		Name: name, Pins: name, Package: "github.com/rancher/steve", Module: "github.com/rancher/steve",
		LDFlags: "-s -w -X github.com/rancher/steve/pkg/version.Version={version}", ExpectedBuild: 3 * time.Minute,
	}
}

// Version is the pinned version of the part.
func (p Part) Version() (string, error) {
	mod, err := components.Pins.ReadFile(p.Pins + ".mod")
	if err != nil {
		return "", fmt.Errorf("read the pins of %s: %w", p.Name, err)
	}
	version := directive(mod, p.Module)
	if version == "" {
		return "", fmt.Errorf("the pins of %s do not require %s", p.Name, p.Module)
	}
	return version, nil
}

// recipe is all that decides what a build yields, but for the Go version.
type recipe struct {
	part      Part
	version   string
	goVersion string // the lowest that will do, such as 1.26.0
	mod, sum  []byte
	ldflags   string
}

func recipeOf(name string) (recipe, error) {
	var known []string
	for _, p := range Parts() {
		if p.Name == name {
			return p.recipe()
		}
		known = append(known, p.Name)
	}
	return recipe{}, fmt.Errorf("no part is called %q: there are %s", name, strings.Join(known, ", "))
}

func (p Part) recipe() (recipe, error) {
	version, err := p.Version()
	if err != nil {
		return recipe{}, err
	}
	mod, err := components.Pins.ReadFile(p.Pins + ".mod")
	if err != nil {
		return recipe{}, fmt.Errorf("read the pins of %s: %w", p.Name, err)
	}
	sum, err := components.Pins.ReadFile(p.Pins + ".sum")
	if err != nil {
		return recipe{}, fmt.Errorf("read the checksums of %s: %w", p.Name, err)
	}
	major, rest, _ := strings.Cut(strings.TrimPrefix(version, "v"), ".")
	minor, _, _ := strings.Cut(rest, ".")
	return recipe{
		part: p, version: version, goVersion: directive(mod, "go"), mod: mod, sum: sum,
		ldflags: strings.NewReplacer("{version}", version, "{major}", major, "{minor}", minor).Replace(p.LDFlags),
	}, nil
}

// directive gives the second word of the line of a module file that has just
// two and starts with the first, but for "require" and comments.
func directive(mod []byte, first string) string {
	for line := range strings.Lines(string(mod)) {
		line, _, _ = strings.Cut(line, "//")
		words := strings.Fields(strings.TrimPrefix(line, "require "))
		if len(words) == 2 && words[0] == first {
			return words[1]
		}
	}
	return ""
}

// key identifies the recipe; with a Go version, the binary that it yields.
func (r recipe) key(goVersion string) string {
	text, err := json.Marshal([]any{
		r.mod, r.sum, r.part.Package, r.ldflags, r.flags(), r.environment(), runtime.GOOS, runtime.GOARCH, goVersion,
	})
	if err != nil {
		panic(err) // strings and bytes only
	}
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:6])
}

// flags are given to go list and go build alike.
func (r recipe) flags() []string {
	return []string{"-mod=readonly", "-trimpath", "-ldflags=" + r.ldflags}
}

// environment undoes what a user's environment, or a `go env -w`, could do to
// a build. An empty value would let the latter through.
func (r recipe) environment() []string {
	cgo := "CGO_ENABLED=0"
	if r.part.CGO {
		cgo = "CGO_ENABLED=1"
	}
	env := []string{
		"GOFLAGS=-buildvcs=false", "GOWORK=off", "GO111MODULE=on", cgo,
		"GOOS=" + runtime.GOOS, "GOARCH=" + runtime.GOARCH, "GOAMD64=v1", "GOARM64=v8.0",
	}
	if r.part.CGO {
		env = append(env, "CGO_CFLAGS=-O2 -g", "CGO_LDFLAGS=-O2 -g") // Go's own defaults
	}
	return env
}
