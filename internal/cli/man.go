package cli

import (
	"fmt"
	"os"

	"github.com/spf13/cobra"
	"github.com/spf13/cobra/doc"
)

func newMan() *cobra.Command {
	return &cobra.Command{
		Use:   "man DIR",
		Short: "Write a manual page for each verb into a folder",
		Long: `Writes a manual page for each verb into a folder, for packages of plimsoll. Their
date is SOURCE_DATE_EPOCH, if that is set.`,
		Example: "  plimsoll man bin/man",
		Hidden:  true,
		Args:    cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := os.MkdirAll(args[0], 0o755); err != nil {
				return fmt.Errorf("make the folder of the manual pages: %w", err)
			}
			header := &doc.GenManHeader{Section: "1", Manual: "plimsoll", Source: "plimsoll " + toolVersion()}
			return doc.GenManTree(cmd.Root(), header, args[0])
		},
	}
}
