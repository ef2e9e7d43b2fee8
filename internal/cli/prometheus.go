package cli

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"

	v1 "plimsoll.dev/plimsoll/api/v1alpha1"
	"plimsoll.dev/plimsoll/internal/analysis"
	"plimsoll.dev/plimsoll/internal/metrics"
	"plimsoll.dev/plimsoll/internal/store"
)

// prometheusFlags choose a Prometheus that is asked instead of a run's own metrics.
type prometheusFlags struct {
	url, tokenFile string
}

// tokenVariable holds the token where no file does; it must not be an
// argument, which everybody on the machine can read.
const tokenVariable = "PLIMSOLL_PROMETHEUS_TOKEN"

func (f *prometheusFlags) register(cmd *cobra.Command, what string) {
	cmd.Flags().StringVar(&f.url, "prometheus", "", what+" the Prometheus at this `URL`")
	cmd.Flags().StringVar(&f.tokenFile, "prometheus-token-file", "", "`file` with that Prometheus's bearer token (default $"+tokenVariable+")")
}

// open gives the Prometheus that the flags name; nil, if they name none.
func (f *prometheusFlags) open() (*metrics.Remote, error) {
	if f.url == "" {
		if f.tokenFile != "" {
			return nil, usage(errors.New("--prometheus-token-file is of a Prometheus: add --prometheus URL"))
		}
		return nil, nil
	}
	remote, err := metrics.OpenRemote(f.url, f.token)
	if err != nil {
		return nil, usage(fmt.Errorf("--prometheus %w", err))
	}
	return remote, nil
}

// token reads the token anew for each request: one of a Kubernetes service
// account is renewed while a long run goes on.
func (f *prometheusFlags) token() (string, error) {
	if f.tokenFile == "" {
		return strings.TrimSpace(os.Getenv(tokenVariable)), nil
	}
	data, err := os.ReadFile(f.tokenFile)
	if err != nil {
		return "", fmt.Errorf("--prometheus-token-file: %w", err)
	}
	token := strings.TrimSpace(string(data))
	if token == "" {
		return "", fmt.Errorf("--prometheus-token-file %s is empty", f.tokenFile)
	}
	return token, nil
}

// openFor gives the Prometheus that knows the scenario's cluster, and sees that
// it answers: before a run begins, a wrong URL or token costs nothing.
func (f *prometheusFlags) openFor(ctx context.Context, target v1.Target) (*metrics.Remote, error) {
	remote, err := f.open()
	if err != nil || remote == nil {
		return nil, err
	}
	if target.Borrowed == nil {
		return nil, usage(errors.New("--prometheus is of a cluster that it watches: add --kubeconfig, or leave it out; a target that plimsoll starts is in the run's own metrics"))
	}
	if err := remote.Check(ctx); err != nil {
		return nil, fmt.Errorf("%w; nothing was begun", err)
	}
	return remote, nil
}

// askLimit bounds all the questions at the end of a run.
const askLimit = 2 * time.Minute

// askPrometheus has the objectives evaluated and the answers kept. What goes
// wrong is told and costs no run: its objective then is not measured.
func askPrometheus(ctx context.Context, env Environment, remote *metrics.Remote, results *store.Results) {
	if remote == nil {
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), askLimit)
	defer cancel()
	if err := analysis.Ask(ctx, results, remote); err != nil {
		say(env, "warning: %v\nask again with: plimsoll report %s --prometheus %s", err, shownPath(results.Dir), remote.URL())
	}
}
