package cli

import (
	"cmp"
	"context"
	"encoding/csv"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/promql"
	"github.com/spf13/cobra"

	"plimsoll.dev/plimsoll/internal/analysis"
	"plimsoll.dev/plimsoll/internal/metrics"
	"plimsoll.dev/plimsoll/internal/store"
)

// queryFlags say which run is asked, when, and how the answer is shown.
type queryFlags struct {
	run            int
	note           func(format string, args ...any) // to the user, beside the answer
	overTime       bool
	from, to, step time.Duration
	format         string
	changed        func(flag string) bool // given on the command line
}

func newQuery(env Environment) *cobra.Command {
	var flags queryFlags
	var prometheus prometheusFlags
	cmd := &cobra.Command{
		Use:   "query RUN EXPR",
		Short: "Ask a run's metrics a question, in PromQL",
		Long: `Evaluates a PromQL expression, with Prometheus's own engine, over the metrics that
were sampled during a run: those of the components (etcd, kube-apiserver), the
CPU, memory, open files and threads of each process, and the figures of the host
under the names of node_exporter. All have the label component.

With --prometheus the expression is evaluated by a Prometheus of yours instead,
such as that of a borrowed cluster, at the times of the run.

RUN is a run's directory (results/runs/0001-NAME), or a results directory: then
its run 1, or the one that --run says.

The answer is one moment's, by default the end of the measured steps; with
--range it is a table over time, by default over the measured steps. Moments are
told from the run's start, as in the report. Samples are a second apart, those of
kube-apiserver's own metrics five, so rates of these need windows of 15s or more;
a sample stands for the five seconds after it.`,
		Example: `  # how long etcd's fsync of its log took, at the 99th percentile
  plimsoll query results 'histogram_quantile(0.99, sum by (le) (rate(etcd_disk_wal_fsync_duration_seconds_bucket[10s])))'
  # requests per second that the API server answered, by verb, every 5 s
  plimsoll query results 'sum by (verb) (rate(apiserver_request_total[15s]))' --range --step 5s
  # CPUs that each component used, second by second
  plimsoll query results 'sum by (component) (irate(process_cpu_seconds_total[5s]))' --range
  # memory of the second run, 30 s after its start, for a program
  plimsoll query results process_resident_memory_bytes --run 2 --to 30s --format json
  # the same run, as the Prometheus of its cluster saw it
  plimsoll query results 'sum by (verb) (rate(apiserver_request_total[2m]))' --prometheus http://127.0.0.1:9090`,
		Args: cobra.ExactArgs(2),
		RunE: func(cmd *cobra.Command, args []string) error {
			flags.changed = cmd.Flags().Changed
			flags.note = func(format string, args ...any) { say(env, format, args...) }
			return query(cmd.Context(), env, flags, &prometheus, args[0], args[1])
		},
	}
	cmd.Flags().IntVar(&flags.run, "run", 1, "`number` of the run in a results directory")
	cmd.Flags().BoolVar(&flags.overTime, "range", false, "a table over time instead of one moment")
	cmd.Flags().DurationVar(&flags.from, "from", 0, "beginning of a range, as an `offset` from the run's start (default: of the measured steps)")
	cmd.Flags().DurationVar(&flags.to, "to", 0, "end of a range, or the moment asked for, as an `offset` from the run's start (default: end of the measured steps)")
	cmd.Flags().DurationVar(&flags.step, "step", time.Second, "time between two rows of a range")
	cmd.Flags().StringVarP(&flags.format, "format", "f", "table", "`format` of the answer: table, csv or json")
	prometheus.register(cmd, "ask")
	_ = cmd.RegisterFlagCompletionFunc("format", cobra.FixedCompletions([]string{"table", "csv", "json"}, cobra.ShellCompDirectiveNoFileComp))
	return cmd
}

func query(ctx context.Context, env Environment, flags queryFlags, prometheus *prometheusFlags, dir, expression string) (err error) {
	if err := errors.Join(flags.check(), metrics.CheckExpression(expression)); err != nil {
		return usage(err)
	}
	run, err := queriedRun(dir, flags)
	if err != nil {
		return err
	}
	if err := flags.place(run); err != nil {
		return err
	}
	source, err := queriedSource(run, prometheus)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, source.Close()) }()
	a := answer{Expression: expression, overTime: flags.overTime, started: run.Info.Started}
	to := run.Info.Started.Add(flags.to)
	if flags.overTime {
		a.series, err = source.Range(ctx, expression, run.Info.Started.Add(flags.from), to, flags.step)
	} else {
		a.series, err = source.At(ctx, expression, to)
	}
	if err != nil {
		return err
	}
	if len(a.series) == 0 {
		why, err := source.WhyNothing(ctx, expression)
		if err != nil {
			return err
		}
		if run.Info.Prometheus != "" && prometheus.url == "" {
			why += "; this run's objectives were evaluated by a Prometheus, which can be asked with --prometheus " + run.Info.Prometheus
		}
		return fmt.Errorf("nothing matches %s %s: %s", expression, flags.inWords(), why)
	}
	return a.print(env.Stdout, flags.format)
}

