package local

import (
	"context"
	"fmt"
)

const (
	controllerManagerPart = "kube-controller-manager"
	controllerManagerUser = "system:kube-controller-manager" // whom RBAC, and priority and fairness, know by this name
)

// buildControllerManager gives the controllers. Each of them is a service account
// of its own, so that who was rejected can be told by name.
func buildControllerManager(p plan) ([]component, error) {
	if p.spec.KubeControllerManager == nil {
		return nil, nil
	}
	return buildControl(p, controllerManagerPart, p.ports.controllerManager, flags{
		{"use-service-account-credentials", "true"},
		{"service-account-private-key-file", p.keys.keyFile(serviceAccount)},
		{"root-ca-file", p.keys.certFile(kubernetesCA)},
		{"service-cluster-ip-range", serviceRange},
	}, p.spec.KubeControllerManager.Flags)
}

// awaitServiceAccount waits until pods may be made in the namespace default:
// their admission asks for its service account, which a controller makes.
func (t *Target) awaitServiceAccount(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, controlReady)
	defer cancel()
	if err := await(ctx, t.admin(), t.ports.apiserverURL()+"/api/v1/namespaces/default/serviceaccounts/default"); err != nil {
		return t.because(fmt.Errorf("wait until the controllers have made the service account of namespace default: %w", err))
	}
	return nil
}
