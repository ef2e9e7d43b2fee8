package cli

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"

	"github.com/spf13/cobra"

	"plimsoll.dev/plimsoll/internal/analysis"
	"plimsoll.dev/plimsoll/internal/report"
	"plimsoll.dev/plimsoll/internal/store"
)

func newReport(env Environment) *cobra.Command {
	var format string
	cmd := &cobra.Command{
		Use:   "report DIR",
		Short: "Rebuild the reports of a results directory",
		Long: `Reads what a run wrote down and makes result.json, summary.csv and report.html
anew. It needs nothing but the directory, also when the run was cut short.`,
		Example: `  plimsoll report plimsoll-results/quickstart-20261121-093000
  plimsoll report results --format json | jq '.runs[0].objectives'`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			results, err := store.Open(args[0])
			if err != nil {
				return err
			}
			if format == "" {
				_, err := writeReports(cmd.Context(), env, results)
				return err
			}
			result, err := analysis.Analyze(cmd.Context(), results)
			if err != nil {
				return err
			}
			return printReport(env, result, format)
		},
	}
	cmd.Flags().StringVarP(&format, "format", "f", "", "print one `format` (text, json, csv or html) to standard output instead of writing files")
	_ = cmd.RegisterFlagCompletionFunc("format", cobra.FixedCompletions([]string{"text", "json", "csv", "html"}, cobra.ShellCompDirectiveNoFileComp))
	return cmd
}

func printReport(env Environment, result *analysis.Result, format string) error {
	switch format {
	case "text":
		return printTerminal(env, result)
	case "json":
		encoder := json.NewEncoder(env.Stdout)
		encoder.SetIndent("", "  ")
		return encoder.Encode(result)
	case "csv":
		return report.Summary(env.Stdout, result)
	case "html":
		return report.HTML(env.Stdout, result)
	}
	return usage(fmt.Errorf("--format %s: there are text, json, csv and html", format))
}

func printTerminal(env Environment, result *analysis.Result) error {
	if env.Colour {
		return report.TerminalInColour(env.Stdout, result)
	}
	return report.Terminal(env.Stdout, result)
}

// writeReports writes every report into the directory, prints the table and
// says where the reports are.
func writeReports(ctx context.Context, env Environment, results *store.Results) (*analysis.Result, error) {
	result, err := analysis.Analyze(ctx, results)
	if err != nil {
		return nil, err
	}
	if err := results.WriteResult(result); err != nil {
		return nil, err
	}
	for name, write := range map[string]func(io.Writer, *analysis.Result) error{
		store.SummaryFile: report.Summary,
		store.ReportFile:  report.HTML,
	} {
		if err := writeFile(results.Path(name), func(w io.Writer) error { return write(w, result) }); err != nil {
			return nil, fmt.Errorf("write %s: %w", name, err)
		}
	}
	// Last, as a reader that has gone away must not cost the files.
	if err := printTerminal(env, result); err != nil {
		return nil, err
	}
	fmt.Fprintf(env.Stdout, "\nreport   %s\nresults  %s\n", shownPath(results.Path(store.ReportFile)), shownPath(results.Path(store.ResultFile)))
	return result, nil
}

// writeFile replaces a file, whole or not at all.
func writeFile(path string, write func(io.Writer) error) (err error) {
	temporary := path + ".tmp"
	file, err := os.Create(temporary)
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			_ = os.Remove(temporary)
		}
	}()
	if err := write(file); err != nil {
		_ = file.Close()
		return err
	}
	if err := file.Close(); err != nil {
		return err
	}
	return os.Rename(temporary, path)
}
