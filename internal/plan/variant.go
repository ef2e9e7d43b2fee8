package plan

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
)

// variant is one alternative as written: a patch of the spec.
type variant struct {
	name  string
	patch map[string]any
	path  []string // of the patch
}

// variants gives those of the document; of one without, the spec as it stands.
// Malformed ones are left to the schema.
func (d *document) variants() []variant {
	list, _ := d.spec()["variants"].([]any)
	var all []variant
	for i, item := range list {
		fields, _ := item.(map[string]any)
		name, _ := fields["name"].(string)
		patch, _ := fields["patch"].(map[string]any)
		path := []string{"spec", "variants", strconv.Itoa(i), "patch"}
		if slices.ContainsFunc(all, func(v variant) bool { return v.name == name }) {
			d.fault(path[:3], "another variant is called %q too", name)
			continue
		}
		for _, field := range []string{"variants", "repetitions", "seed", "search", "primary", "margin", "references", "panels"} {
			if _, ok := patch[field]; ok {
				d.fault(under(path, field), "belongs to the experiment, not to one variant")
			}
		}
		d.checkOwnParameters(patch, path)
		all = append(all, variant{name, patch, path})
	}
	if len(all) == 0 {
		all = []variant{{}}
	}
	return all
}

// checkOwnParameters checks the values that a patch gives to parameters.
func (d *document) checkOwnParameters(patch map[string]any, path []string) {
	own, _ := patch["parameters"].(map[string]any)
	declared := d.parameters()
	for _, name := range slices.Sorted(maps.Keys(own)) {
		at := append(slices.Clone(path), "parameters", name)
		if _, isAxis := declared[name].([]any); isAxis {
			d.fault(at, "is an axis, whose values all variants have")
		}
		switch own[name].(type) {
		case map[string]any, []any:
			d.fault(at, "must be a single value: axes belong to all variants")
		}
	}
}

// apply lays a variant's patch over the spec.
func (d *document) apply(v variant) {
	d.patched = map[string][]string{}
	root, ok := d.tree.(map[string]any)
	if !ok || v.patch == nil {
		return
	}
	root["spec"] = d.merge(d.spec(), clone(v.patch), []string{"spec"}, v.path, "Spec")
}

// merge gives base with patch laid over it. path is where it is in the merged
// document, from where it is in the patch, of the type called name: where one of
// several fields of that is allowed, the new one takes the place of the old.
func (d *document) merge(base, patch any, path, from []string, name string) any {
	switch p := patch.(type) {
	case map[string]any:
		if b, ok := base.(map[string]any); ok {
			return d.mergeMaps(b, p, path, from, d.types[name])
		}
	case []any:
		if b, ok := base.([]any); ok && named(b) && named(p) {
			return d.mergeNamed(b, p, path, from, name)
		}
	}
	d.patched[strings.Join(path, ".")] = from
	return patch
}

func (d *document) mergeMaps(base, patch map[string]any, path, from []string, t schemaType) any {
	for key, value := range patch {
		if value == nil && !t.keepsNull {
			delete(base, key)
			continue
		}
		for _, other := range t.alternatives(key) {
			if patch[other] == nil {
				delete(base, other)
			}
		}
		base[key] = d.merge(base[key], value, under(path, key), under(from, key), t.fields[key])
	}
	return base
}

// mergeNamed merges items of the same name; others are added.
func (d *document) mergeNamed(base, patch []any, path, from []string, name string) any {
	for i, item := range patch {
		fields := item.(map[string]any)
		at := slices.IndexFunc(base, func(b any) bool { return b.(map[string]any)["name"] == fields["name"] })
		if at < 0 {
			at = len(base)
			base = append(base, nil)
		}
		base[at] = d.merge(base[at], item, under(path, strconv.Itoa(at)), under(from, strconv.Itoa(i)), name)
	}
	return base
}

// named says whether every item of a list is a mapping with a name.
func named(list []any) bool {
	return !slices.ContainsFunc(list, func(item any) bool {
		fields, ok := item.(map[string]any)
		_, hasName := fields["name"].(string)
		return !ok || !hasName
	})
}

// fromPatch turns the path of something in the merged document into that in the
// patch that it comes from, if it does.
func (d *document) fromPatch(path []string) []string {
	for i := len(path); i > 0; i-- {
		if from, ok := d.patched[strings.Join(path[:i], ".")]; ok {
			return slices.Concat(from, path[i:])
		}
	}
	return path
}

// alternatives are the fields that a field takes the place of.
func (t schemaType) alternatives(field string) []string {
	among := t.exclusive
	if t.union {
		among = slices.Sorted(maps.Keys(t.fields))
	}
	if !slices.Contains(among, field) {
		return nil
	}
	return slices.DeleteFunc(slices.Clone(among), func(other string) bool { return other == field })
}

// changes lists what a patch changes, as PATH: VALUE.
func changes(patch map[string]any) []string {
	var all []string
	var visit func(value any, path string)
	visit = func(value any, path string) {
		fields, isMap := value.(map[string]any)
		list, isList := value.([]any)
		switch {
		case isMap && len(fields) > 0:
			for _, key := range slices.Sorted(maps.Keys(fields)) {
				visit(fields[key], strings.TrimPrefix(path+"."+key, "."))
			}
		case isList && named(list):
			for _, item := range list {
				rest := maps.Clone(item.(map[string]any))
				delete(rest, "name")
				visit(rest, fmt.Sprintf("%s[%v]", path, item.(map[string]any)["name"]))
			}
		default:
			all = append(all, path+": "+inYAML(value))
		}
	}
	if len(patch) > 0 {
		visit(patch, "")
	}
	return all
}

// inYAML writes a value on one line, as a document would.
func inYAML(value any) string {
	switch v := value.(type) {
	case nil:
		return "null"
	case string:
		return v
	case map[string]any, []any:
		data, err := json.Marshal(v)
		if err != nil {
			return fmt.Sprint(v)
		}
		return string(data)
	}
	return fmt.Sprint(value)
}
