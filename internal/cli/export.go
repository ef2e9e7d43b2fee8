package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"plimsoll.dev/plimsoll/internal/analysis"
	"plimsoll.dev/plimsoll/internal/metrics"
	"plimsoll.dev/plimsoll/internal/report"
	"plimsoll.dev/plimsoll/internal/store"
)

// exportFlags say what of which runs is put side by side.
type exportFlags struct {
	metrics     []string
	by          string
	run         int
	variant     string
	from, to    time.Duration
	output      string
	changed     func(flag string) bool // given on the command line
	expressions []analysis.Metric      // that metrics come to
}

func newExport(env Environment) *cobra.Command {
	var flags exportFlags
	var prometheus prometheusFlags
	cmd := &cobra.Command{
		Use:   "export RUN",
		Short: "Put metrics of runs side by side, a row for each second, as CSV",
		Long: `Evaluates expressions in PromQL at every second of the measured steps and writes
one table: a row for each second, a column for each series. All that stands in a
row is of the same moment; what has no value then is empty.

By objects, the numbers of objects that the run observed (observe: in the
scenario) stand first, and only seconds with a number have a row; by time, every
second has one.

Without --metrics these are the ones of the published write-up of etcd's limits:
memory, CPU, size of the database, fsync, commit, apply and save of a snapshot at
p50 and p99, proposals pending and failed, failed requests, traffic between peers,
changes of leader, times and failures of the API server's requests. Counters are
rates, and histograms quantiles of what was added to them, over 10 s (of the API
server, which is sampled every 5 s, over 15 s).

RUN is a run's directory (results/runs/0001-NAME), or a results directory: then
all of its runs, of which each row has the number, or those of --run or --variant.`,
		Example: `  # everything of the write-up, beside the number of objects
  plimsoll export results -o pods-vs-etcd.csv
  # two expressions of your own, in all runs of one variant
  plimsoll export results --variant three-members --metrics 'max(etcd_server_proposals_pending),sum(rate(etcd_network_peer_sent_bytes_total[10s]))'
  # memory over time, of a run that observed no objects
  plimsoll export results --run 1 --by time --metrics process_resident_memory_bytes`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := flags.check(); err != nil {
				return usage(err)
			}
			runs, err := exportedRuns(args[0], flags)
			if err != nil {
				return err
			}
			tables, err := joinAll(cmd.Context(), env, flags, &prometheus, runs)
			if err != nil {
				return err
			}
			write := func(w io.Writer) error { return report.Joined(w, tables) }
			if flags.output == "" {
				return write(env.Stdout)
			}
			if err := writeFile(flags.output, write); err != nil {
				return fmt.Errorf("write %s: %w", flags.output, err)
			}
			return nil
		},
	}
	flags.register(cmd)
	prometheus.register(cmd, "ask")
	return cmd
}

func (f *exportFlags) register(cmd *cobra.Command) {
	f.changed = cmd.Flags().Changed
	cmd.Flags().StringArrayVar(&f.metrics, "metrics", nil, "PromQL `expressions`, with commas between them; may be given several times (default: those of the write-up)")
	cmd.Flags().StringVar(&f.by, "by", "objects", "what rows go by: `objects` or time")
	cmd.Flags().IntVar(&f.run, "run", 0, "`number` of the one run in a results directory (default: all)")
	cmd.Flags().StringVar(&f.variant, "variant", "", "`name` of the variant whose runs are put into the table (default: all)")
	cmd.Flags().DurationVar(&f.from, "from", 0, "beginning, as an `offset` from the run's start (default: of the measured steps)")
	cmd.Flags().DurationVar(&f.to, "to", 0, "end, as an `offset` from the run's start (default: of the measured steps)")
	cmd.Flags().StringVarP(&f.output, "output", "o", "", "`file` to write to, instead of standard output")
	_ = cmd.RegisterFlagCompletionFunc("by", cobra.FixedCompletions([]string{"objects", "time"}, cobra.ShellCompDirectiveNoFileComp))
}

func (f *exportFlags) check() error {
	var errs []error
	if f.by != "objects" && f.by != "time" {
		errs = append(errs, fmt.Errorf("--by %s: there are objects and time", f.by))
	}
	if f.from < 0 || f.to < 0 {
		errs = append(errs, errors.New("--from and --to are offsets from the run's start, and not negative"))
	}
	for _, list := range f.metrics {
		for _, expression := range splitExpressions(list) {
			errs = append(errs, metrics.CheckExpression(expression))
			f.expressions = append(f.expressions, analysis.Metric{Name: expression, PromQL: expression})
		}
	}
	if f.expressions == nil {
		f.expressions = analysis.WriteUp()
	}
	return errors.Join(errs...)
}

