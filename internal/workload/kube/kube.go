// Package kube is traffic on the Kubernetes API. It speaks HTTP itself: no
// client-side limit, no hidden retry, and bodies are streamed and counted
// rather than decoded, so that what is measured is the server.
package kube

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	v1 "plimsoll.dev/plimsoll/api/v1alpha1"
	"plimsoll.dev/plimsoll/internal/fill"
	"plimsoll.dev/plimsoll/internal/object"
	"plimsoll.dev/plimsoll/internal/record"
	"plimsoll.dev/plimsoll/internal/target"
	"plimsoll.dev/plimsoll/internal/workload"
	"plimsoll.dev/plimsoll/internal/workload/httpconn"
)

// Options say which operations are performed, and as whom.
type Options struct {
	API         target.KubeAPI
	Phase       string // names created objects
	RunID       string // labels them
	Connections int    // shared by the clients in turn
	Timeout     time.Duration
	Operation   v1.KubeWorkload
	HTTP        string          // version; "" is 2
	User        string          // makes the requests; "" is the load user
	Seed        uint64          // of the run
	Writes      *Writes         // of all phases of the run; nil if none of them watches
	UserAgent   string          // "" is plimsoll's own
	Tally       *httpconn.Tally // of the run's requests; nil if nobody counts
	Bundles     *Bundles        // of all phases of the run; nil if none of them deletes others'
	Created     Created         // is told of the objects of bundles; nil if nobody listens
}

// New gives the workload of a phase.
func New(o Options) workload.Workload {
	if o.Writes == nil {
		o.Writes = new(Writes)
	}
	if o.Bundles == nil {
		o.Bundles = new(Bundles)
	}
	k := &kube{Options: o, lender: newLender(bufferSize)}
	for _, mixed := range o.Operation.Mix {
		part := o
		part.Operation = mixed.KubeWorkload
		k.mixed = append(k.mixed, &kube{Options: part, lender: k.lender})
	}
	return k
}

type kube struct {
	Options
	connections httpconn.Connections
	template    *object.Template   // of what is made, if anything is
	templates   []*object.Template // of a bundle
	version     string             // of the collection when the phase began, where lists ask for it
	next        atomic.Int64       // object to delete next
	mixed       []*kube            // on the same connections
	lender      *lender            // to clients that list
}

// Prepare makes the namespaces and opens the connections.
func (k *kube) Prepare(ctx context.Context) error {
	namespaces, err := k.namespaces()
	if err != nil {
		return fmt.Errorf("phase %s: %w", k.Phase, err)
	}
	if err := fill.Namespaces(ctx, k.API, namespaces, k.RunID, k.makesPods()); err != nil {
		return err
	}
	identity := target.Load
	if k.User != "" {
		identity = target.User(k.User)
	}
	k.connections, err = httpconn.ConnectAPI(ctx, k.API, identity, httpconn.Options{
		Connections: k.Connections, HTTP: k.HTTP, UserAgent: k.UserAgent, Count: k.Tally.Of(k.Phase, string(identity)),
	})
	if err != nil {
		return err
	}
	if err := k.readVersions(ctx); err != nil {
		return errors.Join(fmt.Errorf("phase %s: %w", k.Phase, err), k.connections.Close())
	}
	if k.Operation.Watch != nil {
		k.Writes.Watch()
	}
	return nil
}

// Close closes the connections.
func (k *kube) Close() error {
	if k.Operation.Watch != nil {
		k.Writes.Unwatch()
	}
	return k.connections.Close()
}

// makesPods says whether Pods are made, which need an account in their namespace.
func (k *kube) makesPods() bool {
	of := func(t *object.Template) bool { return t != nil && t.Info().Resource == "pods" }
	return of(k.template) || slices.ContainsFunc(k.templates, of) || slices.ContainsFunc(k.mixed, (*kube).makesPods)
}

