package local

import (
	"fmt"
	"net"
	"net/http"
	"path/filepath"
	"strconv"
	"time"

	"plimsoll.dev/plimsoll/internal/target"
)

const (
	stevePart  = "steve"
	steveReady = time.Minute
	steveGrace = 2 * time.Second
)

// buildSteve gives Rancher's API in front of the API server.
//
// It listens on all interfaces, and there is no flag against that; who reaches
// its port is an admin of the target, which holds nothing but what plimsoll made.
func buildSteve(p plan) ([]component, error) {
	kubeconfig, err := writeKubeconfig(p.keys, p.ports.apiserverURL(), steveClient)
	if err != nil {
		return nil, err
	}
	metrics := net.JoinHostPort(loopbackIP, strconv.Itoa(p.ports.steveMetrics))
	profiles := net.JoinHostPort(loopbackIP, strconv.Itoa(p.ports.steveProfiles))
	fs, err := flags{
		{"kubeconfig", kubeconfig},
		{"https-listen-port", strconv.Itoa(p.ports.steve)},
		{"http-listen-port", "0"}, // it would do nothing but redirect
		{"sql-cache", strconv.FormatBool(p.spec.Steve.SQLCache)},
		{"enable-metrics", "true"},
		{"metrics-listen-addr", metrics},
		{"enable-pprof", "true"},
		{"pprof-listen-addr", profiles},
	}.with(p.spec.Steve.Flags)
	if err != nil {
		return nil, fmt.Errorf("steve: %w", err)
	}
	env := []string{"CATTLE_PROMETHEUS_METRICS=true"}
	if p.spec.Steve.RequestCache {
		env = append(env, "CATTLE_REQUEST_CACHE_DISABLED=false") // anything else, and nothing, disables it
	}
	home := filepath.Join(p.where.data, stevePart)
	return []component{{
		name: stevePart, binary: p.binaries[stevePart], flags: fs, needs: accessGate,
		data: home, dir: home, // its cache is a file in its working directory
		env: env,
		log: filepath.Join(p.where.logs, stevePart+".log"),
		// Its certificate is its own, made at its start, and known to nobody: hence no authority.
		// It answers before it knows any kind of object; all become known together.
		ready: loopback(p.ports.steve) + "/v1/schemas/configmap", metrics: "http://" + metrics + "/metrics",
		profiles:     "http://" + profiles + "/debug/pprof",
		readyTimeout: steveReady, grace: steveGrace, layer: frontLayer,
	}}, nil
}

// Steve gives the URL of Rancher's API. Every caller is an admin there. The
// client does not verify the server, whose certificate nobody has signed: it is
// on a port of this machine that plimsoll has chosen for it.
func (t *Target) Steve() (url string, client *http.Client) {
	t.mu.Lock()
	defer t.mu.Unlock()
	return loopback(t.ports.steve), t.client("", "")
}

var _ target.Steve = (*Target)(nil)
