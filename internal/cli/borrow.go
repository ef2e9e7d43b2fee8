package cli

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"slices"
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
// one; its fills go through the API, as its datastore is not ours. Variants that
// differ in the target have nothing left to compare there.
func (f *clusterFlags) borrow(p *plan.Plan) error {
	spec := f.spec()
	if spec == nil {
		return nil
	}
	for _, v := range p.Design.Variants[1:] {
		if slices.ContainsFunc(v.Changes, func(change string) bool { return strings.HasPrefix(change, "target.") }) {
			return usage(fmt.Errorf("variant %s changes the target, which on a borrowed cluster is not plimsoll's to change: choose one variant with --only", v.Name))
		}
	}
	for _, cell := range p.Cells {
		if phase := stevePhase(&cell.Scenario.Spec); phase != "" {
			return usage(fmt.Errorf("phase %s loads a Steve, and a kubeconfig names none: write spec.target.borrowed with kubeconfig and steve into the document", phase))
		}
		cell.Scenario.Spec.Target = v1.Target{Borrowed: spec}
		cell.Scenario.Spec.FillThroughAPI()
	}
	return nil
}

// stevePhase is the name of a phase that loads a Steve; empty without one.
func stevePhase(spec *v1.Spec) v1.Name {
	for _, phase := range spec.Phases() {
		if phase.Steve != nil {
			return phase.Name
		}
	}
	return ""
}

// admit opens a borrowed cluster, checks that the user may do what the
// scenarios do, and asks before anything is loaded that is not clearly for tests.
func (f *clusterFlags) admit(ctx context.Context, env Environment, b v1.BorrowedTarget, specs []*v1.Spec) (*borrowed.Target, error) {
	t, err := borrowed.Open(ctx, b)
	if err != nil {
		return nil, err
	}
	var all []borrowed.Need
	for _, spec := range specs {
		for _, need := range needs(spec) {
			if !slices.Contains(all, need) {
				all = append(all, need)
			}
		}
	}
	missing, err := t.Missing(ctx, all)
	if err != nil {
		return nil, err
	}
	if len(missing) > 0 {
		return nil, lacking(t, missing)
	}
	if t.IsTest() || f.yes {
		return t, nil
	}
	return t, env.ask("load cluster " + t.Name())
}

// lacking names every permission that is missing, and who can give it.
func lacking(t *borrowed.Target, missing []borrowed.Need) error {
	var lines []string
	for _, n := range missing {
		lines = append(lines, "  "+n.String())
	}
	return fmt.Errorf("on cluster %s the user lacks permissions; ask for a ClusterRole that allows, in all namespaces (a run makes its own), to\n%s",
		t.Name(), strings.Join(lines, "\n"))
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

// needs are the permissions that a scenario takes, each once. Phases of a user
// are that user's, whom the kubeconfig's impersonates; namespaces are made, and
// all is removed, by the kubeconfig's own.
func needs(spec *v1.Spec) []borrowed.Need {
	var all []borrowed.Need
	add := func(n borrowed.Need) {
		if !slices.Contains(all, n) {
			all = append(all, n)
		}
	}
	for _, verb := range []string{"create", "get", "list", "delete"} {
		add(borrowed.Need{Verb: verb, Resource: "namespaces"})
	}
	for _, use := range spec.Uses() {
		user := string(use.User)
		if user != "" {
			add(borrowed.Impersonate(user))
		}
		group, _, grouped := strings.Cut(use.Info.APIVersion, "/")
		if !grouped {
			group = ""
		}
		add(borrowed.Need{User: user, Verb: use.Verb, Group: group, Resource: string(use.Info.Resource)})
		if use.Verb == "create" && !use.Info.Namespaced { // does not go with a namespace
			add(borrowed.Need{Verb: "list", Group: group, Resource: string(use.Info.Resource)})
			add(borrowed.Need{Verb: "delete", Group: group, Resource: string(use.Info.Resource)})
		}
	}
	return all
}
