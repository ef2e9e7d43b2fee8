package borrowed

import (
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"plimsoll.dev/plimsoll/api/v1alpha1"
)

// plane is an API server of a few namespaces, for what real ones rarely do.
type plane struct {
	mu         sync.Mutex
	namespaces map[string]string // the label of each
	keeps      string            // the one whose deletion is forbidden
	deleted    []string
}

func (p *plane) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	p.mu.Lock()
	defer p.mu.Unlock()
	w.Header().Set("Content-Type", "application/json")
	name, single := strings.CutPrefix(r.URL.Path, "/api/v1/namespaces/")
	switch {
	case r.URL.Path == "/version":
		_, _ = w.Write([]byte(`{"gitVersion":"v1.0.0"}`))
	case strings.HasSuffix(r.URL.Path, "/selfsubjectaccessreviews"):
		_, _ = w.Write([]byte(`{"kind":"SelfSubjectAccessReview","apiVersion":"authorization.k8s.io/v1"}`))
	case r.URL.Path == "/api/v1/namespaces":
		p.list(w, r)
	case single && r.Method == http.MethodDelete && name != p.keeps:
		p.deleted = append(p.deleted, name)
		delete(p.namespaces, name)
		_, _ = w.Write([]byte(`{"kind":"Status","apiVersion":"v1","status":"Success"}`))
	case single && r.Method == http.MethodDelete:
		w.WriteHeader(http.StatusForbidden)
		_, _ = w.Write([]byte(`{"kind":"Status","apiVersion":"v1","status":"Failure","reason":"Forbidden","message":"this one stays","code":403}`))
	default:
		w.WriteHeader(http.StatusNotFound)
		_, _ = w.Write([]byte(`{"kind":"Status","apiVersion":"v1","status":"Failure","reason":"NotFound","code":404}`))
	}
}

// list lists the namespaces whose label is that of the selector.
func (p *plane) list(w http.ResponseWriter, r *http.Request) {
	_, run, exact := strings.Cut(r.URL.Query().Get("labelSelector"), "=")
	items := []any{}
	for name, label := range p.namespaces {
		if !exact || label == run {
			items = append(items, map[string]any{"metadata": map[string]any{"name": name, "uid": name, "labels": map[string]string{"plimsoll.dev/run": label}}})
		}
	}
	_ = json.NewEncoder(w).Encode(map[string]any{"kind": "NamespaceList", "apiVersion": "v1", "items": items})
}

func open(t *testing.T, p *plane) *Target {
	t.Helper()
	server := httptest.NewServer(p)
	t.Cleanup(server.Close)
	file := filepath.Join(t.TempDir(), "kubeconfig")
	text := "apiVersion: v1\nkind: Config\ncurrent-context: kind-a\ncontexts: [{name: kind-a, context: {cluster: a}}]\n" +
		"clusters: [{name: a, cluster: {server: \"" + server.URL + "\"}}]\n"
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	target, err := Open(t.Context(), v1alpha1.BorrowedTarget{Kubeconfig: file})
	if err != nil {
		t.Fatal(err)
	}
	return target
}

func TestCleanLeavesOtherRunsAlone(t *testing.T) {
	p := &plane{namespaces: map[string]string{"small-a-1": "a-1", "small-a-1-0": "a-1", "small-a-11": "a-11", "small-b-1": "b-1"}}
	if err := open(t, p).Clean(t.Context(), "a-1"); err != nil {
		t.Fatal(err)
	}
	slices.Sort(p.deleted)
	if want := []string{"small-a-1", "small-a-1-0"}; !slices.Equal(p.deleted, want) {
		t.Errorf("deleted %v, want %v", p.deleted, want)
	}
}

func TestWhatMayNotBeDeletedDoesNotSpareTheRest(t *testing.T) {
	p := &plane{namespaces: map[string]string{"first": "a-1", "kept": "a-1", "last": "a-1"}, keeps: "kept"}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	err := open(t, p).Clean(ctx, "a-1")
	if len(p.namespaces) != 1 || p.namespaces["kept"] == "" {
		t.Errorf("there are %v, want kept alone", p.namespaces)
	}
	if err == nil || !strings.Contains(err.Error(), "delete namespace kept: ") || !strings.Contains(err.Error(), "this one stays") ||
		!strings.Contains(err.Error(), " --context kind-a --run a-1") {
		t.Errorf("error is %v", err)
	}
}
