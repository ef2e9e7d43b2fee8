package local

import (
	"context"
	"fmt"
)

const (
	controllerManagerPart = "kube-controller-manager"
	controllerManagerUser = "system:kube-controller-manager" // whom RBAC, and priority and fairness, know by this name
)

// buildControllerManager gives the controllers.
func buildControllerManager(p *plane) component {
	return buildControl(p, controllerManagerPart, p.ports.controllerManager, flags{
		{"service-account-private-key-file", p.keys.keyFile(serviceAccount)},
		{"root-ca-file", p.keys.certFile(kubernetesCA)},
	}, p.spec.KubeControllerManager.Flags, p.spec.KubeControllerManager.Restart)
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
