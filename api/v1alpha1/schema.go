package v1alpha1

import _ "embed" // for the schema

//go:embed scenario.schema.json
var schema []byte

// Schema is the JSON schema of a scenario document.
func Schema() []byte { return schema }

// Unions are the types of which exactly one field is set, with the number of
// fields that are then there in all.
func Unions() map[string]uint64 {
	return map[string]uint64{"Target": 1, "Datastore": 1, "Preparation": 1, "Load": 1, "KubeWorkload": 1, "KubeMixed": 2}
}
