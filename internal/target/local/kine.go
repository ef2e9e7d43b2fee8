package local

import (
	"fmt"
	"net/url"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"time"

	"plimsoll.dev/plimsoll/api/v1alpha1"
)

const (
	kinePart  = "kine"
	kineReady = 15 * time.Second // as for etcd: less than an API server waits
	// databaseName is the database that kine makes in a server of plimsoll's own.
	databaseName = "kine"
)

// buildKine gives kine, which serves etcd's API with the certificates of etcd.
func buildKine(p *plane) component {
	spec := p.spec.Datastore.Kine
	endpoint := kineEndpoint(p)
	metrics := address(p.ports.kineMetrics)
	c := component{
		name: kinePart, document: []v1alpha1.Flags{spec.Flags},
		flags: flags{
			{"listen-address", "tcp://" + address(p.ports.kine)},
			{"server-cert-file", p.keys.certFile(etcdServer)},
			{"server-key-file", p.keys.keyFile(etcdServer)},
			{"trusted-ca-file", p.keys.certFile(etcdCA)},
			{"metrics-bind-address", metrics},
			{"datastore-max-open-connections", strconv.Itoa(kineConnections(spec))},
		},
		env: []string{"KINE_ENDPOINT=" + endpoint}, secret: flags{{"endpoint", withoutPassword(endpoint)}},
		// It serves metrics once it serves everything else.
		ready: "https://" + metrics + "/metrics", metrics: "https://" + metrics + "/metrics", ca: etcdCA, observer: etcdClient,
		readyTimeout: kineReady, layer: datastoreLayer,
	}
	switch {
	case p.server.Path != "":
		c.needs = string(spec.Backend)
	case spec.DSN == "":
		c.data = sqliteFolder(p)
	}
	return c
}

// kineConnections is the document's bound, or its default.
func kineConnections(spec *v1alpha1.Kine) int {
	switch {
	case spec.MaxConnections != nil:
		return *spec.MaxConnections
	case spec.Backend == v1alpha1.SQLite:
		return 0
	}
	return 100
}

func sqliteFolder(p *plane) string { return p.home(kinePart) }

// kineEndpoint is the data source, in kine's notation.
func kineEndpoint(p *plane) string {
	spec := p.spec.Datastore.Kine
	scheme := string(spec.Backend) + "://"
	if spec.Backend == v1alpha1.MariaDB {
		scheme = "mysql://"
	}
	server := address(p.ports.database)
	switch {
	case spec.DSN != "":
		if _, rest, found := strings.Cut(spec.DSN, "://"); found {
			return scheme + rest // such as postgresql: and mariadb:, which kine does not know
		}
		return scheme + spec.DSN
	case spec.Backend == v1alpha1.Postgres:
		return fmt.Sprintf("%s%s:%s@%s/%s?sslmode=disable", scheme, databaseUser, p.password, server, databaseName)
	case spec.Backend == v1alpha1.MariaDB:
		return fmt.Sprintf("%s%s:%s@tcp(%s)/%s", scheme, databaseUser, p.password, server, databaseName)
	}
	synchronous := "FULL"
	if spec.Synchronous == "normal" {
		synchronous = "NORMAL"
	}
	// kine's own parameters, but for the waiting for the disk.
	return scheme + filepath.Join(sqliteFolder(p), "state.db") + "?_journal_mode=WAL&_busy_timeout=30000&_synchronous=" + synchronous +
		"&_txlock=immediate&_stmt_cache_size=20&cache=shared"
}

// withoutPassword is a data source for the record.
func withoutPassword(endpoint string) string {
	if u, err := url.Parse(endpoint); err == nil {
		return u.Redacted()
	}
	return regexp.MustCompile(`://([^:@/]*):.*@`).ReplaceAllString(endpoint, "://$1:xxxxx@")
}
