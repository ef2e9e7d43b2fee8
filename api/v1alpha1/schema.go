package v1alpha1

import (
	"bytes"
	_ "embed" // for the schema
	"encoding/json"
	"fmt"
)

//go:embed scenario.schema.json
var schema []byte

// Schema is the JSON schema of a scenario document whose parameters have been
// replaced by their values.
func Schema() []byte { return schema }

// EditorSchema is the JSON schema of a scenario document as it is written: where
// it may have a single value it may have ${name} instead.
func EditorSchema() ([]byte, error) {
	var document map[string]any
	if err := json.Unmarshal(schema, &document); err != nil {
		return nil, fmt.Errorf("read the built-in schema: %w", err)
	}
	open, isObject := orParameter(document).(map[string]any)
	if !isObject {
		return nil, fmt.Errorf("the built-in schema is no object")
	}
	var b bytes.Buffer
	encoder := json.NewEncoder(&b)
	encoder.SetIndent("", "  ")
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(open); err != nil {
		return nil, fmt.Errorf("write the schema for editors: %w", err)
	}
	return b.Bytes(), nil
}

// orParameter lets every schema of a scalar in a part of a schema accept ${name} too.
func orParameter(part any) any {
	switch p := part.(type) {
	case []any:
		for i := range p {
			p[i] = orParameter(p[i])
		}
	case map[string]any:
		if !scalar(p) {
			for key, inner := range p {
				p[key] = orParameter(inner)
			}
			return p
		}
		// What editors show stays outside.
		outside := map[string]any{"anyOf": []any{p, map[string]any{"type": "string", "pattern": `^\$\{[a-zA-Z][a-zA-Z0-9]*\}$`}}}
		for _, key := range []string{"description", "title", "default"} {
			if value, ok := p[key]; ok {
				outside[key] = value
				delete(p, key)
			}
		}
		return outside
	}
	return part
}

// scalar says whether a schema is one of single values that not every text is.
func scalar(schema map[string]any) bool {
	switch schema["type"] {
	case "integer", "number", "boolean":
		return true
	case "string":
		return schema["pattern"] != nil || schema["enum"] != nil
	}
	return false
}

// Unions are the types of which exactly one field is set, with the number of
// fields that are then there in all.
func Unions() map[string]uint64 {
	return map[string]uint64{
		"Target": 1, "Datastore": 1, "Preparation": 1, "Load": 1, "Fault": 1,
		"KubeWorkload": 1, "KubeMixed": 2, "SteveWorkload": 1, "DiskWorkload": 1, "EtcdWorkload": 1,
	}
}
