// Package local is the target that plimsoll starts on this machine: real
// components as child processes, described as data and run by one interpreter.
package local

import (
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"sync"

	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"

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
	// Note, if set, hears what a user should know about where things are.
	Note func(string)
}

// Binaries finds the binary of a part; *assets.Finder is the real one.
type Binaries interface {
	Find(ctx context.Context, name string) (assets.Binary, error)
}

// Target is a running control plane.
type Target struct {
	where folders
	spec  v1alpha1.LocalTarget
	keys  *keyring
	ports ports
	audit *audit // nil if the API server tells of nothing

	counters *prometheus.Registry

	mu         sync.Mutex
	components []component
	running    map[string]*process.Process // by component; stays after Close, for Describe
	clients    map[string]*http.Client     // by certificate
	failed     chan error
	made       []string // removed by Close, last first
	own        func(string) error
	note       func(string)
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
		parts = append(parts, stevePart)
	}
	return parts
}

// CheckServer says whether the database server that a target of the spec needs
// is installed; ErrNoServer otherwise.
func CheckServer(ctx context.Context, spec v1alpha1.LocalTarget) error {
	if !ownServer(spec.Datastore.Kine) {
		return nil
	}
	_, err := FindServer(ctx, spec.Datastore.Kine.Backend)
	return err
}

var errNoAPI = errors.New("the target has no API server: kubeAPIServer is not enabled")

// Start starts the target and returns when all of it is ready and the load
// user may use the API server. ctx bounds the start only. Binaries are found, and
// built if need be, before anything is started. A failed start is undone.
func Start(ctx context.Context, o Options) (*Target, error) {
	binaries := map[string]assets.Binary{}
	for _, part := range Parts(o.Spec) {
		b, err := o.Binaries.Find(ctx, part)
		if err != nil {
			return nil, err
		}
		binaries[part] = b
	}
	if o.Spec.Steve != nil && !servesAPI(o.Spec) {
		return nil, errors.New("steve is in front of an API server, and kubeAPIServer is not enabled: enable it, or leave steve out")
	}
	p := plan{spec: o.Spec, binaries: binaries}
	if kine := o.Spec.Datastore.Kine; ownServer(kine) {
		var err error
		if p.server, err = FindServer(ctx, kine.Backend); err != nil {
			return nil, err
		}
		p.password = newPassword()
		if p.account, err = accountFor(kine.Backend); err != nil {
			return nil, err
		}
	}
	t := &Target{spec: o.Spec, clients: map[string]*http.Client{}, own: o.Own, note: o.Note, counters: prometheus.NewRegistry()}
	if err := t.start(ctx, o, p); err != nil {
		return nil, errors.Join(err, t.Close(context.WithoutCancel(ctx)))
	}
	return t, nil
}

func (t *Target) start(ctx context.Context, o Options, p plan) error {
	where, err := t.makeFolders(o, p.account)
	if err != nil {
		return err
	}
	t.where = where
	if t.keys, err = newKeyring(where.secrets); err != nil {
		return fmt.Errorf("make certificates in %s: %w", where.secrets, err)
	}
	if audits(o.Spec) {
		if t.audit, err = startAudit(where.secrets, t.counters); err != nil {
			return err
		}
	}
	for attempt := 1; ; attempt++ {
		if t.ports, err = choosePorts(o.Spec); err != nil {
			return err
		}
		p.where, p.ports, p.keys, p.audit = where, t.ports, t.keys, t.audit
		t.components, err = build(p)
		if err != nil {
			return err
		}
		err = t.boot(ctx)
		if !errors.Is(err, process.ErrAddressInUse) || attempt == bootAttempts {
			break
		}
	}
	if err == nil && o.Spec.Steve != nil && t.note != nil {
		t.note(fmt.Sprintf("Steve listens on port %d of all interfaces, which it has no flag against: who reaches it is an admin of the target", t.ports.steve))
	}
	return err
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
		target.Counting
	}
	switch {
	case !servesAPI(t.spec):
		return struct{ datastore }{t}
	case t.spec.Steve == nil:
		return struct {
			datastore
			target.KubeAPI
		}{t, t}
	default:
		return t
	}
}

// folders are the absolute paths that components are given.
type folders struct {
	secrets, logs string
	data          string // with one for each component
	wal           string // with one for each member of etcd; empty if their logs are with their data
}

func (t *Target) makeFolders(o Options, server *account) (f folders, err error) {
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
	f.secrets = filepath.Join(cmp.Or(o.SecretDir, dir), "secrets")
	if err := t.mkdir(f.secrets); err != nil {
		return f, err
	}
	if f.data, err = t.makeDataFolder(dir, o.Spec); err != nil {
		return f, err
	}
	if server != nil {
		f.data, err = t.openTo(server, f.data, chosenDataDir(o.Spec) != "")
		return f, err
	}
	if etcd := o.Spec.Datastore.Etcd; etcd != nil && etcd.WALDir != "" {
		f.wal, err = t.mkdirIn(etcd.WALDir)
	}
	return f, err
}

