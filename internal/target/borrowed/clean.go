package borrowed

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"
	core "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/client-go/metadata"

	"plimsoll.dev/plimsoll/api/v1alpha1"
	"plimsoll.dev/plimsoll/internal/object"
)

const namespaces v1alpha1.Resource = "namespaces"

const (
	// deleters is how many deletions are under way at once.
	deleters = 16
	// pageOfMetadata is how many objects are listed at once.
	pageOfMetadata = 500
	// askAgain is the pause before it is looked again what is still there.
	askAgain = 250 * time.Millisecond
	// helpAfter is how long a namespace may be without any sign of a namespace
	// controller, which itself waits for five seconds, before it is emptied by us.
	helpAfter = 10 * time.Second
	// silence is how long nothing may change once namespaces are empty and no
	// controller has shown itself.
	silence = 10 * time.Second
	// patience is how long nothing may change while a controller is at work.
	patience = 5 * time.Minute
)

// Left is something that a run has made and that is still there: a namespace
// with all that is in it, or an object that is in none.
type Left struct {
	Kind string // as one says it: namespace, clusterrole
	Name string
	Run  string
	Made time.Time

	resource schema.GroupVersionResource
	uid      types.UID
	deleting bool
	seen     bool   // by its controller, since it is being deleted
	held     string // by what
}

// Leftovers lists what runs have made and is still there: that of one run, or
// of all if run is empty. Labels of runs on what is in a namespace are not
// looked at: only the namespace's own counts.
func (t *Target) Leftovers(ctx context.Context, run string) ([]Left, error) {
	selector := object.RunLabel
	if run != "" {
		if faults := validation.IsValidLabelValue(run); len(faults) > 0 {
			return nil, fmt.Errorf("%q is not the id of a run: %s", run, faults[0])
		}
		selector += "=" + run
	}
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	list, err := t.client.CoreV1().Namespaces().List(ctx, metav1.ListOptions{LabelSelector: selector})
	if err != nil {
		return nil, fmt.Errorf("list namespaces with the label %s: %w", object.RunLabel, err)
	}
	var left []Left
	for i := range list.Items {
		left = append(left, leftNamespace(&list.Items[i]))
	}
	for _, info := range v1alpha1.Resources() {
		if info.Namespaced || info.Resource == namespaces {
			continue
		}
		more, err := t.leftObjects(ctx, info, selector)
		if err != nil {
			return nil, err
		}
		left = append(left, more...)
	}
	return left, nil
}

func leftNamespace(ns *core.Namespace) Left {
	return Left{
		Kind: "namespace", Name: ns.Name, Run: ns.Labels[object.RunLabel], Made: ns.CreationTimestamp.Time,
		resource: core.SchemeGroupVersion.WithResource(string(namespaces)), uid: ns.UID,
		deleting: ns.DeletionTimestamp != nil, seen: len(ns.Status.Conditions) > 0, held: holding(ns),
	}
}

// leftObjects lists labelled objects that are in no namespace. Who may not even
// list them has made none: a run needs the right to remove what it makes.
func (t *Target) leftObjects(ctx context.Context, info v1alpha1.ResourceInfo, selector string) ([]Left, error) {
	resource := groupVersionResource(info)
	list, err := t.metadata.Resource(resource).List(ctx, metav1.ListOptions{LabelSelector: selector})
	if apierrors.IsForbidden(err) || apierrors.IsNotFound(err) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("list %s with the label %s: %w", info.Resource, object.RunLabel, err)
	}
	var left []Left
	for _, o := range list.Items {
		left = append(left, Left{
			Kind: strings.ToLower(info.Kind), Name: o.Name, Run: o.Labels[object.RunLabel], Made: o.CreationTimestamp.Time,
			resource: resource, uid: o.UID, deleting: o.DeletionTimestamp != nil, held: inWords(o.Finalizers),
		})
	}
	return left, nil
}

func groupVersionResource(info v1alpha1.ResourceInfo) schema.GroupVersionResource {
	version, _ := schema.ParseGroupVersion(info.APIVersion) // of built-in resources it is right
	return version.WithResource(string(info.Resource))
}

// Clean implements target.Shared.
func (t *Target) Clean(ctx context.Context, runID string) error {
	left, err := t.Leftovers(ctx, runID)
	if err != nil {
		return fmt.Errorf("%w\nto try again: %s", err, t.cleanCommand(runID))
	}
	return t.Remove(ctx, left)
}

// Remove deletes what is left, namespaces with all that is in them, and waits
// until it is gone, as long as ctx allows and something still changes; what
// stays is named, with what holds it.
func (t *Target) Remove(ctx context.Context, left []Left) error {
	if len(left) == 0 {
		return nil
	}
	refused := make([]error, len(left))
	var group errgroup.Group
	group.SetLimit(deleters)
	for i, l := range left {
		if l.deleting {
			continue
		}
		group.Go(func() error {
			refused[i] = remove(ctx, t.metadata.Resource(l.resource), l.Name, l.uid)
			return nil // one that is refused must not spare the others
		})
	}
	_ = group.Wait()
	var going []Left
	var errs []error
	for i, l := range left {
		if refused[i] == nil {
			going = append(going, l)
			continue
		}
		errs = append(errs, fmt.Errorf("delete %s %s: %w", l.Kind, l.Name, refused[i]))
	}
	if len(errs) > 0 {
		errs = append(errs, errors.New("to try again: "+t.cleanCommand(runOf(left))))
	}
	if len(going) > 0 {
		errs = append(errs, t.awaitGone(ctx, going))
	}
	return errors.Join(errs...)
}

