package borrowed

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
	"go.uber.org/zap"
	"k8s.io/client-go/util/cert"

	"plimsoll.dev/plimsoll/api/v1alpha1"
	"plimsoll.dev/plimsoll/internal/target"
)

const (
	// etcdTimeout bounds the first request to an etcd: one that is not there is reported, and not waited for.
	etcdTimeout = 5 * time.Second
	// etcdCleanTimeout bounds the removal of a run's keys.
	etcdCleanTimeout = time.Minute
)

// Etcd is an etcd of somebody's, or what speaks its API. A run writes under a
// prefix of its own there.
type Etcd struct {
	endpoints []string
	config    *tls.Config // nil without TLS
	client    *clientv3.Client
	version   string
}

var (
	_ target.Target    = (*Etcd)(nil)
	_ target.Datastore = (*Etcd)(nil)
	_ target.Shared    = (*Etcd)(nil)
)

// OpenEtcd connects to the endpoints and asks each for its version. An
// unreachable one is an error within five seconds that names it.
func OpenEtcd(ctx context.Context, spec v1alpha1.BorrowedEtcd) (*Etcd, error) {
	t := &Etcd{endpoints: spec.Endpoints}
	var err error
	if t.config, err = tlsConfig(spec); err != nil {
		return nil, err
	}
	t.client, err = clientv3.New(clientv3.Config{
		Endpoints: spec.Endpoints, TLS: t.config, DialTimeout: etcdTimeout, Logger: zap.NewNop(),
	})
	if err != nil {
		return nil, fmt.Errorf("connect to etcd at %s: %w", strings.Join(spec.Endpoints, ", "), err)
	}
	if err := t.ask(ctx); err != nil {
		return nil, errors.Join(err, t.client.Close())
	}
	return t, nil
}

// ask asks every endpoint at once, so that the slowest decides.
func (t *Etcd) ask(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, etcdTimeout)
	defer cancel()
	errs := make([]error, len(t.endpoints))
	versions := make([]string, len(t.endpoints))
	var asked sync.WaitGroup
	for i, endpoint := range t.endpoints {
		asked.Go(func() {
			err := knock(ctx, endpoint)
			var status *clientv3.StatusResponse
			if err == nil {
				status, err = t.client.Status(ctx, endpoint)
			}
			if err != nil {
				errs[i] = fmt.Errorf("reach etcd at %s: %w: is the server running there, is it http or https, and do ca, cert and key fit?", endpoint, err)
				return
			}
			versions[i] = status.Version
		})
	}
	asked.Wait()
	t.version = versions[0]
	return errors.Join(errs...)
}

// knock opens a connection and closes it: etcd's client would try again until
// the time is over, and then not say that the connection was refused.
func knock(ctx context.Context, endpoint string) error {
	u, err := url.Parse(endpoint)
	if err != nil || u.Host == "" {
		return errors.New("this is not a URL such as https://127.0.0.1:2379")
	}
	conn, err := new(net.Dialer).DialContext(ctx, "tcp", u.Host)
	if err != nil {
		return err
	}
	return conn.Close()
}

// tlsConfig reads the certificates; nil, if there are none and none are needed.
func tlsConfig(spec v1alpha1.BorrowedEtcd) (*tls.Config, error) {
	secure := spec.CA != "" || spec.Cert != "" || spec.Key != ""
	for _, endpoint := range spec.Endpoints {
		secure = secure || strings.HasPrefix(endpoint, "https://")
	}
	if !secure {
		return nil, nil
	}
	config := &tls.Config{MinVersion: tls.VersionTLS12}
	if spec.CA != "" {
		var err error
		if config.RootCAs, err = cert.NewPool(spec.CA); err != nil {
			return nil, fmt.Errorf("read the certificate authority of etcd: %w", err)
		}
	}
	if spec.Cert == "" && spec.Key == "" {
		return config, nil
	}
	pair, err := tls.LoadX509KeyPair(spec.Cert, spec.Key)
	if err != nil {
		return nil, fmt.Errorf("read the client certificate for etcd (it takes both cert and key): %w", err)
	}
	config.Certificates = []tls.Certificate{pair}
	return config, nil
}

// Name is what a user is asked about.
func (t *Etcd) Name() string { return "etcd at " + strings.Join(t.endpoints, ", ") }

// Etcd implements target.Datastore.
func (t *Etcd) Etcd() (endpoints []string, config *tls.Config) {
	if t.config == nil {
		return t.endpoints, nil
	}
	return t.endpoints, t.config.Clone()
}

// Describe implements target.Target.
func (t *Etcd) Describe(context.Context) (target.Description, error) {
	return target.Description{Components: []target.ComponentDescription{
		{Name: "etcd", Version: t.version, Source: "borrowed"},
	}}, nil
}

// Endpoints implements target.Target: etcd serves its metrics where its clients are served.
func (t *Etcd) Endpoints() []target.Endpoint {
	var all []target.Endpoint
	for i, endpoint := range t.endpoints {
		name := "etcd"
		if len(t.endpoints) > 1 {
			name = fmt.Sprintf("etcd-%d", i+1)
		}
		client := &http.Client{Transport: &http.Transport{TLSClientConfig: t.config.Clone()}}
		all = append(all, target.Endpoint{Component: name, URL: strings.TrimSuffix(endpoint, "/") + "/metrics", Client: client})
	}
	return all
}

// Clean implements target.Shared: it deletes the keys under the run's prefix.
// kine, which knows no deletion of many, is asked for one key after the other.
func (t *Etcd) Clean(ctx context.Context, runID string) error {
	ctx, cancel := context.WithTimeout(ctx, etcdCleanTimeout)
	defer cancel()
	prefix := target.KeyPrefix(runID)
	_, err := t.client.Delete(ctx, prefix, clientv3.WithPrefix())
	if err == nil {
		var left *clientv3.GetResponse
		if left, err = t.client.Get(ctx, prefix, clientv3.WithPrefix(), clientv3.WithCountOnly()); err == nil && left.Count == 0 {
			return nil
		}
	}
	if err := t.cleanSingly(ctx, prefix); err != nil {
		return fmt.Errorf("remove the run's keys: %w; what is left is under %s", err, prefix)
	}
	return nil
}

// cleanPage is how many keys are asked for at once.
const cleanPage = 1000

func (t *Etcd) cleanSingly(ctx context.Context, prefix string) error {
	for {
		page, err := t.client.Get(ctx, prefix, clientv3.WithPrefix(), clientv3.WithLimit(cleanPage))
		if err != nil || len(page.Kvs) == 0 {
			return err
		}
		for _, kv := range page.Kvs {
			key := string(kv.Key)
			unchanged := clientv3.Compare(clientv3.ModRevision(key), "=", kv.ModRevision)
			if _, err := t.client.Txn(ctx).If(unchanged).Then(clientv3.OpDelete(key)).Else(clientv3.OpGet(key)).Commit(); err != nil {
				return err
			}
		}
	}
}

// Close implements target.Target: the server goes on.
func (t *Etcd) Close(context.Context) error {
	if err := t.client.Close(); err != nil && !errors.Is(err, context.Canceled) {
		return fmt.Errorf("close the connection to etcd: %w", err)
	}
	return nil
}
