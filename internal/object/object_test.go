package object

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	v1 "plimsoll.dev/plimsoll/api/v1alpha1"
)

const runID = "20260101-000000-1"

func mustNew(t testing.TB, o v1.Objects) *Template {
	t.Helper()
	template, err := New(o, runID, 1)
	if err != nil {
		t.Fatal(err)
	}
	return template
}

const meta = "apiVersion: v1\nkind: ConfigMap\n"

func TestTemplatesGiveObjects(t *testing.T) {
	stamped := func(more, data string) string {
		return `{"apiVersion":"v1",` + data + `"kind":"ConfigMap","metadata":{` + more + `"name":"plimsoll-000009","namespace":"space"}}`
	}
	const label = `"labels":{"plimsoll.dev/run":"` + runID + `"},`
	for _, row := range []struct {
		name, template, want string
		spliced, uniform     bool
	}{
		{"without any field", meta, stamped(label, ""), true, true},
		{"with the name in its content", meta + "data: {a: x-{{.Name}}-y}\n", stamped(label, `"data":{"a":"x-plimsoll-000009-y"},`), true, true},
		{"with the payload", meta + "data: {a: '{{.Payload}}'}\n", stamped(label, `"data":{"a":"YWFhYQ=="},`), true, true},
		{"with the index in a text", meta + "data: {a: 'n{{.Index}}'}\n", stamped(label, `"data":{"a":"n9"},`), true, false},
		{"with the index as a number", meta + "data: {a: {{.Index}}}\n", stamped(label, `"data":{"a":9},`), true, false},
		{"with a number that YAML reads in its own way", meta + "data: {a: 0{{.Index}}}\n", stamped(label, `"data":{"a":9},`), false, false},
		{"with a condition", meta + "data: {a: {{if gt .Index 5}}many{{else}}few{{end}}}\n", stamped(label, `"data":{"a":"many"},`), false, false},
		{"with a function", meta + "data: {a: 'n{{mod .Index 4}}-{{div .Index 4}}'}\n", stamped(label, `"data":{"a":"n1-2"},`), false, false},
		{"with the node", meta + "data: {a: '{{.Node}}'}\n", stamped(label, `"data":{"a":"node-1"},`), true, false},
		{"with its own name, namespace and run label, which are ours", meta + "metadata: {name: x, generateName: y, namespace: z, labels: {plimsoll.dev/run: other, a: b}}\n",
			stamped(`"labels":{"a":"b","plimsoll.dev/run":"`+runID+`"},`, ""), true, true},
		{"after a comment and a document mark", "# mine\n---\n" + meta, stamped(label, ""), true, true},
	} {
		t.Run(row.name, func(t *testing.T) {
			template := mustNew(t, v1.Objects{Template: row.template, Namespace: "space", Payload: 4, Nodes: 4})
			got, err := template.JSON(9, template.Name(9), template.Namespace(9))
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(row.want, string(got)); diff != "" {
				t.Error(diff)
			}
			if spliced := template.frame != nil; spliced != row.spliced || template.Uniform() != row.uniform {
				t.Errorf("spliced is %t, uniform %t; want %t, %t", spliced, template.Uniform(), row.spliced, row.uniform)
			}
		})
	}
}

func TestFaultsOfTemplates(t *testing.T) {
	for _, row := range []struct{ name, template, want string }{
		{"an action that is not closed", meta + "data: {{.Index\n", "template line 4: unclosed action started at object:3"},
		{"an unknown function", meta + "\ndata: {{upper .Name}}\n", `template line 4: function "upper" not defined`},
		{"an unknown field", meta + "data: {a: {{.Nmae}}}\n", "template line 3:"},
		{"an unknown field, and what there is", meta + "data: {a: {{.Nmae}}}\n", "a template knows .Index, .Name, .Namespace, .Payload and .Node"},
		{"an index that only some have", meta + "data: {a: {{slice \"x\" .Index 1}}{{index \"x\" .Index}}}\n", "object 1 of the template: template line 3:"},
		{"YAML that is broken", meta + "data: {a: b\nmore: c\n", "line 4"},
		{"YAML that is badly indented", meta + "data:\n  a: b\n c: d\n", "5 |  c: d"},
		{"a tab in YAML", meta + "data:\n\ta: b\n", "4 | \ta: b"},
		{"a key that is there twice", meta + "data: {a: b}\ndata: {c: d}\n", "line 4"},
		{"aliases that would fill the memory", meta + "a: &a [x,x,x,x,x,x,x,x,x]\nb: &b [*a,*a,*a,*a,*a,*a,*a,*a,*a]\nc: &c [*b,*b,*b,*b,*b,*b,*b,*b,*b]\nd: &d [*c,*c,*c,*c,*c,*c,*c,*c,*c]\ne: &e [*d,*d,*d,*d,*d,*d,*d,*d,*d]\nf: &f [*e,*e,*e,*e,*e,*e,*e,*e,*e]\ng: [*f,*f,*f,*f,*f,*f,*f,*f,*f]\n", "excessive aliasing"},
		{"two documents", meta + "---\n" + meta, "line 3: a second document begins here"},
		{"nothing but a comment", "# nothing\n", "this is not an object"},
		{"a list", "- a\n- b\n", "this is not an object"},
		{"no kind", "apiVersion: v1\n", "needs apiVersion and kind"},
		{"a kind with a near miss", "apiVersion: v1\nkind: Confgmap\n", `did you mean "ConfigMap"?`},
		{"an unknown kind, and what is known", "apiVersion: example.com/v1\nkind: Zebra\n", "ConfigMap (v1), Secret (v1)"},
		{"a kind of another version", "apiVersion: v1\nkind: Deployment\n", `apiVersion of a Deployment is apps/v1, not "v1"`},
		{"objects of two kinds", "apiVersion: v1\nkind: {{if .Index}}Secret{{else}}ConfigMap{{end}}\n", "object 1 of the template is a Secret, but object 0 is a ConfigMap"},
		{"metadata that is a text", meta + "metadata: x\n", "metadata is not a mapping"},
	} {
		t.Run(row.name, func(t *testing.T) {
			_, err := New(v1.Objects{Template: row.template, Namespace: "space", Payload: 4}, runID, 1)
			if err == nil || !strings.Contains(err.Error(), row.want) {
				t.Errorf("error is\n%v\nwhich lacks\n%s", err, row.want)
			}
		})
	}
	if _, err := New(v1.Objects{Template: meta}, runID, 1); err == nil || !strings.Contains(err.Error(), "add namespace") {
		t.Errorf("error without a namespace is %v", err)
	}
}

