package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"plimsoll.dev/plimsoll/internal/analysis"
	"plimsoll.dev/plimsoll/internal/engine"
	"plimsoll.dev/plimsoll/internal/plan"
	"plimsoll.dev/plimsoll/internal/store"
)

func newRun(env Environment) *cobra.Command {
	var flags scenarioFlags
	var cluster clusterFlags
	var prometheus prometheusFlags
	var output, resume, served string
	cmd := &cobra.Command{
		Use:   "run NAME|FILE",
		Short: "Run a scenario and write its report",
		Long: `Runs a scenario, built in or in a file: starts the target, prepares it, loads it
step by step, stops it, and writes results. Variants and repetitions are run in
blocks, in random order, each time on a fresh target.

The first run builds the parts that it needs, which takes some minutes; later
runs take them from a cache. To use binaries of your own, put them into a folder
and name it in PLIMSOLL_ASSETS (or KUBEBUILDER_ASSETS).

Ctrl-C once ends the run in order and reports what was measured; twice ends it at once.
An experiment of many runs that was ended goes on with --resume DIR: runs that
are complete are not done again.`,
		Example: `  plimsoll run quickstart
  plimsoll run quickstart --set objects=20000 --set rate=500/s
  plimsoll run my-scenario.yaml --repetitions 6 --output results
  plimsoll run my-scenario.yaml --only baseline --only objects=1000
  plimsoll run --resume results
  plimsoll run quickstart --kubeconfig ~/.kube/config --context kind-test
  plimsoll run my-scenario.yaml --kubeconfig ~/.kube/config --prometheus http://127.0.0.1:9090`,
		Args:              cobra.MaximumNArgs(1),
		ValidArgsFunction: completeScenario,
		RunE: func(cmd *cobra.Command, args []string) error {
			e := experiment{env: env, flags: &flags, cluster: &cluster, prometheus: &prometheus, serve: served}
			if err := e.load(args, resume, output); err != nil {
				return err
			}
			env.interrupted("keeping what was measured and stopping")
			return e.run(cmd.Context())
		},
	}
	flags.register(cmd)
	cluster.register(cmd)
	prometheus.register(cmd, "evaluate the PromQL objectives of a borrowed cluster by")
	cmd.Flags().StringVarP(&output, "output", "o", "", "`folder` for the results (default plimsoll-results/NAME-TIME)")
	cmd.Flags().StringVar(&served, "serve", "", "show the report in a browser while it grows, at this loopback `address`, such as 127.0.0.1:0")
	cmd.Flags().StringVar(&resume, "resume", "", "go on with the experiment in this results `folder`")
	_ = cmd.MarkFlagDirname("output")
	_ = cmd.MarkFlagDirname("resume")
	return cmd
}

// experiment is what the verb run carries out.
type experiment struct {
	env        Environment
	flags      *scenarioFlags
	cluster    *clusterFlags
	prometheus *prometheusFlags

	document document
	plan     *plan.Plan
	output   string
	serve    string         // loopback address, if it is to be shown live
	results  *store.Results // from the start when it is resumed
}

// load plans the experiment, or reads the plan of the one that is resumed.
func (e *experiment) load(args []string, resume, output string) (err error) {
	switch {
	case resume != "":
		return e.loadResumed(args, resume, output)
	case len(args) == 0:
		return usage(fmt.Errorf("name a scenario: one of %s, or a file; or --resume DIR\nsee 'plimsoll run --help'", strings.Join(builtIn(), ", ")))
	}
	if e.plan, e.document, err = e.flags.load(args[0]); err != nil {
		return err
	}
	e.output = cmp.Or(output, filepath.Join("plimsoll-results", e.plan.Name+"-"+time.Now().Format("20060102-150405")))
	return e.cluster.borrow(e.plan)
}

