package cli

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/spf13/cobra"

	v1 "plimsoll.dev/plimsoll/api/v1alpha1"
	"plimsoll.dev/plimsoll/internal/analysis"
	"plimsoll.dev/plimsoll/internal/assets"
	"plimsoll.dev/plimsoll/internal/engine"
	"plimsoll.dev/plimsoll/internal/plan"
	"plimsoll.dev/plimsoll/internal/store"
	"plimsoll.dev/plimsoll/internal/target"
	"plimsoll.dev/plimsoll/internal/target/local"
	"plimsoll.dev/plimsoll/internal/workspace"
)

func newRun(env Environment) *cobra.Command {
	var flags scenarioFlags
	var cluster clusterFlags
	var output string
	cmd := &cobra.Command{
		Use:   "run NAME|FILE",
		Short: "Run a scenario and write its report",
		Long: `Runs a scenario, built in or in a file: starts the target, prepares it, loads it
step by step, stops it, and writes results.

The first run builds the parts that it needs, which takes some minutes; later
runs take them from a cache. To use binaries of your own, put them into a folder
and name it in PLIMSOLL_ASSETS (or KUBEBUILDER_ASSETS).

Ctrl-C once ends the run in order and reports what was measured; twice ends it at once.`,
		Example: `  plimsoll run quickstart
  plimsoll run quickstart --set objects=20000 --set rate=500/s
  plimsoll run my-scenario.yaml --repetitions 6 --output results
  plimsoll run quickstart --kubeconfig ~/.kube/config --context kind-test`,
		Args:              cobra.ExactArgs(1),
		ValidArgsFunction: completeScenario,
		RunE: func(cmd *cobra.Command, args []string) error {
			p, source, err := flags.load(args[0])
			if err != nil {
				return err
			}
			cluster.borrow(p)
			if output == "" {
				output = filepath.Join("plimsoll-results", string(p.Scenario.Metadata.Name)+"-"+time.Now().Format("20060102-150405"))
			}
			env.interrupted("keeping what was measured and stopping")
			return run(cmd.Context(), env, p, &cluster, source, output)
		},
	}
	flags.register(cmd)
	cluster.register(cmd)
	cmd.Flags().StringVarP(&output, "output", "o", "", "`folder` for the results (default plimsoll-results/NAME-TIME)")
	return cmd
}

func run(ctx context.Context, env Environment, p *plan.Plan, cluster *clusterFlags, source []byte, output string) (err error) {
	display := newDisplay(env)
	provision, done, err := provider(ctx, env, display, cluster, &p.Scenario.Spec)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, done()) }()
	results, err := store.Create(output, source, p)
	if err != nil {
		if errors.Is(err, store.ErrNotEmpty) {
			err = usage(err)
		}
		return err
	}
	display.Say("%s: roughly %v", p.Scenario.Metadata.Name, time.Duration(p.Estimate.Duration).Round(time.Second))
	e := engine.Engine{Provision: provision, Watcher: display, Tool: toolVersion()}
	failure := e.Run(ctx, p, results)
	// What was measured is reported even if the run was cut short: not by a cancelled context.
	result, err := writeReports(context.WithoutCancel(ctx), env, results)
	if err != nil {
		return errors.Join(failure, err)
	}
	if failure != nil {
		return failure
	}
	if missed := missedObjectives(result); missed > 0 {
		return &codedError{code: exitObjective}
	}
	return nil
}

// findParts finds the target's binaries before anything is timed, building those that are missing.
func findParts(ctx context.Context, finder *assets.Finder, spec v1.Target) error {
	if spec.Local == nil {
		return nil
	}
	for _, part := range local.Parts(*spec.Local) {
		if _, err := finder.Find(ctx, part); err != nil {
			return err
		}
	}
	return nil
}

// provider gives the way to the targets of a scenario, with everything done
// that can fail before a run begins. done ends it.
func provider(ctx context.Context, env Environment, display *display, cluster *clusterFlags, spec *v1.Spec) (provision engine.Provision, done func() error, err error) {
	if spec.Target.Borrowed != nil {
		t, err := cluster.admit(ctx, env, spec)
		if err != nil {
			return nil, nil, err
		}
		return func(context.Context, v1.Target, string, string) (target.Target, error) { return t, nil }, func() error { return nil }, nil
	}
	finder := &assets.Finder{Progress: display.build}
	if err := findParts(ctx, finder, spec.Target); err != nil {
		return nil, nil, err
	}
	space, err := openWorkspace()
	if err != nil {
		return nil, nil, err
	}
	return provideLocal(finder, space), space.Close, nil
}

// provideLocal starts a fresh local target for each run.
func provideLocal(finder *assets.Finder, space *workspace.Workspace) engine.Provision {
	return func(ctx context.Context, spec v1.Target, dir, logs string) (target.Target, error) {
		t, err := local.Start(ctx, local.Options{
			Spec: *spec.Local, Dir: dir, SecretDir: space.Dir, Own: space.Own, LogDir: logs, Binaries: finder,
		})
		if err != nil {
			return nil, err // a nil *local.Target would be a target
		}
		return t, nil
	}
}

// openWorkspace makes this process's private folder in the cache, as that is on
// a disk; a folder for temporary files may be in memory.
func openWorkspace() (*workspace.Workspace, error) {
	cache, err := assets.CacheDir()
	if err != nil {
		return nil, err
	}
	return workspace.Open(cache)
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
