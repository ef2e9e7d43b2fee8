// Command plimsoll finds the load line of a Kubernetes control plane and of the
// datastore under it.
package main

import (
	"os"

	"plimsoll.dev/plimsoll/internal/cli"
)

func main() {
	os.Exit(cli.Main(cli.System(), os.Args[1:]))
}
