package local

import (
	"context"
	"fmt"
	"slices"
	"time"

	"plimsoll.dev/plimsoll/api/v1alpha1"
	"plimsoll.dev/plimsoll/internal/target"
)

const (
	controllerManagerPart = "kube-controller-manager"
	controllerManagerUser = "system:kube-controller-manager" // whom RBAC, and priority and fairness, know by this name
	schedulerPart         = "kube-scheduler"
	schedulerUser         = "system:kube-scheduler" // likewise

	// Some 400 KB, at 10 to 15 ms of the component's CPU.
	controlScrape = 2 * time.Second
)

// buildControl gives a component of the control plane that is a client of the
// API server and serves its own health and metrics, as kubeadm would configure
// it, but on loopback. Leader election is left on, so that a lost lease shows.
func buildControl(p *plane, name string, port int, own flags, document v1alpha1.Flags, restart bool) component {
	kubeconfig := p.kubeconfigFile(target.Identity(name))
	return component{
		name: name, kubeconfig: target.Identity(name), document: []v1alpha1.Flags{document},
		needs: apiserverPart, // without which they exit at once
		flags: slices.Concat(flags{
			{"kubeconfig", kubeconfig},
			{"authentication-kubeconfig", kubeconfig},
			{"authorization-kubeconfig", kubeconfig},
			{"bind-address", loopbackIP},
			{"secure-port", fmt.Sprint(port)},
			{"tls-cert-file", p.keys.certFile(controlServer)},
			{"tls-private-key-file", p.keys.keyFile(controlServer)},
			{"client-ca-file", p.keys.certFile(kubernetesCA)},
			// Else each scrape would wait for the API server to allow it, and be refused when that is overloaded.
			{"authorization-always-allow-paths", "/healthz,/readyz,/livez,/metrics"},
		}, own),
		ready: loopback(port) + "/healthz", metrics: loopback(port) + "/metrics", ca: kubernetesCA, observer: monitorClient, scrapeInterval: controlScrape,
		layer: frontLayer, restart: restart,
	}
}

// buildControllerManager gives the controllers.
func buildControllerManager(p *plane) component {
	return buildControl(p, controllerManagerPart, p.ports.controllerManager, flags{
		{"service-account-private-key-file", p.keys.keyFile(serviceAccount)},
		{"root-ca-file", p.keys.certFile(kubernetesCA)},
	}, p.spec.KubeControllerManager.Flags, p.spec.KubeControllerManager.Restart)
}

// buildScheduler gives the scheduler.
func buildScheduler(p *plane) component {
	return buildControl(p, schedulerPart, p.ports.scheduler, nil, p.spec.KubeScheduler.Flags, p.spec.KubeScheduler.Restart)
}

// awaitServiceAccount waits until pods may be made in the namespace default:
// their admission asks for its service account, which a controller makes.
func (p *plane) awaitServiceAccount(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, startTimeout)
	defer cancel()
	if err := await(ctx, p.admin(), p.ports.apiserverURL()+"/api/v1/namespaces/default/serviceaccounts/default"); err != nil {
		return p.target.because(fmt.Errorf("wait until the controllers have made the service account of namespace default: %w", err))
	}
	return nil
}
