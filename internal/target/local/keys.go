package local

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"fmt"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"sync"
	"time"

	"plimsoll.dev/plimsoll/internal/target"
)

// The authorities. Several, as in production: who may speak to the API server
// may not therefore speak to etcd, or for someone else.
const (
	kubernetesCA = "kubernetes-ca"
	etcdCA       = "etcd-ca"
	frontProxyCA = "front-proxy-ca"
	// nobody trusts this one: the service account key needs no chain.
	serviceAccountCA = "service-account-ca"
)

// The certificates that components name.
const (
	etcdServer       = "etcd"
	etcdClient       = "etcd-client"
	apiserverServer  = "kube-apiserver"
	frontProxyClient = "front-proxy-client"
	adminClient      = string(target.Admin)
	loadClient       = string(target.Load)
	serviceAccount   = "service-account"
	steveClient      = stevePart
	// controlServer is what all clients of the API server serve their metrics with,
	// and monitorClient what these are read with.
	controlServer = "control-plane"
	monitorClient = "monitor"
)

// steveUser is Steve's name for the API server.
const steveUser = "plimsoll-steve"

// loadGroup is the group of the load users, which their role is bound to.
const loadGroup = "plimsoll:load"

// certificate is a leaf as data.
type certificate struct {
	name, authority string
	user            string
	groups          []string
	server          bool
}

// certificates lists all leaves. An identity for the API server is one line:
// its name is that of the target.Identity.
func certificates() []certificate {
	return []certificate{
		{name: etcdServer, authority: etcdCA, user: "etcd", server: true},
		{name: etcdClient, authority: etcdCA, user: "kube-apiserver-etcd-client"},
		{name: apiserverServer, authority: kubernetesCA, user: "kube-apiserver", server: true},
		{name: frontProxyClient, authority: frontProxyCA, user: frontProxyClient},
		{name: adminClient, authority: kubernetesCA, user: "plimsoll-admin", groups: []string{"system:masters"}},
		{name: loadClient, authority: kubernetesCA, user: "plimsoll-load", groups: []string{loadGroup}},
		{name: steveClient, authority: kubernetesCA, user: steveUser},
		{name: controllerManagerPart, authority: kubernetesCA, user: controllerManagerUser},
		{name: schedulerPart, authority: kubernetesCA, user: schedulerUser},
		{name: kwokPart, authority: kubernetesCA, user: kwokUser, groups: []string{kubeletGroup}},
		{name: tunnelAgent, authority: kubernetesCA, user: tunnelUser},
		{name: controlServer, authority: kubernetesCA, user: "plimsoll-control-plane", server: true},
		{name: monitorClient, authority: kubernetesCA, user: "plimsoll-monitor", groups: []string{"system:monitoring"}},
		{name: serviceAccount, authority: serviceAccountCA, user: serviceAccount}, // signs tokens; as a certificate its public half is a file too
	}
}

// validity outlasts every run.
const validity = 365 * 24 * time.Hour

// keyring holds all keys and certificates of one target, in memory and as files.
type keyring struct {
	dir   string
	mu    sync.Mutex // of pairs, once users are added
	pairs map[string]keyPair
}

type keyPair struct {
	cert            *x509.Certificate
	key             crypto.Signer
	certPEM, keyPEM []byte
}

// newKeyring makes everything anew and writes NAME.crt and NAME.key into dir.
func newKeyring(dir string) (*keyring, error) {
	k := &keyring{dir: dir, pairs: map[string]keyPair{}}
	for _, name := range []string{kubernetesCA, etcdCA, frontProxyCA, serviceAccountCA} {
		if err := k.add(name, authorityTemplate(name), name); err != nil {
			return nil, err
		}
	}
	for _, c := range certificates() {
		if err := k.add(c.name, leafTemplate(c), c.authority); err != nil {
			return nil, err
		}
	}
	return k, nil
}