func TestPayloadOfThePublishedExperiments(t *testing.T) {
	template := mustNew(t, v1.Objects{Resource: v1.Secrets, Namespace: "space", Payload: 10 << 10})
	text, err := template.JSON(1, "one", "space")
	var o struct {
		Kind string
		Data map[string]string
	}
	if err != nil || json.Unmarshal(text, &o) != nil || o.Kind != "Secret" || len(o.Data["data"]) != 13656 || strings.Trim(o.Data["data"], "YWFhQ=") != "" {
		t.Errorf("%v: %d characters of %.80s", err, len(o.Data["data"]), text)
	}
}

func TestNamespacesAndPaths(t *testing.T) {
	spread := mustNew(t, v1.Objects{Resource: v1.ConfigMaps, Namespace: "ns", Namespaces: 3, Payload: 4})
	if diff := cmp.Diff([]string{"ns-0", "ns-1", "ns-2"}, spread.Namespaces()); diff != "" {
		t.Error(diff)
	}
	if got := spread.Namespace(5); got != "ns-2" {
		t.Errorf("object 5 is in %s", got)
	}
	for _, row := range []struct{ template, namespace, want string }{
		{meta, "ns", "/api/v1/namespaces/ns/configmaps"},
		{meta, "", "/api/v1/configmaps"},
		{"apiVersion: v1\nkind: Node\n", "ns", "/api/v1/nodes"},
		{"apiVersion: apps/v1\nkind: Deployment\n", "ns", "/apis/apps/v1/namespaces/ns/deployments"},
	} {
		if got := mustNew(t, v1.Objects{Template: row.template, Namespace: "ns"}).Collection(row.namespace); got != row.want {
			t.Errorf("path is %s; want %s", got, row.want)
		}
	}
	node := mustNew(t, v1.Objects{Template: "apiVersion: v1\nkind: Node\n"})
	if text, err := node.JSON(0, "n", ""); err != nil || bytes.Contains(text, []byte("namespace")) || node.Namespaces() != nil {
		t.Errorf("a node is %s: %v", text, err)
	}
}

func TestUIDsAreAFunctionOfTheSeed(t *testing.T) {
	o := v1.Objects{Resource: v1.ConfigMaps, Namespace: "space", Payload: 4}
	one, again := mustNew(t, o), mustNew(t, o)
	other, err := New(o, runID, 2)
	if err != nil {
		t.Fatal(err)
	}
	uid := one.UID("a", "space")
	if uid != again.UID("a", "space") || uid == other.UID("a", "space") || uid == one.UID("b", "space") || uid == one.UID("a", "else") || len(uid) != 36 {
		t.Errorf("uid is %s", uid)
	}
}

// FuzzNew has templates that are taken give the same by both ways.
func FuzzNew(f *testing.F) {
	for _, text := range []string{
		meta, meta + "data: {a: 0{{.Index}}}\n", meta + "data:\n  {{.Name}}: '{{.Index}}'\n  b: {{.Namespace}}\n",
		meta + "data: {a: {{range .Name}}x{{end}}}\n", meta + "data: 1e{{.Index}}\n", meta + "? {{.Index}}\n: \"\\x4{{.Index}}\"\n", "{{.Payload", "---\n---\n",
	} {
		f.Add(text, 3, "123")
	}
	f.Fuzz(func(t *testing.T, text string, i int, namespace string) {
		if len(text) > 1000 || strings.Contains(text, "range") || strings.Trim(namespace, "abcdefghijklmnopqrstuvwxyz0123456789-") != "" || len(namespace) > 63 {
			t.Skip()
		}
		template, err := New(v1.Objects{Template: text, Namespace: v1.Name(namespace), Payload: 4}, runID, 1)
		if err != nil || template.frame == nil || i < 0 {
			return
		}
		name := template.Name(i)
		fast, _ := template.JSON(i, name, template.spread(i))
		slow, err := template.slowJSON(i, name, template.spread(i))
		if err != nil || !bytes.Equal(fast, slow) {
			t.Errorf("object %d is\n%s\nbut by the way without splicing\n%s\n%v", i, fast, slow, err)
		}
	})
}

func BenchmarkJSON(b *testing.B) {
	for _, row := range []struct {
		name string
		o    v1.Objects
	}{
		{"spliced 10KiB", v1.Objects{Resource: v1.ConfigMaps, Namespace: "space", Payload: 10 << 10}},
		{"executed", v1.Objects{Template: meta + "data: {a: 'n{{mod .Index 4}}'}\n", Namespace: "space"}},
	} {
		b.Run(row.name, func(b *testing.B) {
			template := mustNew(b, row.o)
			for i := 0; b.Loop(); i++ {
				if _, err := template.JSON(i, "plimsoll-000001", "space"); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
