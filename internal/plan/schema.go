package plan

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/santhosh-tekuri/jsonschema/v6/kind"
	"golang.org/x/text/language"
	"golang.org/x/text/message"

	v1 "plimsoll.dev/plimsoll/api/v1alpha1"
)

const schemaURL = "scenario.schema.json"

// checkSchema holds the tree against the schema and words every fault.
func (d *document) checkSchema() {
	if d.schema == nil {
		if err := d.compileSchema(); err != nil {
			d.fault(nil, "the built-in schema is damaged: %v", err)
			return
		}
	}
	var invalid *jsonschema.ValidationError
	if errors.As(d.schema.Validate(d.tree), &invalid) {
		d.explain(invalid)
	}
}

func (d *document) compileSchema() error {
	raw, err := jsonschema.UnmarshalJSON(bytes.NewReader(v1.Schema()))
	if err != nil {
		return err
	}
	compiler := jsonschema.NewCompiler()
	compiler.AssertFormat()
	for name, parse := range v1.Formats() {
		compiler.RegisterFormat(&jsonschema.Format{Name: name, Validate: func(v any) error {
			if text, ok := v.(string); ok {
				return parse(text)
			}
			return nil
		}})
	}
	if err := compiler.AddResource(schemaURL, raw); err != nil {
		return err
	}
	d.schema, err = compiler.Compile(schemaURL)
	return err
}

// schemaType is what merging, and words about faults, need of a type of the schema.
type schemaType struct {
	name, title string
	fields      map[string]string // type by field, of lists that of their items
	union       bool              // exactly one field is set
	exclusive   []string          // fields of which one is set
	keepsNull   bool              // null is a value, as with flags
}

// schemaTypes reads the types of the built-in schema by name; none of a damaged
// one, which the schema check says.
func schemaTypes() map[string]schemaType {
	type property struct {
		Ref   string `json:"$ref"`
		Items any    // a schema, or true
	}
	var schema struct {
		Defs map[string]struct {
			Title                string
			Properties           map[string]property
			AdditionalProperties any
		} `json:"$defs"`
	}
	types := map[string]schemaType{}
	if json.Unmarshal(v1.Schema(), &schema) != nil {
		return types
	}
	unions := v1.Unions()
	for name, def := range schema.Defs {
		_, isMap := def.AdditionalProperties.(map[string]any)
		t := schemaType{name: name, title: def.Title, fields: map[string]string{}, union: unions[name] == 1, keepsNull: isMap}
		if name == "Phase" {
			t.exclusive = v1.Workloads()
		}
		for field, p := range def.Properties {
			ref := p.Ref
			if items, ok := p.Items.(map[string]any); ok {
				ref, _ = items["$ref"].(string)
			}
			t.fields[field] = strings.TrimPrefix(ref, "#/$defs/")
		}
		types[name] = t
	}
	return types
}

// known are the names of the type's fields.
func (t schemaType) known() []string { return slices.Sorted(maps.Keys(t.fields)) }

// explain adds a problem for every leaf of a validation error.
func (d *document) explain(e *jsonschema.ValidationError) {
	_, name, _ := strings.Cut(e.SchemaURL, "#/$defs/")
	t := d.types[name]
	path := e.InstanceLocation
	switch k := e.ErrorKind.(type) {
	case *kind.AdditionalProperties:
		for _, name := range k.Properties {
			near := v1.NearMiss(name, t.known())
			if near == "" {
				near = "; known here are " + strings.Join(t.known(), ", ")
			}
			d.fault(under(path, name), "unknown field%s", near)
		}
		return
	case *kind.Required:
		for _, name := range k.Missing {
			d.fault(path, "the field %s is missing", name)
		}
		return
	case *kind.AnyOf:
		d.fault(path, "%s", t.notAny(e.Causes))
		return
	}
	if words := t.not(e.ErrorKind); words != "" {
		d.fault(path, "%s", words)
		return
	}
	if len(e.Causes) == 0 {
		d.fault(path, "%s", e.ErrorKind.LocalizedString(message.NewPrinter(language.English)))
	}
	for _, cause := range e.Causes {
		d.explain(cause)
	}
}

// not says why a value is none of the type; nothing, if that has other causes.
func (t schemaType) not(why jsonschema.ErrorKind) string {
	switch k := why.(type) {
	case *kind.Type:
		return fmt.Sprintf("is of type %s, expected %s", k.Got, cmp.Or(t.title, "a value of type "+strings.Join(k.Want, " or ")))
	case *kind.Enum:
		var options []string
		for _, want := range k.Want {
			options = append(options, fmt.Sprint(want))
		}
		return fmt.Sprintf("%q is none of %s%s", fmt.Sprint(k.Got), strings.Join(options, ", "), v1.NearMiss(fmt.Sprint(k.Got), options))
	case *kind.Pattern:
		return fmt.Sprintf("%q is not %s%s", k.Got, cmp.Or(t.title, "a value that matches "+k.Want), nearUnit(k.Got, t.name))
	case *kind.Format:
		return fmt.Sprintf("%v%s", k.Err, nearUnit(fmt.Sprint(k.Got), t.name))
	case *kind.MinProperties:
		return "needs exactly one of " + strings.Join(t.known(), ", ")
	case *kind.MaxProperties:
		return fmt.Sprintf("has %d fields, but exactly one of %s is allowed", k.Got, strings.Join(t.known(), ", "))
	case *kind.MinItems:
		return fmt.Sprintf("is empty: it needs at least %d", k.Want)
	case *kind.Minimum:
		return fmt.Sprintf("is %s, but must be at least %s", k.Got.RatString(), k.Want.RatString())
	case *kind.Maximum:
		return fmt.Sprintf("is %s, but must be at most %s", k.Got.RatString(), k.Want.RatString())
	}
	return ""
}

// notAny says why a value is of none of the forms that the type has.
func (t schemaType) notAny(causes []*jsonschema.ValidationError) string {
	for _, cause := range causes {
		if format, ok := cause.ErrorKind.(*kind.Format); ok {
			return format.Err.Error()
		}
	}
	return "is not " + cmp.Or(t.title, "a single value")
}

// nearUnit finds the unit that was meant where only its case or a letter is wrong.
func nearUnit(got, schemaType string) string {
	number := strings.TrimRight(got, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ/% ")
	unit := strings.TrimSpace(strings.TrimPrefix(got, number))
	for _, candidate := range v1.Units(schemaType) {
		if number != "" && unit != "" && unit != candidate && strings.EqualFold(unit, candidate) {
			return fmt.Sprintf("; did you mean %q?", number+candidate)
		}
	}
	return ""
}
