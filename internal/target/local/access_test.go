package local

import (
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	core "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes/scheme"

	"plimsoll.dev/plimsoll/api/v1alpha1"
)

// requested is what an API server was asked for.
type requested struct {
	mu    sync.Mutex
	lines []string
	nodes []*core.Node
}

// apiServer stands in for one that has the objects of these names already, and leases of three nodes.
func apiServer(t *testing.T, p *plane, there ...string) *requested {
	var got requested
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		got.mu.Lock()
		defer got.mu.Unlock()
		got.lines = append(got.lines, r.Method+" "+r.URL.RequestURI())
		w.Header().Set("Content-Type", "application/json")
		switch {
		case r.Method == http.MethodPost:
			o, _, err := scheme.Codecs.UniversalDeserializer().Decode(body, nil, nil)
			if err != nil {
				t.Error(err)
				return
			}
			if node, ok := o.(*core.Node); ok {
				got.nodes = append(got.nodes, node)
			}
			if slices.Contains(there, o.(metav1.Object).GetName()) {
				w.WriteHeader(http.StatusConflict)
				fmt.Fprint(w, `{"kind": "Status", "apiVersion": "v1", "status": "Failure", "reason": "AlreadyExists", "code": 409}`)
				return
			}
			w.Header().Set("Content-Type", r.Header.Get("Content-Type"))
			w.WriteHeader(http.StatusCreated)
			_, _ = w.Write(body)
		case strings.HasSuffix(r.URL.Path, "/leases"):
			fmt.Fprint(w, `{"kind": "LeaseList", "apiVersion": "coordination.k8s.io/v1", "metadata": {"remainingItemCount": 2}, "items": [{}]}`)
		default:
			fmt.Fprint(w, `{"kind": "Node", "apiVersion": "v1"}`)
		}
	}))
	server.TLS = p.keys.tlsConfig(kubernetesCA, apiserverServer)
	server.StartTLS()
	t.Cleanup(server.Close)
	p.ports.apiserver = server.Listener.Addr().(*net.TCPAddr).Port
	return &got
}

func TestUsersGetTheirRights(t *testing.T) {
	for _, row := range []struct {
		name  string
		there []string
		notes int
	}{
		{"on a new datastore", nil, 0},
		{"on one that was used", []string{"plimsoll-load", "plimsoll-kwok"}, 1},
	} {
		t.Run(row.name, func(t *testing.T) {
			notes := 0
			spec := controlPlane(3)
			spec.Steve = &v1alpha1.Steve{}
			p := planeOf(t, spec)
			p.target = &Target{plane: p, options: Options{Note: func(string) { notes++ }}}
			got := apiServer(t, p, row.there...)
			if err := p.admit(t.Context()); err != nil {
				t.Fatal(err)
			}
			const roles, bindings = "POST /apis/rbac.authorization.k8s.io/v1/clusterroles", "POST /apis/rbac.authorization.k8s.io/v1/clusterrolebindings"
			want := []string{roles, roles, bindings, bindings, bindings, bindings, "GET /api/v1/namespaces/default/configmaps?limit=1"}
			if diff := cmp.Diff(want, got.lines); diff != "" || notes != row.notes {
				t.Errorf("%d notes, and requests: %s", notes, diff)
			}
		})
	}
}

func TestNodesAreMadeReady(t *testing.T) {
	p := planeOf(t, controlPlane(3))
	p.target = &Target{plane: p}
	got := apiServer(t, p, "node-1")
	if err := p.makeNodes(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := p.awaitNodes(t.Context()); err != nil {
		t.Error(err)
	}
	slices.Sort(got.lines)
	want := []string{"GET /apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases?limit=1"}
	for i := range 3 {
		want = append(want, fmt.Sprintf("PATCH /api/v1/nodes/node-%d", i))
	}
	if diff := cmp.Diff(append(want, slices.Repeat([]string{"POST /api/v1/nodes"}, 3)...), got.lines); diff != "" {
		t.Error(diff)
	}
	for _, node := range got.nodes {
		ready := slices.ContainsFunc(node.Status.Conditions, func(c core.NodeCondition) bool { return c.Type == core.NodeReady && c.Status == core.ConditionTrue })
		if pods := node.Status.Allocatable.Pods().Value(); !ready || pods != 110 || node.Annotations["node.alpha.kubernetes.io/ttl"] != "0" || node.Labels[core.LabelHostname] != node.Name {
			t.Errorf("a node is ready: %v, has room for %d pods, and is %+v", ready, pods, node.ObjectMeta)
		}
	}
}