// namespaces are those that must be there; a list of nothing is a fine list.
// What makes objects gets its template.
func (k *kube) namespaces() ([]string, error) {
	of := func(s v1.KubeSelection) []string {
		if s.Namespace == "" {
			return nil
		}
		return []string{string(s.Namespace)}
	}
	o := k.Operation
	switch {
	case o.Create != nil:
		return k.templateOf(*o.Create)
	case o.Churn != nil:
		return k.templateOf(o.Churn.Objects)
	case o.Ring != nil:
		return k.templateOf(o.Ring.Objects)
	case o.Bundle != nil:
		return k.templatesOf(o.Bundle)
	case o.Unbundle != nil:
		return k.templatesOf(o.Unbundle.Bundle)
	case o.Get != nil:
		return of(*o.Get), nil
	case o.Update != nil:
		return of(o.Update.KubeSelection), nil
	case o.Patch != nil:
		return of(o.Patch.KubeSelection), nil
	case o.Delete != nil:
		return of(*o.Delete), nil
	}
	var all []string
	for _, part := range k.mixed {
		namespaces, err := part.namespaces()
		if err != nil {
			return nil, err
		}
		for _, namespace := range namespaces {
			if !slices.Contains(all, namespace) {
				all = append(all, namespace)
			}
		}
	}
	return all, nil
}

func (k *kube) templateOf(o v1.Objects) (namespaces []string, err error) {
	if k.template, err = object.New(o, k.RunID, k.Seed); err != nil {
		return nil, err
	}
	return k.template.Namespaces(), nil
}

// readVersions reads the versions of the collections that lists ask for.
func (k *kube) readVersions(ctx context.Context) (err error) {
	for _, part := range k.mixed {
		part.connections = k.connections
		if err := part.readVersions(ctx); err != nil {
			return err
		}
	}
	if list := k.Operation.List; list != nil && (list.Read == readExact || list.Read == readNotOlder) {
		c := k.client(0)
		k.version, err = c.versionOf(ctx, collection(list.Resource, list.Namespace))
	}
	return err
}

func (k *kube) client(index int) client {
	return client{httpconn.Client{Connection: k.connections[index%len(k.connections)], Timeout: k.Timeout}, k.Writes}
}

// Dial gives a client on its share of the connections.
func (k *kube) Dial(_ context.Context, index int, random *rand.Rand) (workload.Client, error) {
	return k.dial(strconv.Itoa(index), index, random)
}

// dial gives a client whose name, unique in the phase, begins what it makes.
func (k *kube) dial(name string, index int, random *rand.Rand) (workload.Client, error) {
	c := k.client(index)
	mark := legalName(k.Phase) + "-" + name + "-"
	making := creator{c, k.template, mark, 0}
	o := k.Operation
	switch {
	case o.Create != nil:
		return &making, nil
	case o.Get != nil:
		return &getter{c, collection(o.Get.Resource, o.Get.Namespace), o.Get.Count, random}, nil
	case o.List != nil:
		return newLister(c, *o.List, k.version, k.lender), nil
	case o.Update != nil:
		return newUpdater(c, *o.Update, k.RunID, mark, random), nil
	case o.Patch != nil:
		return newPatcher(c, *o.Patch, k.RunID, mark, random), nil
	case o.Delete != nil:
		return &deleter{c, collection(o.Delete.Resource, o.Delete.Namespace), o.Delete.Count, &k.next}, nil
	case o.Churn != nil:
		return &churner{making, time.Duration(o.Churn.Wait)}, nil
	case o.Ring != nil:
		return &ring{making, kept[string]{most: o.Ring.Keep}}, nil
	case o.Bundle != nil:
		return &bundler{c, k.Phase, k.templates, *o.Bundle, o.Bundle.Retry, k.Bundles.of(k.Phase), k.Created, kept[int]{most: o.Bundle.Keep}}, nil
	case o.Unbundle != nil:
		of := string(o.Unbundle.Of)
		return &unbundler{&bundler{c, of, k.templates, *o.Unbundle.Bundle, o.Unbundle.Retry, k.Bundles.of(of), nil, kept[int]{}}, &k.next}, nil
	case o.Watch != nil:
		return newWatcher(c, *o.Watch), nil
	case len(o.Mix) > 0:
		return k.dialMix(name, index, random)
	}
	return nil, fmt.Errorf("phase %s: no operation", k.Phase)
}

// client is what every logical user has.
type client struct {
	httpconn.Client
	writes *Writes
}

