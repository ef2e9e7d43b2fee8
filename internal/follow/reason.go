package follow

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	core "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/metadata"

	v1 "plimsoll.dev/plimsoll/api/v1alpha1"
)

const (
	// maxEvents bounds how many warnings are read for a reason: thousands of objects wait for the same one.
	maxEvents = 500
	// fresh is how old a warning may be to explain why nothing moves: controllers that fail repeat
	// themselves, ever more seldom.
	fresh = 5 * time.Minute
	// askTime bounds the search for a reason.
	askTime = 10 * time.Second
)

// makers are the kinds of objects that pods come from, and pods themselves.
func makers() []string {
	return []string{"Pod", "ReplicaSet", "Deployment", "StatefulSet", "DaemonSet", "Job", "CronJob", "ReplicationController"}
}

// reason is why objects are not in a state.
type reason struct {
	word     string // one of few, such as FailedScheduling
	text     string // for people
	example  string // one of the objects
	hopeless bool   // nothing will change that
}

// reasons finds out why. Its requests are few, and made as admin.
type reasons struct {
	spec     v1.Wait
	follower *Follower
	client   kubernetes.Interface
	metadata metadata.Interface
}

// find looks for a reason; that there is none to be found is no error.
func (r *reasons) find(ctx context.Context) reason {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), askTime)
	defer cancel()
	if r.spec.State == v1.WaitGone {
		return r.held(ctx)
	}
	why := r.warned(ctx)
	why.example = r.example(func(s State) bool { return s.String() != string(r.spec.State) })
	return why
}

// example names an object that is waited for.
func (r *reasons) example(of func(State) bool) (key string) {
	r.follower.Each(func(namespace, name string, state State) bool {
		if covers(r.spec, namespace, name) && of(state) {
			key = strings.TrimPrefix(namespace+"/"+name, "/")
		}
		return key == ""
	})
	return key
}

// warned finds the most frequent warning of late among the events of the
// namespaces. Those about objects that are fine by now don't count.
func (r *reasons) warned(ctx context.Context) reason {
	namespace := ""
	if r.spec.Namespaces == 0 {
		namespace = string(r.spec.Namespace)
	}
	list, err := r.client.CoreV1().Events(namespace).List(ctx, metav1.ListOptions{FieldSelector: "type=" + core.EventTypeWarning, Limit: maxEvents})
	if err != nil {
		return reason{text: fmt.Sprintf("the events that could tell why cannot be read: %v", err)}
	}
	messages, counts := map[string]string{}, map[string]int{}
	for _, e := range list.Items {
		if time.Since(lastSeen(&e)) > fresh || !r.spec.Covers(e.InvolvedObject.Namespace) || r.beside(e.InvolvedObject) {
			continue
		}
		counts[e.Reason]++
		messages[e.Reason] = e.Message
	}
	if len(counts) == 0 {
		return reason{text: "no event tells why"}
	}
	words := make([]string, 0, len(counts))
	for word := range counts {
		words = append(words, word)
	}
	slices.SortFunc(words, func(a, b string) int { return cmp.Or(counts[b]-counts[a], cmp.Compare(a, b)) })
	return reason{word: words[0], text: words[0] + ": " + messages[words[0]], hopeless: true}
}

// beside says whether an object has nothing to do with those that are waited
// for, or is one of them that is as it should be, or gone.
func (r *reasons) beside(o core.ObjectReference) bool {
	info, _ := r.spec.Resource.Info()
	if o.Kind != info.Kind {
		return ReadyState(r.spec.Resource) == Gone || !slices.Contains(makers(), o.Kind)
	}
	state := r.follower.State(strings.TrimPrefix(o.Namespace+"/"+o.Name, "/"))
	return state == Gone || state.String() == string(r.spec.State)
}

// lastSeen is when an event was last seen, in whichever form it is told.
func lastSeen(e *core.Event) time.Time {
	last := e.LastTimestamp.Time
	for _, at := range []time.Time{e.EventTime.Time, e.FirstTimestamp.Time} {
		if at.After(last) {
			last = at
		}
	}
	if e.Series != nil && e.Series.LastObservedTime.After(last) {
		last = e.Series.LastObservedTime.Time
	}
	return last
}

// held says what keeps one of the objects that are to go.
func (r *reasons) held(ctx context.Context) reason {
	key := r.example(func(State) bool { return true })
	namespace, name := split(key)
	why := reason{example: key}
	if r.spec.Resource == "namespaces" {
		r.heldNamespace(ctx, name, &why)
		return why
	}
	info, _ := r.spec.Resource.Info()
	version, _ := schema.ParseGroupVersion(info.APIVersion) // of built-in resources it is right
	o, err := r.metadata.Resource(version.WithResource(string(info.Resource))).Namespace(namespace).Get(ctx, name, metav1.GetOptions{})
	switch {
	case apierrors.IsNotFound(err):
		why.text = "it is gone meanwhile"
	case err != nil:
		why.text = fmt.Sprintf("what holds it cannot be read: %v", err)
	case o.DeletionTimestamp == nil:
		why.text = "its deletion has not begun"
	case len(o.Finalizers) > 0:
		why.word, why.hopeless = "finalizer", true
		why.text = "it is held by finalizer " + strings.Join(o.Finalizers, ", ")
	default:
		why.text = "its deletion has begun, and nobody ends it"
	}
	return why
}

// heldNamespace says what keeps a namespace: its conditions name what is in it,
// finalizers who has yet to let it go.
func (r *reasons) heldNamespace(ctx context.Context, name string, why *reason) {
	ns, err := r.client.CoreV1().Namespaces().Get(ctx, name, metav1.GetOptions{})
	switch {
	case apierrors.IsNotFound(err):
		why.text = "it is gone meanwhile"
		return
	case err != nil:
		why.text = fmt.Sprintf("what holds it cannot be read: %v", err)
		return
	case ns.DeletionTimestamp == nil:
		why.text = "its deletion has not begun"
		return
	}
	var reasons []string
	for _, c := range ns.Status.Conditions {
		if c.Status == core.ConditionTrue {
			why.word, why.hopeless = cmp.Or(why.word, c.Reason), true
			reasons = append(reasons, c.Message)
		}
	}
	switch {
	case len(reasons) > 0:
		why.text = strings.Join(reasons, "; ")
	case len(ns.Finalizers) > 0:
		why.word, why.hopeless = "finalizer", true
		why.text = "it is held by finalizer " + strings.Join(ns.Finalizers, ", ")
	default:
		why.text = "the namespace controller has not ended its deletion"
	}
}
