package cli

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"plimsoll.dev/plimsoll/internal/analysis"
	"plimsoll.dev/plimsoll/internal/engine"
	"plimsoll.dev/plimsoll/internal/store"
)

func newCalibrate(env Environment) *cobra.Command {
	var seconds time.Duration
	cmd := &cobra.Command{
		Use:   "calibrate",
		Short: "Say what plimsoll itself takes on this machine",
		Long: `Loads a server that answers at once and stores nothing (in a process of its own),
and says what no measurement on this machine can be below or above: the floor of
service time, the highest rate, how late an open loop is, and how much longer a
sleep takes than it was to. It is the built-in scenario calibrate; run that for
the whole report.`,
		Example: `  plimsoll calibrate
  plimsoll calibrate --seconds 20s
  plimsoll run calibrate`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if seconds < time.Second {
				return usage(fmt.Errorf("--seconds %v: must be at least 1s", seconds))
			}
			env.interrupted("stopping")
			return calibrate(cmd.Context(), env, seconds)
		},
	}
	cmd.Flags().DurationVar(&seconds, "seconds", 5*time.Second, "`time` for each of the three measurements")
	return cmd
}

func calibrate(ctx context.Context, env Environment, seconds time.Duration) (err error) {
	dir, err := os.MkdirTemp("", "plimsoll-calibrate-")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	flags := scenarioFlags{set: map[string]string{"seconds": seconds.String()}, changed: func(string) bool { return false }}
	p, d, err := flags.load("calibrate")
	if err != nil {
		return err
	}
	say(env, "calibrating for about %v", 4*seconds)
	overshoot := sleepError()
	results, err := store.Create(dir, d.source, p)
	if err != nil {
		return err
	}
	runner := engine.Engine{Provision: provideNull, Watcher: newDisplay(env), Tool: toolVersion()}
	if err := runner.Run(ctx, p, results); err != nil {
		return err
	}
	result, err := analysis.Analyze(ctx, results)
	if err != nil {
		return err
	}
	return printCalibration(env, result.Runs[0], overshoot)
}

// sleepError is by how much a sleep of 50 µs takes longer, in the median: Go
// wakes sleepers by a timer of the kernel that has a resolution of its own.
func sleepError() time.Duration {
	const wanted, n = 50 * time.Microsecond, 201
	var errs []time.Duration
	for range n {
		started := time.Now()
		time.Sleep(wanted)
		errs = append(errs, time.Since(started)-wanted)
	}
	slices.Sort(errs)
	return errs[n/2]
}

func printCalibration(env Environment, run *analysis.Run, overshoot time.Duration) error {
	operations := map[string]*analysis.Operation{}
	dispatch := map[string]*analysis.Distribution{}
	for _, step := range run.Steps {
		for _, phase := range step.Phases {
			dispatch[phase.Name] = phase.Dispatch
			for _, o := range phase.Operations {
				if !o.Part {
					operations[phase.Name] = o
				}
			}
		}
	}
	floor, many, paced := operations["alone"], operations["many"], operations["paced"]
	if floor == nil || many == nil || paced == nil || floor.Service == nil || paced.Response == nil {
		return errors.New("the calibration measured nothing: run 'plimsoll run calibrate' for its report")
	}
	table := tabwriter.NewWriter(env.Stdout, 0, 0, 2, ' ', 0)
	fmt.Fprintf(table, "floor of service time\t%s at p50, %s at p99\t(1 client, %d requests)\n", shown(floor.Service.P50), shown(floor.Service.P99), floor.Count)
	fmt.Fprintf(table, "highest rate\t%.0f/s\t(32 clients; server and plimsoll share the CPUs)\n", many.Rate)
	fmt.Fprintf(table, "lateness of an open loop\t%s at p99\t(%.0f/s)\n", shown(dispatchP99(dispatch["paced"])), paced.Rate)
	fmt.Fprintf(table, "error of a sleep of 50µs\t+%v\t(median)\n", overshoot.Round(time.Microsecond))
	return table.Flush()
}

func dispatchP99(d *analysis.Distribution) *float64 {
	if d == nil {
		return nil
	}
	return d.P99
}

// shown writes seconds in three digits.
func shown(seconds *float64) string {
	if seconds == nil {
		return "too few to say"
	}
	d := time.Duration(*seconds * float64(time.Second))
	for unit := time.Nanosecond; ; unit *= 10 {
		if d < 1000*unit {
			return d.Round(unit).String()
		}
	}
}
