package local

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"syscall"
	"time"

	"golang.org/x/sync/errgroup"

	"plimsoll.dev/plimsoll/api/v1alpha1"
	"plimsoll.dev/plimsoll/internal/assets"
	"plimsoll.dev/plimsoll/internal/process"
	"plimsoll.dev/plimsoll/internal/target"
)

// component is one process as data: what it runs, when it is ready, and how it
// is observed.
type component struct {
	name   string
	binary assets.Binary
	first  []string // arguments before the flags
	flags  flags
	// document has flags of the scenario's, each laid over those before.
	document []v1alpha1.Flags
	// secret flags are given as env, and only described as flags: everybody may
	// read a command line.
	secret flags
	env    []string
	// kubeconfig is whose is written before a start; nobody's when empty.
	kubeconfig target.Identity
	// needs is the gate that must be open before a start: the name of a component
	// that must be ready, or accessGate; none when empty.
	needs string
	// after is a URL that must answer before a start; none when empty.
	after string
	// data is emptied before a start, and filled with files; none when empty.
	data  string
	files map[string]string
	// wal is emptied before a start, too; none when empty.
	wal string
	// initialise is run before each start; nothing when its path is empty.
	initialise command
	// account is the user that runs it; plimsoll's own when nil.
	account *account
	// dir is the working directory; plimsoll's own when empty.
	dir string
	log string
	// ready is a URL that answers with 200 when it is, to a client that trusts ca
	// and shows the certificate observer. probe is asked instead, if there is one.
	ready        string
	probe        func(context.Context) error
	ca, observer string
	// metrics is the URL of its metrics; none when empty.
	metrics string
	// profiles is the URL of its handlers of net/http/pprof; none when empty.
	profiles string
	// scrapeInterval is the least time between two scrapes of metrics.
	scrapeInterval time.Duration
	// readyTimeout and grace have defaults: startTimeout and stopGrace.
	readyTimeout, grace time.Duration
	// stopSignal asks it to end, deathSignal is what it gets when plimsoll dies;
	// process.Spec has the defaults.
	stopSignal, deathSignal syscall.Signal
	restart                 bool // when it ends by itself
	// tree says that it has child processes that do its work.
	tree bool
	// layer orders the stop: higher ones go first.
	layer int
	// plane is the control plane that it is of.
	plane *plane
}

// command is a program with its arguments.
type command struct {
	path string
	args []string
}

// The layers of a control plane.
const (
	databaseLayer = iota
	datastoreLayer
	apiLayer
	frontLayer // all clients of the API server
)

const (
	// startTimeout is how long a component may take until it is ready, if nothing is known of it.
	startTimeout = 30 * time.Second
	// stopGrace is how long it may take to end: short, since what it stores is thrown away. Members of
	// etcd that stop together wait in vain for one of them to take over the leadership, and clients of
	// the API server give their leases back, no more.
	stopGrace = 2 * time.Second
)

// accessGate opens when the API server has given its users their rights.
const accessGate = "access"

// gates are opened by closing them.
type gates map[string]chan struct{}

func newGates(components []component) gates {
	g := gates{}
	for _, c := range components {
		g[c.name] = make(chan struct{})
		g[c.plane.prefix+accessGate] = make(chan struct{}) // of each plane one
	}
	return g
}

