package local

import (
	"context"
	"fmt"
)

const (
	controllerManagerPart = "kube-controller-manager"
	controllerManagerUser = "system:kube-controller-manager" // whom RBAC, and priority and fairness, know by this name
)

// controllerManagerBinding gives the controllers all rights, as one user that
// is subject to priority and fairness.
//
// With use-service-account-credentials, each would be a service account with the
// rights that it needs. It would take the controllers five seconds more to start,
// since they would ask for 45 tokens with their limit of 20 requests per second.
const controllerManagerBinding = `{
	"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRoleBinding", "metadata": {"name": "plimsoll-kube-controller-manager"},
	"roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "cluster-admin"},
	"subjects": [{"apiGroup": "rbac.authorization.k8s.io", "kind": "User", "name": "` + controllerManagerUser + `"}]
}`

// buildControllerManager gives the controllers.
func buildControllerManager(p *plane) ([]component, error) {
	if p.spec.KubeControllerManager == nil {
		return nil, nil
	}
	return buildControl(p, controllerManagerPart, p.ports.controllerManager, flags{
		{"service-account-private-key-file", p.keys.keyFile(serviceAccount)},
		{"root-ca-file", p.keys.certFile(kubernetesCA)},
	}, p.spec.KubeControllerManager.Flags)
}

// awaitServiceAccount waits until pods may be made in the namespace default:
// their admission asks for its service account, which a controller makes.
func (p *plane) awaitServiceAccount(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, controlReady)
	defer cancel()
	if err := await(ctx, p.admin(), p.ports.apiserverURL()+"/api/v1/namespaces/default/serviceaccounts/default"); err != nil {
		return p.target.because(fmt.Errorf("wait until the controllers have made the service account of namespace default: %w", err))
	}
	return nil
}