// queriedSource is the Prometheus of the flags or, without one, the run's own metrics.
func queriedSource(run *store.Run, prometheus *prometheusFlags) (metrics.Source, error) {
	remote, err := prometheus.open()
	if err != nil {
		return nil, err
	}
	if remote != nil {
		return remote, nil
	}
	reader, err := metrics.Open(run.MetricsDir())
	if err != nil {
		return nil, fmt.Errorf("%s has no metrics: %w", shownPath(run.Dir), err)
	}
	return reader, nil
}

// mostRows bounds a range.
const mostRows = 100_000

func (f *queryFlags) check() error {
	var errs []error
	if !slices.Contains([]string{"table", "csv", "json"}, f.format) {
		errs = append(errs, fmt.Errorf("--format %s: there are table, csv and json", f.format))
	}
	for _, flag := range []string{"from", "step"} {
		if f.changed(flag) && !f.overTime {
			errs = append(errs, fmt.Errorf("--%s is of a range: add --range", flag))
		}
	}
	if f.step < time.Millisecond {
		errs = append(errs, fmt.Errorf("--step %v: must be at least 1ms", f.step))
	}
	if f.from < 0 || f.to < 0 {
		errs = append(errs, errors.New("--from and --to are offsets from the run's start, and not negative"))
	}
	return errors.Join(errs...)
}

// queriedRun finds the run in its own directory or in that of its results.
func queriedRun(dir string, flags queryFlags) (*store.Run, error) {
	if store.IsRun(dir) {
		if flags.changed("run") {
			return nil, usage(fmt.Errorf("--run %d: %s is a run already, not a results directory", flags.run, dir))
		}
		return store.OpenRun(dir)
	}
	results, err := store.Open(dir)
	if err != nil {
		return nil, err
	}
	runs, err := results.Runs()
	if err != nil {
		return nil, err
	}
	at := slices.IndexFunc(runs, func(r *store.Run) bool { return r.Info.Index == flags.run })
	if at < 0 {
		return nil, usage(fmt.Errorf("--run %d: %s has no such run; there are %s", flags.run, dir, runNumbers(runs)))
	}
	if len(runs) > 1 && !flags.changed("run") {
		flags.note("run %d of %d, %s; for another one: --run N", flags.run, len(runs), runs[at].Info.Name)
	}
	return runs[at], runs[at].Unreadable
}

func runNumbers(runs []*store.Run) string {
	var numbers []string
	for _, run := range runs {
		numbers = append(numbers, strconv.Itoa(run.Info.Index))
	}
	return cmp.Or(strings.Join(numbers, ", "), "none yet")
}

// place fills in the times that were not given.
func (f *queryFlags) place(run *store.Run) error {
	start, end, measured := analysis.MeasuredSpan(run)
	if !measured && (!f.changed("to") || f.overTime && !f.changed("from")) {
		return fmt.Errorf("no measured step of %s began: say when, with --to, and --from for a range", shownPath(run.Dir))
	}
	if !f.changed("from") {
		f.from = seconds(start)
	}
	if !f.changed("to") {
		f.to = seconds(end)
	}
	switch {
	case f.overTime && f.from > f.to:
		return usage(fmt.Errorf("the range from %v to %v ends before it begins", f.from, f.to))
	case f.overTime && (f.to-f.from)/f.step >= mostRows:
		return usage(fmt.Errorf("every %v from %v to %v are more than %d rows: choose a longer --step", f.step, f.from, f.to, mostRows))
	}
	return nil
}

func seconds(s float64) time.Duration { return time.Duration(s * float64(time.Second)) }

func (f *queryFlags) inWords() string {
	if f.overTime {
		return fmt.Sprintf("from %.1f s to %.1f s", f.from.Seconds(), f.to.Seconds())
	}
	return fmt.Sprintf("at %.1f s", f.to.Seconds())
}

// answer is what an expression came to.
type answer struct {
	Expression string
	overTime   bool
	started    time.Time
	series     promql.Matrix
}

func (a answer) print(w io.Writer, format string) error {
	switch {
	case format == "json":
		return a.printJSON(w)
	case format == "csv":
		return a.printCSV(w)
	case a.overTime && len(a.series) <= mostColumns:
		return a.printColumns(w)
	}
	table := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	for _, row := range a.rows(short) {
		printRow(table, row)
	}
	return table.Flush()
}