// await waits until the gate is open; there is none without a name.
func (g gates) await(ctx context.Context, name string) error {
	if name == "" {
		return nil
	}
	select {
	case <-g[name]:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// chore is what plimsoll does itself before the target is ready.
type chore struct {
	// needs is the gate that it waits for, opens the one that it opens; none when empty.
	needs, opens string
	do           func(context.Context) error
}

// chores are done beside the starts.
func (t *Target) chores() []chore {
	var all []chore
	for _, p := range t.planes() {
		all = append(all, p.chores()...)
	}
	return all
}

// boot starts all components at once, since most wait by themselves for those
// that they need, and lets the users in. When one fails the others are stopped.
func (t *Target) boot(ctx context.Context) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	t.running, t.failed = map[string]*process.Process{}, make(chan error, 1)
	group, ctx := errgroup.WithContext(ctx)
	gates := newGates(t.components)
	for _, c := range t.chores() {
		group.Go(func() error {
			if err := gates.await(ctx, c.needs); err != nil {
				return err
			}
			if err := c.do(ctx); err != nil {
				return err
			}
			if c.opens != "" {
				close(gates[c.opens])
			}
			return nil
		})
	}
	for _, c := range t.components {
		group.Go(func() error {
			if err := gates.await(ctx, c.needs); err != nil {
				return err
			}
			p, err := t.launch(ctx, c)
			if err != nil {
				return err
			}
			t.lock.Lock()
			t.running[c.name] = p
			t.lock.Unlock()
			close(gates[c.name])
			if c.restart {
				go t.revive(c.name, p)
				return nil
			}
			t.supervise(p, cancel) // which ends the wait for components that need this one
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

// supervise tells of a process that ends without having been asked to.
func (t *Target) supervise(p *process.Process, tell func(error)) {
	failed := t.failed // that of this attempt
	go func() {
		<-p.Exited()
		if err := p.Err(); err != nil {
			offer(failed, err)
			tell(err)
		}
	}()
}

// offer gives an error to whoever listens, or will, if there is room.
func offer(to chan<- error, err error) {
	select {
	case to <- err:
	default:
	}
}

// launch starts a component on new data.
func (t *Target) launch(ctx context.Context, c component) (*process.Process, error) {
	if err := c.makeData(); err != nil {
		return nil, fmt.Errorf("make the data folder of %s: %w", c.name, err)
	}
	if err := c.initialiseData(ctx); err != nil {
		return nil, fmt.Errorf("initialise the data of %s: %w", c.name, err)
	}
	if c.after != "" {
		ctx, cancel := context.WithTimeout(ctx, c.readyTimeout)
		defer cancel()
		if err := await(ctx, c.plane.observer(c), c.after); err != nil {
			return nil, fmt.Errorf("wait with the start of %s: %w", c.name, err)
		}
	}
	return t.run(ctx, c)
}

// run starts a component on the data that it has.
func (t *Target) run(ctx context.Context, c component) (*process.Process, error) {
	client := c.plane.observer(c)
	ready := c.probe
	if ready == nil {
		ready = func(ctx context.Context) error { return probe(ctx, client, c.ready) }
	}
	return process.Start(ctx, process.Spec{
		Name: c.name, Path: c.binary.Path, Args: slices.Concat(c.first, c.flags.args()), Env: append(environment(), c.env...), Dir: c.dir, LogPath: c.log,
		Ready: ready, ReadyTimeout: c.readyTimeout, Grace: c.grace,
		StopSignal: c.stopSignal, DeathSignal: c.deathSignal, Credential: c.account.credential(),
	})
}

// reviveAfter is how long a component stays down that ended by itself.
const reviveAfter = time.Second

// revive starts a component anew whenever it ends by itself. That it cannot be
// started is a failure like that of any other.
func (t *Target) revive(name string, p *process.Process) {
	for {
		<-p.Exited()
		end := p.Err()
		if end == nil {
			return // it was asked to
		}
		offer(t.restarted, end)
		time.Sleep(reviveAfter)
		t.lock.Lock()
		closed := t.closed
		t.lock.Unlock()
		if closed {
			return
		}
		next, err := t.again(name)
		if err != nil {
			offer(t.failed, err)
			return
		}
		p = next
	}
}

// restartReady is how long a component may take to be ready again: one of etcd
// reads its whole log and opens its whole database first.
const restartReady = 2 * time.Minute

// restart starts a component that has ended once more, on the data that it has.
func (t *Target) restart(name string) error {
	p, err := t.again(name)
	if err != nil {
		return err
	}
	t.supervise(p, func(error) {})
	return nil
}

// again runs a component that has ended; one of a target that was closed meanwhile ends at once.
func (t *Target) again(name string) (*process.Process, error) {
	t.lock.Lock()
	c := t.components[slices.IndexFunc(t.components, func(c component) bool { return c.name == name })]
	t.lock.Unlock()
	c.readyTimeout = restartReady
	p, err := t.run(context.Background(), c)
	if err != nil {
		return nil, err
	}
	t.lock.Lock()
	defer t.lock.Unlock()
	if t.closed {
		return p, p.Stop(context.Background())
	}
	t.running[name] = p
	return p, nil
}

// makeData makes the data folder anew, as its account's own. That of a
// write-ahead log is left to the component.
func (c component) makeData() error {
	if c.wal != "" {
		if err := os.RemoveAll(c.wal); err != nil {
			return err
		}
	}
	if c.data == "" {
		return nil
	}
	if err := errors.Join(os.RemoveAll(c.data), os.Mkdir(c.data, 0o700)); err != nil {
		return err
	}
	for name, text := range c.files {
		path := filepath.Join(c.data, name)
		if err := errors.Join(os.WriteFile(path, []byte(text), 0o600), c.account.own(path)); err != nil {
			return err
		}
	}
	return c.account.own(c.data)
}

// initialiseData lets the component's own program fill its data folder.
func (c component) initialiseData(ctx context.Context) error {
	if c.initialise.path == "" {
		return nil
	}
	return process.Run(ctx, process.Spec{
		Name: filepath.Base(c.initialise.path), Path: c.initialise.path, Args: c.initialise.args,
		Env: environment(), Dir: c.data, LogPath: c.log, Credential: c.account.credential(),
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
	for _, p := range t.planes() {
		p.closeIdleConnections() // servers wait for them
	}
	var errs []error
	for layer := frontLayer; layer >= databaseLayer; layer-- {
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
