package analysis

import (
	"encoding/json"
	"os"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"
)

func TestEveryFieldIsDocumented(t *testing.T) {
	document := documentation(t)
	_, tables, _ := strings.Cut(document, "## The document")
	fields := map[string]bool{}
	collect(reflect.TypeFor[Result](), fields)
	if len(fields) < 60 {
		t.Errorf("only %d fields were found: the test does not see them all", len(fields))
	}
	for field := range fields {
		// In the tables, where its meaning stands, and not only in the excerpt.
		if !regexp.MustCompile("(?m)^\\|[^|]*`" + regexp.QuoteMeta(field) + "`").MatchString(tables) {
			t.Errorf("docs/result.md does not say what %s means", field)
		}
	}
}

// TestTheExcerptIsAResult keeps the documentation's example from growing old.
func TestTheExcerptIsAResult(t *testing.T) {
	_, excerpt, _ := strings.Cut(documentation(t), "```json\n")
	excerpt, _, _ = strings.Cut(excerpt, "```")
	decoder := json.NewDecoder(strings.NewReader(excerpt))
	decoder.DisallowUnknownFields()
	var result Result
	if err := decoder.Decode(&result); err != nil {
		t.Fatalf("the excerpt in docs/result.md is no result: %v", err)
	}
	if result.SchemaVersion != SchemaVersion {
		t.Errorf("the excerpt is of version %d, the current one is %d", result.SchemaVersion, SchemaVersion)
	}
}

func documentation(t *testing.T) string {
	t.Helper()
	text, err := os.ReadFile("../../docs/result.md")
	must(t, err)
	return string(text)
}

// collect finds the names that a type's fields have in JSON.
func collect(typ reflect.Type, fields map[string]bool) {
	switch typ.Kind() {
	case reflect.Pointer, reflect.Slice, reflect.Map:
		collect(typ.Elem(), fields)
	case reflect.Struct:
		if typ == reflect.TypeFor[time.Time]() {
			return
		}
		for _, field := range reflect.VisibleFields(typ) {
			name, _, _ := strings.Cut(field.Tag.Get("json"), ",")
			switch {
			case !field.IsExported() || name == "-":
				continue
			case name != "":
				fields[name] = true
			}
			if !slices.Contains([]reflect.Kind{reflect.String, reflect.Bool}, field.Type.Kind()) {
				collect(field.Type, fields)
			}
		}
	}
}
