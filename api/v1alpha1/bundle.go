package v1alpha1

import (
	_ "embed"
	"fmt"
	"strings"
	"time"
)

// KubeBundle makes objects that belong together, one of each template, and all of
// them in one namespace and by the same name.
type KubeBundle struct {
	// YAML of the objects, in the order in which they are made; each a Go template that knows .Index, .Name, .Namespace, .Payload and .Node, as that of a fill does, and each of another kind. Default: a ConfigMap and a Secret, a Deployment of one Pod that mounts them, and a Service in front of it.
	Templates []string `json:"templates,omitempty"`
	// Namespace of the bundles.
	Namespace Name `json:"namespace"`
	// Number of namespaces, called NAMESPACE-0, NAMESPACE-1, …, over which bundles are spread evenly. Default: one, called NAMESPACE.
	Namespaces int `json:"namespaces,omitempty" jsonschema:"minimum=1"`
	// Bytes of payload, before base64. Default 4B.
	Payload Bytes `json:"payload,omitempty" jsonschema:"default=4B"`
	// Reads each object back, once all are made.
	Read bool `json:"read,omitempty"`
	// Deletes the objects again, the last one first. Otherwise they stay, for unbundle.
	Delete bool `json:"delete,omitempty"`
	// Keeps a ring of so many bundles per client: with each one more, the client deletes its oldest. Default: all stay.
	Keep int `json:"keep,omitempty" jsonschema:"minimum=1"`
	// Times how long after the answer to its creation a Deployment is seen to be available, or a Pod to be running, as the operation ready; and how long after the first of them the last one was, as first-to-last.
	Ready bool `json:"ready,omitempty"`
	// Sends again what the server rejects. Default: what is rejected stays undone.
	Retry *Retry `json:"retry,omitempty"`

	// Nodes is, in a plan, how many nodes kwok is given.
	Nodes int `json:"nodes,omitempty" jsonschema:"-"`
}

// KubeUnbundle deletes the bundles that a phase before has made, each once, with
// all that belongs to them, the last object first. It ends when none is left.
type KubeUnbundle struct {
	// The phase that made them.
	Of Name `json:"of"`
	// Sends again what the server rejects. Default: what is rejected stays undone.
	Retry *Retry `json:"retry,omitempty"`

	// Bundle is, in a plan, that of the phase.
	Bundle *KubeBundle `json:"bundle,omitempty" jsonschema:"-"`
}

// Retry sends requests again that the server rejected (429, or 503 with
// Retry-After), as well-behaved clients do. Every attempt is timed and counted by
// itself; the whole operation has them all, and the time between them.
type Retry struct {
	// Most attempts after the first. Default 100.
	Attempts int `json:"attempts,omitempty" jsonschema:"minimum=1,default=100"`
	// Least time until the next attempt; the server may ask for more, by Retry-After. Default 1s.
	Wait Duration `json:"wait,omitempty" jsonschema:"default=1s"`
}

//go:embed bundle.yaml
var workBundle string

func (b *KubeBundle) setDefaults() {
	b.Payload = or(b.Payload, 4)
	if len(b.Templates) == 0 {
		b.Templates = strings.Split(workBundle, "---\n")
	}
	b.Retry.setDefaults()
}

func (r *Retry) setDefaults() {
	if r != nil {
		r.Attempts = or(r.Attempts, 100)
		r.Wait = or(r.Wait, Duration(time.Second))
	}
}

// Objects are what a template of the bundle makes.
func (b *KubeBundle) Objects(template string) Objects {
	return Objects{Template: template, Namespace: b.Namespace, Namespaces: b.Namespaces, Payload: b.Payload, Nodes: b.Nodes}
}

// BecomeReady are the resources among those of the bundle whose objects become ready.
func (b *KubeBundle) BecomeReady() []Resource {
	var all []Resource
	for _, template := range b.Templates {
		if resource := b.Objects(template).resource(); resource == "deployments" || resource == "pods" {
			all = append(all, resource)
		}
	}
	return all
}

// Deletes says whether objects are deleted, at once or in turn.
func (b *KubeBundle) Deletes() bool { return b.Delete || b.Keep > 0 }

