// Package borrowed is the target that somebody else runs: a cluster, reached
// with a kubeconfig. What plimsoll makes there it makes in namespaces of its
// own, labels, and removes.
package borrowed

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"time"

	authorization "k8s.io/api/authorization/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"

	"plimsoll.dev/plimsoll/api/v1alpha1"
	"plimsoll.dev/plimsoll/internal/target"
)

// requestTimeout bounds single requests that are not load.
const requestTimeout = 15 * time.Second

// Target is a borrowed cluster.
type Target struct {
	config   *rest.Config
	client   kubernetes.Interface
	metadata metadata.Interface
	version  string
	// context is the name of the kubeconfig's context, and file where it is written; the rest of the
	// kubeconfig is nobody's business.
	context, file string
	explicit      bool // the file was named, rather than found as kubectl does
	metrics       bool // the user may read the API server's metrics
	steve         *rest.Config
}

var (
	_ target.Target  = (*Target)(nil)
	_ target.KubeAPI = (*Target)(nil)
	_ target.Shared  = (*Target)(nil)
)

// Open reads a kubeconfig as kubectl does and asks the cluster for its version.
func Open(ctx context.Context, spec v1alpha1.BorrowedTarget) (*Target, error) {
	t, err := read(spec)
	if err != nil {
		return nil, fmt.Errorf("read kubeconfig: %w", err)
	}
	if err := t.ask(ctx); err != nil {
		return nil, fmt.Errorf("reach cluster %s of context %s in %s: %w", t.config.Host, t.context, t.file, explain(err, t.config))
	}
	if spec.Steve != nil {
		if t.steve, err = openSteve(ctx, *spec.Steve); err != nil {
			return nil, err
		}
	}
	return t, nil
}

// Capabilities gives the target with the capabilities of its spec, and no
// others: one without a Steve is no target.Steve.
func (t *Target) Capabilities() target.Target {
	if t.steve == nil {
		return t
	}
	return withSteve{t}
}

// read makes a target of what a kubeconfig says; it asks nobody.
func read(spec v1alpha1.BorrowedTarget) (*Target, error) {
	rules := clientcmd.NewDefaultClientConfigLoadingRules()
	rules.ExplicitPath = spec.Kubeconfig
	loader := clientcmd.NewNonInteractiveDeferredLoadingClientConfig(rules, &clientcmd.ConfigOverrides{CurrentContext: spec.Context})
	raw, err := loader.RawConfig()
	if err != nil {
		return nil, err
	}
	t := &Target{context: cmp.Or(spec.Context, raw.CurrentContext), explicit: spec.Kubeconfig != ""}
	t.file = cmp.Or(spec.Kubeconfig, rules.GetDefaultFilename())
	known := slices.Sorted(maps.Keys(raw.Contexts))
	switch chosen := raw.Contexts[t.context]; {
	case chosen != nil:
		t.file = cmp.Or(chosen.LocationOfOrigin, t.file)
	case len(known) == 0:
		return nil, fmt.Errorf("%s names no cluster: name another file with --kubeconfig", t.file)
	case t.context == "":
		return nil, fmt.Errorf("%s has no current context: choose with --context among %s", t.file, strings.Join(known, ", "))
	default:
		return nil, fmt.Errorf("%s has no context %q%s\nthere are: %s", t.file, t.context, v1alpha1.NearMiss(t.context, known), strings.Join(known, ", "))
	}
	if t.config, err = loader.ClientConfig(); err != nil {
		return nil, fmt.Errorf("context %s in %s: %w", t.context, t.file, err)
	}
	t.config.QPS = -1 // no client-side limit
	t.config.WarningHandler = rest.NoWarnings{}
	if t.client, err = kubernetes.NewForConfig(t.config); err == nil {
		t.metadata, err = metadata.NewForConfig(t.config)
	}
	if err != nil {
		return nil, fmt.Errorf("context %s in %s: %w", t.context, t.file, err)
	}
	return t, nil
}

// ask learns the cluster's version, and whether its metrics may be read.
func (t *Target) ask(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	body, err := t.client.Discovery().RESTClient().Get().AbsPath("/version").DoRaw(ctx)
	if err != nil {
		return err
	}
	var version struct{ GitVersion string }
	if err := json.Unmarshal(body, &version); err != nil || version.GitVersion == "" {
		return errors.New("what answers there is not a Kubernetes API server")
	}
	t.version = version.GitVersion
	t.metrics, err = may(ctx, t.client, authorization.SelfSubjectAccessReviewSpec{
		NonResourceAttributes: &authorization.NonResourceAttributes{Path: "/metrics", Verb: "get"},
	})
	return err
}

