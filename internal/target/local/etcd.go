package local

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"time"

	"plimsoll.dev/plimsoll/api/v1alpha1"
)

const (
	etcdPart  = "etcd"
	etcdQuota = 8 << 30 // bytes: the most that etcd's authors support

	// An API server gives up after 20s without etcd. Less than that, so that
	// etcd is reported and not its consequence.
	etcdReady = 15 * time.Second
)

// etcdMembers is the number of etcd processes.
func etcdMembers(spec v1alpha1.LocalTarget) int {
	if spec.Datastore.Kine != nil {
		return 0
	}
	return etcdSpec(spec).Members
}

// etcdSpec is the document's etcd with its defaults.
func etcdSpec(spec v1alpha1.LocalTarget) v1alpha1.Etcd {
	var e v1alpha1.Etcd
	if spec.Datastore.Etcd != nil {
		e = *spec.Datastore.Etcd
	}
	e.Members = max(e.Members, 1)
	return e
}

// buildEtcd gives a component for each member.
func buildEtcd(p *plane) []component {
	spec := etcdSpec(p.spec)
	var cluster []string
	for i := range spec.Members {
		cluster = append(cluster, memberName(spec, i)+"="+loopback(p.ports.etcdPeers[i]))
	}
	var members []component
	for i := range spec.Members {
		name := memberName(spec, i)
		client, peer, metrics := loopback(p.ports.etcdClients[i]), loopback(p.ports.etcdPeers[i]), loopback(p.ports.etcdMetrics[i])
		data := p.home(name)
		own := flags{
			{"name", name},
			{"data-dir", data},
			{"listen-client-urls", client},
			{"advertise-client-urls", client},
			{"listen-metrics-urls", metrics}, // as kubeadm does: what is observed does not share a port with what is measured
			{"listen-peer-urls", peer},
			{"initial-advertise-peer-urls", peer},
			{"initial-cluster", strings.Join(cluster, ",")},
			{"initial-cluster-state", "new"},
			{"initial-cluster-token", "plimsoll"},
			{"client-cert-auth", "true"},
			{"trusted-ca-file", p.keys.certFile(etcdCA)},
			{"cert-file", p.keys.certFile(etcdServer)},
			{"key-file", p.keys.keyFile(etcdServer)},
			{"peer-client-cert-auth", "true"},
			{"peer-trusted-ca-file", p.keys.certFile(etcdCA)},
			{"peer-cert-file", p.keys.certFile(etcdServer)},
			{"peer-key-file", p.keys.keyFile(etcdServer)},
			{"quota-backend-bytes", fmt.Sprint(etcdQuota)},
		}
		var wal string
		if p.where.wal != "" {
			wal = filepath.Join(p.where.wal, p.prefix+name)
			own = append(own, flag{"wal-dir", wal})
		}
		document := []v1alpha1.Flags{spec.Flags}
		if i < len(spec.MemberFlags) {
			document = append(document, spec.MemberFlags[i])
		}
		var after string
		if i > 0 {
			// A new member asks its peers whether it is new. One that listens but
			// is not yet ready to answer makes it wait for two seconds.
			after = loopback(p.ports.etcdPeers[i-1]) + "/members"
		}
		members = append(members, component{
			name: name, binary: p.binaries[etcdPart], flags: own, document: document, data: data, wal: wal, after: after,
			ready: metrics + "/health", metrics: metrics + "/metrics", ca: etcdCA, observer: etcdClient,
			readyTimeout: etcdReady, layer: datastoreLayer,
		})
	}
	return members
}

// leading is among the metrics of the member that leads.
const leading = "\netcd_server_is_leader 1\n"

// leader names the member that leads; it waits while they choose one.
func (t *Target) leader() (name string, err error) {
	ctx, cancel := context.WithTimeout(context.Background(), etcdReady)
	defer cancel()
	err = retry(ctx, func(ctx context.Context) error {
		for _, c := range t.components {
			if c.plane != t.plane || c.layer != datastoreLayer {
				continue
			}
			metrics, err := get(ctx, c.plane.observer(c), c.metrics, 1<<20)
			if err == nil && strings.Contains(string(metrics), leading) {
				name = c.name
				return nil
			}
		}
		return errors.New("no member says of itself that it is")
	})
	return name, err
}

// memberName is plain etcd for a single member, else etcd-1, etcd-2, …
func memberName(spec v1alpha1.Etcd, i int) string {
	if spec.Members == 1 {
		return "etcd"
	}
	return fmt.Sprintf("etcd-%d", i+1)
}
