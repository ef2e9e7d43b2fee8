package v1alpha1_test

import (
	"bytes"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/goccy/go-yaml"
	"github.com/santhosh-tekuri/jsonschema/v6"

	v1 "plimsoll.dev/plimsoll/api/v1alpha1"
	"plimsoll.dev/plimsoll/internal/plan"
	"plimsoll.dev/plimsoll/scenarios"
)

// editor compiles a type of the schema that `plimsoll schema` prints; the whole
// of it, for an empty name.
func editor(t *testing.T, typ string) *jsonschema.Schema {
	t.Helper()
	text, err := v1.EditorSchema()
	if err != nil {
		t.Fatal(err)
	}
	document, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	compiler := jsonschema.NewCompiler()
	if err := compiler.AddResource("scenario.schema.json", document); err != nil {
		t.Fatal(err)
	}
	place := "scenario.schema.json"
	if typ != "" {
		place += "#/$defs/" + typ
	}
	schema, err := compiler.Compile(place)
	if err != nil {
		t.Fatal(err)
	}
	return schema
}

// value reads YAML as a validator wants it.
func value(t *testing.T, source []byte) any {
	t.Helper()
	data, err := yaml.YAMLToJSON(source)
	if err != nil {
		t.Fatalf("%v\n%s", err, source)
	}
	v, err := jsonschema.UnmarshalJSON(bytes.NewReader(data))
	if err != nil {
		t.Fatal(err)
	}
	return v
}

func TestBuiltInScenariosPassInAnEditor(t *testing.T) {
	entries, err := scenarios.Files.ReadDir(".")
	if err != nil {
		t.Fatal(err)
	}
	for _, entry := range entries {
		source, err := scenarios.Files.ReadFile(entry.Name())
		if err != nil {
			t.Fatal(err)
		}
		if err := editor(t, "").Validate(value(t, source)); err != nil {
			t.Errorf("%s: %v", entry.Name(), err)
		}
		if _, err := plan.Load(entry.Name(), source, nil); err != nil {
			t.Error(err)
		}
	}
}

func TestAnEditorMarksMistakes(t *testing.T) {
	for mistake, fill := range map[string]string{
		"a text for a number":       "{resource: configmaps, namespace: a, count: many}",
		"a size without a unit":     "{resource: configmaps, namespace: a, count: 1, payload: 10}",
		"no such resource":          "{resource: configmap, namespace: a, count: 1}",
		"no such field":             "{resource: configmaps, namespace: a, count: 1, size: 4B}",
		"a missing one":             "{resource: configmaps, namespace: a}",
		"a parameter within a text": "{resource: configmaps, namespace: 'a-${b}', count: 1}",
	} {
		if err := editor(t, "Fill").Validate(value(t, []byte(fill))); err == nil {
			t.Errorf("%s passes: %s", mistake, fill)
		}
	}
	const parameters = `{resource: "${a}", namespace: "${b}", count: "${c}", payload: "${d}", through: "${e}"}`
	if err := editor(t, "Fill").Validate(value(t, []byte(parameters))); err != nil {
		t.Errorf("parameters do not pass: %v", err)
	}
}

func TestExamplesOfTheReference(t *testing.T) {
	page, err := os.ReadFile("../../docs/scenario.md")
	if err != nil {
		t.Fatal(err)
	}
	found := 0
	for _, section := range strings.Split(string(page), "\n## ")[1:] {
		typ, _, _ := strings.Cut(section, "\n")
		for _, example := range regexp.MustCompile("(?s)```yaml\n(.*?)```").FindAllStringSubmatch(section, -1) {
			found++
			if err := editor(t, typ).Validate(value(t, []byte(example[1]))); err != nil {
				t.Errorf("the example of %s: %v", typ, err)
			}
			if typ == "Scenario" {
				if _, err := plan.Load("example", []byte(example[1]), nil); err != nil {
					t.Error(err)
				}
			}
		}
	}
	if found < 12 {
		t.Errorf("only %d examples were found", found)
	}
}
