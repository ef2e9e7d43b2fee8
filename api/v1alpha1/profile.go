package v1alpha1

import (
	"fmt"
	"slices"
	"strings"
	"time"
)

// Profile takes CPU profiles of components of a local target, from the start of
// the step's phases on. They lie in the folder profiles of the run.
type Profile struct {
	// The components, named as their logs are: kube-apiserver, or steve from v0.9.15 on.
	Components []string `json:"components" jsonschema:"minItems=1"`
	// How long; the step lasts at least that long. Default 10s.
	For Duration `json:"for,omitempty" jsonschema:"default=10s"`
}

func (p *Profile) setDefaults() {
	if p != nil {
		p.For = or(p.For, Duration(10*time.Second))
	}
}

// InWords says what is profiled.
func (p *Profile) InWords() string {
	return fmt.Sprintf("CPU profiles of %s for %v", strings.Join(p.Components, " and "), time.Duration(p.For))
}

// profile checks what a step profiles.
func (v *validator) profile(path string, step *Step) {
	p := step.Profile
	if p == nil {
		return
	}
	path += ".profile"
	switch {
	case v.target.Local == nil:
		v.fault(path, "only the components of a local target can be profiled")
		return
	case *step.Measured:
		v.fault(path, "costs time, which would be in the figures: the step needs measured: false")
	}
	known := v.target.Local.profiled()
	for i, component := range p.Components {
		if !slices.Contains(known, component) {
			v.fault(fmt.Sprintf("%s.components.%d", path, i), "no component called %q can be profiled%s; of this target %s can",
				component, NearMiss(component, known), or(strings.Join(known, ", "), "none"))
		}
	}
	if p.For < Duration(time.Second) {
		v.fault(path+".for", "must be 1s at least")
	}
}

// profiled are the names of the components that serve profiles.
func (t *LocalTarget) profiled() []string {
	return slices.DeleteFunc(t.components(), func(name string) bool {
		return !strings.HasSuffix(name, "kube-apiserver") && !strings.HasSuffix(name, "steve")
	})
}
