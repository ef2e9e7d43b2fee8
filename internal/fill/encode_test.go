package fill

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"testing"

	"github.com/google/go-cmp/cmp"

	v1 "plimsoll.dev/plimsoll/api/v1alpha1"
	"plimsoll.dev/plimsoll/internal/object"
)

// dryRun answers as an API server does that adds a uid, a time and a default.
func dryRun(r *http.Request) (*http.Response, error) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return nil, err
	}
	o, err := decode(body)
	if err != nil {
		return nil, err
	}
	metadata := o["metadata"].(map[string]any)
	metadata["uid"] = "0b1a4c62-7d5e-4f0e-9d5b-2f6f0b7a0001"
	metadata["creationTimestamp"] = "2026-01-01T00:00:00Z"
	metadata["annotations"] = map[string]any{"of": "plimsoll-sample 0b1a4c62-7d5e-4f0e-9d5b-2f6f0b7a0001"}
	o["immutable"] = false
	text, err := json.Marshal(o)
	return answer(http.StatusCreated, string(text)), err
}

func encoderOf(t *testing.T, o v1.Objects) *encoder {
	t.Helper()
	template, err := object.New(o, runID, 7)
	if err != nil {
		t.Fatal(err)
	}
	c, err := newClient(fakeAPI(dryRun))
	if err != nil {
		t.Fatal(err)
	}
	e, err := newEncoder(context.Background(), c, template, 0)
	if err != nil {
		t.Fatal(err)
	}
	return e
}

func TestStoredFormIsAFunctionOfSeedAndIndex(t *testing.T) {
	for name, o := range map[string]v1.Objects{
		"a payload":                {Resource: v1.ConfigMaps, Namespace: "ns", Payload: 100},
		"secrets in namespaces":    {Resource: v1.Secrets, Namespace: "ns", Namespaces: 12, Payload: 4},
		"a name in the content":    {Template: "apiVersion: v1\nkind: ConfigMap\ndata: {a: '{{.Name}}{{.Name}}', b: '{{.Namespace}}'}\n", Namespace: "a"},
		"a name as a key":          {Template: "apiVersion: v1\nkind: ConfigMap\ndata: {'{{.Name}}': x, plimsoll-00001: other}\n", Namespace: "a"},
		"an index, and conditions": {Template: "apiVersion: v1\nkind: ConfigMap\ndata: {a: '{{if mod .Index 2}}odd{{end}}'}\n", Namespace: "a"},
	} {
		t.Run(name, func(t *testing.T) {
			one, again := encoderOf(t, o), encoderOf(t, o)
			for _, i := range []int{0, 1, 11, 12, 999_999, 1_000_000} {
				name, namespace := one.template.Name(i), one.template.Namespace(i)
				fast, err := one.encode(nil, i)
				if err != nil {
					t.Fatal(err)
				}
				second, _ := again.encode(nil, i)
				whole, err := one.encodeEach(i, name, namespace, one.template.UID(name, namespace))
				if err != nil || !bytes.Equal(fast, whole) || !bytes.Equal(fast, second) {
					t.Errorf("object %d differs by the way or the time it is encoded: %v", i, err)
				}
				if !bytes.HasPrefix(fast, []byte("k8s\x00")) || bytes.Contains(fast, []byte(sampleName)) || bytes.Contains(fast, []byte(one.uid)) {
					t.Errorf("object %d is stored as %q", i, fast)
				}
			}
		})
	}
}

func TestOverlay(t *testing.T) {
	for _, row := range []struct{ name, value, from, to, want string }{
		{"nothing differs, so defaults stay", `{"a":1,"d":2}`, `{"a":1}`, `{"a":1}`, `{"a":1,"d":2}`},
		{"a value", `{"a":1,"d":2}`, `{"a":1}`, `{"a":3}`, `{"a":3,"d":2}`},
		{"a new key", `{"a":1}`, `{"a":1}`, `{"a":1,"b":2}`, `{"a":1,"b":2}`},
		{"a key that is gone", `{"a":1,"d":2}`, `{"a":1}`, `{}`, `{"d":2}`},
		{"an element of a list, with defaults and what admission appended", `{"l":[{"a":1,"d":2},{"x":9}]}`, `{"l":[{"a":1}]}`, `{"l":[{"a":3}]}`, `{"l":[{"a":3,"d":2},{"x":9}]}`},
		{"a list of another length", `{"l":[1,2]}`, `{"l":[1,2]}`, `{"l":[1]}`, `{"l":[1]}`},
		{"a mapping in the place of a text", `{"a":"x"}`, `{"a":"x"}`, `{"a":{"b":1}}`, `{"a":{"b":1}}`},
		{"null", `{"a":1}`, `{"a":1}`, `{"a":null}`, `{"a":null}`},
	} {
		read := func(text string) any {
			content, err := decode([]byte(text))
			if err != nil {
				t.Fatal(err)
			}
			return content
		}
		value := read(row.value)
		if diff := cmp.Diff(read(row.want), overlay(value, read(row.from), read(row.to))); diff != "" {
			t.Errorf("%s: %s", row.name, diff)
		}
		if diff := cmp.Diff(read(row.value), value); diff != "" {
			t.Errorf("%s: the value itself was changed: %s", row.name, diff)
		}
	}
}

func TestRangesAreComparedOnlyWithoutGaps(t *testing.T) {
	for _, row := range []struct {
		name string
		keys []string
		want int
	}{
		{"keys in a row", []string{"/r/ns/plimsoll-000001", "/r/ns/plimsoll-000002", "/r/ns/plimsoll-000003"}, 1},
		{"a single key", []string{"/r/ns/plimsoll-000001"}, 1},
		{"a gap", []string{"/r/ns/plimsoll-000001", "/r/ns/plimsoll-000003"}, 2},
		{"two namespaces", []string{"/r/ns-0/plimsoll-000001", "/r/ns-1/plimsoll-000002"}, 2},
		{"names that grow longer", []string{"/r/ns/plimsoll-999999", "/r/ns/plimsoll-1000000"}, 2},
	} {
		var entries []entry
		for _, key := range row.keys {
			entries = append(entries, entry{key: key})
		}
		if got := len(absent(entries)); got != row.want {
			t.Errorf("%s: %d comparisons; want %d", row.name, got, row.want)
		}
	}
}