func authorityTemplate(name string) *x509.Certificate {
	return &x509.Certificate{
		Subject: pkix.Name{CommonName: "plimsoll " + name}, IsCA: true, BasicConstraintsValid: true,
		KeyUsage: x509.KeyUsageCertSign | x509.KeyUsageDigitalSignature,
	}
}

func leafTemplate(c certificate) *x509.Certificate {
	t := &x509.Certificate{
		Subject:     pkix.Name{CommonName: c.user, Organization: c.groups},
		KeyUsage:    x509.KeyUsageDigitalSignature,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth},
	}
	if c.server {
		// A client as well: etcd's members dial each other with the certificate that they serve with.
		t.ExtKeyUsage = append(t.ExtKeyUsage, x509.ExtKeyUsageServerAuth)
		t.DNSNames = []string{"localhost", "kubernetes", "kubernetes.default", "kubernetes.default.svc", "kubernetes.default.svc.cluster.local"}
		t.IPAddresses = []net.IP{net.ParseIP(loopbackIP), net.IPv6loopback, net.ParseIP(serviceIP)}
	}
	return t
}

// add makes a key, signs its certificate with the issuer, and writes both. An
// issuer of the same name signs itself.
func (k *keyring) add(name string, template *x509.Certificate, issuer string) error {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return err
	}
	template.SerialNumber = big.NewInt(int64(len(k.pairs) + 1))
	template.NotBefore = time.Now().Add(-time.Hour)
	template.NotAfter = time.Now().Add(validity)
	parent := keyPair{cert: template, key: key}
	if name != issuer {
		parent = k.pairs[issuer]
	}
	der, err := x509.CreateCertificate(rand.Reader, template, parent.cert, key.Public(), parent.key)
	if err != nil {
		return fmt.Errorf("sign the certificate of %s: %w", name, err)
	}
	pair := keyPair{key: key, certPEM: pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})}
	if pair.cert, err = x509.ParseCertificate(der); err != nil {
		return err
	}
	keyDER, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		return err
	}
	pair.keyPEM = pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: keyDER})
	k.pairs[name] = pair
	if err := os.WriteFile(k.certFile(name), pair.certPEM, 0o644); err != nil {
		return err
	}
	return os.WriteFile(k.keyFile(name), pair.keyPEM, 0o600)
}

func (k *keyring) certFile(name string) string { return filepath.Join(k.dir, name+".crt") }
func (k *keyring) keyFile(name string) string  { return filepath.Join(k.dir, name+".key") }
func (k *keyring) caPEM(name string) []byte    { return k.pair(name).certPEM }

func (k *keyring) pair(name string) keyPair {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.pairs[name]
}

// identity gives the key pair of a user of the API server; that of a load user
// is issued when first asked for.
func (k *keyring) identity(id target.Identity) (keyPair, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if user, ok := id.User(); ok {
		name := string(id)
		if _, issued := k.pairs[name]; !issued {
			c := certificate{user: "plimsoll-" + user, groups: []string{loadGroup}}
			if err := k.add(name, leafTemplate(c), kubernetesCA); err != nil {
				return keyPair{}, fmt.Errorf("issue a certificate for user %s: %w", user, err)
			}
		}
		return k.pairs[name], nil
	}
	for _, c := range certificates() {
		if c.name == string(id) && c.authority == kubernetesCA && !c.server {
			return k.pairs[c.name], nil
		}
	}
	return keyPair{}, fmt.Errorf("the target has no identity %q", id)
}

// tlsConfig is that of a client.
func (k *keyring) tlsConfig(ca, certificate string) *tls.Config {
	roots := x509.NewCertPool()
	roots.AddCert(k.pair(ca).cert)
	pair := k.pair(certificate)
	return &tls.Config{
		RootCAs:      roots,
		Certificates: []tls.Certificate{{Certificate: [][]byte{pair.cert.Raw}, PrivateKey: pair.key, Leaf: pair.cert}},
	}
}