// makeDataFolder makes the folder for data where the document wants it: in
// one of its choice, on a RAM disk, or in the working directory.
func (t *Target) makeDataFolder(dir string, spec v1alpha1.LocalTarget) (string, error) {
	if chosen := chosenDataDir(spec); chosen != "" {
		return t.mkdirIn(chosen)
	}
	data := filepath.Join(dir, "data")
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

// mkdirIn makes a folder in one of the document's choice.
func (t *Target) mkdirIn(parent string) (string, error) {
	dir, err := target.MakeFolder(parent)
	if err != nil {
		return "", fmt.Errorf("make a folder for the datastore's data: %w", err)
	}
	return dir, t.keep(dir)
}

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

// RESTConfig gives a new client configuration, without any client-side limit.
func (t *Target) RESTConfig(id target.Identity) (*rest.Config, error) {
	if !servesAPI(t.spec) {
		return nil, errNoAPI
	}
	pair, err := t.keys.identity(id)
	if err != nil {
		return nil, err
	}
	return &rest.Config{
		Host:            t.ports.apiserverURL(),
		TLSClientConfig: rest.TLSClientConfig{CAData: t.keys.caPEM(kubernetesCA), CertData: pair.certPEM, KeyData: pair.keyPEM},
		QPS:             -1,
	}, nil
}

// Etcd gives the client URLs of etcd's members, or of kine, with the API
// server's own certificate.
func (t *Target) Etcd() (endpoints []string, config *tls.Config) {
	return t.ports.datastoreURLs(), t.keys.tlsConfig(etcdCA, etcdClient)
}

// Folders are those of etcd's write-ahead logs, if these are apart, and of the
// components' data, in both of which each has one of its own.
func (t *Target) Folders() []string {
	if t.where.wal != "" {
		return []string{t.where.wal, t.where.data}
	}
	return []string{t.where.data}
}

// Emulates is kine where that stands in for etcd.
func (t *Target) Emulates() string {
	if t.spec.Datastore.Kine != nil {
		return kinePart
	}
	return ""
}

// Counters are those of the API server's audit log, if it has one.
func (t *Target) Counters() prometheus.Gatherer { return t.counters }

// Kubeconfig writes a kubeconfig for the identity, readable by the owner only,
// and gives its path. Close removes it.
func (t *Target) Kubeconfig(id target.Identity) (string, error) {
	if !servesAPI(t.spec) {
		return "", errNoAPI
	}
	return writeKubeconfig(t.keys, t.ports.apiserverURL(), id)
}

func writeKubeconfig(keys *keyring, server string, id target.Identity) (string, error) {
	pair, err := keys.identity(id)
	if err != nil {
		return "", err
	}
	const name = "plimsoll"
	path := filepath.Join(keys.dir, string(id)+".kubeconfig")
	err = clientcmd.WriteToFile(clientcmdapi.Config{
		Clusters:       map[string]*clientcmdapi.Cluster{name: {Server: server, CertificateAuthorityData: keys.caPEM(kubernetesCA)}},
		AuthInfos:      map[string]*clientcmdapi.AuthInfo{string(id): {ClientCertificateData: pair.certPEM, ClientKeyData: pair.keyPEM}},
		Contexts:       map[string]*clientcmdapi.Context{name: {Cluster: name, AuthInfo: string(id)}},
		CurrentContext: name,
	}, path)
	if err != nil {
		return "", fmt.Errorf("write the kubeconfig of %s: %w", id, err)
	}
	return path, nil
}

// Endpoints are the metrics of all components that have any.
func (t *Target) Endpoints() []target.Endpoint {
	t.mu.Lock()
	defer t.mu.Unlock()
	var all []target.Endpoint
	for _, c := range t.components {
		if c.metrics == "" {
			continue
		}
		all = append(all, target.Endpoint{
			Component: c.name, URL: c.metrics, Client: t.client(c.ca, c.observer), Interval: c.scrapeInterval,
		})
	}
	return all
}

// Processes are the components that run, until Close.
func (t *Target) Processes() []target.Process {
	t.mu.Lock()
	defer t.mu.Unlock()
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

// Describe says what runs, also after Close.
func (t *Target) Describe(context.Context) (target.Description, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
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
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.closed {
		return nil
	}
	t.closed = true
	errs := []error{t.stop(ctx), t.audit.close()}
	for _, path := range slices.Backward(t.made) {
		if err := ramdisk.Remove(path); err != nil {
			errs = append(errs, fmt.Errorf("remove the target's data: %w", err))
		}
	}
	return errors.Join(errs...)
}
