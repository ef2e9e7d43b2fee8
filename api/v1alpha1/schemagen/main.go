// Command schemagen writes scenario.schema.json from the types of the package
// that it is run in, and their comments.
package main

import (
	"encoding/json"
	"fmt"
	"os"

	"github.com/invopop/jsonschema"

	"plimsoll.dev/plimsoll/api/v1alpha1"
)

func main() {
	if err := generate(); err != nil {
		fmt.Fprintln(os.Stderr, "schemagen:", err)
		os.Exit(1)
	}
}

func generate() error {
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
	return os.WriteFile("scenario.schema.json", append(data, '\n'), 0o644)
}
