// Package fill makes many alike objects, through the API server or straight in
// the datastore under it. It is preparation: nothing in it is measured.
package fill

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"sync/atomic"

	"golang.org/x/sync/errgroup"

	v1 "plimsoll.dev/plimsoll/api/v1alpha1"
	"plimsoll.dev/plimsoll/internal/object"
	"plimsoll.dev/plimsoll/internal/target"
)

// Options say what is made, and where.
type Options struct {
	API target.KubeAPI
	// Datastore under the API; needed only by a fill through it.
	Datastore target.Datastore
	// Fill has its defaults.
	Fill v1.Fill
	// RunID labels what is made.
	RunID string
	Seed  uint64
	// From is how many objects are known to exist. Others that exist are found out.
	From int
	// Made counts the objects that exist, as it goes; From is counted at once.
	Made *atomic.Int64
}

// Run makes namespaces, and then objects in them, as admin, until all of them
// exist. Those that exist already are left as they are, so a fill that was cut
// short can be run again.
func Run(ctx context.Context, o Options) (err error) {
	template, err := object.New(o.Fill.Objects, o.RunID, o.Seed)
	if err != nil {
		return fmt.Errorf("fill: %w", err)
	}
	c, err := newClient(o.API)
	if err != nil {
		return err
	}
	defer c.close()
	f := &filler{Options: o, template: template, client: c}
	f.Made.Add(int64(min(f.From, f.Fill.Count)))
	if f.From >= f.Fill.Count {
		return nil
	}
	if err := f.ensureNamespaces(ctx); err != nil {
		return orCause(ctx, err)
	}
	if f.Fill.Through == v1.ThroughDatastore {
		err = f.throughDatastore(ctx)
	} else {
		err = f.throughAPI(ctx)
	}
	if err != nil {
		return orCause(ctx, fmt.Errorf("fill %s%s: %w", template.Info().Resource, inNamespace(f.Fill.Namespace), err))
	}
	return nil
}

// Namespaces makes the namespaces that are not there, as admin, with what Pods
// need in them if there are to be any.
func Namespaces(ctx context.Context, api target.KubeAPI, names []string, runID string, pods bool) error {
	c, err := newClient(api)
	if err != nil {
		return err
	}
	defer c.close()
	f := &filler{Options: Options{RunID: runID}, client: c}
	for _, name := range names {
		if err := f.ensureNamespace(ctx, name, pods); err != nil {
			return orCause(ctx, fmt.Errorf("make namespace %s: %w", name, err))
		}
	}
	return nil
}

// orCause replaces what a cancelled context led to by the reason of the cancellation.
func orCause(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return err
}

func inNamespace(name v1.Name) string {
	if name == "" {
		return ""
	}
	return fmt.Sprintf(" in namespace %s", name)
}

// filler is a fill under way.
type filler struct {
	Options
	template *object.Template
	client   *client
}

// ensureNamespaces makes the namespaces that are not there, with what their
// objects need in them.
func (f *filler) ensureNamespaces(ctx context.Context) error {
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(max(f.Fill.Clients, 1))
	for _, name := range f.template.Namespaces() {
		group.Go(func() error {
			if err := f.ensureNamespace(ctx, name, f.template.Info().Resource == "pods"); err != nil {
				return fmt.Errorf("make namespace %s: %w", name, err)
			}
			return nil
		})
	}
	return group.Wait()
}

func (f *filler) ensureNamespace(ctx context.Context, name string, pods bool) error {
	if err := f.ensure(ctx, "/api/v1/namespaces", "Namespace", name); err != nil {
		return err
	}
	answer, err := f.client.get(ctx, "/api/v1/namespaces/"+name)
	if err != nil {
		return err
	}
	var namespace struct{ Status struct{ Phase string } }
	if err := json.Unmarshal(answer, &namespace); err != nil {
		return fmt.Errorf("read it back: %w", err)
	}
	if namespace.Status.Phase == "Terminating" {
		return errors.New("it is there, but is being deleted: wait until it is gone, or name another")
	}
	if !pods {
		return nil
	}
	// A controller makes it a moment later, or, on targets that run none, never;
	// and without it no Pod is admitted.
	if err := f.ensure(ctx, "/api/v1/namespaces/"+name+"/serviceaccounts", "ServiceAccount", "default"); err != nil {
		return fmt.Errorf("make its default service account: %w", err)
	}
	return nil
}

// ensure makes an object that is nothing but its name, unless it is there.
func (f *filler) ensure(ctx context.Context, collection, kind, name string) error {
	body, err := json.Marshal(map[string]any{
		"apiVersion": "v1", "kind": kind,
		"metadata": map[string]any{"name": name, "labels": map[string]string{object.RunLabel: f.RunID}},
	})
	if err != nil {
		return err
	}
	if _, err := f.client.create(ctx, collection, body); !exists(err) {
		return err
	}
	return nil
}

// throughAPI asks the API server for each object.
func (f *filler) throughAPI(ctx context.Context) error {
	var claimed atomic.Int64
	claimed.Store(int64(f.From))
	clients, ctx := errgroup.WithContext(ctx)
	for range max(f.Fill.Clients, 1) {
		clients.Go(func() error {
			for {
				i := int(claimed.Add(1)) - 1
				if i >= f.Fill.Count || ctx.Err() != nil {
					return ctx.Err()
				}
				name, namespace := f.template.Name(i), f.template.Namespace(i)
				body, err := f.template.JSON(i, name, namespace)
				if err != nil {
					return err
				}
				if err := f.make(ctx, f.template.Collection(namespace), name, body); err != nil {
					return fmt.Errorf("create %s: %w", name, err)
				}
				f.Made.Add(1)
			}
		})
	}
	return clients.Wait()
}

// make creates an object, unless the run has made it already. Outside of
// namespaces, which are a run's own, it may be somebody else's.
func (f *filler) make(ctx context.Context, collection, name string, body []byte) error {
	_, err := f.client.create(ctx, collection, body)
	if !exists(err) {
		return err
	}
	if f.template.Info().Namespaced {
		return nil
	}
	answer, err := f.client.get(ctx, collection+"/"+name)
	if err != nil {
		return err
	}
	var there struct {
		Metadata struct{ Labels map[string]string }
	}
	if err := json.Unmarshal(answer, &there); err != nil {
		return fmt.Errorf("read it back: %w", err)
	}
	switch run := there.Metadata.Labels[object.RunLabel]; run {
	case f.RunID:
		return nil
	case "":
		return errors.New("it is there already, and not of plimsoll: remove it")
	default:
		return fmt.Errorf("it is there already, of run %s: wait until that ends, or remove what it left with plimsoll clean", run)
	}
}

// exists says whether a creation failed because the object is there already.
func exists(err error) bool {
	var refused *refusedError
	return errors.As(err, &refused) && refused.code == http.StatusConflict && refused.reason == "AlreadyExists"
}
