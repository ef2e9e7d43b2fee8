package main

import (
	"bytes"
	_ "embed" // for the template
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"text/template"

	"github.com/invopop/jsonschema"
)

// The text around the tables, and an example for each of the main types.
//
//go:embed reference.md.tmpl
var text string

// section is what the reference says of one type.
type section struct {
	Name, Meaning string
	Example       string
	Fields        []field
	// Union says that exactly one field is set, beside those that are required.
	Union bool
}

type field struct{ Name, Type, Default, Meaning string }

// reference is what the template is made of: types with fields, in the order
// in which a reader comes upon them, and the others.
type reference struct {
	Sections []section
	Values   []section
}

func referenceOf(schema *jsonschema.Schema) ([]byte, error) {
	page, err := template.New("page").Parse(text)
	if err != nil {
		return nil, err
	}
	var r reference
	for _, name := range inOrder(schema.Definitions) {
		s, err := sectionOf(name, schema.Definitions[name], page.Lookup(name))
		if err != nil {
			return nil, err
		}
		if s.Fields == nil {
			r.Values = append(r.Values, s)
			continue
		}
		r.Sections = append(r.Sections, s)
	}
	var b bytes.Buffer
	err = page.Execute(&b, r)
	return append(bytes.TrimSpace(b.Bytes()), '\n'), err
}

// inOrder gives the types as they are met on a walk that begins with Scenario;
// quantities and names by the alphabet.
func inOrder(types jsonschema.Definitions) []string {
	var order []string
	var visit func(name string)
	visit = func(name string) {
		if name == "" || slices.Contains(order, name) || types[name].Properties == nil {
			return
		}
		order = append(order, name)
		for pair := types[name].Properties.Oldest(); pair != nil; pair = pair.Next() {
			visit(referred(pair.Value))
			if pair.Value.Items != nil {
				visit(referred(pair.Value.Items))
			}
		}
	}
	visit("Scenario")
	for _, name := range slices.Sorted(maps.Keys(types)) {
		if !slices.Contains(order, name) {
			order = append(order, name)
		}
	}
	return order
}

// referred is the name of the type that a schema refers to.
func referred(s *jsonschema.Schema) string { return strings.TrimPrefix(s.Ref, "#/$defs/") }

func sectionOf(name string, s *jsonschema.Schema, example *template.Template) (section, error) {
	sec := section{Name: name, Meaning: meaningOf(s), Union: s.MinProperties != nil}
	if example != nil {
		var b strings.Builder
		if err := example.Execute(&b, nil); err != nil {
			return sec, err
		}
		sec.Example = strings.TrimSpace(b.String())
	}
	if s.Properties == nil {
		return sec, nil
	}
	for pair := s.Properties.Oldest(); pair != nil; pair = pair.Next() {
		meaning, otherwise := splitDefault(pair.Value.Description)
		if slices.Contains(s.Required, pair.Key) {
			otherwise = "required"
		}
		sec.Fields = append(sec.Fields, field{"`" + pair.Key + "`", typeOf(pair.Value), cell(otherwise), cell(meaning)})
	}
	return sec, nil
}

// meaningOf says what a type is: its comment, or the words of its schema.
func meaningOf(s *jsonschema.Schema) string {
	meaning := s.Description
	if meaning == "" && s.Title != "" {
		meaning = strings.ToUpper(s.Title[:1]) + s.Title[1:] + "."
	}
	if meaning == "" && s.AdditionalProperties != nil {
		meaning = "By name: " + s.AdditionalProperties.Title + "."
	}
	if len(s.Enum) > 0 {
		meaning = strings.TrimSpace(meaning + " One of " + options(s.Enum) + ".")
	}
	return meaning
}

// splitDefault takes the sentence of the default from a field's comment.
func splitDefault(comment string) (meaning, otherwise string) {
	found := regexp.MustCompile(`^(.*?)\s*\bDefault:? (.+?)\.$`).FindStringSubmatch(comment)
	if found == nil {
		return comment, ""
	}
	return found[1], found[2]
}

// typeOf says what a field holds.
func typeOf(s *jsonschema.Schema) string {
	switch name := referred(s); {
	case name != "":
		return fmt.Sprintf("[%s](#%s)", name, strings.ToLower(name))
	case s.Type == "array" && s.Items != nil && referred(s.Items) != "":
		return "list of " + typeOf(s.Items)
	case s.Type == "array":
		return "list of values"
	case len(s.Enum) > 0:
		return options(s.Enum)
	case s.Type == "object":
		return "values by name"
	case s.Type == "string":
		return "text"
	case s.Type == "boolean":
		return "true or false"
	}
	return s.Type
}

func options(values []any) string {
	var words []string
	for _, v := range values {
		words = append(words, fmt.Sprintf("`%v`", v))
	}
	return strings.Join(words, ", ")
}

// cell makes a text fit into a table.
func cell(s string) string { return strings.ReplaceAll(strings.ReplaceAll(s, "|", `\|`), "\n", " ") }
