package local

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"strconv"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/util/version"

	"plimsoll.dev/plimsoll/api/v1alpha1"
	"plimsoll.dev/plimsoll/internal/tunnel"
)

const (
	stevePart  = "steve"
	steveReady = time.Minute
	steveGrace = 2 * time.Second
)

// stevePartOf names the binary for a document's Steve: each version but the
// default one is a part of its own.
func stevePartOf(spec v1alpha1.Steve) string {
	if spec.Version == "" || spec.Version == v1alpha1.SteveVersion {
		return stevePart
	}
	return stevePart + "-" + spec.Version
}

// checkSteve wants the version that the document names, if it names one: a
// binary of the user's may be of another.
func checkSteve(p *plane) error {
	if p.spec.Steve == nil || p.spec.Steve.Version == "" {
		return nil
	}
	part := stevePartOf(*p.spec.Steve)
	if b := p.binaries[part]; b.Version != p.spec.Steve.Version {
		return fmt.Errorf("the scenario wants Steve %s, but %s (from %s) is %s: take it away, or leave out steve.version", p.spec.Steve.Version, b.Path, b.Source, b.Version)
	}
	return nil
}

// buildSteve gives Rancher's API in front of the API server.
//
// It listens on all interfaces, and there is no flag against that; who reaches
// its port is an admin of the target, which holds nothing but what plimsoll made.
func buildSteve(p *plane) ([]component, error) {
	kubeconfig, err := p.Kubeconfig(steveClient)
	if err != nil {
		return nil, err
	}
	binary := p.binaries[stevePartOf(*p.spec.Steve)]
	defaults := flags{
		{"kubeconfig", kubeconfig},
		{"https-listen-port", strconv.Itoa(p.ports.steve)},
		{"http-listen-port", "0"}, // it would do nothing but redirect
		{"sql-cache", strconv.FormatBool(p.spec.Steve.SQLCache)},
	}
	if p.behindTunnel() {
		defaults[2].value = strconv.Itoa(p.ports.steveHTTP) // where the agent dials it
	}
	var metrics string
	if servesSteveMetrics(binary.Version) {
		address := net.JoinHostPort(loopbackIP, strconv.Itoa(p.ports.steveMetrics))
		defaults = append(defaults, flag{"enable-metrics", "true"}, flag{"metrics-listen-addr", address})
		metrics = "http://" + address + "/metrics"
	}
	fs, err := defaults.with(p.spec.Steve.Flags)
	if err != nil {
		return nil, fmt.Errorf("steve: %w", err)
	}
	home := p.home(stevePart)
	return []component{{
		name: stevePart, binary: binary, flags: fs, needs: accessGate,
		data: home, dir: home, // its cache is a file in its working directory
		env: []string{"CATTLE_PROMETHEUS_METRICS=true"},
		log: p.log(stevePart),
		// Its certificate is its own, made at its start, and known to nobody: hence no authority.
		probe:   func(ctx context.Context) error { return p.probeSteve(ctx) },
		metrics: metrics, readyTimeout: steveReady, grace: steveGrace, layer: frontLayer,
	}}, nil
}

// probeSteve asks for a kind of object, all of which become known together some
// time after Steve answers at all; and then for a list of another kind than
// those that are measured, since the first lists of a cache may fail.
func (p *plane) probeSteve(ctx context.Context) error {
	steve, client := loopback(p.ports.steve), p.client("", "")
	for _, path := range []string{"/v1/schemas/configmap", steveProof} {
		if err := probe(ctx, client, steve+path); err != nil {
			return err
		}
	}
	return nil
}

// steveProof lists what every API server has a few of, and nobody measures.
const steveProof = "/v1/apiregistration.k8s.io.apiservices?pagesize=1&page=1"

// servesSteveMetrics says whether a version has the flags for metrics of its
// own. One that does not say what it is is taken for a new one.
func servesSteveMetrics(of string) bool {
	v, err := version.ParseSemantic(of)
	return err != nil || v.AtLeast(version.MustParseSemantic("v0.9.15")) // the first that was seen to
}

func (p *plane) behindTunnel() bool { return p.prefix != "" }

// Steve gives the URL of Rancher's API: of the plane downstream, through the
// tunnel. Every caller is an admin there. The client does not verify Steve's own
// certificate, which nobody has signed: it is on a port of this machine that
// plimsoll has chosen for it.
func (p *plane) Steve() (url string, client *http.Client) {
	if !p.behindTunnel() {
		return loopback(p.ports.steve), p.client("", "")
	}
	upstream := p.target.plane
	return loopback(upstream.ports.tunnel) + tunnel.ProxyPath, upstream.client(kubernetesCA, loadClient)
}

// warnOfSteve says where it listens.
func (t *Target) warnOfSteve() {
	var ports []string
	for _, p := range t.planes() {
		if p.spec.Steve == nil {
			continue
		}
		ports = append(ports, strconv.Itoa(p.ports.steve))
		if p.behindTunnel() {
			ports = append(ports, strconv.Itoa(p.ports.steveHTTP))
		}
	}
	if len(ports) > 0 {
		t.tell("Steve listens on port %s of all interfaces, which it has no flag against: who reaches it is an admin of the target", strings.Join(ports, " and "))
	}
}
