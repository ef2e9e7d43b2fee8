package cli

import (
	"github.com/spf13/cobra"

	v1 "plimsoll.dev/plimsoll/api/v1alpha1"
)

func newSchema(env Environment) *cobra.Command {
	return &cobra.Command{
		Use:   "schema",
		Short: "Print the JSON schema of scenarios, for editors",
		Long: `Prints the JSON schema of scenario documents, with which editors complete fields,
show what they mean and mark mistakes. In an editor with the YAML language server
(VS Code, Neovim, JetBrains, …), begin the scenario with the line

  # yaml-language-server: $schema=scenario.schema.json

A field may hold ${name}, for a parameter, wherever it may hold a single value.`,
		Example: "  plimsoll schema > scenario.schema.json",
		Args:    cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			schema, err := v1.EditorSchema()
			if err != nil {
				return err
			}
			_, err = env.Stdout.Write(schema)
			return err
		},
	}
}
