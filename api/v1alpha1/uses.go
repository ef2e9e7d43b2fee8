package v1alpha1

import (
	"regexp"
	"slices"
)

// Use is a verb on a resource that a scenario makes requests with, and the user
// of the phase that does; empty is the load user, or who prepares.
type Use struct {
	User Name
	Verb string
	Info ResourceInfo
}

// Uses lists what the spec does to which resources, each once.
func (s *Spec) Uses() []Use {
	var all []Use
	add := func(user Name, resource Resource, verbs ...string) {
		info, ok := resource.Info()
		for _, verb := range verbs {
			if use := (Use{user, verb, info}); ok && !slices.Contains(all, use) {
				all = append(all, use)
			}
		}
	}
	for _, p := range s.preparations() {
		if p.Fill != nil {
			add("", p.Fill.resource(), "create")
			if p.Fill.resource() == "pods" { // without one no Pod is admitted
				add("", "serviceaccounts", "create")
			}
		}
	}
	for _, resource := range s.Observe {
		add("", resource, "list", "watch")
	}
	for _, phase := range s.Phases() {
		if phase.Wait != nil {
			add("", phase.Wait.Resource, "get", "list", "watch")
			add("", "events", "list")
		}
		if phase.Kube != nil && phase.Kube.Bundle != nil && phase.Kube.Bundle.Ready {
			for _, resource := range phase.Kube.Bundle.BecomeReady() {
				add("", resource, "list", "watch")
			}
		}
		if phase.Kube != nil {
			phase.Kube.uses(func(resource Resource, verbs ...string) { add(phase.User, resource, verbs...) })
		}
	}
	return all
}

// resource is that of the objects, also of those of a template, as far as its
// text tells.
func (o Objects) resource() Resource {
	if o.Template == "" {
		return o.Resource
	}
	for _, form := range []string{`(?m)^kind:\s*(\w+)`, `^\s*{[^{}]*\bkind:\s*(\w+)`} { // a block, or {in: braces}
		found := regexp.MustCompile(form).FindStringSubmatch(o.Template)
		if found == nil {
			continue
		}
		for _, info := range Resources() {
			if info.Kind == found[1] {
				return info.Resource
			}
		}
	}
	return ""
}

// FillThroughAPI makes every fill go through the API server.
func (s *Spec) FillThroughAPI() {
	for _, p := range s.preparations() {
		if p.Fill != nil {
			p.Fill.Through = ThroughAPI
		}
	}
}

// Phases are those of all steps.
func (s *Spec) Phases() []*Phase {
	var all []*Phase
	for i := range s.Steps {
		for j := range s.Steps[i].Phases {
			all = append(all, &s.Steps[i].Phases[j])
		}
	}
	return all
}

// preparations are those of the spec and of all its steps.
func (s *Spec) preparations() []Preparation {
	all := slices.Clone(s.Prepare)
	for _, step := range s.Steps {
		all = append(all, step.Prepare...)
	}
	return all
}
