package fill

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"strings"
	"sync"

	"k8s.io/apimachinery/pkg/runtime/serializer/protobuf"
	"k8s.io/client-go/kubernetes/scheme"

	"plimsoll.dev/plimsoll/internal/object"
)

// sampleName is that of the object that the API server is asked to make for
// show. It stands for the object's name in all that the server adds.
const sampleName = "plimsoll-sample"

// encoder gives objects in the form in which the API server stores them.
type encoder struct {
	template *object.Template
	// sent is the sample as it was sent, and made as the server would store it,
	// with its defaults, what admission adds, and its creation time.
	sent, made map[string]any
	uid        string // of the sample

	mu     sync.Mutex
	frames map[frameKey]*storedFrame
}

// newEncoder has the API server make a sample, the index-th object under
// another name, as a dry run: so defaults and admission are the server's own.
func newEncoder(ctx context.Context, c *client, template *object.Template, index int) (*encoder, error) {
	namespace := template.Namespace(index)
	body, err := template.JSON(index, sampleName, namespace)
	if err != nil {
		return nil, err
	}
	answer, err := c.create(ctx, template.Collection(namespace)+"?dryRun=All", body)
	if err != nil {
		return nil, fmt.Errorf("have the API server make an object for show: %w", err)
	}
	e := &encoder{template: template, frames: map[frameKey]*storedFrame{}}
	if e.sent, err = decode(body); err != nil {
		return nil, err
	}
	if e.made, err = decode(answer); err != nil {
		return nil, fmt.Errorf("read the object that the API server made for show: %w", err)
	}
	metadata, _ := e.made["metadata"].(map[string]any)
	if e.uid, _ = metadata["uid"].(string); e.uid == "" {
		return nil, errors.New("the object that the API server made for show has no uid")
	}
	delete(metadata, "resourceVersion") // is the datastore's to give
	return e, e.check()
}

// check refuses kinds to which the API server gives what no two may have.
func (e *encoder) check() error {
	spec, _ := e.made["spec"].(map[string]any)
	if ip, _ := spec["clusterIP"].(string); e.template.Info().Resource == "services" && ip != "" && ip != "None" {
		return errors.New("services get their addresses from the API server: use through: api, or clusterIP: None")
	}
	return nil
}

func decode(text []byte) (content map[string]any, err error) {
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.UseNumber()
	return content, decoder.Decode(&content)
}

// encode appends object i, as it is stored, to a buffer.
func (e *encoder) encode(to []byte, i int) ([]byte, error) {
	name, namespace := e.template.Name(i), e.template.Namespace(i)
	uid := e.template.UID(name, namespace)
	if e.template.Uniform() {
		frame, err := e.frame(i, name, namespace)
		if err != nil {
			return nil, err
		}
		if frame != nil {
			return frame.fill(to, name, namespace, uid), nil
		}
	}
	whole, err := e.encodeEach(i, name, namespace, uid)
	return append(to, whole...), err
}

// encodeEach goes the whole way, by JSON, for one object.
func (e *encoder) encodeEach(i int, name, namespace, uid string) ([]byte, error) {
	text, err := e.template.JSON(i, name, namespace)
	if err != nil {
		return nil, err
	}
	sent, err := decode(text)
	if err != nil {
		return nil, err
	}
	whole, err := json.Marshal(overlay(e.made, e.sent, sent))
	if err != nil {
		return nil, err
	}
	// Such as the labels by which a Job finds its Pods.
	whole = bytes.ReplaceAll(whole, []byte(e.uid), []byte(uid))
	whole = bytes.ReplaceAll(whole, []byte(sampleName), []byte(name))
	typed, _, err := scheme.Codecs.UniversalDeserializer().Decode(whole, nil, nil)
	if err != nil {
		return nil, fmt.Errorf("object %d is not a %s: %w", i, e.template.Info().Kind, err)
	}
	var stored bytes.Buffer
	if err := protobuf.NewSerializer(scheme.Scheme, scheme.Scheme).Encode(typed, &stored); err != nil {
		return nil, fmt.Errorf("encode object %d: %w", i, err)
	}
	return stored.Bytes(), nil
}