// loadResumed reads an experiment that was begun. It is what it was: nothing of
// it can be chosen anew.
func (e *experiment) loadResumed(args []string, dir, output string) (err error) {
	changed := len(args) > 0 || output != ""
	for _, flag := range []string{"set", "only", "repetitions", "seed"} {
		changed = changed || e.flags.changed(flag)
	}
	if changed {
		return usage(errors.New("--resume goes on with an experiment as it was planned: leave out the scenario, --set, --only, --repetitions, --seed and --output"))
	}
	if e.results, err = store.Open(dir); err != nil {
		return err
	}
	data, err := e.results.PlanJSON()
	if err != nil {
		return err
	}
	if e.plan, err = plan.Read(data); err != nil {
		return fmt.Errorf("%s: %w", dir, err)
	}
	source, err := os.ReadFile(e.results.Path(store.ScenarioFile))
	e.document = document{store.ScenarioFile, source}
	return err
}

func (e *experiment) run(ctx context.Context) (err error) {
	display := newDisplay(e.env)
	remote, err := e.prometheus.openFor(ctx, e.plan.Cells[0].Scenario.Spec.Target)
	if err != nil {
		return err
	}
	provision, done, err := provider(ctx, e.env, display, e.cluster, e.plan)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, done()) }()
	watched, unwatch := context.WithCancel(ctx)
	defer unwatch()
	var listener net.Listener
	if e.serve != "" { // before anything is written
		if listener, err = listenLoopback(e.serve); err != nil {
			return err
		}
		defer listener.Close()
	}
	if err := e.open(); err != nil {
		return err
	}
	if listener != nil {
		serveOn(watched, listener, e.results)
		display.Say("live at http://%s/", listener.Addr())
	}
	display.Say("%s: roughly %v", e.plan.Name, time.Duration(e.plan.Estimate.Duration).Round(time.Second))
	runner := &engine.Engine{Provision: provision, Watcher: display, Tool: toolVersion()}
	if remote != nil {
		runner.Prometheus = remote.URL()
	}
	var failure error
	if e.plan.Design.Search != nil {
		failure = e.search(ctx, runner)
	} else {
		failure = runner.Run(ctx, e.plan, e.results)
	}
	askPrometheus(ctx, e.env, remote, e.results)
	return e.conclude(ctx, failure)
}

// open makes the results directory, unless it is there already.
func (e *experiment) open() (err error) {
	if e.results != nil {
		return nil
	}
	e.results, err = store.Create(e.output, e.document.source, e.plan)
	if errors.Is(err, store.ErrNotEmpty) {
		err = usage(err)
	}
	return err
}

// conclude reports what was measured, also of an experiment that was cut short.
func (e *experiment) conclude(ctx context.Context, failure error) error {
	result, err := writeReports(context.WithoutCancel(ctx), e.env, e.results)
	if err != nil {
		return errors.Join(failure, err)
	}
	if failure != nil {
		if len(e.plan.Runs) > 1 || e.plan.Design.Search != nil {
			say(e.env, "to go on: plimsoll run --resume %s", shownPath(e.results.Dir))
		}
		return failure
	}
	return verdictOf(result, e.plan.Design.Search != nil)
}

// verdictOf is the error that a result stands for: runs that measured plimsoll
// itself, or objectives that were missed. A search misses some on purpose, but not with its first value.
func verdictOf(result *analysis.Result, searched bool) error {
	for _, run := range result.Runs {
		if run.Status == analysis.Invalid {
			return &codedError{code: exitInvalid}
		}
	}
	if searched {
		if slices.ContainsFunc(result.LoadLines, func(l *analysis.LoadLine) bool { return l.Held == nil }) {
			return &codedError{code: exitObjective}
		}
		return nil
	}
	if missedObjectives(result) > 0 {
		return &codedError{code: exitObjective}
	}
	return nil
}

func missedObjectives(result *analysis.Result) int {
	missed := 0
	for _, run := range result.Runs {
		for _, o := range run.Objectives {
			if !o.Held {
				missed++
			}
		}
	}
	return missed
}

// shownPath is a path as the user would write it.
func shownPath(path string) string {
	if here, err := os.Getwd(); err == nil {
		if relative, err := filepath.Rel(here, path); err == nil && filepath.IsLocal(relative) {
			return relative
		}
	}
	return path
}

// say prints a line that is not part of a command's output.
func say(env Environment, format string, args ...any) {
	fmt.Fprintf(env.Stderr, format+"\n", args...)
}
