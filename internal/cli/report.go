package cli

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"plimsoll.dev/plimsoll/internal/analysis"
	"plimsoll.dev/plimsoll/internal/report"
	"plimsoll.dev/plimsoll/internal/store"
)

func newReport(env Environment) *cobra.Command {
	var format string
	var prometheus prometheusFlags
	cmd := &cobra.Command{
		Use:   "report DIR",
		Short: "Rebuild the reports of a results directory",
		Long: `Reads what a run wrote down and makes result.json, summary.csv, comparison.csv, times.csv, sweep.csv,
bench.txt, junit.xml and report.html anew. It needs nothing but the directory, also when the run was cut short.

With --prometheus, objectives in PromQL are first evaluated anew by that
Prometheus, over the measured steps of each run, and its answers are kept in the
directory: later reports go by them.`,
		Example: `  plimsoll report plimsoll-results/quickstart-20261121-093000
  plimsoll report results --format json | jq '.runs[0].objectives'
  plimsoll report results --format classic    # as fio and etcd's benchmark tool would
  plimsoll report results --prometheus http://127.0.0.1:9090`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			results, err := store.Open(args[0])
			if err != nil {
				return err
			}
			remote, err := prometheus.open()
			if err != nil {
				return err
			}
			askPrometheus(cmd.Context(), env, remote, results)
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
	registerFormat(cmd, &format, "", "print one `format` to standard output instead of writing files")
	prometheus.register(cmd, "first have the PromQL objectives evaluated by")
	return cmd
}

// formats are the ways to write a result, but for the terminal's.
func formats() map[string]func(io.Writer, *analysis.Result) error {
	return map[string]func(io.Writer, *analysis.Result) error{
		"csv": report.Summary, "comparison": report.Comparison, "sweep": report.Sweep, "times": report.Times, "bench": report.Benchfmt, "junit": report.JUnit, "html": report.HTML, "classic": report.Classic,
		"json": func(w io.Writer, result *analysis.Result) error {
			encoder := json.NewEncoder(w)
			encoder.SetIndent("", "  ")
			return encoder.Encode(result)
		},
	}
}

// formatNames lists the values of --format.
func formatNames() []string {
	return append([]string{"text"}, slices.Sorted(maps.Keys(formats()))...)
}

func registerFormat(cmd *cobra.Command, format *string, otherwise, what string) {
	cmd.Flags().StringVarP(format, "format", "f", otherwise, what+": "+strings.Join(formatNames(), ", "))
	_ = cmd.RegisterFlagCompletionFunc("format", cobra.FixedCompletions(formatNames(), cobra.ShellCompDirectiveNoFileComp))
}

func printReport(env Environment, result *analysis.Result, format string) error {
	if format == "text" {
		return printTerminal(env, result)
	}
	write := formats()[format]
	if write == nil {
		return usage(fmt.Errorf("--format %s: there are %s", format, strings.Join(formatNames(), ", ")))
	}
	return write(env.Stdout, result)
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
	written := map[string]func(io.Writer, *analysis.Result) error{
		store.SummaryFile: report.Summary, store.ReportFile: report.HTML, store.JUnitFile: report.JUnit, store.BenchFile: report.Benchfmt,
	}
	if len(result.Comparisons) > 0 {
		written[store.ComparisonFile] = report.Comparison
	}
	if len(result.Runs) > 1 {
		written[store.TimesFile] = report.Times
	}
	if report.Swept(result) {
		written[store.SweepFile] = report.Sweep
	}
	for name, write := range written {
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
