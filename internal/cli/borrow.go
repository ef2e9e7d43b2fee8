package cli

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	v1 "plimsoll.dev/plimsoll/api/v1alpha1"
	"plimsoll.dev/plimsoll/internal/plan"
	"plimsoll.dev/plimsoll/internal/target/borrowed"
)

// clusterFlags choose a borrowed cluster.
type clusterFlags struct {
	kubeconfig, context string
	yes                 bool
}

func (f *clusterFlags) register(cmd *cobra.Command) {
	cmd.Flags().StringVar(&f.kubeconfig, "kubeconfig", "", "use the cluster of this kubeconfig `file`")
	cmd.Flags().StringVar(&f.context, "context", "", "`name` of the kubeconfig's context (default its current one)")
	cmd.Flags().BoolVarP(&f.yes, "yes", "y", false, "do not ask before a cluster is loaded, or cleaned, that is not clearly a test cluster")
}

// spec is the borrowed target that the flags ask for; nil if they ask for none.
func (f *clusterFlags) spec() *v1.BorrowedTarget {
	if f.kubeconfig == "" && f.context == "" {
		return nil
	}
	return &v1.BorrowedTarget{Kubeconfig: f.kubeconfig, Context: f.context}
}

// borrow replaces the plan's target by the cluster of the flags, if they name
// one; its fills go through the API, as its datastore is not ours.
func (f *clusterFlags) borrow(p *plan.Plan) {
	if spec := f.spec(); spec != nil {
		p.Scenario.Spec.Target = v1.Target{Borrowed: spec}
		p.Scenario.Spec.FillThroughAPI()
	}
}

// admit opens a borrowed cluster, checks that the user may do what the
// scenario does, and asks before anything is loaded that is not clearly for tests.
func (f *clusterFlags) admit(ctx context.Context, env Environment, spec *v1.Spec) (*borrowed.Target, error) {
	t, err := borrowed.Open(ctx, *spec.Target.Borrowed)
	if err != nil {
		return nil, err
	}
	missing, err := t.Missing(ctx, needs(spec))
	if err != nil {
		return nil, err
	}
	if len(missing) > 0 {
		var lines []string
		for _, n := range missing {
			lines = append(lines, "  "+n.String())
		}
		return nil, fmt.Errorf("on cluster %s the user lacks permissions; ask for a ClusterRole that allows to\n%s", t.Name(), strings.Join(lines, "\n"))
	}
	if t.IsTest() || f.yes {
		return t, nil
	}
	return t, env.ask("load cluster " + t.Name())
}

// errDeclined is a no, or nobody there to say yes.
var errDeclined = errors.New("not confirmed: say yes, or give --yes")

// ask waits for a yes on a terminal.
func (e Environment) ask(what string) error {
	if !e.Interactive {
		return usage(fmt.Errorf("%s? %w", what, errDeclined))
	}
	fmt.Fprintf(e.Stderr, "%s? [y/N] ", what)
	answer, _ := bufio.NewReader(e.Stdin).ReadString('\n')
	switch strings.ToLower(strings.TrimSpace(answer)) {
	case "y", "yes":
		return nil
	}
	return usage(errDeclined)
}

// needs are the permissions that a scenario takes.
func needs(spec *v1.Spec) []borrowed.Need {
	all := []borrowed.Need{{Verb: "create", Resource: "namespaces"}, {Verb: "delete", Resource: "namespaces"}, {Verb: "list", Resource: "namespaces"}}
	for _, use := range spec.Uses() {
		group, _, grouped := strings.Cut(use.Info.APIVersion, "/")
		if !grouped {
			group = ""
		}
		need := borrowed.Need{Verb: use.Verb, Group: group, Resource: string(use.Info.Resource)}
		all = append(all, need)
	}
	return all
}
