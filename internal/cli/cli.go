// Package cli is the command line: one file per verb, and the only place that
// touches the process's streams, signals and exit.
package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"sync/atomic"
	"syscall"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	v1 "plimsoll.dev/plimsoll/api/v1alpha1"
	"plimsoll.dev/plimsoll/internal/engine"
	"plimsoll.dev/plimsoll/internal/plan"
)

// Exit codes.
const (
	exitFailure     = 1   // something went wrong
	exitUsage       = 2   // the command line or the document is wrong
	exitObjective   = 3   // an objective was missed
	exitWorse       = 4   // a variant is worse than the margin, with --fail-on-worse
	exitInvalid     = 5   // the run measured something else than it was to: a component died, or plimsoll was the limit
	exitInterrupted = 130 // Ctrl-C
)

// Environment is what the outside world is to the command line.
type Environment struct {
	Stdin          io.Reader
	Stdout, Stderr io.Writer
	// Interactive says that there is somebody at Stdin to be asked.
	Interactive bool
	// Signals delivers interrupts; the second one ends the program at once.
	Signals <-chan os.Signal
	// Exit ends the program at once.
	Exit func(code int)
	// Width is that of the terminal behind Stderr, or 0 if there is none.
	Width func() int
	// Colour says that Stdout shows colours.
	Colour bool

	// orderly says, once a verb has work to end in order, what an interrupt makes it do.
	orderly *atomic.Pointer[string]
}

// interrupted says what the first interrupt from now on makes the verb do;
// until then it ends the program.
func (e Environment) interrupted(what string) {
	if e.orderly != nil {
		e.orderly.Store(&what)
	}
}

// System is the environment of a real process.
func System() Environment {
	signals := make(chan os.Signal, 2)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
	// A reader of our output that goes away must not end us before the results are written: writes
	// then fail, rather than kill.
	signal.Notify(make(chan os.Signal, 1), syscall.SIGPIPE)
	return Environment{
		Stdin: os.Stdin, Stdout: os.Stdout, Stderr: os.Stderr, Signals: signals, Exit: os.Exit,
		Interactive: term.IsTerminal(int(os.Stdin.Fd())),
		Width: func() int {
			width, _, err := term.GetSize(int(os.Stderr.Fd()))
			if err != nil || os.Getenv("TERM") == "dumb" {
				return 0
			}
			return width
		},
		Colour: term.IsTerminal(int(os.Stdout.Fd())) && os.Getenv("NO_COLOR") == "" && os.Getenv("TERM") != "dumb",
	}
}

// Main carries out a command line and gives its exit code.
func Main(env Environment, args []string) int {
	env.orderly = &atomic.Pointer[string]{}
	ctx, stop := interruptible(env)
	defer stop()
	root := newRoot(env)
	root.SetArgs(args)
	err := root.ExecuteContext(ctx)
	if err == nil {
		return 0
	}
	var coded *codedError
	switch {
	case errors.As(err, &coded) && coded.error == nil: // all has been said
	default:
		fmt.Fprintf(env.Stderr, "plimsoll: %v\n", err)
	}
	return exitCode(err)
}

// codedError is an error that decides the exit code.
type codedError struct {
	error
	code int
}

func (e *codedError) Unwrap() error { return e.error }

func (e *codedError) Error() string {
	if e.error == nil {
		return fmt.Sprintf("exit code %d", e.code)
	}
	return e.error.Error()
}

func usage(err error) error { return &codedError{err, exitUsage} }

func exitCode(err error) int {
	var coded *codedError
	var problems *plan.Problems
	switch {
	case errors.As(err, &coded):
		return coded.code
	case errors.As(err, &problems):
		return exitUsage
	case errors.Is(err, engine.ErrInterrupted), errors.Is(err, context.Canceled):
		return exitInterrupted
	case errors.Is(err, engine.ErrComponent):
		return exitInvalid
	}
	return exitFailure
}

// interruptible gives a context that the first signal cancels, if the verb has
// something to end in order. Any other signal ends the program at once; its
// components die with it.
func interruptible(env Environment) (context.Context, func()) {
	ctx, cancel := context.WithCancel(context.Background())
	go func() {
		select {
		case <-env.Signals:
		case <-ctx.Done():
			return
		}
		what := env.orderly.Load()
		if what == nil {
			env.Exit(exitInterrupted)
			return
		}
		fmt.Fprintf(env.Stderr, "\nplimsoll: interrupted: %s (again to stop at once)\n", *what)
		cancel()
		<-env.Signals
		env.Exit(exitInterrupted)
	}()
	return ctx, cancel
}

func newRoot(env Environment) *cobra.Command {
	root := &cobra.Command{
		Use:   "plimsoll",
		Short: "Find the load line of a Kubernetes control plane and of the datastore under it",
		Long: `plimsoll boots a real control plane on this machine (etcd, kube-apiserver), loads
it as a scenario says, and leaves a report that says what was measured, on what,
and whether the objectives held.

Exit codes: 0 fine, 1 failure, 2 wrong usage or document, 3 an objective was
missed, 4 a variant is worse (with --fail-on-worse), 5 the run is invalid (a
component died, or plimsoll itself was the limit), 130 interrupted.`,
		Example: `  plimsoll run quickstart
  plimsoll plan my-scenario.yaml
  plimsoll report plimsoll-results/quickstart-20261121-093000`,
		SilenceErrors: true,
		SilenceUsage:  true,
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) > 0 {
				return fmt.Errorf("there is no verb %q%s", args[0], v1.NearMiss(args[0], verbs(cmd)))
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	root.SetOut(env.Stdout)
	root.SetErr(env.Stderr)
	root.SetFlagErrorFunc(func(cmd *cobra.Command, err error) error {
		return usage(fmt.Errorf("%w\nsee '%s --help'", err, cmd.CommandPath()))
	})
	root.AddCommand(newRun(env), newPlan(env), newReport(env), newCompare(env), newQuery(env), newExport(env), newList(env), newUp(env), newClean(env), newDoctor(env), newCalibrate(env), newSchema(env), newVersion(env), newMan(), newNullServer(env), newTunnelServer(env), newTunnelAgent(env))
	for _, command := range append(root.Commands(), root) {
		command.Args = usageArgs(command.Args)
	}
	root.InitDefaultCompletionCmd()
	return root
}

func verbs(root *cobra.Command) []string {
	var names []string
	for _, command := range root.Commands() {
		names = append(names, command.Name())
	}
	return names
}

// usageArgs makes wrong arguments a usage error.
func usageArgs(check cobra.PositionalArgs) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if err := check(cmd, args); err != nil {
			return usage(fmt.Errorf("%w\nsee '%s --help'", err, cmd.CommandPath()))
		}
		return nil
	}
}