// remove deletes an object, unless it is gone, or another one is there under its name.
func remove(ctx context.Context, from metadata.ResourceInterface, name string, uid types.UID) error {
	background := metav1.DeletePropagationBackground
	options := metav1.DeleteOptions{PropagationPolicy: &background}
	if uid != "" {
		options.Preconditions = &metav1.Preconditions{UID: &uid}
	}
	err := from.Delete(ctx, name, options)
	if apierrors.IsNotFound(err) || apierrors.IsConflict(err) {
		return nil
	}
	return err
}

// awaitGone waits while something changes. Namespaces in which no controller
// shows itself are emptied, so that at least what was made in them is gone.
func (t *Target) awaitGone(ctx context.Context, left []Left) error {
	var w wait
	for {
		still, err := t.still(ctx, left)
		if err != nil {
			return fmt.Errorf("%w\nto try again: %s", err, t.cleanCommand(runOf(left)))
		}
		if len(still) == 0 {
			return nil
		}
		w.look(still)
		switch quiet := time.Since(w.changed); {
		case !w.seen && !w.helped && quiet >= helpAfter:
			w.helped, w.empty = true, t.empty(ctx, still) == nil
			w.changed = time.Now()
		case !w.seen && w.empty && quiet >= silence, quiet >= patience:
			return t.stuck(still, w.seen)
		}
		select {
		case <-time.After(askAgain):
		case <-ctx.Done():
			return errors.Join(context.Cause(ctx), t.stuck(still, w.seen))
		}
	}
}

// wait is what is known while leftovers go away.
type wait struct {
	changed time.Time // when something last did
	before  string    // what was there then
	seen    bool      // there is a namespace controller at work
	helped  bool      // we have tried to empty the namespaces
	empty   bool      // and did
}

// look holds what is still there against what was there before.
func (w *wait) look(still []Left) {
	if now := fmt.Sprint(still); now != w.before {
		w.changed, w.before = time.Now(), now
	}
	w.seen = w.seen || slices.ContainsFunc(still, func(l Left) bool { return l.seen })
}

// still gives those of the leftovers that are there yet.
func (t *Target) still(ctx context.Context, left []Left) ([]Left, error) {
	now, err := t.Leftovers(ctx, runOf(left))
	if err != nil {
		return nil, err
	}
	return slices.DeleteFunc(now, func(n Left) bool {
		return !slices.ContainsFunc(left, func(l Left) bool { return l.uid == n.uid && l.Name == n.Name && l.Kind == n.Kind })
	}), nil
}

// runOf is the run that made all of it; empty if it was more than one.
func runOf(left []Left) string {
	for _, l := range left {
		if l.Run != left[0].Run {
			return ""
		}
	}
	return left[0].Run
}

// empty deletes what runs have made in namespaces that are being deleted. Its
// error says that not all of it is known to be gone.
func (t *Target) empty(ctx context.Context, left []Left) error {
	var errs []error
	for _, l := range left {
		if l.Kind != "namespace" {
			continue
		}
		for _, info := range v1alpha1.Resources() {
			if info.Namespaced {
				in := t.metadata.Resource(groupVersionResource(info)).Namespace(l.Name)
				errs = append(errs, removeAll(ctx, in, object.RunLabel+"="+l.Run))
			}
		}
	}
	return errors.Join(errs...)
}

// removeAll deletes the labelled objects of a collection, page by page.
func removeAll(ctx context.Context, from metadata.ResourceInterface, selector string) error {
	options := metav1.ListOptions{LabelSelector: selector, Limit: pageOfMetadata}
	for {
		page, err := from.List(ctx, options)
		if apierrors.IsNotFound(err) {
			return nil // this cluster does not serve the resource
		}
		if err != nil {
			return err
		}
		group, deleting := errgroup.WithContext(ctx)
		group.SetLimit(deleters)
		for _, o := range page.Items {
			group.Go(func() error { return remove(deleting, from, o.Name, o.UID) })
		}
		if err := group.Wait(); err != nil {
			return err
		}
		if options.Continue = page.Continue; options.Continue == "" {
			return nil
		}
	}
}

// stuck names what does not go away.
func (t *Target) stuck(still []Left, seen bool) error {
	const shown = 5
	var lines []string
	for _, l := range still[:min(len(still), shown)] {
		lines = append(lines, fmt.Sprintf("%s %s is still there: %s", l.Kind, l.Name, cmp.Or(l.held, "the server did not say why in time")))
	}
	if more := len(still) - shown; more > 0 {
		lines = append(lines, fmt.Sprintf("and %d more", more))
	}
	if !seen && slices.ContainsFunc(still, func(l Left) bool { return l.Kind == "namespace" }) {
		lines = append(lines, "no namespace controller seems to work on this cluster, without which no namespace goes away: is its kube-controller-manager running?")
	}
	lines = append(lines, "to try again: "+t.cleanCommand(runOf(still)))
	return errors.New(strings.Join(lines, "\n"))
}

// cleanCommand is what removes the leftovers of a run later.
func (t *Target) cleanCommand(run string) string {
	command := "plimsoll clean"
	if t.explicit {
		command += " --kubeconfig " + t.file
	}
	command += " --context " + t.context
	if run != "" {
		command += " --run " + run
	}
	return command
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
	return inWords(append(ns.Finalizers, reasons...))
}

func inWords(reasons []string) string {
	slices.Sort(reasons)
	return strings.Join(slices.Compact(reasons), "; ")
}