// overlay changes a value by the difference between two others. It changes none
// of its arguments.
func overlay(value, from, to any) any {
	switch to := to.(type) {
	case map[string]any:
		value, ok1 := value.(map[string]any)
		from, ok2 := from.(map[string]any)
		if ok1 && ok2 {
			return overlayMap(value, from, to)
		}
	case []any:
		value, ok1 := value.([]any)
		from, ok2 := from.([]any)
		if ok1 && ok2 && len(from) == len(to) && len(value) >= len(to) {
			result := append([]any(nil), value...) // what admission appended stays
			for i := range to {
				result[i] = overlay(value[i], from[i], to[i])
			}
			return result
		}
	}
	if reflect.DeepEqual(from, to) {
		return value
	}
	return to
}

func overlayMap(value, from, to map[string]any) map[string]any {
	result := maps.Clone(value)
	for key := range from {
		if _, kept := to[key]; !kept {
			delete(result, key)
		}
	}
	for key := range to {
		old, there := from[key]
		if there && reflect.DeepEqual(old, to[key]) {
			continue
		}
		result[key] = overlay(value[key], old, to[key])
	}
	return result
}

// frameKey tells frames apart by the lengths of what goes into them: these are
// part of the stored form.
type frameKey struct{ name, namespace int }

// storedFrame is the stored form of objects that differ by name, namespace and
// uid only, all of given lengths.
type storedFrame struct {
	whole                  []byte
	names, namespaces, ids []int // where these are
}

// frame gives the frame for an object, or nil when there is none: then every
// object goes the whole way.
func (e *encoder) frame(i int, name, namespace string) (*storedFrame, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	key := frameKey{len(name), len(namespace)}
	if f, ok := e.frames[key]; ok {
		return f, nil
	}
	f, err := e.newFrame(i, key)
	if err != nil {
		return nil, err
	}
	// The proof that it gives what the whole way does.
	uid := e.template.UID(name, namespace)
	whole, err := e.encodeEach(i, name, namespace, uid)
	if err != nil {
		return nil, err
	}
	if f != nil && !bytes.Equal(whole, f.fill(nil, name, namespace, uid)) {
		f = nil
	}
	e.frames[key] = f
	return f, nil
}

// newFrame finds the places by encoding objects that differ in each byte there.
func (e *encoder) newFrame(i int, key frameKey) (*storedFrame, error) {
	const uid = 36
	encode := func(name, namespace, id string) ([]byte, error) {
		return e.encodeEach(i, strings.Repeat(name, key.name), strings.Repeat(namespace, key.namespace), strings.Repeat(id, uid))
	}
	whole, err := encode("a", "a", "a")
	if err != nil {
		return nil, err
	}
	f := &storedFrame{whole: whole}
	for _, one := range []struct {
		name, namespace, id string
		length              int
		places              *[]int
	}{
		{"b", "a", "a", key.name, &f.names},
		{"a", "b", "a", key.namespace, &f.namespaces},
		{"a", "a", "b", uid, &f.ids},
	} {
		other, err := encode(one.name, one.namespace, one.id)
		if err != nil {
			return nil, err
		}
		if len(other) != len(whole) {
			return nil, nil
		}
		for at := 0; at < len(whole); at++ {
			if whole[at] != other[at] {
				*one.places = append(*one.places, at)
				at += one.length - 1
			}
		}
	}
	return f, nil
}

// fill appends the stored form of an object to a buffer.
func (f *storedFrame) fill(to []byte, name, namespace, uid string) []byte {
	to = append(to, f.whole...)
	whole := to[len(to)-len(f.whole):]
	for _, at := range f.names {
		copy(whole[at:], name)
	}
	for _, at := range f.namespaces {
		copy(whole[at:], namespace)
	}
	for _, at := range f.ids {
		copy(whole[at:], uid)
	}
	return to
}
