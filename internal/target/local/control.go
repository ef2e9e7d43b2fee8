package local

import (
	"fmt"
	"slices"
	"time"

	"plimsoll.dev/plimsoll/api/v1alpha1"
	"plimsoll.dev/plimsoll/internal/target"
)

const (
	controlReady = 30 * time.Second
	// Short, since nothing of theirs is kept: they give their leases back, no more.
	controlGrace = 2 * time.Second
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
		readyTimeout: controlReady, grace: controlGrace, layer: frontLayer, restart: restart,
	}
}
