// Package kube is traffic on the Kubernetes API. It speaks HTTP itself: no
// client-side limit, no hidden retry, and bodies are streamed and counted
// rather than decoded, so that what is measured is the server.
package kube

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"strconv"
	"strings"
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
	connections connections
	next        atomic.Int64 // object to delete next
}

// Prepare makes the namespace and opens the connections.
func (k *kube) Prepare(ctx context.Context) (err error) {
	if namespace := k.namespace(); namespace != "" {
		admin, err := connect(ctx, k.API, target.Admin, 1)
		if err != nil {
			return err
		}
		err = errors.Join(ensureNamespace(ctx, admin[0], namespace, k.RunID), admin.close())
		if err != nil {
			return err
		}
	}
	k.connections, err = connect(ctx, k.API, target.Load, k.Connections)
	return err
}

// Close closes the connections.
func (k *kube) Close() error { return k.connections.close() }

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
	c := client{k.connections[index%len(k.connections)], k.Timeout}
	prefix := fmt.Sprintf("%s-%d-", k.Phase, index)
	o := k.Operation
	switch {
	case o.Create != nil:
		return &creator{c, newTemplate(o.Create.Resource, o.Create.Namespace, o.Create.Payload, k.RunID), prefix, 0}, nil
	case o.Get != nil:
		return &getter{c, collection(o.Get.Resource, o.Get.Namespace), o.Get.Count, random}, nil
	case o.List != nil:
		return &lister{c, collection(o.List.Resource, o.List.Namespace), o.List.PageSize, make([]byte, bufferSize)}, nil
	case o.Delete != nil:
		return &deleter{c, collection(o.Delete.Resource, o.Delete.Namespace), o.Delete.Count, &k.next}, nil
	case o.Churn != nil:
		template := newTemplate(o.Churn.Resource, o.Churn.Namespace, o.Churn.Payload, k.RunID)
		return &churner{creator{c, template, prefix, 0}, time.Duration(o.Churn.Wait)}, nil
	}
	return nil, fmt.Errorf("phase %s: no operation", k.Phase)
}

// client is what every logical user has.
type client struct {
	connection *connection
	timeout    time.Duration
}

// do sends one request and hands an answer's body, if it is a good one, to read.
func (c *client) do(ctx context.Context, method, path string, body io.Reader, length int64, read func(io.Reader) (int64, error)) workload.Result {
	ctx, cancel := context.WithTimeout(ctx, c.timeout)
	defer cancel()
	response, err := c.connection.send(ctx, method, path, body, length)
	if err != nil {
		return failure(err)
	}
	defer response.Body.Close()
	var result workload.Result
	if response.StatusCode >= 300 {
		result, _ = refusal(response)
	} else {
		n, err := read(response.Body)
		if err != nil {
			result = failure(err)
		}
		result.Bytes = n
	}
	result.Bytes += length
	return result
}

// discard reads a body to its end and counts it.
func discard(body io.Reader) (int64, error) { return io.Copy(io.Discard, body) }

type creator struct {
	client
	template template
	prefix   string // of the names
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
	return c.prefix + strconv.Itoa(c.made)
}

func (c *creator) create(ctx context.Context, name string) workload.Result {
	body, length := c.template.render(name)
	return c.do(ctx, http.MethodPost, c.template.path, body, length, discard)
}

func (c *creator) delete(ctx context.Context, name string) workload.Result {
	return c.do(ctx, http.MethodDelete, c.template.path+"/"+name, nil, 0, discard)
}

type getter struct {
	client
	path   string
	count  int
	random *rand.Rand
}

func (c *getter) Next() (workload.Op, bool) {
	path := c.path + "/" + filledName(c.random.IntN(c.count))
	return workload.Op{Kind: "get", Do: func(ctx context.Context, _ workload.Timer) workload.Result {
		return c.do(ctx, http.MethodGet, path, nil, 0, discard)
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
		return c.do(ctx, http.MethodDelete, c.path+"/"+filledName(i), nil, 0, discard)
	}}, i < c.count
}

type churner struct {
	creator
	wait time.Duration
}

func (c *churner) Next() (workload.Op, bool) {
	name := c.nextName()
	return workload.Op{Kind: "cycle", Do: func(ctx context.Context, parts workload.Timer) workload.Result {
		return c.cycle(ctx, parts, name)
	}}, true
}

// cleanupTime is how long a cycle may go on once the run is cut short.
const cleanupTime = 2 * time.Second

// cycle makes an object and, after the wait, deletes it. When ctx is over
// meanwhile, the wait ends and the rest is still done, since what was made must
// go. Nothing is tried twice, so a failed delete leaves its object, and a create
// that got no answer may leave one: they bear the run's label.
func (c *churner) cycle(ctx context.Context, parts workload.Timer, name string) workload.Result {
	work, cancel := outlive(ctx, cleanupTime)
	defer cancel()
	created := parts.Part(work, "create", func(ctx context.Context) workload.Result { return c.create(ctx, name) })
	if created.Outcome != record.OK {
		return created
	}
	var cut error
	if c.wait > 0 {
		select {
		case <-time.After(c.wait):
		case <-ctx.Done():
			cut = ctx.Err()
		}
	}
	whole := parts.Part(work, "delete", func(ctx context.Context) workload.Result { return c.delete(ctx, name) })
	bytes := created.Bytes + whole.Bytes
	if cut != nil {
		whole = failure(cut)
	}
	whole.Bytes = bytes
	return whole
}

// outlive gives a context that ends a while after ctx does.
func outlive(ctx context.Context, while time.Duration) (context.Context, context.CancelFunc) {
	longer, cancel := context.WithCancel(context.WithoutCancel(ctx))
	stop := context.AfterFunc(ctx, func() {
		select {
		case <-time.After(while):
			cancel()
		case <-longer.Done():
		}
	})
	return longer, func() {
		stop()
		cancel()
	}
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
	return templateOf(collection(resource, namespace), kind, runID, `,"data":{"data":"`+data+`"}`)
}

func newNamespaceTemplate(runID string) template {
	return templateOf("/api/v1/namespaces", "Namespace", runID, "")
}

func templateOf(path, kind, runID, content string) template {
	label, _ := json.Marshal(map[string]string{RunLabel: runID}) // of strings it cannot fail
	return template{
		path:  path,
		head:  []byte(`{"apiVersion":"v1","kind":"` + kind + `","metadata":{"name":"`),
		trunk: []byte(`","labels":` + string(label) + `}` + content + `}`),
	}
}

func (t template) render(name string) (io.Reader, int64) {
	return io.MultiReader(bytes.NewReader(t.head), strings.NewReader(name), bytes.NewReader(t.trunk)),
		int64(len(t.head) + len(name) + len(t.trunk))
}
