package v1alpha1

import (
	"encoding/json"
	"fmt"
	"strings"
)

// Clone gives a copy that shares nothing with the spec.
func (s *Spec) Clone() (*Spec, error) {
	data, err := json.Marshal(s)
	if err != nil {
		return nil, fmt.Errorf("copy the scenario: %w", err)
	}
	copied := &Spec{}
	if err := json.Unmarshal(data, copied); err != nil {
		return nil, fmt.Errorf("copy the scenario: %w", err)
	}
	return copied, nil
}

// SuffixNamespaces puts a suffix behind the name of every namespace that the
// spec names, so that a run on somebody's cluster has namespaces of its own.
func (s *Spec) SuffixNamespaces(suffix string) error {
	own := map[Name]Name{} // names of namespaces, with the suffix
	for _, name := range s.namespaces() {
		own[*name] = *name + Name(suffix)
	}
	for _, o := range s.objects() {
		for i := range o.Namespaces { // whose numbers come last
			own[spread(o.Namespace, i)] = spread(o.Namespace+Name(suffix), i)
		}
	}
	delete(own, "")
	for _, name := range s.namespaces() {
		if *name == "" {
			continue
		}
		if *name = own[*name]; len(*name) > 57 { // a spread adds up to six characters
			return fmt.Errorf("namespace %s is too long: on a borrowed cluster, %s is added to its name", *name, suffix)
		}
	}
	for _, list := range s.steveLists() {
		places := strings.Split(list.ProjectsOrNamespaces, ",")
		for i, place := range places {
			if name, ok := own[Name(place)]; ok {
				places[i] = string(name)
			}
		}
		list.ProjectsOrNamespaces = strings.Join(places, ",")
	}
	return nil
}

// spread is one of several namespaces.
func spread(name Name, i int) Name { return Name(fmt.Sprintf("%s-%d", name, i)) }

// objects are those that are made in namespaces.
func (s *Spec) objects() []Objects {
	var all []Objects
	for _, p := range s.preparations() {
		if p.Fill != nil {
			all = append(all, p.Fill.Objects)
		}
	}
	return all
}

func (s *Spec) steveLists() []*SteveList {
	var all []*SteveList
	for _, phase := range s.Phases() {
		if phase.Steve != nil && phase.Steve.List != nil {
			all = append(all, phase.Steve.List)
		}
	}
	return all
}

func (s *Spec) namespaces() []*Name {
	var all []*Name
	for _, p := range s.preparations() {
		if p.Fill != nil {
			all = append(all, &p.Fill.Namespace)
		}
	}
	for _, phase := range s.Phases() {
		if phase.Wait != nil {
			all = append(all, &phase.Wait.Namespace)
		}
		if phase.Kube != nil {
			all = append(all, phase.Kube.namespaces()...)
		}
		if phase.Steve != nil {
			all = append(all, phase.Steve.namespaces()...)
		}
	}
	return all
}
