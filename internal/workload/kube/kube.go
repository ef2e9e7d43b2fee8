// Package kube is traffic on the Kubernetes API. It speaks HTTP itself: no
// client-side limit, no hidden retry, and bodies are streamed and counted
// rather than decoded, so that what is measured is the server.
package kube

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"strconv"
	"sync/atomic"
	"time"

	v1 "plimsoll.dev/plimsoll/api/v1alpha1"
	"plimsoll.dev/plimsoll/internal/record"
	"plimsoll.dev/plimsoll/internal/target"
	"plimsoll.dev/plimsoll/internal/workload"
)

// RunLabel is the label, with the run's id as value, of everything that is made.
const RunLabel = "plimsoll.dev/run"

// Options say which operations are performed, and as whom.
type Options struct {
	API         target.KubeAPI
	Phase       string // names created objects
	RunID       string // labels them
	Connections int    // shared by the clients in turn
	Timeout     time.Duration
	Operation   v1.KubeWorkload
}

// New gives the workload of a phase.
func New(o Options) workload.Workload {
	return &kube{Options: o}
}

type kube struct {
	Options
	connections []*connection
	next        atomic.Int64 // object to delete next
}

// Prepare makes the namespace and opens the connections.
func (k *kube) Prepare(ctx context.Context) error {
	if namespace := k.namespace(); namespace != "" {
		admin, err := connect(ctx, k.API, target.Admin, 1)
		if err != nil {
			return err
		}
		defer admin[0].close()
		if err := ensureNamespace(ctx, admin[0], namespace, k.RunID); err != nil {
			return err
		}
	}
	connections, err := connect(ctx, k.API, target.Load, k.Connections)
	k.connections = connections
	return err
}

func (k *kube) namespace() v1.Name {
	o := k.Operation
	switch {
	case o.Create != nil:
		return o.Create.Namespace
	case o.Get != nil:
		return o.Get.Namespace
	case o.Delete != nil:
		return o.Delete.Namespace
	case o.Churn != nil:
		return o.Churn.Namespace
	}
	return "" // a list of nothing is a fine list
}

// Dial gives a client on its share of the connections.
func (k *kube) Dial(_ context.Context, index int, random *rand.Rand) (workload.Client, error) {
	c := client{
		connection: k.connections[index%len(k.connections)],
		timeout:    k.Timeout,
		name:       fmt.Sprintf("%s-%d-", k.Phase, index),
		buffer:     make([]byte, 64<<10),
	}
	o := k.Operation
	switch {
	case o.Create != nil:
		return &creator{c, newTemplate(o.Create.Resource, o.Create.Namespace, o.Create.Payload, k.RunID), 0}, nil
	case o.Get != nil:
		return &getter{c, collection(o.Get.Resource, o.Get.Namespace), o.Get.Count, random}, nil
	case o.List != nil:
		return &lister{c, collection(o.List.Resource, o.List.Namespace), o.List.PageSize}, nil
	case o.Delete != nil:
		return &deleter{c, collection(o.Delete.Resource, o.Delete.Namespace), o.Delete.Count, &k.next}, nil
	case o.Churn != nil:
		return &churner{creator{c, newTemplate(o.Churn.Resource, o.Churn.Namespace, o.Churn.Payload, k.RunID), 0}, time.Duration(o.Churn.Wait)}, nil
	}
	return nil, fmt.Errorf("phase %s: no operation", k.Phase)
}

// client is what every logical user has.
type client struct {
	connection *connection
	timeout    time.Duration
	name       string // prefix of what it creates
	buffer     []byte // for bodies, which pass through and are gone
}

// Close has nothing to let go of: connections are the workload's, and go with its idle time.
func (c *client) Close() error { return nil }

// do sends one request and hands an answer's body, if it is a good one, to read.
func (c *client) do(ctx context.Context, method, path string, body io.Reader, length int64, read func(io.Reader) (int64, error)) workload.Result {
	ctx, cancel := context.WithTimeout(ctx, c.timeout)
	defer cancel()
	response, err := c.connection.send(ctx, method, path, body, length)
	if err != nil {
		return failure(err)
	}
	defer response.Body.Close()
	if response.StatusCode >= 300 {
		return refusal(response)
	}
	n, err := read(response.Body)
	if err != nil {
		r := failure(err)
		r.Bytes = n
		return r
	}
	return workload.Result{Bytes: n}
}

