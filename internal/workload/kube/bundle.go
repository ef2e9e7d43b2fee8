package kube

import (
	"bytes"
	"context"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	v1 "plimsoll.dev/plimsoll/api/v1alpha1"
	"plimsoll.dev/plimsoll/internal/object"
	"plimsoll.dev/plimsoll/internal/record"
	"plimsoll.dev/plimsoll/internal/workload"
	"plimsoll.dev/plimsoll/internal/workload/httpconn"
)

// Bundles remembers how many bundles the phases of a run have begun to make, for
// those that delete them. The zero value is ready.
type Bundles struct {
	mu   sync.Mutex
	made map[string]*atomic.Int64 // by phase
}

func (b *Bundles) of(phase string) *atomic.Int64 {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.made == nil {
		b.made = map[string]*atomic.Int64{}
	}
	if b.made[phase] == nil {
		b.made[phase] = new(atomic.Int64)
	}
	return b.made[phase]
}

// Created is told when the creation of an object was answered.
type Created func(resource v1.Resource, namespace, name string, answered time.Time)

// templatesOf readies those of a bundle.
func (k *kube) templatesOf(b *v1.KubeBundle) (namespaces []string, err error) {
	k.templates = nil
	for _, text := range b.Templates {
		t, err := object.New(b.Objects(text), k.RunID, k.Seed)
		if err != nil {
			return nil, err
		}
		k.templates = append(k.templates, t)
		for _, namespace := range t.Namespaces() {
			if !slices.Contains(namespaces, namespace) {
				namespaces = append(namespaces, namespace)
			}
		}
	}
	return namespaces, nil
}

// bundleName is the name of the objects of a bundle that a phase makes.
func bundleName(phase string, i int) string { return legalName(phase) + "-" + strconv.Itoa(i) }

// bundler is a client that makes bundles, deletes them, or both.
type bundler struct {
	client
	phase     string // that makes them
	templates []*object.Template
	spec      v1.KubeBundle
	retry     *v1.Retry
	made      *atomic.Int64
	created   Created
	ring      kept[int] // the client's own
}

// member is an object of a bundle.
type member struct {
	creation
	kind            string // in lower case
	resource        v1.Resource
	namespace, name string
}

// members gives the objects of a bundle; with their bodies, if they are to be made.
func (b *bundler) members(i int, render bool) []member {
	name := bundleName(b.phase, i)
	all := make([]member, len(b.templates))
	for n, t := range b.templates {
		namespace := t.Namespace(i)
		all[n] = member{
			creation: creation{collection: t.Collection(namespace), name: name},
			kind:     strings.ToLower(t.Info().Kind), resource: t.Info().Resource, namespace: namespace, name: name,
		}
		if render {
			all[n].body, all[n].err = t.JSON(i, name, namespace)
		}
	}
	return all
}

func (b *bundler) Next() (workload.Op, bool) {
	i := int(b.made.Add(1)) - 1
	all := b.members(i, true)
	return workload.Op{Kind: "bundle", Do: func(ctx context.Context, timer workload.Timer) workload.Result {
		work := ctx
		if b.spec.Delete { // what was made must go, also when the run is cut short
			longer, cancel := workload.Outlive(ctx, cleanupTime)
			defer cancel(nil)
			work = longer
		}
		return b.bundle(work, ctx, timer, all, i)
	}}, true
}

// bundle makes the objects one after the other, up to the first that cannot be
// made; reads them back; and deletes those that were made, if they are to go. No
// object is made any more once cut is done.
func (b *bundler) bundle(ctx, cut context.Context, timer workload.Timer, all []member, i int) workload.Result {
	t := trying{bundler: b, timer: timer, cut: cut}
	made := all[:0]
	for _, o := range all {
		if !t.try(ctx, "create-"+o.kind, func(ctx context.Context) workload.Result { return b.make(ctx, o) }) {
			break
		}
		made = all[:len(made)+1]
		if b.created != nil {
			b.created(o.resource, o.namespace, o.name, time.Now())
		}
	}
	if b.spec.Read {
		for _, o := range made {
			t.try(ctx, "read-"+o.kind, func(ctx context.Context) workload.Result {
				return b.Do(ctx, httpconn.Request{Method: http.MethodGet, Path: o.path()}, httpconn.Discard)
			})
		}
	}
	switch {
	case b.spec.Delete:
		t.delete(ctx, made)
	case b.spec.Keep > 0: // what a failed request leaves stays
		if oldest, over := b.ring.add(i); over {
			t.delete(ctx, b.members(oldest, false))
		}
	}
	return t.result
}

func (b *bundler) make(ctx context.Context, o member) workload.Result {
	if o.err != nil {
		return workload.Result{Outcome: record.Failed, Reason: "template"}
	}
	return b.write(ctx, httpconn.Request{
		Method: http.MethodPost, Path: o.collection, Body: bytes.NewReader(o.body), Length: int64(len(o.body)),
	}, o.path())
}

// trying is a bundle under way.
type trying struct {
	*bundler
	timer  workload.Timer
	cut    context.Context // no request is sent again once it is done
	result workload.Result // of the first request that failed, and the bytes of all
}

// retried is the reason of what succeeded, but not at once.
const retried = "retried"

// try sends a request, and again as long as it is rejected and may be sent
// again. Each attempt is a part by itself. It says whether it succeeded at last.
func (t *trying) try(ctx context.Context, kind string, send func(context.Context) workload.Result) bool {
	for attempt := 0; ; attempt++ {
		result := t.timer.Part(ctx, kind, send)
		again := result.Outcome == record.Rejected && t.retry != nil && attempt < t.retry.Attempts
		if again && workload.Sleep(t.cut, max(time.Duration(t.retry.Wait), t.RetryAfter)) {
			t.result.Bytes += result.Bytes
			continue
		}
		t.take(result, attempt > 0)
		return result.Outcome == record.OK
	}
}

// take adds the result of a request to that of the whole.
func (t *trying) take(result workload.Result, again bool) {
	bytes := t.result.Bytes + result.Bytes
	switch {
	case t.result.Outcome != record.OK:
	case result.Outcome != record.OK:
		t.result = result
	case again:
		t.result.Reason = retried
	}
	t.result.Bytes = bytes
}

// notFound is the reason of what is not there.
const notFound = "http-404-NotFound"

// delete deletes objects, the last one first. That one is gone already is fine,
// and says so: it is what was to be.
func (t *trying) delete(ctx context.Context, all []member) {
	for _, o := range slices.Backward(all) {
		t.try(ctx, "delete-"+o.kind, func(ctx context.Context) workload.Result {
			result := t.bundler.delete(ctx, o.path())
			if result.Reason == notFound {
				result.Outcome = record.OK
			}
			return result
		})
	}
}

// unbundler is a client that deletes the bundles of another phase.
type unbundler struct {
	*bundler
	next *atomic.Int64
}

func (u *unbundler) Next() (workload.Op, bool) {
	i := int(u.next.Add(1)) - 1
	if i >= int(u.made.Load()) {
		return workload.Op{}, false
	}
	all := u.members(i, false)
	return workload.Op{Kind: "unbundle", Do: func(ctx context.Context, timer workload.Timer) workload.Result {
		t := trying{bundler: u.bundler, timer: timer, cut: ctx}
		t.delete(ctx, all)
		return t.result
	}}, true
}