// findBundles has phases that delete bundles know what these are.
func (s *Spec) findBundles() {
	for i := range s.Steps {
		for j := range s.Steps[i].Phases {
			phase := &s.Steps[i].Phases[j]
			if phase.Kube == nil || phase.Kube.Unbundle == nil || phase.Kube.Unbundle.Bundle != nil {
				continue
			}
			unbundle := phase.Kube.Unbundle
			if maker := s.maker(i, unbundle.Of, phase.Name); maker != nil {
				made := *maker.Kube.Bundle
				unbundle.Bundle, unbundle.Of = &made, maker.Name
			}
		}
	}
}

// maker is the phase of a name, in a step before, that makes bundles. In a swept
// step it may be the one of the same value.
func (s *Spec) maker(before int, name, beside Name) *Phase {
	_, value, swept := strings.Cut(string(beside), "@")
	for i := range s.Steps[:before] {
		for j := range s.Steps[i].Phases {
			phase := &s.Steps[i].Phases[j]
			found := phase.Name == name || swept && phase.Name == name+"@"+Name(value)
			if found && phase.Kube != nil && phase.Kube.Bundle != nil {
				return phase
			}
		}
	}
	return nil
}

// bundle checks what a bundle is made of; its templates are plan's to render.
func (v *validator) bundle(path string, b *KubeBundle) {
	kinds := map[Resource]bool{}
	for i, template := range b.Templates {
		resource := b.Objects(template).resource()
		if resource != "" && kinds[resource] {
			v.fault(fmt.Sprintf("%s.templates.%d", path, i), "is of %s, as one before it: objects of a bundle have the same name, so each is of another kind", resource)
		}
		kinds[resource] = true
	}
	switch {
	case b.Keep > 0 && b.Delete:
		v.fault(path+".keep", "has no place beside delete, which keeps nothing")
	case b.Ready && b.Delete:
		v.fault(path+".ready", "has no place beside delete, which does not wait for that")
	case b.Ready && len(b.BecomeReady()) == 0:
		v.fault(path+".ready", "no template is of a Deployment or a Pod, which become ready")
	}
}

// uses adds what is done to the objects, and to those whose readiness is watched.
func (b *KubeBundle) uses(add func(Resource, ...string)) {
	verbs := []string{"create"}
	if b.Read {
		verbs = append(verbs, "get")
	}
	if b.Deletes() {
		verbs = append(verbs, "delete")
	}
	for _, template := range b.Templates {
		add(b.Objects(template).resource(), verbs...)
	}
}

// kinds are the kinds of the objects, as parts of operations name them.
func (b *KubeBundle) kinds(verbs ...string) []string {
	var all []string
	for _, verb := range verbs {
		for _, template := range b.Templates {
			info, _ := b.Objects(template).resource().Info()
			all = append(all, verb+"-"+strings.ToLower(info.Kind))
		}
	}
	return all
}

// operations are the whole bundle, and every request of it.
func (b *KubeBundle) operations() (whole, parts []string) {
	parts = b.kinds("create")
	if b.Read {
		parts = append(parts, b.kinds("read")...)
	}
	if b.Deletes() {
		parts = append(parts, b.kinds("delete")...)
	}
	if b.Ready {
		parts = append(parts, "ready", "first-to-last")
	}
	return []string{"bundle"}, parts
}

func (b *KubeBundle) inWords() string {
	var kinds []string
	for _, template := range b.Templates {
		info, _ := b.Objects(template).resource().Info()
		kinds = append(kinds, info.Kind)
	}
	verbs := "create"
	if b.Read {
		verbs += ", read"
	}
	if b.Delete {
		verbs += ", delete"
	}
	where := placeInWords(b.Namespace, b.Namespaces)
	if b.Keep > 0 {
		where += fmt.Sprintf(", keeping a ring of %d per client", b.Keep)
	}
	return fmt.Sprintf("%s bundles of %s%s%s", verbs, strings.Join(kinds, ", "), where, b.Retry.inWords())
}

func (u *KubeUnbundle) inWords() string {
	return fmt.Sprintf("delete the bundles of %s%s", u.Of, u.Retry.inWords())
}

func (r *Retry) inWords() string {
	if r == nil {
		return ""
	}
	return fmt.Sprintf(", what is rejected again after %v or more", time.Duration(r.Wait))
}
