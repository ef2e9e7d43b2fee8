package cli

import (
	"context"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	v1 "plimsoll.dev/plimsoll/api/v1alpha1"
	"plimsoll.dev/plimsoll/internal/target/borrowed"
)

func newClean(env Environment) *cobra.Command {
	var cluster clusterFlags
	var run string
	var dry bool
	cmd := &cobra.Command{
		Use:   "clean",
		Short: "Remove what killed runs have left",
		Long: `Without flags, removes what killed runs have left on this machine: keys and data of
local targets. With --kubeconfig or --context, removes the namespaces, with what
is in them, and the objects outside of namespaces that runs have made on that
cluster and that are still there; they have the label plimsoll.dev/run. Those of
a run that goes on are among them: name the run with --run if others use the
cluster too.`,
		Example: `  plimsoll clean
  plimsoll clean --kubeconfig ~/.kube/config --dry-run
  plimsoll clean --context kind-test --run t8p3kq-1`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if spec := cluster.spec(); spec != nil {
				env.interrupted("stopping")
				return cleanCluster(cmd.Context(), env, cluster, *spec, run, dry)
			}
			space, err := openWorkspace() // sweeps
			if err != nil {
				return err
			}
			return space.Close()
		},
	}
	cluster.register(cmd)
	cmd.Flags().StringVar(&run, "run", "", "only what the run of this `id` has made")
	cmd.Flags().BoolVar(&dry, "dry-run", false, "only say what would be removed")
	return cmd
}

func cleanCluster(ctx context.Context, env Environment, cluster clusterFlags, spec v1.BorrowedTarget, run string, dry bool) error {
	t, err := borrowed.Open(ctx, spec)
	if err != nil {
		return err
	}
	left, err := t.Leftovers(ctx, run)
	if err != nil {
		return err
	}
	if len(left) == 0 {
		say(env, "nothing of plimsoll's is left on cluster %s", t.Name())
		return nil
	}
	for _, l := range left {
		fmt.Fprintf(env.Stdout, "%s %s of run %s, made %v ago\n", l.Kind, l.Name, l.Run, time.Since(l.Made).Round(time.Second))
	}
	if dry {
		return nil
	}
	if !t.IsTest() && !cluster.yes {
		if err := env.ask(fmt.Sprintf("remove what is listed, %d in all, from cluster %s", len(left), t.Name())); err != nil {
			return err
		}
	}
	return t.Remove(ctx, left)
}
