// Command schemagen writes scenario.schema.json from the types of the package
// that it is run in, and their comments; and, into the file that its argument
// names, the reference of the document that is made of the same.
package main

import (
	"encoding/json"
	"fmt"
	"os"

	"github.com/invopop/jsonschema"

	"plimsoll.dev/plimsoll/api/v1alpha1"
)

func main() {
	if err := generate(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "schemagen:", err)
		os.Exit(1)
	}
}

func generate(args []string) error {
	if len(args) != 1 {
		return fmt.Errorf("usage: schemagen REFERENCE.md")
	}
	reflector := jsonschema.Reflector{Anonymous: true, FieldNameTag: "json"}
	if err := reflector.AddGoComments("plimsoll.dev/plimsoll/api/v1alpha1", "."); err != nil {
		return err
	}
	schema := reflector.Reflect(v1alpha1.Scenario{})
	schema.Title = "plimsoll scenario"
	for union, fields := range v1alpha1.Unions() {
		schema.Definitions[union].MinProperties = &fields
		schema.Definitions[union].MaxProperties = &fields
	}
	data, err := json.MarshalIndent(schema, "", "  ")
	if err != nil {
		return err
	}
	if err := os.WriteFile("scenario.schema.json", append(data, '\n'), 0o644); err != nil {
		return err
	}
	reference, err := referenceOf(schema)
	if err != nil {
		return err
	}
	return os.WriteFile(args[0], reference, 0o644)
}
