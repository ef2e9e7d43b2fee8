// Package components holds the pins of the real parts: for each family of
// parts a module file and its checksums, built by internal/assets.
//
// They are named etcd.mod and not etcd/go.mod because a folder with a go.mod
// is a module of its own, whose files cannot be embedded.
package components

import "embed"

// Pins holds STEM.mod and STEM.sum for every family of parts.
//
//go:embed *.mod *.sum
var Pins embed.FS