func printRow(w io.Writer, cells []string) {
	for i, cell := range cells {
		if i > 0 {
			fmt.Fprint(w, "\t")
		}
		fmt.Fprint(w, cell)
	}
	fmt.Fprintln(w)
}

// rows has a row for each value: its time if there are several, its labels, and itself.
func (a answer) rows(number func(float64) string) [][]string {
	names := a.labelNames()
	header := append(slices.Clone(names), "value")
	if i := slices.Index(header, model.MetricNameLabel); i >= 0 {
		header[i] = "metric"
	}
	if a.overTime {
		header = append([]string{"seconds"}, header...)
	}
	rows := [][]string{header}
	for _, series := range a.series {
		for _, p := range series.Floats {
			var row []string
			if a.overTime {
				row = append(row, a.offset(p))
			}
			for _, name := range names {
				row = append(row, series.Metric.Get(name))
			}
			rows = append(rows, append(row, number(p.F)))
		}
	}
	return rows
}

// labelNames are those of all series, the metric's name first.
func (a answer) labelNames() []string {
	names := map[string]bool{}
	for _, series := range a.series {
		series.Metric.Range(func(l labels.Label) { names[l.Name] = true })
	}
	return slices.Sorted(maps.Keys(names)) // __name__ sorts before letters
}

// offset is a value's time, in seconds since the run's start.
func (a answer) offset(p promql.FPoint) string {
	return strconv.FormatFloat(a.seconds(p), 'f', 3, 64)
}

func (a answer) seconds(p promql.FPoint) float64 {
	return float64(p.T-a.started.UnixMilli()) / 1000
}

// mostColumns is how many series stand side by side; more are told one below the other.
const mostColumns = 8

// printColumns prints a row for each moment and a column for each series.
func (a answer) printColumns(w io.Writer) error {
	table := tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
	header := []string{"seconds"}
	at := map[int64][]string{}
	for i, series := range a.series {
		header = append(header, a.heading(series.Metric))
		for _, p := range series.Floats {
			if at[p.T] == nil {
				at[p.T] = slices.Repeat([]string{"–"}, len(a.series)+1)
				at[p.T][0] = a.offset(p)
			}
			at[p.T][i+1] = short(p.F)
		}
	}
	printRow(table, append(header, "")) // the last cell of a row is not aligned, so it is an empty one
	for _, moment := range slices.Sorted(maps.Keys(at)) {
		printRow(table, append(at[moment], ""))
	}
	return table.Flush()
}

// heading names a series by those of its labels in which the series differ: by
// their values alone, if that is one label.
func (a answer) heading(metric labels.Labels) string {
	var differing []string
	for _, name := range a.labelNames() {
		if slices.ContainsFunc(a.series, func(s promql.Series) bool { return s.Metric.Get(name) != a.series[0].Metric.Get(name) }) {
			differing = append(differing, name)
		}
	}
	switch {
	case len(differing) == 0:
		return "value"
	case len(differing) == 1:
		return metric.Get(differing[0])
	}
	return metric.MatchLabels(true, differing...).String()
}

func (a answer) printCSV(w io.Writer) error {
	return csv.NewWriter(w).WriteAll(a.rows(exact))
}

// printJSON prints values as Prometheus does: text, as JSON has neither NaN nor infinity.
func (a answer) printJSON(w io.Writer) error {
	type value struct {
		Seconds float64 `json:"seconds"`
		Value   string  `json:"value"`
	}
	type series struct {
		Labels map[string]string `json:"labels"`
		Values []value           `json:"values"`
	}
	document := struct {
		Expression string   `json:"expression"`
		Series     []series `json:"series"`
	}{Expression: a.Expression}
	for _, s := range a.series {
		one := series{Labels: s.Metric.Map()}
		for _, p := range s.Floats {
			one.Values = append(one.Values, value{a.seconds(p), exact(p.F)})
		}
		document.Series = append(document.Series, one)
	}
	encoder := json.NewEncoder(w)
	encoder.SetIndent("", "  ")
	encoder.SetEscapeHTML(false)
	return encoder.Encode(document)
}

func exact(v float64) string { return strconv.FormatFloat(v, 'f', -1, 64) }

// short writes a number for people: six digits, but all of a large one.
func short(v float64) string {
	if math.Abs(v) >= 1e5 && math.Abs(v) < 1e15 {
		return strconv.FormatFloat(v, 'f', 0, 64)
	}
	return strconv.FormatFloat(v, 'g', 6, 64)
}