// splitExpressions takes a list apart at the commas that are in no brackets and no quotes.
func splitExpressions(list string) []string {
	var all []string
	depth, from := 0, 0
	var quote rune
	escaped := false
	for i, letter := range list {
		switch {
		case escaped:
			escaped = false
		case quote != 0:
			escaped = letter == '\\' && quote != '`'
			if letter == quote {
				quote = 0
			}
		case strings.ContainsRune("\"'`", letter):
			quote = letter
		case strings.ContainsRune("([{", letter):
			depth++
		case strings.ContainsRune(")]}", letter):
			depth--
		case letter == ',' && depth == 0:
			all = append(all, strings.TrimSpace(list[from:i]))
			from = i + 1
		}
	}
	return append(all, strings.TrimSpace(list[from:]))
}

// exportedRuns finds the runs that the flags mean.
func exportedRuns(dir string, flags exportFlags) ([]*store.Run, error) {
	if store.IsRun(dir) {
		if flags.changed("run") || flags.changed("variant") {
			return nil, usage(fmt.Errorf("--run and --variant choose among runs, and %s is one already", dir))
		}
		run, err := store.OpenRun(dir)
		return []*store.Run{run}, err
	}
	results, err := store.Open(dir)
	if err != nil {
		return nil, err
	}
	all, err := results.Runs()
	if err != nil {
		return nil, err
	}
	chosen := slices.DeleteFunc(slices.Clone(all), func(r *store.Run) bool {
		return flags.changed("run") && r.Info.Index != flags.run || flags.changed("variant") && r.Info.Cell.Variant != flags.variant
	})
	if len(chosen) == 0 {
		var there []string
		for _, run := range all {
			there = append(there, strings.TrimSpace(fmt.Sprintf("%d %s", run.Info.Index, run.Info.Cell.Variant)))
		}
		return nil, usage(fmt.Errorf("%s has no such run; there are %s", dir, strings.Join(there, ", ")))
	}
	return chosen, nil
}

// joinAll joins the metrics of each run. Of several, one that cannot be read is
// left out, which is told.
func joinAll(ctx context.Context, env Environment, flags exportFlags, prometheus *prometheusFlags, runs []*store.Run) ([]*analysis.Joined, error) {
	var tables []*analysis.Joined
	var left []error
	for _, run := range runs {
		table, err := joinOne(ctx, flags, prometheus, run)
		if err != nil {
			left = append(left, fmt.Errorf("run %d, %s: %w", run.Info.Index, run.Info.Name, err))
			continue
		}
		tables = append(tables, table)
	}
	if len(tables) == 0 {
		return nil, errors.Join(left...)
	}
	for _, err := range left {
		say(env, "left out: %v", err)
	}
	return tables, nil
}

func joinOne(ctx context.Context, flags exportFlags, prometheus *prometheusFlags, run *store.Run) (_ *analysis.Joined, err error) {
	if run.Unreadable != nil {
		return nil, run.Unreadable
	}
	start, end, measured := analysis.MeasuredSpan(run)
	if !measured && !flags.changed("to") {
		return nil, errors.New("no measured step began: say from when to when, with --from and --to")
	}
	if flags.changed("from") {
		start = flags.from.Seconds()
	}
	if flags.changed("to") {
		end = flags.to.Seconds()
	}
	if start > end || end-start >= mostRows {
		return nil, usage(fmt.Errorf("from %.0f s to %.0f s are %.0f rows: there can be 1 to %d", start, end, max(0, end-start), mostRows))
	}
	source, err := queriedSource(run, prometheus)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, source.Close()) }()
	list := flags.expressions
	if flags.by == "objects" {
		list = append([]analysis.Metric{analysis.ObjectCounts()}, list...)
	}
	table, err := analysis.Join(ctx, source, run.Info, start, end, list)
	if err != nil {
		return nil, err
	}
	if flags.by == "objects" {
		if len(table.Of(analysis.ObjectCounts())) == 0 {
			return nil, errors.New("no objects were counted: name resources in the scenario's observe:, or take --by time")
		}
		table.Where(analysis.ObjectCounts())
	}
	if flags.metrics == nil {
		return table, nil // the write-up's metrics are those of any datastore and number of members
	}
	for _, metric := range flags.expressions {
		if len(table.Of(metric)) == 0 {
			why, err := source.WhyNothing(ctx, metric.PromQL)
			return nil, errors.Join(fmt.Errorf("nothing matches %s from %.0f s to %.0f s: %s", metric.PromQL, start, end, why), err)
		}
	}
	return table, nil
}
