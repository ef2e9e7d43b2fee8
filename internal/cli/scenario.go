package cli

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	v1 "plimsoll.dev/plimsoll/api/v1alpha1"
	"plimsoll.dev/plimsoll/internal/plan"
	"plimsoll.dev/plimsoll/scenarios"
)

// scenarioFlags choose and change a scenario.
type scenarioFlags struct {
	set         map[string]string
	only        []string
	repetitions int
	seed        uint64
	changed     func(flag string) bool // given on the command line
}

// maxRepetitions is the schema's own bound.
const maxRepetitions = 1000

func (f *scenarioFlags) register(cmd *cobra.Command) {
	f.changed = cmd.Flags().Changed
	cmd.Flags().StringToStringVar(&f.set, "set", nil, "value of a `parameter=value` of the scenario; may be repeated")
	cmd.Flags().StringSliceVar(&f.only, "only", nil, "run only this `variant`, or parameter=value; may be repeated")
	cmd.Flags().IntVar(&f.repetitions, "repetitions", 0, "how often to run each variant, instead of what the scenario says")
	cmd.Flags().Uint64Var(&f.seed, "seed", 0, "seed of every random choice, instead of the scenario's")
	_ = cmd.RegisterFlagCompletionFunc("set", completeFrom(parametersOf, cobra.ShellCompDirectiveNoSpace))
	_ = cmd.RegisterFlagCompletionFunc("only", completeFrom((*plan.Experiment).Choices, 0))
}

// document is a scenario as it was found.
type document struct {
	name   string // as shown
	source []byte
}

// load reads a scenario by the name of a built-in one or by its file, and plans it.
func (f *scenarioFlags) load(name string) (*plan.Plan, document, error) {
	source, shown, err := readScenario(name)
	if err != nil {
		return nil, document{}, usage(err)
	}
	d := document{shown, source}
	p, err := f.plan(d, f.set)
	return p, d, err
}

// plan plans a document with parameters replaced by those in set.
func (f *scenarioFlags) plan(d document, set map[string]string) (*plan.Plan, error) {
	experiment, err := plan.Load(d.name, d.source, set)
	if err != nil {
		return nil, err
	}
	choice := plan.Choice{Set: set, Only: f.only}
	if f.changed("repetitions") {
		if f.repetitions < 1 || f.repetitions > maxRepetitions {
			return nil, usage(fmt.Errorf("--repetitions %d: must be at least 1 and at most %d", f.repetitions, maxRepetitions))
		}
		choice.Repetitions = f.repetitions
	}
	if f.changed("seed") {
		choice.Seed = &f.seed
	}
	p, err := plan.New(experiment, choice)
	if err != nil {
		return nil, usage(err)
	}
	return p, nil
}

func readScenario(name string) (source []byte, shown string, err error) {
	if !strings.ContainsAny(name, "/.") {
		if source, err := scenarios.Files.ReadFile(name + ".yaml"); err == nil {
			return source, name + ".yaml", nil
		}
	}
	source, err = os.ReadFile(name)
	switch {
	case err == nil:
		return source, name, nil
	case errors.Is(err, fs.ErrNotExist):
		return nil, "", fmt.Errorf("there is no scenario %q, neither built in nor as a file%s\nbuilt in are: %s",
			name, v1.NearMiss(name, builtIn()), strings.Join(builtIn(), ", "))
	default:
		return nil, "", fmt.Errorf("read scenario: %w", err)
	}
}

// builtIn lists the names of the built-in scenarios.
func builtIn() []string {
	entries, err := fs.ReadDir(scenarios.Files, ".")
	if err != nil {
		return nil // of an embedded folder it cannot fail
	}
	var names []string
	for _, entry := range entries {
		names = append(names, strings.TrimSuffix(path.Base(entry.Name()), ".yaml"))
	}
	return names
}

// completeScenario completes built-in names, and files.
func completeScenario(_ *cobra.Command, args []string, _ string) ([]cobra.Completion, cobra.ShellCompDirective) {
	if len(args) > 0 {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	return builtIn(), cobra.ShellCompDirectiveDefault
}

// completeFrom completes a flag by words that the scenario gives, if that is on
// the command line already, and has no faults.
func completeFrom(words func(*plan.Experiment) []cobra.Completion, directive cobra.ShellCompDirective) cobra.CompletionFunc {
	return func(_ *cobra.Command, args []string, _ string) ([]cobra.Completion, cobra.ShellCompDirective) {
		directive := directive | cobra.ShellCompDirectiveNoFileComp
		if len(args) == 0 {
			return nil, directive
		}
		source, shown, err := readScenario(args[0])
		if err != nil {
			return nil, directive
		}
		experiment, err := plan.Load(shown, source, nil)
		if err != nil {
			return nil, directive
		}
		return words(experiment), directive
	}
}

// parametersOf completes the names of parameters, and shows their values.
func parametersOf(e *plan.Experiment) []cobra.Completion {
	var words []cobra.Completion
	for name, value := range e.Cells[0].Parameters {
		words = append(words, cobra.CompletionWithDesc(name+"=", value))
	}
	slices.Sort(words)
	return words
}
