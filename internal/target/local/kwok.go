package local

import (
	_ "embed"
	"encoding/json"
	"fmt"
	"maps"
	"path/filepath"

	rbac "k8s.io/api/rbac/v1"

	"plimsoll.dev/plimsoll/api/v1alpha1"
)

const (
	kwokPart = "kwok"
	kwokUser = "system:kwok"
	// kubeletGroup is that of all kubelets: priority and fairness knows their
	// requests by it. It has no rights by itself.
	kubeletGroup = "system:nodes"
	kwokConfig   = "kwok.yaml"
	// podRange has room for eight million pods: addresses outside of it are not used again.
	podRange = "10.128.0.0/9"
)

// stages say what becomes of nodes and pods.
//
//go:embed stages.yaml
var stages string

// kubeletRules are what kubelets need, for all of them. They read each other's
// leases, since kwok knows in this way which nodes are its own.
func kubeletRules() []rbac.PolicyRule {
	return []rbac.PolicyRule{
		{APIGroups: []string{""}, Resources: []string{"nodes"}, Verbs: []string{"get", "list", "watch"}},
		{APIGroups: []string{""}, Resources: []string{"pods"}, Verbs: []string{"get", "list", "watch", "patch", "delete"}},
		{APIGroups: []string{""}, Resources: []string{"nodes/status", "pods/status"}, Verbs: []string{"patch", "update"}},
		{APIGroups: []string{"", "events.k8s.io"}, Resources: []string{"events"}, Verbs: []string{"create", "patch", "update"}},
		{APIGroups: []string{"coordination.k8s.io"}, Resources: []string{"leases"}, Verbs: []string{"get", "list", "watch", "create", "patch", "update"}},
	}
}

// buildKwok gives kwok, which stands in for the kubelets of all nodes there are.
func buildKwok(p *plane) (component, error) {
	home := p.home(kwokPart)
	config, err := kwokConfiguration(p.spec.Kwok.Options)
	return component{
		name: kwokPart, kubeconfig: kwokPart, document: []v1alpha1.Flags{p.spec.Kwok.Flags}, needs: accessGate,
		flags: flags{
			{"config", filepath.Join(home, kwokConfig)},
			{"kubeconfig", p.kubeconfigFile(kwokPart)},
			{"server-address", address(p.ports.kwok)},
			{"tls-cert-file", p.keys.certFile(controlServer)},
			{"tls-private-key-file", p.keys.keyFile(controlServer)},
			{"manage-all-nodes", "true"},
			{"node-lease-duration-seconds", "40"}, // as kubelets, which renew them when a quarter of it is over
			{"cidr", podRange},
		},
		// Its working directory, where it looks for more configuration, must not be the user's.
		data: home, files: map[string]string{kwokConfig: config}, env: []string{"KWOK_WORKDIR=" + home},
		ready: loopback(p.ports.kwok) + "/healthz", metrics: loopback(p.ports.kwok) + "/metrics", ca: kubernetesCA, observer: monitorClient,
		layer: frontLayer,
	}, err
}

// kwokOptions are kwok's own defaults, which it only has when it has no
// configuration. An option of 0 is none: without workers it exits.
func kwokOptions() v1alpha1.Flags {
	return v1alpha1.Flags{
		"podPlayStageParallelism": 4, "nodePlayStageParallelism": 4, "nodeLeaseParallelism": 4, "podsOnNodeSyncParallelism": 1,
		"enablePodsOnNodeSyncListPager": true, "enablePodsOnNodeSyncStreamWatch": false, "enableDebuggingHandlers": true,
	}
}

// kwokConfiguration is the document's options over those, and the stages.
func kwokConfiguration(document v1alpha1.Flags) (string, error) {
	options := kwokOptions()
	maps.Copy(options, document)
	maps.DeleteFunc(options, func(_ string, value any) bool { return value == nil })
	text, err := json.Marshal(map[string]any{ // which is YAML too
		"apiVersion": "config.kwok.x-k8s.io/v1alpha1", "kind": "KwokConfiguration", "options": options,
	})
	if err != nil {
		return "", fmt.Errorf("kwok: options: %w", err)
	}
	return string(text) + "\n---\n" + stages, nil
}
