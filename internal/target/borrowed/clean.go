package borrowed

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	core "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	apiwatch "k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/tools/watch"

	"plimsoll.dev/plimsoll/internal/object"
)

// Left is a namespace that a run has made.
type Left struct {
	Namespace string
	Run       string
	Made      time.Time
}

// Leftovers lists the namespaces that runs have made and that are still there:
// those of one run, or of all if run is empty.
func (t *Target) Leftovers(ctx context.Context, run string) ([]Left, error) {
	selector := object.RunLabel
	if run != "" {
		selector += "=" + run
	}
	list, err := t.client.CoreV1().Namespaces().List(ctx, metav1.ListOptions{LabelSelector: selector})
	if err != nil {
		return nil, fmt.Errorf("list namespaces with the label %s: %w", object.RunLabel, err)
	}
	var left []Left
	for _, ns := range list.Items {
		left = append(left, Left{ns.Name, ns.Labels[object.RunLabel], ns.CreationTimestamp.Time})
	}
	return left, nil
}

// cleanTimeout bounds the removal of a run's namespaces.
const cleanTimeout = 5 * time.Minute

// Clean implements target.Shared.
func (t *Target) Clean(ctx context.Context, runID string) error {
	ctx, cancel := context.WithTimeout(ctx, cleanTimeout)
	defer cancel()
	left, err := t.Leftovers(ctx, runID)
	if err != nil {
		return err
	}
	var names []string
	for _, l := range left {
		names = append(names, l.Namespace)
	}
	return t.Remove(ctx, names)
}

// Remove deletes namespaces with all that is in them, and waits until they are
// gone, as long as ctx allows; what stays is named, with what holds it.
func (t *Target) Remove(ctx context.Context, namespaces []string) error {
	background := metav1.DeletePropagationBackground
	for _, name := range namespaces {
		err := t.client.CoreV1().Namespaces().Delete(ctx, name, metav1.DeleteOptions{PropagationPolicy: &background})
		if err != nil && !apierrors.IsNotFound(err) {
			return fmt.Errorf("delete namespace %s: %w", name, err)
		}
	}
	var errs []error
	for _, name := range namespaces {
		if err := t.awaitGone(ctx, name); err != nil {
			errs = append(errs, err)
		}
	}
	return errors.Join(errs...)
}

// awaitGone waits for one namespace by a watch.
func (t *Target) awaitGone(ctx context.Context, name string) error {
	lists := cache.NewListWatchFromClient(t.client.CoreV1().RESTClient(), "namespaces", "", fields.OneTermEqualSelector("metadata.name", name))
	last := &core.Namespace{}
	gone := func(event apiwatch.Event) (bool, error) {
		if ns, ok := event.Object.(*core.Namespace); ok {
			last = ns
		}
		return event.Type == apiwatch.Deleted, nil
	}
	absent := func(store cache.Store) (bool, error) { return len(store.List()) == 0, nil }
	if _, err := watch.UntilWithSync(ctx, lists, &core.Namespace{}, absent, gone); err != nil {
		return fmt.Errorf("namespace %s is still there: %s", name, holding(last))
	}
	return nil
}

// holding says what keeps a namespace from going away.
func holding(ns *core.Namespace) string {
	var reasons []string
	for _, c := range ns.Status.Conditions {
		if c.Status == core.ConditionTrue {
			reasons = append(reasons, c.Message)
		}
	}
	for _, f := range ns.Spec.Finalizers {
		reasons = append(reasons, "finalizer "+string(f))
	}
	if len(reasons) == 0 {
		return "the server did not say why in time"
	}
	slices.Sort(reasons)
	return strings.Join(slices.Compact(reasons), "; ")
}
