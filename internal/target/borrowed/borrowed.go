// Package borrowed is the target that somebody else runs: a cluster, reached
// with a kubeconfig. What plimsoll makes there it makes in namespaces of its
// own, labels, and removes.
package borrowed

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"time"

	authorization "k8s.io/api/authorization/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"

	"plimsoll.dev/plimsoll/api/v1alpha1"
	"plimsoll.dev/plimsoll/internal/target"
)

// requestTimeout bounds single requests that are not load.
const requestTimeout = 15 * time.Second

// Target is a borrowed cluster.
type Target struct {
	config  *rest.Config
	client  kubernetes.Interface
	version string
	// context is the name of the kubeconfig's context; the kubeconfig itself is nobody's business.
	context string
	metrics bool // the user may read the API server's metrics
}

var (
	_ target.Target  = (*Target)(nil)
	_ target.KubeAPI = (*Target)(nil)
	_ target.Shared  = (*Target)(nil)
)

// Open reads a kubeconfig as kubectl does and asks the cluster for its version.
func Open(ctx context.Context, spec v1alpha1.BorrowedTarget) (*Target, error) {
	rules := clientcmd.NewDefaultClientConfigLoadingRules()
	rules.ExplicitPath = spec.Kubeconfig
	loader := clientcmd.NewNonInteractiveDeferredLoadingClientConfig(rules, &clientcmd.ConfigOverrides{CurrentContext: spec.Context})
	raw, err := loader.RawConfig()
	if err != nil {
		return nil, fmt.Errorf("read kubeconfig: %w", err)
	}
	config, err := loader.ClientConfig()
	if err != nil {
		return nil, fmt.Errorf("read kubeconfig: %w", err)
	}
	config.QPS = -1 // no client-side limit
	t := &Target{config: config, context: spec.Context}
	if t.context == "" {
		t.context = raw.CurrentContext
	}
	if t.client, err = kubernetes.NewForConfig(config); err != nil {
		return nil, fmt.Errorf("read kubeconfig: %w", err)
	}
	if err := t.ask(ctx); err != nil {
		return nil, fmt.Errorf("reach cluster %s of context %s: %w", config.Host, t.context, explain(err))
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
	_, after, _ := strings.Cut(string(body), `"gitVersion": "`)
	t.version, _, _ = strings.Cut(after, `"`)
	t.metrics, err = t.may(ctx, authorization.SelfSubjectAccessReviewSpec{
		NonResourceAttributes: &authorization.NonResourceAttributes{Path: "/metrics", Verb: "get"},
	})
	return err
}

// explain adds the way out to what TLS and authentication say.
func explain(err error) error {
	text := err.Error()
	switch {
	case strings.Contains(text, "certificate signed by unknown authority"):
		return fmt.Errorf("%w: the kubeconfig's certificate-authority is not that of this server", err)
	case strings.Contains(text, "certificate has expired"):
		return fmt.Errorf("%w: renew the certificate, or look at the clock", err)
	case strings.Contains(text, "Unauthorized"), strings.Contains(text, "provide credentials"):
		return fmt.Errorf("%w: the kubeconfig's credentials are not valid here, or have expired", err)
	case strings.Contains(text, "connection refused"), strings.Contains(text, "no such host"), strings.Contains(text, "i/o timeout"), strings.Contains(text, "deadline exceeded"):
		return fmt.Errorf("%w: is the cluster running, and is this the right context?", err)
	}
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
	return target.Description{Components: []target.ComponentDescription{
		{Name: "kube-apiserver", Version: t.version, Source: "borrowed"},
	}}, nil
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
	Verb, Group, Resource string
}

// String says the permission as a rule would: "create deployments (apps)".
func (n Need) String() string {
	if n.Group == "" {
		return n.Verb + " " + n.Resource
	}
	return fmt.Sprintf("%s %s (%s)", n.Verb, n.Resource, n.Group)
}

// Missing gives those of the needs that the user does not have.
func (t *Target) Missing(ctx context.Context, needs []Need) ([]Need, error) {
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	var missing []Need
	for _, n := range needs {
		allowed, err := t.may(ctx, authorization.SelfSubjectAccessReviewSpec{
			ResourceAttributes: &authorization.ResourceAttributes{Verb: n.Verb, Group: n.Group, Resource: n.Resource},
		})
		if err != nil {
			return nil, fmt.Errorf("ask for permissions: %w", err)
		}
		if !allowed {
			missing = append(missing, n)
		}
	}
	return missing, nil
}

func (t *Target) may(ctx context.Context, spec authorization.SelfSubjectAccessReviewSpec) (bool, error) {
	review, err := t.client.AuthorizationV1().SelfSubjectAccessReviews().Create(ctx,
		&authorization.SelfSubjectAccessReview{Spec: spec}, metav1.CreateOptions{})
	if err != nil {
		return false, err
	}
	return review.Status.Allowed, nil
}
