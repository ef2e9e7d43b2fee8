package v1alpha1

import _ "embed" // for the schema

//go:embed scenario.schema.json
var schema []byte

// Schema is the JSON schema of a scenario document.
func Schema() []byte { return schema }

// Unions are the types of which exactly one field is set.
func Unions() []string {
	return []string{"Target", "Datastore", "Preparation", "Load", "KubeWorkload"}
}
