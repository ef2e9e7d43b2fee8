package cli

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"plimsoll.dev/plimsoll/internal/analysis"
	"plimsoll.dev/plimsoll/internal/stats"
	"plimsoll.dev/plimsoll/internal/store"
)

func newCompare(env Environment) *cobra.Command {
	var format string
	var failOnWorse bool
	cmd := &cobra.Command{
		Use:   "compare DIR [DIR]",
		Short: "Compare the variants of an experiment, or two experiments",
		Long: `Compares the variants within one results directory, block by block, or the same
cells of two directories, the first being the baseline.

Variants of one experiment ran side by side, so they are compared in pairs. What
changed between two experiments beside the target, the machine's mood say, is
in the difference between them too: run both as variants where you can.`,
		Example: `  plimsoll compare results
  plimsoll compare results-before results-after
  plimsoll compare results-before results-after --fail-on-worse
  plimsoll compare results --format bench > new.txt   # for benchstat`,
		Args: cobra.RangeArgs(1, 2),
		RunE: func(cmd *cobra.Command, args []string) error {
			result, err := compare(cmd.Context(), args)
			if err != nil {
				return err
			}
			if err := printReport(env, result, format); err != nil {
				return err
			}
			if failOnWorse && anyWorse(result) {
				return &codedError{code: exitWorse}
			}
			return nil
		},
	}
	registerFormat(cmd, &format, "text", "print this `format`")
	cmd.Flags().BoolVar(&failOnWorse, "fail-on-worse", false, "exit with 4 if a primary measure is worse than the margin (without primary measures: any)")
	return cmd
}

func compare(ctx context.Context, dirs []string) (*analysis.Result, error) {
	var all []*store.Results
	for _, dir := range dirs {
		results, err := store.Open(dir)
		if err != nil {
			return nil, err
		}
		all = append(all, results)
	}
	if len(all) == 2 {
		return analysis.Compare(ctx, all[0], all[1])
	}
	result, err := analysis.Analyze(ctx, all[0])
	if err != nil {
		return nil, err
	}
	if len(result.Design.Variants) < 2 {
		return nil, usage(fmt.Errorf("%s holds one variant only: name a second directory to compare it with, or give its scenario variants", dirs[0]))
	}
	if len(result.Comparisons) == 0 {
		return nil, errors.New("there is nothing to compare: no block has complete runs of two variants")
	}
	return result, nil
}

// anyWorse says whether a primary measure is worse; if none was declared, any.
func anyWorse(result *analysis.Result) bool {
	declared := len(result.Design.Primary) > 0
	for _, c := range result.Comparisons {
		if c.Verdict == stats.Worse && (c.Primary || !declared) {
			return true
		}
	}
	return false
}
