// Package scenarios holds the built-in scenarios. Each is also an example to copy.
package scenarios

import "embed"

// Files are the documents, named NAME.yaml.
//
//go:embed *.yaml
var Files embed.FS
