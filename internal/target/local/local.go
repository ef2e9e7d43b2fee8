// Package local is the target that plimsoll starts on this machine: real
// components as child processes, described as data and run by one interpreter.
package local

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"sync"

	"github.com/prometheus/client_golang/prometheus"

	"plimsoll.dev/plimsoll/api/v1alpha1"
	"plimsoll.dev/plimsoll/internal/assets"
	"plimsoll.dev/plimsoll/internal/process"
	"plimsoll.dev/plimsoll/internal/ramdisk"
	"plimsoll.dev/plimsoll/internal/target"
)

// bootAttempts bounds how often other ports are tried when someone else takes
// one between its choice and its use.
const bootAttempts = 4

// Options say what to start, and where.
type Options struct {
	// Spec of the target, from the scenario.
	Spec v1alpha1.LocalTarget
	// Dir is the working directory for certificates, kubeconfigs and, unless
	// the spec says otherwise, data. It is made if missing; what is made in it
	// is removed by Close.
	Dir string
	// SecretDir, if set, is where keys and kubeconfigs lie instead: a folder that
	// is cleared away even after a kill.
	SecretDir string
	// Own, if set, is told of every folder that is made and that Close removes.
	Own func(path string) error
	// LogDir gets one file per component, and keeps it.
	LogDir string
	// Binaries finds the components' binaries.
	Binaries Binaries
	// Program is plimsoll itself, which is both ends of the tunnel to a downstream control plane.
	Program string
	// Note, if set, hears what a user should know about where things are.
	Note func(string)
}

// Binaries finds the binary of a part; *assets.Finder is the real one.
type Binaries interface {
	Find(ctx context.Context, name string) (assets.Binary, error)
}

// Target is a running control plane, and perhaps a second one downstream of it.
type Target struct {
	options Options
	*plane
	downstream *plane // nil without one

	counters *prometheus.Registry

	lock       sync.Mutex
	components []component
	running    map[string]*process.Process // by component; stays after Close, for Describe
	failed     chan error
	restarted  chan error
	made       []string  // removed by Close, last first
	wall       io.Closer // before Steve's ports; nil without one
	steveNote  string
	closed     bool
}

var (
	_ target.Target      = (*Target)(nil)
	_ target.KubeAPI     = (*Target)(nil)
	_ target.Supervised  = (*Target)(nil)
	_ target.Datastore   = (*Target)(nil)
	_ target.Emulation   = (*Target)(nil)
	_ target.Folder      = (*Target)(nil)
	_ target.Disturbable = (*Target)(nil)
	_ target.Upstream    = (*Target)(nil)
	_ target.Counting    = (*Target)(nil)
)

// Parts names the binaries that a target of the spec is made of, but for the
// server of an SQL database, which must be installed.
func Parts(spec v1alpha1.LocalTarget) []string {
	var parts []string
	add := func(wanted bool, part string) {
		if wanted && !slices.Contains(parts, part) {
			parts = append(parts, part)
		}
	}
	add(spec.Datastore.Kine == nil, etcdPart)
	add(spec.Datastore.Kine != nil, kinePart)
	add(spec.KubeAPIServer.On(), apiserverPart)
	add(spec.KubeControllerManager != nil, controllerManagerPart)
	add(spec.KubeScheduler != nil, schedulerPart)
	add(spec.Kwok != nil, kwokPart)
	if spec.Steve != nil {
		add(true, stevePartOf(*spec.Steve))
	}
	if spec.Downstream != nil {
		for _, part := range Parts(downstreamSpec(spec)) {
			add(true, part)
		}
	}
	return parts
}

// Check says whether a target of the spec could be started now, before anything
// is: whether the database servers that it needs are installed (ErrNoServer
// otherwise), the folders that it names may be written to, and its RAM disks have
// room in memory together.
func Check(ctx context.Context, spec v1alpha1.LocalTarget) error {
	specs := []v1alpha1.LocalTarget{spec}
	if spec.Downstream != nil {
		specs = append(specs, downstreamSpec(spec))
	}
	var memory v1alpha1.Bytes
	for _, one := range specs {
		if ownServer(one.Datastore.Kine) {
			if _, err := FindServer(ctx, one.Datastore.Kine.Backend); err != nil {
				return err
			}
		}
		for _, dir := range []string{chosenDataDir(one), chosenWALDir(one)} {
			if dir == "" {
				continue
			}
			if err := target.CheckFolder(dir); err != nil {
				return noFolder(err)
			}
		}
		memory += (v1alpha1.Target{Local: &one}).RAMDisk()
	}
	if memory == 0 {
		return nil
	}
	return ramdisk.Check(memory)
}

