package local

import (
	"time"

	"plimsoll.dev/plimsoll/api/v1alpha1"
	"plimsoll.dev/plimsoll/internal/assets"
	"plimsoll.dev/plimsoll/internal/tunnel"
)

const (
	// downstreamPrefix begins the names of the components of the downstream control plane.
	downstreamPrefix = "downstream-"
	tunnelServer     = tunnel.ServerVerb
	tunnelAgent      = tunnel.AgentVerb
	// tunnelUser is the agent's name for the server, and nobody else's.
	tunnelUser = "plimsoll-tunnel-agent"
)

// downstreamSpec is the downstream control plane of a target, as a target.
func downstreamSpec(spec v1alpha1.LocalTarget) v1alpha1.LocalTarget {
	d := spec.Downstream
	steve := d.Steve
	if steve == nil {
		steve = &v1alpha1.Steve{}
	}
	return v1alpha1.LocalTarget{Datastore: d.Datastore, KubeAPIServer: d.KubeAPIServer, Steve: steve}
}

// buildTunnel gives its two ends, which are plimsoll itself: the server, with the
// authority of the upstream plane, and the agent, which it admits.
func buildTunnel(program string, upstream, downstream *plane) []component {
	listen, steve := address(upstream.ports.tunnel), address(downstream.ports.steveHTTP)
	identity := func(name string) flags {
		return flags{
			{"cert-file", upstream.keys.certFile(name)},
			{"key-file", upstream.keys.keyFile(name)},
			{"ca-file", upstream.keys.certFile(kubernetesCA)},
		}
	}
	end := func(name string, fs flags) component {
		return component{
			name: name, binary: assets.Binary{Path: program, Source: assets.Plimsoll}, first: []string{name}, flags: fs,
			ca: kubernetesCA, observer: loadClient, readyTimeout: 10 * time.Second, grace: time.Second, layer: frontLayer,
		}
	}
	server := end(tunnelServer, append(flags{{"listen", listen}, {"steve", steve}, {"agent-user", tunnelUser}}, identity(controlServer)...))
	server.ready, server.metrics = "https://"+listen+tunnel.HealthPath, "https://"+listen+tunnel.MetricsPath
	server.env = []string{"CATTLE_PROMETHEUS_METRICS=true"} // for those of the tunnel itself
	agent := end(tunnelAgent, append(flags{{"server", "https://" + listen}, {"steve", steve}}, identity(tunnelAgent)...))
	agent.ready, agent.needs = "https://"+listen+tunnel.ConnectedPath, tunnelServer
	return []component{server, agent}
}
