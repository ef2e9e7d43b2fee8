package local

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"os"
	"slices"
	"strconv"
	"time"

	"golang.org/x/sync/errgroup"

	"plimsoll.dev/plimsoll/api/v1alpha1"
	"plimsoll.dev/plimsoll/internal/assets"
	"plimsoll.dev/plimsoll/internal/process"
)

// component is one process as data: what it runs, when it is ready, and how it
// is observed.
type component struct {
	name   string
	binary assets.Binary
	flags  flags
	// after is a URL that must answer before a start; none when empty.
	after string
	// data is emptied before a start; none when empty.
	data string
	log  string
	// url is where it serves readyPath and /metrics, to a client that trusts
	// ca and shows the certificate observer.
	url, readyPath string
	ca, observer   string
	// scrapeInterval is the least time between two scrapes of /metrics.
	scrapeInterval time.Duration
	readyTimeout   time.Duration
	grace          time.Duration
	// layer orders the stop: higher ones go first.
	layer int
}

// The layers of a control plane.
const (
	datastoreLayer = iota
	apiLayer
)

// plan is all that the builders need to know.
type plan struct {
	spec     v1alpha1.LocalTarget
	where    folders
	ports    ports
	keys     *keyring
	binaries map[string]assets.Binary
}

// build gives the components that a plan stands for.
func build(p plan) ([]component, error) {
	etcd, err := buildEtcd(p)
	if err != nil {
		return nil, err
	}
	apiserver, err := buildAPIServer(p)
	if err != nil {
		return nil, err
	}
	return append(etcd, apiserver), nil
}

// boot starts all components at once, since nearly all wait by themselves for
// those that they need. When one fails the others are stopped.
func (t *Target) boot(ctx context.Context) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	t.running, t.failed = map[string]*process.Process{}, make(chan error, 1)
	failed := t.failed
	group, ctx := errgroup.WithContext(ctx)
	for _, c := range t.components {
		group.Go(func() error {
			p, err := t.launch(ctx, c)
			if err != nil {
				return err
			}
			t.mu.Lock()
			t.running[c.name] = p
			t.mu.Unlock()
			go func() {
				<-p.Exited()
				if err := p.Err(); err != nil {
					cancel(err) // ends the wait for components that need this one
					select {
					case failed <- err:
					default:
					}
				}
			}()
			return nil
		})
	}
	if err := group.Wait(); err != nil {
		killed, kill := context.WithCancel(ctx)
		kill()
		return errors.Join(err, t.stop(killed))
	}
	return nil
}

func (t *Target) launch(ctx context.Context, c component) (*process.Process, error) {
	if c.data != "" {
		if err := errors.Join(os.RemoveAll(c.data), os.Mkdir(c.data, 0o700)); err != nil {
			return nil, fmt.Errorf("make the data folder of %s: %w", c.name, err)
		}
	}
	t.mu.Lock()
	client := t.client(c.ca, c.observer)
	t.mu.Unlock()
	if c.after != "" {
		ctx, cancel := context.WithTimeout(ctx, c.readyTimeout)
		defer cancel()
		if err := await(ctx, client, c.after); err != nil {
			return nil, fmt.Errorf("wait with the start of %s: %w", c.name, err)
		}
	}
	return process.Start(ctx, process.Spec{
		Name: c.name, Path: c.binary.Path, Args: c.flags.args(), Env: environment(), LogPath: c.log,
		Ready:        func(ctx context.Context) error { return probe(ctx, client, c.url+c.readyPath) },
		ReadyTimeout: c.readyTimeout, Grace: c.grace,
	})
}

// environment is all that a component inherits: etcd takes every flag from a
// variable too, and those of the user's shell must not decide a measurement.
func environment() []string {
	env := []string{"LANG=C"}
	for _, name := range []string{"PATH", "HOME", "TMPDIR"} {
		if value, ok := os.LookupEnv(name); ok {
			env = append(env, name+"="+value)
		}
	}
	return env
}

// failedGrace is the time that components get to end once one has ended by
// itself: an API server whose datastore is gone would use all that it has.
const failedGrace = time.Second

// stop stops what runs, layer by layer.
func (t *Target) stop(ctx context.Context) error {
	for _, p := range t.running {
		if p.Err() != nil {
			var cancel context.CancelFunc
			ctx, cancel = context.WithTimeout(ctx, failedGrace)
			defer cancel()
			break
		}
	}
	for _, c := range t.clients {
		c.CloseIdleConnections() // servers wait for them
	}
	var errs []error
	for layer := apiLayer; layer >= datastoreLayer; layer-- {
		var group errgroup.Group
		for _, c := range t.components {
			if p := t.running[c.name]; p != nil && c.layer == layer {
				group.Go(func() error { return p.Stop(ctx) })
			}
		}
		errs = append(errs, group.Wait())
	}
	return errors.Join(errs...)
}

// client gives the one client for a certificate; t.mu is held.
func (t *Target) client(ca, certificate string) *http.Client {
	c := t.clients[certificate]
	if c == nil {
		// HTTP/1.1 only: etcd's peer port offers HTTP/2 and then does not speak it.
		c = &http.Client{Transport: &http.Transport{TLSClientConfig: t.keys.tlsConfig(ca, certificate)}}
		t.clients[certificate] = c
	}
	return c
}

const (
	probeTimeout  = time.Second
	awaitInterval = 10 * time.Millisecond
)

// await asks a URL until it gives a 200.
func await(ctx context.Context, client *http.Client, url string) error {
	for {
		err := probe(ctx, client, url)
		if err == nil {
			return nil
		}
		select {
		case <-time.After(awaitInterval):
		case <-ctx.Done():
			return fmt.Errorf("%w; the last answer: %w", context.Cause(ctx), err)
		}
	}
}

// probe asks a URL for a 200.
func probe(ctx context.Context, client *http.Client, url string) error {
	ctx, cancel := context.WithTimeout(ctx, probeTimeout)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return err
	}
	response, err := client.Do(request)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	body, _ := io.ReadAll(io.LimitReader(response.Body, 4<<10))
	if response.StatusCode != http.StatusOK {
		return fmt.Errorf("%s answers %s: %s", url, response.Status, body)
	}
	return nil
}

// flag is one command-line flag without its dashes.
type flag struct{ name, value string }

// flags are in the order in which they are given.
type flags []flag

func (fs flags) args() []string {
	args := make([]string, len(fs))
	for i, f := range fs {
		args[i] = "--" + f.name + "=" + f.value
	}
	return args
}

// with lays a document's flags over these: a value replaces or, sorted by
// name, adds; null removes.
func (fs flags) with(document v1alpha1.Flags) (flags, error) {
	result := slices.Clone(fs)
	for _, name := range slices.Sorted(maps.Keys(document)) {
		at := slices.IndexFunc(result, func(f flag) bool { return f.name == name })
		if document[name] == nil {
			if at >= 0 {
				result = slices.Delete(result, at, at+1)
			}
			continue
		}
		value, err := flagValue(document[name])
		if err != nil {
			return nil, fmt.Errorf("flag %s: %w", name, err)
		}
		if at >= 0 {
			result[at].value = value
		} else {
			result = append(result, flag{name, value})
		}
	}
	return result, nil
}

// flagValue writes a scalar as a user would: 1000000, and not 1e+06.
func flagValue(v any) (string, error) {
	switch v := v.(type) {
	case string:
		return v, nil
	case float64:
		return strconv.FormatFloat(v, 'f', -1, 64), nil
	case bool, int, int64, uint64:
		return fmt.Sprint(v), nil
	}
	return "", fmt.Errorf("%v is neither a text, a number, true, false nor null", v)
}