var errNoAPI = errors.New("the target has no API server: kubeAPIServer is not enabled")

// Start starts the target and returns when all of it is ready and the load
// user may use the API server. ctx bounds the start only. Binaries are found, and
// built if need be, before anything is started. A failed start is undone.
func Start(ctx context.Context, o Options) (*Target, error) {
	t := &Target{options: o, restarted: make(chan error, 64), counters: prometheus.NewRegistry()}
	var err error
	if t.plane, err = t.newPlane(ctx, "", o.Spec); err != nil {
		return nil, err
	}
	if o.Spec.Downstream != nil {
		if t.downstream, err = t.newPlane(ctx, downstreamPrefix, downstreamSpec(o.Spec)); err != nil {
			return nil, err
		}
	}
	if err := t.start(ctx); err != nil {
		return nil, errors.Join(err, t.Close(context.WithoutCancel(ctx)))
	}
	return t, nil
}

// newPlane finds all that a control plane needs before anything is started.
func (t *Target) newPlane(ctx context.Context, prefix string, spec v1alpha1.LocalTarget) (*plane, error) {
	if spec.Steve != nil && !spec.KubeAPIServer.On() {
		return nil, errors.New("steve is in front of an API server, and kubeAPIServer is not enabled: enable it, or leave steve out")
	}
	p := &plane{target: t, prefix: prefix, spec: spec, binaries: map[string]assets.Binary{}, clients: map[string]*http.Client{}}
	for _, part := range Parts(spec) {
		b, err := t.options.Binaries.Find(ctx, part)
		if err != nil {
			return nil, err
		}
		p.binaries[part] = b
	}
	if err := checkSteve(p); err != nil {
		return nil, err
	}
	kine := spec.Datastore.Kine
	if !ownServer(kine) {
		return p, nil
	}
	var err error
	if p.server, err = FindServer(ctx, kine.Backend); err != nil {
		return nil, err
	}
	p.password = newPassword()
	p.account, err = accountFor(kine.Backend)
	return p, err
}

// planes are the control planes.
func (t *Target) planes() []*plane {
	if t.downstream == nil {
		return []*plane{t.plane}
	}
	return []*plane{t.plane, t.downstream}
}

func (t *Target) start(ctx context.Context) (err error) {
	for _, p := range t.planes() {
		if p.where, err = t.makeFolders(p); err != nil {
			return err
		}
		if p.keys, err = newKeyring(p.where.secrets); err != nil {
			return fmt.Errorf("make certificates in %s: %w", p.where.secrets, err)
		}
	}
	if audits(t.spec) {
		if t.audit, err = startAudit(t.where.secrets, t.counters); err != nil {
			return err
		}
	}
	for attempt := 1; ; attempt++ {
		if err := t.choosePorts(); err != nil {
			return err
		}
		if t.components, err = t.build(); err != nil {
			return err
		}
		t.shutSteve()
		err = t.boot(ctx)
		if !errors.Is(err, process.ErrAddressInUse) || attempt == bootAttempts {
			break
		}
		if err := t.unshutSteve(); err != nil { // the next attempt has other ports
			return err
		}
	}
	if err == nil && t.steveNote != "" {
		t.tell("%s", t.steveNote)
	}
	return err
}

// choosePorts chooses those of all planes.
func (t *Target) choosePorts() error {
	var specs []v1alpha1.LocalTarget
	for _, p := range t.planes() {
		specs = append(specs, p.spec)
	}
	chosen, err := choosePorts(specs...)
	for i, p := range t.planes() {
		p.ports = chosen[i]
	}
	return err
}

