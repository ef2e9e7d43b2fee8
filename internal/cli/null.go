package cli

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"time"

	"github.com/spf13/cobra"

	v1 "plimsoll.dev/plimsoll/api/v1alpha1"
	"plimsoll.dev/plimsoll/internal/target"
	"plimsoll.dev/plimsoll/internal/target/null"
)

// newNullServer is the server of a null target; plimsoll starts it for itself.
func newNullServer(env Environment) *cobra.Command {
	var server null.Server
	cmd := &cobra.Command{
		Use:     null.Verb,
		Short:   "Answer at once and store nothing",
		Hidden:  true,
		Example: "  plimsoll null-server --address-file address",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			env.interrupted("stopping")
			return server.Serve(cmd.Context())
		},
	}
	cmd.Flags().Int64Var(&server.Answer, "answer", 1024, "`bytes` of each answer")
	cmd.Flags().DurationVar(&server.Delay, "delay", 0*time.Second, "`time` before each answer")
	cmd.Flags().StringVar(&server.AddressFile, "address-file", "", "`file` that gets the port")
	return cmd
}

// provideNull starts a null server for each run.
func provideNull(ctx context.Context, spec v1.Target, dir, logs string) (target.Target, error) {
	program, err := self()
	if err != nil {
		return nil, err
	}
	t, err := null.Start(ctx, null.Options{Spec: *spec.Null, Program: program, Dir: dir, LogDir: logs})
	if err != nil {
		return nil, err // a nil *null.Target would be a target
	}
	return t, nil
}

// self is the program that is running, by the name that it was called by: in
// tests, that decides what it does.
func self() (string, error) {
	if path, err := exec.LookPath(os.Args[0]); err == nil {
		return path, nil
	}
	path, err := os.Executable()
	if err != nil {
		return "", fmt.Errorf("find plimsoll's own program: %w", err)
	}
	return path, nil
}
