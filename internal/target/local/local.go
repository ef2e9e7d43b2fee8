// Package local is the target that plimsoll starts on this machine: real
// components as child processes, described as data and run by one interpreter.
package local

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
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
	*plane
	downstream *plane // nil without one

	counters *prometheus.Registry

	lock       sync.Mutex
	components []component
	running    map[string]*process.Process // by component; stays after Close, for Describe
	failed     chan error
	restarted  chan error
	made       []string // removed by Close, last first
	own        func(string) error
	note       func(string)
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
	parts := []string{etcdPart}
	if spec.Datastore.Kine != nil {
		parts = []string{kinePart}
	}
	if servesAPI(spec) {
		parts = append(parts, apiserverPart)
	}
	if spec.KubeControllerManager != nil {
		parts = append(parts, controllerManagerPart)
	}
	if spec.KubeScheduler != nil {
		parts = append(parts, schedulerPart)
	}
	if spec.Kwok != nil {
		parts = append(parts, kwokPart)
	}
	if spec.Steve != nil {
		parts = append(parts, stevePartOf(*spec.Steve))
	}
	if spec.Downstream != nil {
		for _, part := range Parts(downstreamSpec(spec)) {
			if !slices.Contains(parts, part) {
				parts = append(parts, part)
			}
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
	t := &Target{own: o.Own, note: o.Note, restarted: make(chan error, 64), counters: prometheus.NewRegistry()}
	var err error
	if t.plane, err = t.newPlane(ctx, o, "", o.Spec); err != nil {
		return nil, err
	}
	if o.Spec.Downstream != nil {
		if t.downstream, err = t.newPlane(ctx, o, downstreamPrefix, downstreamSpec(o.Spec)); err != nil {
			return nil, err
		}
	}
	if err := t.start(ctx, o); err != nil {
		return nil, errors.Join(err, t.Close(context.WithoutCancel(ctx)))
	}
	return t, nil
}

// newPlane finds all that a control plane needs before anything is started.
func (t *Target) newPlane(ctx context.Context, o Options, prefix string, spec v1alpha1.LocalTarget) (*plane, error) {
	if spec.Steve != nil && !servesAPI(spec) {
		return nil, errors.New("steve is in front of an API server, and kubeAPIServer is not enabled: enable it, or leave steve out")
	}
	p := &plane{target: t, prefix: prefix, spec: spec, binaries: map[string]assets.Binary{}, clients: map[string]*http.Client{}}
	for _, part := range Parts(spec) {
		b, err := o.Binaries.Find(ctx, part)
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

func (t *Target) start(ctx context.Context, o Options) (err error) {
	for _, p := range t.planes() {
		if p.where, err = t.makeFolders(o, p); err != nil {
			return err
		}
		if p.keys, err = newKeyring(p.where.secrets); err != nil {
			return fmt.Errorf("make certificates in %s: %w", p.where.secrets, err)
		}
	}
	if audits(o.Spec) {
		if t.audit, err = startAudit(t.where.secrets, t.counters); err != nil {
			return err
		}
	}
	for attempt := 1; ; attempt++ {
		if err := t.choosePorts(); err != nil {
			return err
		}
		if t.components, err = t.build(o); err != nil {
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
func (t *Target) build(o Options) ([]component, error) {
	var all []component
	for _, p := range t.planes() {
		some, err := p.build()
		if err != nil {
			return nil, err
		}
		all = append(all, some...)
	}
	if t.downstream != nil {
		all = append(all, buildTunnel(o.Program, t.plane, t.downstream)...)
	}
	return all, nil
}

// tell gives a note to the user, if somebody listens.
func (t *Target) tell(format string, args ...any) {
	if t.note != nil {
		t.note(fmt.Sprintf(format, args...))
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
	case !servesAPI(t.spec):
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

// makeFolders makes those of a plane.
func (t *Target) makeFolders(o Options, p *plane) (f folders, err error) {
	dir, err := filepath.Abs(o.Dir)
	if err != nil {
		return f, fmt.Errorf("find the working directory: %w", err)
	}
	if f.logs, err = filepath.Abs(o.LogDir); err != nil {
		return f, fmt.Errorf("find the log directory: %w", err)
	}
	if err := errors.Join(os.MkdirAll(dir, 0o755), os.MkdirAll(f.logs, 0o755)); err != nil {
		return f, fmt.Errorf("make the target's folders: %w", err)
	}
	f.secrets = filepath.Join(cmp.Or(o.SecretDir, dir), p.prefix+"secrets")
	if err := t.mkdir(f.secrets); err != nil {
		return f, err
	}
	if f.data, err = t.makeDataFolder(filepath.Join(dir, p.prefix+"data"), p.spec); err != nil {
		return f, err
	}
	if p.account != nil {
		f.data, err = t.openTo(p.account, f.data, chosenDataDir(p.spec) != "")
		return f, err
	}
	if chosen := chosenWALDir(p.spec); chosen != "" {
		f.wal, err = t.mkdirIn(chosen)
	}
	return f, err
}

// makeDataFolder makes the folder for data where the document wants it: in
// one of its choice, on a RAM disk, or at a path in the working directory.
func (t *Target) makeDataFolder(data string, spec v1alpha1.LocalTarget) (string, error) {
	if chosen := chosenDataDir(spec); chosen != "" {
		return t.mkdirIn(chosen)
	}
	if err := t.mkdir(data); err != nil {
		return "", err
	}
	if size := (v1alpha1.Target{Local: &spec}).RAMDisk(); size > 0 {
		return data, ramdisk.Mount(data, size)
	}
	return data, nil
}

// chosenDataDir is the document's folder for data, if it names one.
func chosenDataDir(spec v1alpha1.LocalTarget) string {
	switch {
	case spec.Datastore.Kine != nil:
		return spec.Datastore.Kine.DataDir
	case spec.Datastore.Etcd != nil:
		return spec.Datastore.Etcd.DataDir
	}
	return ""
}

// chosenWALDir is the document's folder for etcd's write-ahead logs, if it names one.
func chosenWALDir(spec v1alpha1.LocalTarget) string {
	if spec.Datastore.Etcd == nil {
		return ""
	}
	return spec.Datastore.Etcd.WALDir
}

// mkdirIn makes a folder in one of the document's choice.
func (t *Target) mkdirIn(parent string) (string, error) {
	dir, err := target.MakeFolder(parent)
	if err != nil {
		return "", noFolder(err)
	}
	return dir, t.keep(dir)
}

func noFolder(err error) error { return fmt.Errorf("make a folder for the datastore's data: %w", err) }

// mkdir makes a folder that must be new, since Close removes it with all that is in it.
func (t *Target) mkdir(dir string) error {
	if err := os.Mkdir(dir, 0o700); err != nil {
		return fmt.Errorf("make a folder for the target: %w", err)
	}
	return t.keep(dir)
}

// keep notes a folder that Close must remove.
func (t *Target) keep(dir string) error {
	t.made = append(t.made, dir)
	if t.own == nil {
		return nil
	}
	return t.own(dir)
}

// Folders are those of etcd's write-ahead logs, if these are apart, and of the
// components' data, in both of which each has one of its own.
func (t *Target) Folders() []string {
	all := t.where.all()
	if t.downstream != nil {
		all = append(all, t.downstream.where.all()...)
	}
	return all
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
