package local

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"slices"
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
func (p *plane) admit(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, accessTimeout)
	defer cancel()
	admin, load := p.client(kubernetesCA, adminClient), p.client(kubernetesCA, loadClient)
	url := p.ports.apiserverURL()
	used := false
	for _, o := range p.rights() {
		there, err := post(ctx, admin, url+rbacPath+o.resource, o.body)
		used = used || there
		if err != nil {
			return p.target.because(fmt.Errorf("give the users their rights: %w", err))
		}
	}
	if used {
		p.target.tell("the database that dsn names was used by an earlier run: what that made is still there, and listed with what is made now")
	}
	if err := await(ctx, load, url+"/api/v1/namespaces/default/configmaps?limit=1"); err != nil {
		return p.target.because(fmt.Errorf("wait until the load users may list configmaps: %w", err))
	}
	return nil
}

// right is an object that gives one.
type right struct{ resource, body string }

// rights end with those of the load users: once these count, the others do too.
func (p *plane) rights() []right {
	const roles, bindings = "clusterroles", "clusterrolebindings"
	all := []right{{roles, loadRole}}
	if p.spec.KubeControllerManager != nil {
		all = append(all, right{bindings, controllerManagerBinding})
	}
	if p.spec.Kwok != nil {
		all = append(all, right{roles, kwokRole}, right{bindings, kwokBinding})
	}
	if p.spec.Steve != nil {
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

// post makes an object, unless it is there: a database of the user's keeps what runs make.
func post(ctx context.Context, client *http.Client, url, body string) (there bool, err error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, url, strings.NewReader(body))
	if err != nil {
		return false, err
	}
	request.Header.Set("Content-Type", "application/json")
	status, err := expect(client, request, http.StatusCreated, http.StatusConflict)
	return status == http.StatusConflict, err
}

// expect makes a request, which must have one of these answers, and says which.
func expect(client *http.Client, request *http.Request, statuses ...int) (int, error) {
	response, err := client.Do(request)
	if err != nil {
		return 0, err
	}
	defer response.Body.Close()
	answer, _ := io.ReadAll(io.LimitReader(response.Body, 4<<10))
	_, _ = io.Copy(io.Discard, response.Body) // else the connection is not used again
	if !slices.Contains(statuses, response.StatusCode) {
		return 0, fmt.Errorf("%s %s answers %s: %s", request.Method, request.URL, response.Status, answer)
	}
	return response.StatusCode, nil
}