// RESTConfig implements target.KubeAPI: admin and load are the kubeconfig's
// own user; any other user is impersonated by it, and needs rights there.
func (t *Target) RESTConfig(id target.Identity) (*rest.Config, error) {
	config := rest.CopyConfig(t.config)
	if user, ok := id.User(); ok {
		config.Impersonate = rest.ImpersonationConfig{UserName: user}
	}
	return config, nil
}

// Describe implements target.Target. Of a borrowed cluster its API server's
// version is all that everybody may know.
func (t *Target) Describe(context.Context) (target.Description, error) {
	components := []target.ComponentDescription{{Name: "kube-apiserver", Version: t.version, Source: "borrowed"}}
	if t.steve != nil { // which tells nobody its version
		components = append(components, target.ComponentDescription{Name: "steve", Source: "borrowed"})
	}
	return target.Description{Components: components}, nil
}

// Endpoints implements target.Target: the API server's own metrics, if the user
// may read them.
func (t *Target) Endpoints() []target.Endpoint {
	if !t.metrics {
		return nil
	}
	client, err := rest.HTTPClientFor(t.config)
	if err != nil {
		return nil
	}
	return []target.Endpoint{{
		Component: "kube-apiserver", URL: strings.TrimSuffix(t.config.Host, "/") + "/metrics", Client: client, Interval: 5 * time.Second,
	}}
}

// Close implements target.Target. The cluster is not ours to stop.
func (t *Target) Close(context.Context) error {
	if transport, ok := t.config.Transport.(*http.Transport); ok {
		transport.CloseIdleConnections()
	}
	return nil
}

// Name is how the cluster is called towards people.
func (t *Target) Name() string {
	return fmt.Sprintf("%s (%s, %s)", t.context, t.config.Host, t.version)
}

// IsTest says whether the cluster is clearly one to play with: its context is
// named as the tools for local clusters name theirs. An address of this machine
// says nothing: it may be a tunnel.
func (t *Target) IsTest() bool {
	for _, prefix := range []string{"kind-", "k3d-", "minikube", "docker-desktop", "rancher-desktop", "orbstack", "colima", "kwok-", "plimsoll"} {
		if strings.HasPrefix(t.context, prefix) {
			return true
		}
	}
	return false
}

// Need is a permission that a run needs.
type Need struct {
	// User is who needs it; empty is the user of the kubeconfig.
	User                  string
	Verb, Group, Resource string
	// Name is the one object that it is for; empty is all of them.
	Name string
}

// Impersonate is the permission to make requests as a user.
func Impersonate(user string) Need { return Need{Verb: "impersonate", Resource: "users", Name: user} }

// String says the permission as a rule would: "create deployments (apps)".
func (n Need) String() string {
	text := n.Verb + " " + n.Resource
	if n.Group != "" {
		text += " (" + n.Group + ")"
	}
	if n.Name != "" {
		text += " named " + n.Name
	}
	if n.User != "" {
		text += ", as user " + n.User
	}
	return text
}

// Missing gives those of the needs that are not met, in all namespaces: those
// of a run do not exist yet. What another user may do can only be asked by who
// may impersonate that user; if that is missing, it is all that is said of it.
func (t *Target) Missing(ctx context.Context, needs []Need) ([]Need, error) {
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	var missing []Need
	clients := map[string]kubernetes.Interface{"": t.client}
	for _, n := range needs {
		if slices.Contains(missing, Impersonate(n.User)) {
			continue
		}
		if clients[n.User] == nil {
			client, err := t.as(n.User)
			if err != nil {
				return nil, err
			}
			clients[n.User] = client
		}
		allowed, err := may(ctx, clients[n.User], authorization.SelfSubjectAccessReviewSpec{
			ResourceAttributes: &authorization.ResourceAttributes{Verb: n.Verb, Group: n.Group, Resource: n.Resource, Name: n.Name},
		})
		if err != nil {
			return nil, fmt.Errorf("ask for the permission to %s: %w", n, err)
		}
		if !allowed {
			missing = append(missing, n)
		}
	}
	return missing, nil
}

// as gives a client that makes requests as another user.
func (t *Target) as(user string) (kubernetes.Interface, error) {
	config, err := t.RESTConfig(target.User(user))
	if err != nil {
		return nil, err
	}
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		return nil, fmt.Errorf("make requests as user %s: %w", user, err)
	}
	return client, nil
}

func may(ctx context.Context, client kubernetes.Interface, spec authorization.SelfSubjectAccessReviewSpec) (bool, error) {
	review, err := client.AuthorizationV1().SelfSubjectAccessReviews().Create(ctx,
		&authorization.SelfSubjectAccessReview{Spec: spec}, metav1.CreateOptions{})
	if err != nil {
		return false, err
	}
	return review.Status.Allowed, nil
}