// discard reads a body to its end and counts it.
func (c *client) discard(body io.Reader) (int64, error) {
	var total int64
	for {
		n, err := body.Read(c.buffer)
		total += int64(n)
		if err == io.EOF {
			return total, nil
		}
		if err != nil {
			return total, err
		}
	}
}

type creator struct {
	client
	template template
	made     int
}

func (c *creator) Next() (workload.Op, bool) {
	name := c.nextName()
	return workload.Op{Kind: "create", Do: func(ctx context.Context, _ workload.Timer) workload.Result {
		return c.create(ctx, name)
	}}, true
}

func (c *creator) nextName() string {
	c.made++
	return c.name + strconv.Itoa(c.made)
}

func (c *creator) create(ctx context.Context, name string) workload.Result {
	body, length := c.template.render(name)
	return c.do(ctx, http.MethodPost, c.template.path, body, length, c.discard)
}

func (c *creator) delete(ctx context.Context, name string) workload.Result {
	return c.do(ctx, http.MethodDelete, c.template.path+"/"+name, nil, 0, c.discard)
}

type getter struct {
	client
	path   string
	count  int
	random *rand.Rand
}

func (c *getter) Next() (workload.Op, bool) {
	path := c.path + "/" + FilledName(c.random.IntN(c.count))
	return workload.Op{Kind: "get", Do: func(ctx context.Context, _ workload.Timer) workload.Result {
		return c.do(ctx, http.MethodGet, path, nil, 0, c.discard)
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
		return c.do(ctx, http.MethodDelete, c.path+"/"+FilledName(i), nil, 0, c.discard)
	}}, i < c.count
}

type churner struct {
	creator
	wait time.Duration
}

func (c *churner) Next() (workload.Op, bool) {
	name := c.nextName()
	return workload.Op{Kind: "cycle", Do: func(ctx context.Context, parts workload.Timer) workload.Result {
		created := parts.Part(ctx, "create", func(ctx context.Context) workload.Result { return c.create(ctx, name) })
		if created.Outcome != record.OK {
			return created
		}
		select {
		case <-time.After(c.wait):
		case <-ctx.Done(): // still delete: what was made must go
		}
		deleted := parts.Part(ctx, "delete", func(ctx context.Context) workload.Result { return c.delete(ctx, name) })
		deleted.Bytes += created.Bytes
		return deleted
	}}, true
}

// collection is the path of a resource's collection; of all namespaces, if namespace is empty.
func collection(resource v1.Resource, namespace v1.Name) string {
	if namespace == "" {
		return "/api/v1/" + string(resource)
	}
	return "/api/v1/namespaces/" + string(namespace) + "/" + string(resource)
}

// template is the JSON of objects that differ by name only.
type template struct {
	path        string
	head, trunk []byte // before the name, and after it
}

// newTemplate gives objects with one key, data, of payload bytes "a" in
// base64: so 10 KiB of payload are 13,656 characters, as in the published
// experiments (seeds/000, seeds/001).
func newTemplate(resource v1.Resource, namespace v1.Name, payload v1.Bytes, runID string) template {
	kind := map[v1.Resource]string{v1.ConfigMaps: "ConfigMap", v1.Secrets: "Secret"}[resource]
	data := base64.StdEncoding.EncodeToString(bytes.Repeat([]byte("a"), int(payload)))
	label, _ := json.Marshal(runID) // of a string it cannot fail
	return template{
		path:  collection(resource, namespace),
		head:  []byte(`{"apiVersion":"v1","kind":"` + kind + `","metadata":{"name":"`),
		trunk: fmt.Appendf(nil, `","labels":{%q:%s}},"data":{"data":%q}}`, RunLabel, label, data),
	}
}

func (t template) render(name string) (io.Reader, int64) {
	return io.MultiReader(bytes.NewReader(t.head), bytes.NewReader([]byte(name)), bytes.NewReader(t.trunk)),
		int64(len(t.head) + len(name) + len(t.trunk))
}
