// Package steve is traffic on the API of Rancher's Steve. Like traffic on the
// Kubernetes API it is sent once, without a limit of ours, and answers are
// scanned as they stream by rather than decoded.
//
// What Steve v0.10.2 was seen to do, in front of kube-apiserver 1.36.3, without
// and with its SQL cache:
//
//   - Resources are /v1/configmaps, /v1/configmaps/NAMESPACE and
//     /v1/configmaps/NAMESPACE/NAME; those of a group are /v1/apps.deployments. In
//     subscriptions the same are called configmap and apps.deployment.
//   - limit=N: without the cache, N items with a revision and a continue token,
//     which is Steve's own around that of the API server; the last page has no
//     continue. With the cache limit has no effect: all items, and no continue.
//   - pagesize=N&page=P: items, and count of all of them. A page behind the last
//     is empty. Without the cache there is pages, and revision=R gives the
//     collection as it was at R. With the cache pages is missing, continue holds
//     the offset of the next page, and revision=R changes nothing unless the cache
//     has not come to R yet (400 "unknown revision"): says its README, each page
//     is of the latest version, so objects that come or go in mid-walk shift it.
//   - revision: without the cache the collection's. With it, it was seen to be
//     lower than that of objects in the same answer, until the next write; and
//     to be missing where a collection had always been empty.
//   - Items of the cache have _id, and id twice.
//   - A filter without an operator fits nothing without the cache, and is a 500 with it.
package steve

import (
	"context"
	"fmt"
	"math/rand/v2"
	"net/http"
	"strings"
	"time"

	v1 "plimsoll.dev/plimsoll/api/v1alpha1"
	"plimsoll.dev/plimsoll/internal/object"
	"plimsoll.dev/plimsoll/internal/target"
	"plimsoll.dev/plimsoll/internal/workload"
	"plimsoll.dev/plimsoll/internal/workload/httpconn"
	"plimsoll.dev/plimsoll/internal/workload/kube"
)

// Options say which operations are performed.
type Options struct {
	Steve       target.Steve
	Phase       string
	RunID       string // labels what fills have made
	Seed        uint64 // of the run
	Connections int    // shared by the clients in turn; each watch has one more
	HTTP        string // version; "" is 2
	Timeout     time.Duration
	Operation   v1.SteveWorkload
	Filled      map[v1.Objects]int // how many objects fills have made; walks are checked for these
	Writes      *kube.Writes       // of all phases of the run; nil if no phase writes
}

// New gives the workload of a phase.
func New(o Options) workload.Workload {
	if o.Writes == nil {
		o.Writes = new(kube.Writes)
	}
	return &steve{Options: o}
}

type steve struct {
	Options
	server      httpconn.Server
	connections httpconn.Connections
	made        []made // what walks are checked for
}

// proof is cheap to read, and there once Steve knows what the API server serves.
const proof = "/v1/schemas/configmap"

// Prepare opens the connections.
func (s *steve) Prepare(ctx context.Context) (err error) {
	if list := s.Operation.List; list != nil && list.Verify {
		if s.made, err = s.expected(*list); err != nil {
			return fmt.Errorf("phase %s: %w", s.Phase, err)
		}
	}
	config, err := s.Steve.Steve()
	if err != nil {
		return fmt.Errorf("reach Steve: %w", err)
	}
	if s.server, err = httpconn.ServerOf(config); err != nil {
		return fmt.Errorf("reach Steve at %s: %w", config.Host, err)
	}
	if s.connections, err = httpconn.Connect(ctx, s.server, proof, httpconn.Options{Connections: s.Connections, HTTP: s.HTTP}); err != nil {
		return fmt.Errorf("connect to Steve at %s: %w", s.server.URL, err)
	}
	if s.Operation.Watch != nil {
		s.Writes.Watch()
	}
	return nil
}

// Close closes the connections.
func (s *steve) Close() error {
	if s.Operation.Watch != nil {
		s.Writes.Unwatch()
	}
	return s.connections.Close()
}

// Dial gives a client on its share of the connections.
func (s *steve) Dial(_ context.Context, index int, random *rand.Rand) (workload.Client, error) {
	c := httpconn.Client{Connection: s.connections[index%len(s.connections)], Timeout: s.Timeout}
	o := s.Operation
	switch {
	case o.List != nil:
		return newLister(c, *o.List, s.made), nil
	case o.Get != nil:
		return &getter{c, func() string {
			return collection(o.Get.Resource, o.Get.Namespace) + "/" + object.Name(random.IntN(o.Get.Count))
		}, "get"}, nil
	case o.Counts != nil:
		return &getter{c, func() string { return "/v1/counts" }, "counts"}, nil
	case o.Watch != nil:
		return newWatcher(c, s.server, *o.Watch, s.Writes), nil
	}
	return nil, fmt.Errorf("phase %s: no operation", s.Phase)
}

// getter is a client that reads what is at a path.
type getter struct {
	httpconn.Client
	path func() string
	kind string
}

func (c *getter) Next() (workload.Op, bool) {
	path := c.path()
	return workload.Op{Kind: c.kind, Do: func(ctx context.Context, _ workload.Timer) workload.Result {
		return c.Do(ctx, httpconn.Request{Method: http.MethodGet, Path: path}, httpconn.Discard)
	}}, true
}

// collection is the path of a resource's collection; of all namespaces, if namespace is empty.
func collection(resource v1.Resource, namespace v1.Name) string {
	path := "/v1/" + inGroup(resource, string(resource))
	if namespace != "" {
		path += "/" + string(namespace)
	}
	return path
}

// typeOf is what subscriptions call a resource.
func typeOf(resource v1.Resource) string {
	info, _ := resource.Info()
	return inGroup(resource, strings.ToLower(info.Kind))
}

func inGroup(resource v1.Resource, name string) string {
	info, _ := resource.Info()
	if group, _, inOne := strings.Cut(info.APIVersion, "/"); inOne {
		return group + "." + name
	}
	return name
}
