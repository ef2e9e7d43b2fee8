// Package null is the target that answers at once and stores nothing: what is
// measured against it is what plimsoll itself takes. The server is a process of
// its own, so that its work is not taken for the generator's.
package null

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"sync"
	"time"

	"k8s.io/client-go/rest"

	v1 "plimsoll.dev/plimsoll/api/v1alpha1"
	"plimsoll.dev/plimsoll/internal/process"
	"plimsoll.dev/plimsoll/internal/target"
)

// Verb is that of plimsoll which is the server.
const Verb = "null-server"

const (
	component    = "null"
	readyTimeout = 10 * time.Second
	grace        = time.Second
)

// Options say what to start, and where.
type Options struct {
	Spec v1.NullTarget
	// Program is plimsoll itself.
	Program string
	// Dir is the working directory, in which the server leaves its certificate, and LogDir gets its log.
	Dir, LogDir string
}

// Target is a running server.
type Target struct {
	process *process.Process
	config  rest.Config
	options Options
	args    []string
	failed  chan error
	close   sync.Once
}

var (
	_ target.Target     = (*Target)(nil)
	_ target.KubeAPI    = (*Target)(nil)
	_ target.Supervised = (*Target)(nil)
)

// Start starts the server, and returns when it answers.
func Start(ctx context.Context, o Options) (*Target, error) {
	if err := os.MkdirAll(o.Dir, 0o700); err != nil {
		return nil, fmt.Errorf("make the working directory of the null server: %w", err)
	}
	address := filepath.Join(o.Dir, "null-address") // the server writes it, and its certificate beside it
	t := &Target{options: o, failed: make(chan error, 1), args: []string{
		Verb, "--answer", strconv.FormatInt(int64(o.Spec.Answer), 10), "--delay", time.Duration(o.Spec.Delay).String(), "--address-file", address,
	}}
	var err error
	t.process, err = process.Start(ctx, process.Spec{
		Name: component, Path: o.Program, Args: t.args, LogPath: filepath.Join(o.LogDir, component+".log"),
		Env: []string{"PATH=" + os.Getenv("PATH"), "HOME=" + os.Getenv("HOME")}, ReadyTimeout: readyTimeout, Grace: grace,
		Ready: func(ctx context.Context) error { return t.connect(ctx, address) },
	})
	if err != nil {
		return nil, err
	}
	go func() {
		<-t.process.Exited()
		if err := t.process.Err(); err != nil {
			t.failed <- err
		}
	}()
	return t, nil
}

// connect reads where the server is, and asks it something.
func (t *Target) connect(ctx context.Context, path string) error {
	address, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	certificate, err := os.ReadFile(path + ".pem")
	if err != nil {
		return err
	}
	t.config = rest.Config{
		Host: "https://" + net.JoinHostPort("127.0.0.1", string(address)), QPS: -1, TLSClientConfig: rest.TLSClientConfig{CAData: certificate},
	}
	client, err := rest.HTTPClientFor(&t.config)
	if err != nil {
		return err
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, t.config.Host+"/version", nil)
	if err != nil {
		return err
	}
	response, err := client.Do(request)
	if err != nil {
		return err
	}
	return response.Body.Close()
}

// RESTConfig is the same for every identity: the server asks nobody who they are.
func (t *Target) RESTConfig(target.Identity) (*rest.Config, error) {
	config := t.config
	return &config, nil
}

// Describe says what runs.
func (t *Target) Describe(context.Context) (target.Description, error) {
	return target.Description{Components: []target.ComponentDescription{{
		Name: component, Binary: t.options.Program, Source: "plimsoll", Args: t.args, PID: t.process.PID(),
	}}}, nil
}

// Endpoints are none: the server has no metrics.
func (t *Target) Endpoints() []target.Endpoint { return nil }

// Processes is the server.
func (t *Target) Processes() []target.Process {
	return []target.Process{{Component: component, PID: t.process.PID()}}
}

// Failed delivers an error if the server exits by itself.
func (t *Target) Failed() <-chan error { return t.failed }

// Close stops the server and removes what it left.
func (t *Target) Close(ctx context.Context) (err error) {
	t.close.Do(func() {
		address := filepath.Join(t.options.Dir, "null-address")
		err = errors.Join(t.process.Stop(ctx), os.Remove(address), os.Remove(address+".pem"))
	})
	return err
}
