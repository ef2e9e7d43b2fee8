package cli

import (
	"encoding/json"

	"github.com/spf13/cobra"
)

func newPlan(env Environment) *cobra.Command {
	var flags scenarioFlags
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "plan NAME|FILE",
		Short: "Say what a run would do, and start nothing",
		Long: `Reads a scenario, built in or in a file, and says what a run of it would do: runs
and their order, steps, objects, requests, bytes, and roughly how long and how
much disk it takes. A document with faults gives all of them, with their places.`,
		Example: `  plimsoll plan quickstart
  plimsoll plan quickstart --set objects=20000
  plimsoll plan my-scenario.yaml --json`,
		Args:              cobra.ExactArgs(1),
		ValidArgsFunction: completeScenario,
		RunE: func(_ *cobra.Command, args []string) error {
			p, _, err := flags.load(args[0])
			if err != nil {
				return err
			}
			if asJSON {
				encoder := json.NewEncoder(env.Stdout)
				encoder.SetIndent("", "  ")
				return encoder.Encode(p)
			}
			return p.Print(env.Stdout)
		},
	}
	flags.register(cmd)
	cmd.Flags().BoolVar(&asJSON, "json", false, "print plan.json")
	return cmd
}
