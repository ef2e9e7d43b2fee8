// Package object makes the objects that fills and workloads create: alike, many,
// and each a function of its index, its name and its namespace.
package object

import (
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"strconv"
	"text/template"

	v1 "plimsoll.dev/plimsoll/api/v1alpha1"
)

// RunLabel is the label, with the run's id as value, of everything that is made.
const RunLabel = "plimsoll.dev/run"

// Template makes objects of one kind. It is safe for concurrent use.
type Template struct {
	objects v1.Objects
	runID   string
	seed    uint64
	info    v1.ResourceInfo
	source  *template.Template
	payload string
	frame   frame // nil if objects differ by more than plain text
	uniform bool
}

// New parses a template and proves it on the first two objects, so that what is
// wrong with it is found before anything is made. o has its defaults.
func New(o v1.Objects, runID string, seed uint64) (*Template, error) {
	text := o.Template
	if text == "" {
		info, _ := o.Resource.Info()
		if !o.Resource.HasPayload() {
			return nil, fmt.Errorf("objects of resource %q have no payload: write a template", o.Resource)
		}
		text = payloadTemplate(info)
	}
	source, err := parseTemplate(text)
	if err != nil {
		return nil, err
	}
	t := &Template{
		objects: o, runID: runID, seed: seed, source: source,
		payload: base64.StdEncoding.EncodeToString(bytes.Repeat([]byte("a"), int(o.Payload))),
	}
	if err := t.prove(); err != nil {
		return nil, err
	}
	plain, indexed := plainText(source.Root)
	if plain {
		t.frame = t.newFrame()
	}
	t.uniform = t.frame != nil && !indexed
	return t, nil
}

// payloadTemplate gives objects with one key, data, of payload bytes "a" in
// base64: so 10 KiB of payload are 13,656 characters, as in the published
// experiments (seeds/000, seeds/001).
func payloadTemplate(info v1.ResourceInfo) string {
	return fmt.Sprintf("apiVersion: %s\nkind: %s\ndata: {data: \"{{.Payload}}\"}\n", info.APIVersion, info.Kind)
}

// prove renders the first two objects, and learns from them what they are.
func (t *Template) prove() error {
	for i := range 2 {
		content, err := t.render(i, t.Name(i), t.spread(i))
		if err != nil {
			return fmt.Errorf("object %d of the template: %w", i, err)
		}
		info, err := kindOf(content)
		if err != nil {
			return fmt.Errorf("object %d of the template: %w", i, err)
		}
		if i > 0 && info != t.info {
			return fmt.Errorf("object %d of the template is a %s, but object 0 is a %s: a template makes objects of one kind", i, info.Kind, t.info.Kind)
		}
		t.info = info
		if err := t.stamp(content, t.Name(i), t.Namespace(i)); err != nil {
			return fmt.Errorf("object %d of the template: %w", i, err)
		}
	}
	if t.info.Namespaced && t.objects.Namespace == "" {
		return fmt.Errorf("a %s is in a namespace, so its template needs one: add namespace beside it", t.info.Kind)
	}
	return nil
}

// Info is the resource that the objects are of.
func (t *Template) Info() v1.ResourceInfo { return t.info }

// Uniform says that objects differ by nothing but their names and namespaces.
func (t *Template) Uniform() bool { return t.uniform }

// Name is the name of object i of every template: plimsoll-000042.
func Name(i int) string { return fmt.Sprintf("plimsoll-%06d", i) }

// Name is the name that a fill gives to object i.
func (t *Template) Name(i int) string { return Name(i) }

// Namespace is the namespace that a fill makes object i in; empty for objects
// that are in none.
func (t *Template) Namespace(i int) string {
	if !t.info.Namespaced {
		return ""
	}
	return t.spread(i)
}

// node is the one that object i is for; empty, if kwok is given none.
func (t *Template) node(i int) string {
	switch {
	case t.objects.Nodes == 0:
		return ""
	case i == indexMark:
		return nodeMark
	}
	return nodePrefix + strconv.Itoa(i%t.objects.Nodes)
}

// nodePrefix begins the names of the nodes that a local target makes.
const nodePrefix = "node-"

func (t *Template) spread(i int) string {
	if t.objects.Namespaces == 0 {
		return string(t.objects.Namespace)
	}
	return fmt.Sprintf("%s-%d", t.objects.Namespace, i%t.objects.Namespaces)
}

// Namespaces are all namespaces that objects are in; none for objects that are in none.
func (t *Template) Namespaces() []string {
	if !t.info.Namespaced {
		return nil
	}
	var all []string
	for i := range max(t.objects.Namespaces, 1) {
		all = append(all, t.spread(i))
	}
	return all
}

// Collection is the API path of the objects in a namespace; of all of them, if
// the namespace is empty.
func (t *Template) Collection(namespace string) string {
	return t.info.Collection(v1.Name(namespace))
}

// UID is the uid of an object that goes straight into the datastore, where no
// API server gives it one: a function of the seed and of what the object is.
func (t *Template) UID(name, namespace string) string {
	sum := sha256.Sum256(fmt.Appendf(nil, "%d/%s/%s/%s", t.seed, t.info.Resource, namespace, name))
	sum[6], sum[8] = 0x80|sum[6]&0x0f, 0x80|sum[8]&0x3f // version 8, of a making of our own
	return fmt.Sprintf("%x-%x-%x-%x-%x", sum[:4], sum[4:6], sum[6:8], sum[8:10], sum[10:16])
}

// JSON gives object i under a name and in a namespace, with the run's label.
func (t *Template) JSON(i int, name, namespace string) ([]byte, error) {
	if t.frame != nil {
		return t.frame.fill(i, name, namespace, t.node(i)), nil
	}
	return t.slowJSON(i, name, namespace)
}

func (t *Template) slowJSON(i int, name, namespace string) ([]byte, error) {
	content, err := t.render(i, name, namespace)
	if err != nil {
		return nil, fmt.Errorf("object %d of the template: %w", i, err)
	}
	if info, err := kindOf(content); err != nil || info != t.info {
		return nil, fmt.Errorf("object %d of the template is not a %s like object 0", i, t.info.Kind)
	}
	if err := t.stamp(content, name, namespace); err != nil {
		return nil, fmt.Errorf("object %d of the template: %w", i, err)
	}
	return json.Marshal(content)
}

// stamp sets what plimsoll alone decides.
func (t *Template) stamp(content map[string]any, name, namespace string) error {
	metadata, err := child(content, "metadata")
	if err != nil {
		return err
	}
	labels, err := child(metadata, "labels")
	if err != nil {
		return fmt.Errorf("metadata: %w", err)
	}
	labels[RunLabel] = t.runID
	metadata["name"] = name
	delete(metadata, "generateName")
	delete(metadata, "namespace")
	if t.info.Namespaced {
		metadata["namespace"] = namespace
	}
	return nil
}

// child gives the mapping under a key, and makes it if it is missing.
func child(of map[string]any, key string) (map[string]any, error) {
	if of[key] == nil {
		of[key] = map[string]any{}
	}
	mapping, ok := of[key].(map[string]any)
	if !ok {
		return nil, fmt.Errorf("%s is not a mapping", key)
	}
	return mapping, nil
}
