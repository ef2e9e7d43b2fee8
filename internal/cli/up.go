package cli

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"time"

	"github.com/spf13/cobra"

	v1 "plimsoll.dev/plimsoll/api/v1alpha1"
	"plimsoll.dev/plimsoll/internal/assets"
	"plimsoll.dev/plimsoll/internal/engine"
	"plimsoll.dev/plimsoll/internal/target"
	"plimsoll.dev/plimsoll/internal/target/local"
)

func newUp(env Environment) *cobra.Command {
	var flags scenarioFlags
	var bare bool
	cmd := &cobra.Command{
		Use:   "up NAME|FILE",
		Short: "Start a scenario's target and keep it running",
		Long: `Starts the target of a scenario (of several variants the first that --only leaves),
prints the path of a kubeconfig on standard output, and keeps the target running
until Ctrl-C. Then all of it is removed.

A controller manager runs too, so that namespaces go away when they are deleted,
as on any cluster; --bare starts only what the scenario says.`,
		Example: `  plimsoll up quickstart
  kubectl --kubeconfig "$(cat kubeconfig-path)" get namespaces   # after: plimsoll up quickstart > kubeconfig-path`,
		Args:              cobra.ExactArgs(1),
		ValidArgsFunction: completeScenario,
		RunE: func(cmd *cobra.Command, args []string) error {
			p, _, err := flags.load(args[0])
			if err != nil {
				return err
			}
			spec := p.Cells[0].Scenario.Spec.Target
			if spec.Local == nil {
				return usage(errors.New("the scenario's target is not one that plimsoll starts: there is nothing to bring up"))
			}
			if spec.Local.KubeControllerManager == nil && !bare && spec.Local.KubeAPIServer.On() {
				spec.Local.KubeControllerManager = &v1.KubeControllerManager{}
			}
			display := newDisplay(env)
			finder := &assets.Finder{Progress: display.build}
			if err := checkMachine(cmd.Context(), spec); err != nil {
				return err
			}
			if err := findParts(cmd.Context(), finder, spec); err != nil {
				return err
			}
			env.interrupted("stopping and removing the target")
			return up(cmd.Context(), env, local.Options{Spec: *spec.Local, Binaries: finder})
		},
	}
	flags.register(cmd)
	cmd.Flags().BoolVar(&bare, "bare", false, "start only what the scenario says")
	return cmd
}

func up(ctx context.Context, env Environment, o local.Options) (err error) {
	space, err := openWorkspace()
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, space.Close()) }()
	o.Note = func(note string) { say(env, "%s", note) }
	if o.Program, err = self(); err != nil {
		return err
	}
	o.Dir, o.LogDir, o.Own = filepath.Join(space.Dir, "work"), filepath.Join(space.Dir, "logs"), space.Own
	started := time.Now()
	t, err := local.Start(ctx, o)
	if err != nil {
		return err
	}
	defer func() {
		closing, cancel := context.WithTimeout(context.Background(), time.Minute)
		defer cancel()
		err = errors.Join(err, t.Close(closing))
	}()
	kubeconfig, err := t.Kubeconfig(target.Admin)
	if err != nil {
		return err
	}
	say(env, "ready in %.1f s; logs are in %s", time.Since(started).Seconds(), o.LogDir)
	fmt.Fprintln(env.Stdout, kubeconfig)
	say(env, "Ctrl-C stops and removes it")
	select {
	case <-ctx.Done():
		return nil
	case err := <-t.Failed():
		return fmt.Errorf("%w: %w", engine.ErrComponent, err)
	}
}
