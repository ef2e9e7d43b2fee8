package local

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"
)

const (
	accessTimeout = 10 * time.Second
	rbacPath      = "/apis/rbac.authorization.k8s.io/v1/"
)

// loadRole lets load users do everything to every resource but grant rights.
const loadRole = `{
	"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRole", "metadata": {"name": "plimsoll-load"},
	"rules": [{
		"apiGroups": ["*"], "resources": ["*"],
		"verbs": ["get", "list", "watch", "create", "update", "patch", "delete", "deletecollection"]
	}]
}`

const loadBinding = `{
	"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRoleBinding", "metadata": {"name": "plimsoll-load"},
	"roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "plimsoll-load"},
	"subjects": [{"apiGroup": "rbac.authorization.k8s.io", "kind": "Group", "name": "` + loadGroup + `"}]
}`

// steveBinding makes Steve's user what it is in Rancher: an admin by RBAC, and
// so one whose requests are subject to priority and fairness.
const steveBinding = `{
	"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRoleBinding", "metadata": {"name": "plimsoll-steve"},
	"roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "cluster-admin"},
	"subjects": [{"apiGroup": "rbac.authorization.k8s.io", "kind": "User", "name": "` + steveUser + `"}]
}`

// admit gives the users their rights and waits until those of the load users
// count: the API server learns of them through a watch of its own.
func (t *Target) admit(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, accessTimeout)
	defer cancel()
	t.mu.Lock()
	admin, load := t.client(kubernetesCA, adminClient), t.client(kubernetesCA, loadClient)
	t.mu.Unlock()
	url := t.ports.apiserverURL()
	for _, o := range t.rights() {
		if err := post(ctx, admin, url+rbacPath+o.resource, o.body); err != nil {
			return t.because(fmt.Errorf("give the users their rights: %w", err))
		}
	}
	if err := await(ctx, load, url+"/api/v1/namespaces/default/configmaps?limit=1"); err != nil {
		return t.because(fmt.Errorf("wait until the load users may list configmaps: %w", err))
	}
	return nil
}

// right is an object that gives one.
type right struct{ resource, body string }

// rights end with those of the load users: once these count, the others do too.
func (t *Target) rights() []right {
	const roles, bindings = "clusterroles", "clusterrolebindings"
	all := []right{{roles, loadRole}}
	if t.spec.KubeControllerManager != nil {
		all = append(all, right{bindings, controllerManagerBinding})
	}
	if t.spec.Kwok != nil {
		all = append(all, right{roles, kwokRole}, right{bindings, kwokBinding})
	}
	if t.spec.Steve != nil {
		all = append(all, right{bindings, steveBinding})
	}
	return append(all, right{bindings, loadBinding})
}

// because puts the exit of a component, if there was one, before its consequence.
func (t *Target) because(err error) error {
	select {
	case exit := <-t.failed:
		return fmt.Errorf("%w\n%w", exit, err)
	default:
		return err
	}
}

func post(ctx context.Context, client *http.Client, url, body string) error {
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, url, strings.NewReader(body))
	if err != nil {
		return err
	}
	request.Header.Set("Content-Type", "application/json")
	return expect(client, request, http.StatusCreated)
}

// expect makes a request, which must have this answer.
func expect(client *http.Client, request *http.Request, status int) error {
	response, err := client.Do(request)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	answer, _ := io.ReadAll(io.LimitReader(response.Body, 4<<10))
	_, _ = io.Copy(io.Discard, response.Body) // else the connection is not used again
	if response.StatusCode != status {
		return fmt.Errorf("%s %s answers %s: %s", request.Method, request.URL, response.Status, answer)
	}
	return nil
}