// build gives all components.
func (t *Target) build() ([]component, error) {
	var all []component
	for _, p := range t.planes() {
		some, err := p.build()
		if err != nil {
			return nil, err
		}
		all = append(all, some...)
	}
	if t.downstream != nil {
		for _, end := range buildTunnel(t.options.Program, t.plane, t.downstream) {
			if err := t.plane.complete(&end); err != nil {
				return nil, err
			}
			all = append(all, end)
		}
	}
	return all, nil
}

// tell gives a note to the user, if somebody listens.
func (t *Target) tell(format string, args ...any) {
	if t.options.Note != nil {
		t.options.Note(fmt.Sprintf(format, args...))
	}
}

// Capabilities gives the target with the capabilities of its spec, and no
// others: one without an API server is no target.KubeAPI.
func (t *Target) Capabilities() target.Target {
	type datastore interface {
		target.Target
		target.Supervised
		target.Datastore
		target.Emulation
		target.Folder
		target.Disturbable
		target.Restarting
		target.Counting
	}
	switch {
	case !t.spec.KubeAPIServer.On():
		return struct{ datastore }{t}
	case t.spec.Steve == nil:
		return struct {
			datastore
			target.KubeAPI
			target.Upstream
		}{t, t, t}
	default:
		return t
	}
}

// Downstream is the control plane behind the tunnel; nil without one.
func (t *Target) Downstream() target.Cluster {
	if t.downstream == nil {
		return nil // a nil *plane would be a cluster
	}
	return t.downstream
}

// Counters are those of the API server's audit log, if it has one.
func (t *Target) Counters() prometheus.Gatherer { return t.counters }

// Endpoints are the metrics of all components that have any.
func (t *Target) Endpoints() []target.Endpoint {
	t.lock.Lock()
	defer t.lock.Unlock()
	var all []target.Endpoint
	for _, c := range t.components {
		if c.metrics == "" {
			continue
		}
		all = append(all, target.Endpoint{
			Component: c.name, URL: c.metrics, Client: c.plane.client(c.ca, c.observer), Interval: c.scrapeInterval,
		})
	}
	return all
}

// Profiles says where a component serves profiles, if it does.
func (t *Target) Profiles(component string) (url string, client *http.Client, ok bool) {
	t.lock.Lock()
	defer t.lock.Unlock()
	for _, c := range t.components {
		if c.name == component && c.profiles != "" {
			return c.profiles, c.plane.client(c.ca, c.observer), true
		}
	}
	return "", nil, false
}

// Processes are the components that run, until Close.
func (t *Target) Processes() []target.Process {
	t.lock.Lock()
	defer t.lock.Unlock()
	var all []target.Process
	for _, c := range t.components {
		if p := t.running[c.name]; p != nil && p.Running() && !t.closed {
			all = append(all, target.Process{Component: c.name, PID: p.PID(), Tree: c.tree})
		}
	}
	return all
}

// Failed delivers the *process.ExitError of the first component that ends
// without having been asked to.
func (t *Target) Failed() <-chan error { return t.failed }

// Restarted delivers what components ended with that are started anew.
func (t *Target) Restarted() <-chan error { return t.restarted }

// Describe says what runs, also after Close.
func (t *Target) Describe(context.Context) (target.Description, error) {
	t.lock.Lock()
	defer t.lock.Unlock()
	var d target.Description
	for _, c := range t.components {
		one := target.ComponentDescription{
			Name: c.name, Version: c.binary.Version, Binary: c.binary.Path, Source: c.binary.Source,
			SHA256: c.binary.SHA256, Args: slices.Concat(c.first, c.flags.args(), c.secret.args()), Log: c.log,
		}
		if p := t.running[c.name]; p != nil {
			one.PID = p.PID()
		}
		d.Components = append(d.Components, one)
	}
	return d, nil
}

// Close stops what is in front first, the datastore last, and removes the data, the
// keys and the kubeconfigs. Components are killed when ctx is over.
func (t *Target) Close(ctx context.Context) error {
	t.lock.Lock()
	defer t.lock.Unlock()
	if t.closed {
		return nil
	}
	t.closed = true
	errs := []error{t.stop(ctx), t.unshutSteve(), t.audit.close()}
	for _, path := range slices.Backward(t.made) {
		if err := ramdisk.Remove(path); err != nil {
			errs = append(errs, fmt.Errorf("remove the target's data: %w", err))
		}
	}
	return errors.Join(errs...)
}
