// Package target says what a running system under test is to the rest of
// plimsoll. What a target can do beyond being described and closed is asked by
// type assertion for the small interfaces below.
package target

import (
	"context"
	"crypto/tls"
	"net/http"
	"strings"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/client-go/rest"
)

// Target is a running system under test.
type Target interface {
	// Describe says what is running: versions, flags, digests, process ids.
	Describe(ctx context.Context) (Description, error)
	// Endpoints are the metric endpoints that a sampler may scrape.
	Endpoints() []Endpoint
	// Close stops what the target started, and nothing else. It is safe to call twice.
	Close(ctx context.Context) error
}

// Identity names a user towards the API server.
type Identity string

const (
	// Admin is in system:masters, hence exempt from priority and fairness: it prepares and never loads.
	Admin Identity = "admin"
	// Load is an ordinary user with RBAC of its own.
	Load Identity = "load"
)

// userPrefix begins the identities of users.
const userPrefix = "user-"

// User is another ordinary user, whose requests are a flow of their own for
// priority and fairness.
func User(name string) Identity { return Identity(userPrefix + name) }

// User is the name of the user that the identity is of; false for admin and load.
func (id Identity) User() (name string, ok bool) {
	return strings.CutPrefix(string(id), userPrefix)
}

// KubeAPI is the capability of a target that serves the Kubernetes API.
type KubeAPI interface {
	// RESTConfig gives a new client configuration for the identity, without any client-side limit.
	RESTConfig(Identity) (*rest.Config, error)
}

// Datastore is the capability of a target whose etcd may be reached past the API server.
type Datastore interface {
	// Etcd gives the members' client URLs, and the certificates and trust that they ask for.
	Etcd() (endpoints []string, config *tls.Config)
}

// Emulation is the capability of a datastore that may offer etcd's API without being etcd.
type Emulation interface {
	// Emulates names what stands in for etcd, and is empty for etcd itself. It
	// answers the requests that an API server makes, and not all that a client of etcd may make.
	Emulates() string
}

// Steve is the capability of a target that serves Rancher's API.
type Steve interface {
	// Steve gives a new client configuration, with the URL that the API's /v1 is below.
	Steve() (*rest.Config, error)
}

// Cluster is one control plane, whose datastore may be reached past its API server.
type Cluster interface {
	KubeAPI
	Datastore
}

// Upstream is the capability of a target that may have a second control plane behind a tunnel.
type Upstream interface {
	// Downstream is that second one, whose other capabilities are asked for like those of a
	// target; nil without one. Its Steve is reached through the tunnel.
	Downstream() Cluster
}

// Shared is the capability of a target that others use too: runs have
// namespaces of their own there, and clear away what they made.
type Shared interface {
	// Clean removes what the run of this id has made, and waits until it is gone.
	Clean(ctx context.Context, runID string) error
}

// Supervised is the capability of a target whose components are child processes of plimsoll.
type Supervised interface {
	// Processes are the components that run now; one that was killed and started again is another process.
	Processes() []Process
	// Failed delivers an error, with the last lines of the log, for a component that exits
	// without having been asked to. It is never closed.
	Failed() <-chan error
}

// Counting is the capability of a target that counts, in plimsoll, what its
// components tell of what they do.
type Counting interface {
	// Counters are those counts.
	Counters() prometheus.Gatherer
}

// Process is one component's running process.
type Process struct {
	Component string `json:"component"`
	PID       int    `json:"pid"`
	// Tree says that the component is this process and all that descend from it.
	Tree bool `json:"tree,omitempty"`
}

// Disturbable is the capability of a target whose components can be disturbed.
type Disturbable interface {
	// Pause gets ready to stop a component's processes.
	Pause(component string) (Disturbance, error)
	// Kill gets ready to end a component at once, and to start it again on the data that it had.
	Kill(component string) (Disturbance, error)
	// SlowDisk gets ready to let a component write to the disk of its data only so often a second.
	SlowDisk(component string, writesPerSecond int) (Disturbance, error)
}

// Disturbance is what is done to a component between Begin and End.
type Disturbance interface {
	Begin() error
	// End undoes it, and what getting ready took. It is safe to call twice, and without Begin.
	End() error
	// Component is the one that it happens to: of several, such as whichever leads, it is chosen when it begins.
	Component() string
}

// Endpoint is where a component serves metrics in the Prometheus text format.
type Endpoint struct {
	// Component as in Process, such as etcd or kube-apiserver.
	Component string
	// URL of the metrics.
	URL string
	// Client holds the certificates and trust that the endpoint asks for.
	Client *http.Client
	// Interval is the least time between two scrapes: an endpoint that is dear to read is read less often.
	Interval time.Duration
}

// Description is what ran, for the record.
type Description struct {
	Components []ComponentDescription `json:"components"`
}

// ComponentDescription is one component as it ran.
type ComponentDescription struct {
	Name    string `json:"name"`
	Version string `json:"version"`
	// Binary is the path that was executed, and Source how it was found: built, assets, kubebuilder-assets, path or distribution.
	Binary string `json:"binary"`
	Source string `json:"source"`
	// SHA256 of the binary, in hexadecimal.
	SHA256 string   `json:"sha256"`
	Args   []string `json:"args"`
	PID    int      `json:"pid"`
	Log    string   `json:"log,omitempty"`
}

// Folder is the capability of a target that has data in folders on this machine,
// or is nothing but such a folder.
type Folder interface {
	// Folders are where that is; they go with the target. The first is on the disk that answers
	// wait for, and workloads may write there.
	Folders() []string
}

// KeyPrefix begins the keys that a run makes in an etcd that others use too.
func KeyPrefix(runID string) string { return "/plimsoll/" + runID + "/" }
