package local

import (
	"context"
	"fmt"
	"time"

	rbac "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
)

const accessTimeout = 10 * time.Second

// role is a cluster's.
func role(name string, rules ...rbac.PolicyRule) rbac.ClusterRole {
	return rbac.ClusterRole{ObjectMeta: metav1.ObjectMeta{Name: name}, Rules: rules}
}

// binding gives a cluster's role to a subject, which is a User or a Group.
func binding(name, role, kind, subject string) rbac.ClusterRoleBinding {
	return rbac.ClusterRoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		RoleRef:    rbac.RoleRef{APIGroup: rbac.GroupName, Kind: "ClusterRole", Name: role},
		Subjects:   []rbac.Subject{{APIGroup: rbac.GroupName, Kind: kind, Name: subject}},
	}
}

// clusterAdmin is the role that may do everything, but as a user whose requests
// are subject to priority and fairness.
const clusterAdmin = "cluster-admin"

// rights are roles, and who has them. They end with those of the load users: once
// these count, the others do too.
func (p *plane) rights() (roles []rbac.ClusterRole, bindings []rbac.ClusterRoleBinding) {
	const load = "plimsoll-load" // may do everything to every resource but grant rights
	roles = []rbac.ClusterRole{role(load, rbac.PolicyRule{
		APIGroups: []string{"*"}, Resources: []string{"*"},
		Verbs: []string{"get", "list", "watch", "create", "update", "patch", "delete", "deletecollection"},
	})}
	if p.spec.KubeControllerManager != nil {
		// With use-service-account-credentials, each controller would be a service account with the
		// rights that it needs. It would take them five seconds more to start, since they would ask
		// for 45 tokens with their limit of 20 requests per second.
		bindings = append(bindings, binding("plimsoll-kube-controller-manager", clusterAdmin, rbac.UserKind, controllerManagerUser))
	}
	if p.spec.Kwok != nil {
		const kubelet = "plimsoll-kwok"
		roles = append(roles, role(kubelet, kubeletRules()...))
		bindings = append(bindings, binding(kubelet, kubelet, rbac.UserKind, kwokUser))
	}
	if p.spec.Steve != nil { // what it is in Rancher
		bindings = append(bindings, binding("plimsoll-steve", clusterAdmin, rbac.UserKind, steveUser))
	}
	return roles, append(bindings, binding(load, load, rbac.GroupKind, loadGroup))
}

// api gives a client of the API server for the identity that prepares.
func (p *plane) api() (kubernetes.Interface, error) {
	return kubernetes.NewForConfigAndClient(&rest.Config{Host: p.ports.apiserverURL(), QPS: -1}, p.client(kubernetesCA, adminClient))
}

// admit gives the users their rights and waits until those of the load users
// count: the API server learns of them through a watch of its own.
func (p *plane) admit(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, accessTimeout)
	defer cancel()
	used, err := p.grant(ctx)
	if err != nil {
		return p.target.because(fmt.Errorf("give the users their rights: %w", err))
	}
	if used {
		p.target.tell("the database that dsn names was used by an earlier run: what that made is still there, and listed with what is made now")
	}
	if err := await(ctx, p.client(kubernetesCA, loadClient), p.ports.apiserverURL()+"/api/v1/namespaces/default/configmaps?limit=1"); err != nil {
		return p.target.because(fmt.Errorf("wait until the load users may list configmaps: %w", err))
	}
	return nil
}

// grant makes the rights. Those that are there already show that the datastore was used.
func (p *plane) grant(ctx context.Context) (used bool, err error) {
	api, err := p.api()
	if err != nil {
		return false, err
	}
	there := func(err error) error {
		if apierrors.IsAlreadyExists(err) {
			used, err = true, nil
		}
		return err
	}
	roles, bindings := p.rights()
	for _, r := range roles {
		if _, err := api.RbacV1().ClusterRoles().Create(ctx, &r, metav1.CreateOptions{}); there(err) != nil {
			return used, err
		}
	}
	for _, b := range bindings {
		if _, err := api.RbacV1().ClusterRoleBindings().Create(ctx, &b, metav1.CreateOptions{}); there(err) != nil {
			return used, err
		}
	}
	return used, nil
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
