package local

import (
	"cmp"
	"crypto/tls"
	"fmt"
	"net/http"
	"path/filepath"
	"sync"

	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"

	"plimsoll.dev/plimsoll/api/v1alpha1"
	"plimsoll.dev/plimsoll/internal/assets"
	"plimsoll.dev/plimsoll/internal/target"
)

// plane is one control plane of a target, with authorities, ports and data of
// its own: the first one, or that downstream of it. It is all that the builders
// need to know.
type plane struct {
	target *Target
	// prefix begins the names of its components towards everybody else.
	prefix   string
	spec     v1alpha1.LocalTarget
	where    folders
	ports    ports
	keys     *keyring
	binaries map[string]assets.Binary
	// audit takes what the API server tells of its requests; nil if it tells nothing.
	audit *audit
	// server is that of an SQL database, if plimsoll starts one, account the user
	// that runs it, and password that of kine.
	server   Server
	account  *account
	password string

	mu      sync.Mutex
	clients map[string]*http.Client // by certificate
}

var (
	_ target.Cluster = (*plane)(nil)
	_ target.Steve   = (*plane)(nil)
)

// build gives the components of the plane.
func (p *plane) build() ([]component, error) {
	all := p.buildDatastore()
	if p.spec.KubeAPIServer.On() {
		all = append(all, buildAPIServer(p))
	}
	if p.spec.KubeControllerManager != nil {
		all = append(all, buildControllerManager(p))
	}
	if p.spec.KubeScheduler != nil {
		all = append(all, buildScheduler(p))
	}
	if p.spec.Kwok != nil {
		kwok, err := buildKwok(p)
		if err != nil {
			return nil, err
		}
		all = append(all, kwok)
	}
	if p.spec.Steve != nil {
		all = append(all, buildSteve(p))
	}
	for i := range all {
		if err := p.complete(&all[i]); err != nil {
			return nil, fmt.Errorf("%s%s: %w", p.prefix, all[i].name, err)
		}
	}
	return all, nil
}

// buildDatastore gives etcd, or kine with the server under it if plimsoll starts one.
func (p *plane) buildDatastore() []component {
	switch {
	case p.spec.Datastore.Kine == nil:
		return buildEtcd(p)
	case p.server.Path == "":
		return []component{buildKine(p)}
	case p.spec.Datastore.Kine.Backend == v1alpha1.Postgres:
		return []component{buildPostgres(p), buildKine(p)}
	}
	return []component{buildMariaDB(p), buildKine(p)}
}

// complete adds what all components have: the flags of the document, a log, a
// kubeconfig for those that want one, and the names that everybody else knows.
func (p *plane) complete(c *component) (err error) {
	for _, document := range c.document {
		if c.flags, err = c.flags.with(document); err != nil {
			return err
		}
	}
	if c.kubeconfig != "" {
		if _, err := p.Kubeconfig(c.kubeconfig); err != nil {
			return err
		}
	}
	if c.binary.Path == "" {
		c.binary = p.binaries[c.name]
	}
	if c.needs != "" {
		c.needs = p.prefix + c.needs
	}
	c.readyTimeout, c.grace = cmp.Or(c.readyTimeout, startTimeout), cmp.Or(c.grace, stopGrace)
	c.plane, c.log, c.name = p, p.log(c.name), p.prefix+c.name
	return nil
}

// chores are what plimsoll does for the plane beside the starts.
func (p *plane) chores() []chore {
	if !p.spec.KubeAPIServer.On() {
		return nil
	}
	all := []chore{{p.prefix + apiserverPart, p.prefix + accessGate, p.admit}}
	if p.spec.KubeControllerManager != nil {
		all = append(all, chore{p.prefix + controllerManagerPart, "", p.awaitServiceAccount})
	}
	if nodeCount(p.spec.Kwok) > 0 {
		all = append(all, chore{p.prefix + accessGate, "", p.makeNodes}, chore{p.prefix + kwokPart, "", p.awaitNodes})
	}
	return all
}

// client gives the one client for a certificate. Without an authority it trusts
// every server: there is nobody else on plimsoll's own ports.
func (p *plane) client(ca, certificate string) *http.Client {
	p.mu.Lock()
	defer p.mu.Unlock()
	if c := p.clients[certificate]; c != nil {
		return c
	}
	// HTTP/1.1 only: etcd's peer port offers HTTP/2 and then does not speak it.
	transport := &http.Transport{MaxIdleConnsPerHost: nodeMakers, TLSClientConfig: &tls.Config{InsecureSkipVerify: true}}
	if ca != "" {
		transport.TLSClientConfig = p.keys.tlsConfig(ca, certificate)
	}
	p.clients[certificate] = &http.Client{Transport: transport}
	return p.clients[certificate]
}

// observer gives the client that a component answers to.
func (p *plane) observer(c component) *http.Client { return p.client(c.ca, c.observer) }

// admin gives the client of the identity that prepares.
func (p *plane) admin() *http.Client { return p.client(kubernetesCA, adminClient) }

func (p *plane) closeIdleConnections() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, c := range p.clients {
		c.CloseIdleConnections()
	}
}

// RESTConfig gives a new client configuration, without any client-side limit.
func (p *plane) RESTConfig(id target.Identity) (*rest.Config, error) {
	if !p.spec.KubeAPIServer.On() {
		return nil, errNoAPI
	}
	pair, err := p.keys.identity(id)
	if err != nil {
		return nil, err
	}
	return &rest.Config{
		Host:            p.ports.apiserverURL(),
		TLSClientConfig: rest.TLSClientConfig{CAData: p.keys.caPEM(kubernetesCA), CertData: pair.certPEM, KeyData: pair.keyPEM},
		QPS:             -1,
	}, nil
}

// Etcd gives the client URLs of etcd's members, or of kine, with the API
// server's own certificate.
func (p *plane) Etcd() (endpoints []string, config *tls.Config) {
	return p.ports.datastoreURLs(), p.keys.tlsConfig(etcdCA, etcdClient)
}

// Emulates is kine where that stands in for etcd.
func (p *plane) Emulates() string {
	if p.spec.Datastore.Kine != nil {
		return kinePart
	}
	return ""
}

func (p *plane) kubeconfigFile(id target.Identity) string {
	return filepath.Join(p.keys.dir, string(id)+".kubeconfig")
}

// Kubeconfig writes a kubeconfig for the identity, readable by the owner only,
// and gives its path. Close removes it.
func (p *plane) Kubeconfig(id target.Identity) (string, error) {
	if !p.spec.KubeAPIServer.On() {
		return "", errNoAPI
	}
	pair, err := p.keys.identity(id)
	if err != nil {
		return "", err
	}
	const name = "plimsoll"
	path := p.kubeconfigFile(id)
	err = clientcmd.WriteToFile(clientcmdapi.Config{
		Clusters:       map[string]*clientcmdapi.Cluster{name: {Server: p.ports.apiserverURL(), CertificateAuthorityData: p.keys.caPEM(kubernetesCA)}},
		AuthInfos:      map[string]*clientcmdapi.AuthInfo{string(id): {ClientCertificateData: pair.certPEM, ClientKeyData: pair.keyPEM}},
		Contexts:       map[string]*clientcmdapi.Context{name: {Cluster: name, AuthInfo: string(id)}},
		CurrentContext: name,
	}, path)
	if err != nil {
		return "", fmt.Errorf("write the kubeconfig of %s: %w", id, err)
	}
	return path, nil
}