// legalName makes of a phase's name one that objects may have: @ and what is
// behind it tell the repetitions of a swept step apart.
func legalName(phase string) string { return strings.NewReplacer("@", "--", "_", "-").Replace(phase) }

type creator struct {
	client
	template *object.Template
	prefix   string // of the names
	made     int
}

func (c *creator) Next() (workload.Op, bool) {
	o := c.next()
	return workload.Op{Kind: "create", Do: func(ctx context.Context, _ workload.Timer) workload.Result {
		return c.create(ctx, o)
	}}, true
}

// creation is an object to make.
type creation struct {
	collection, name string
	body             []byte
	err              error
}

func (o creation) path() string { return o.collection + "/" + o.name }

// next renders the next object, so that no measured time goes into that.
func (c *creator) next() creation {
	c.made++
	name, namespace := c.prefix+strconv.Itoa(c.made), c.template.Namespace(c.made-1)
	body, err := c.template.JSON(c.made-1, name, namespace)
	return creation{c.template.Collection(namespace), name, body, err}
}

func (c *creator) create(ctx context.Context, o creation) workload.Result {
	if o.err != nil {
		return workload.Result{Outcome: record.Failed, Reason: "template"}
	}
	return c.write(ctx, httpconn.Request{
		Method: http.MethodPost, Path: o.collection, Body: bytes.NewReader(o.body), Length: int64(len(o.body)),
	}, o.path())
}

func (c *client) delete(ctx context.Context, path string) workload.Result {
	return c.write(ctx, httpconn.Request{Method: http.MethodDelete, Path: path}, path)
}

type getter struct {
	client
	path   string
	count  int
	random *rand.Rand
}

func (c *getter) Next() (workload.Op, bool) {
	path := c.path + "/" + object.Name(c.random.IntN(c.count))
	return workload.Op{Kind: "get", Do: func(ctx context.Context, _ workload.Timer) workload.Result {
		return c.Do(ctx, httpconn.Request{Method: http.MethodGet, Path: path}, httpconn.Discard)
	}}, true
}

type deleter struct {
	client
	path  string
	count int
	next  *atomic.Int64
}

func (c *deleter) Next() (workload.Op, bool) {
	i := int(c.next.Add(1)) - 1
	return workload.Op{Kind: "delete", Do: func(ctx context.Context, _ workload.Timer) workload.Result {
		return c.delete(ctx, c.path+"/"+object.Name(i))
	}}, i < c.count
}

type churner struct {
	creator
	wait time.Duration
}

func (c *churner) Next() (workload.Op, bool) {
	o := c.next()
	return workload.Op{Kind: "cycle", Do: func(ctx context.Context, parts workload.Timer) workload.Result {
		return c.cycle(ctx, parts, o)
	}}, true
}

// cleanupTime is how long a cycle may go on once the run is cut short.
const cleanupTime = 2 * time.Second

// cycle makes an object and, after the wait, deletes it. When ctx is over
// meanwhile, the wait ends and the rest is still done, since what was made must
// go. Nothing is tried twice, so a failed delete leaves its object, and a create
// that got no answer may leave one: they bear the run's label.
func (c *churner) cycle(ctx context.Context, parts workload.Timer, o creation) workload.Result {
	work, cancel := workload.Outlive(ctx, cleanupTime)
	defer cancel(nil)
	created := parts.Part(work, "create", func(ctx context.Context) workload.Result { return c.create(ctx, o) })
	if created.Outcome != record.OK {
		return created
	}
	var cut error
	if c.wait > 0 && !workload.Sleep(ctx, c.wait) {
		cut = ctx.Err()
	}
	whole := parts.Part(work, "delete", func(ctx context.Context) workload.Result { return c.delete(ctx, o.path()) })
	bytes := created.Bytes + whole.Bytes
	if cut != nil {
		whole = httpconn.Failure(cut)
	}
	whole.Bytes = bytes
	return whole
}

// collection is the path of a resource's collection; of all namespaces, if namespace is empty.
func collection(resource v1.Resource, namespace v1.Name) string {
	info, _ := resource.Info()
	return info.Collection(namespace)
}
