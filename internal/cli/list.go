package cli

import (
	"fmt"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"plimsoll.dev/plimsoll/internal/plan"
	"plimsoll.dev/plimsoll/scenarios"
)

func newList(env Environment) *cobra.Command {
	return &cobra.Command{
		Use:     "list",
		Short:   "List the built-in scenarios",
		Example: "  plimsoll list",
		Args:    cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			table := tabwriter.NewWriter(env.Stdout, 0, 0, 2, ' ', 0)
			for _, name := range builtIn() {
				source, err := scenarios.Files.ReadFile(name + ".yaml")
				if err != nil {
					return err
				}
				experiment, err := plan.Load(name, source, nil)
				if err != nil {
					return err
				}
				fmt.Fprintf(table, "%s\t%s\n", name, experiment.Scenario().Metadata.Title)
			}
			return table.Flush()
		},
	}
}
