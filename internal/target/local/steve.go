package local

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/util/version"
	"k8s.io/client-go/rest"

	"plimsoll.dev/plimsoll/api/v1alpha1"
	"plimsoll.dev/plimsoll/internal/firewall"
	"plimsoll.dev/plimsoll/internal/target"
	"plimsoll.dev/plimsoll/internal/tunnel"
)

const stevePart = "steve"

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
// See shutSteve.
func buildSteve(p *plane) component {
	home := p.home(stevePart)
	c := component{
		name: stevePart, binary: p.binaries[stevePartOf(*p.spec.Steve)], kubeconfig: steveClient, document: []v1alpha1.Flags{p.spec.Steve.Flags},
		needs: accessGate,
		flags: flags{
			{"kubeconfig", p.kubeconfigFile(steveClient)},
			{"https-listen-port", strconv.Itoa(p.ports.steve)},
			{"http-listen-port", "0"}, // it would do nothing but redirect
			{"sql-cache", strconv.FormatBool(p.spec.Steve.SQLCache)},
		},
		env:  []string{"CATTLE_PROMETHEUS_METRICS=true"},
		data: home, dir: home, // its cache is a file in its working directory
		// Its certificate is its own, made at its start, and known to nobody: hence no authority.
		probe:        p.steveProbe(),
		readyTimeout: time.Minute, layer: frontLayer,
	}
	if p.behindTunnel() {
		c.flags[2].value = strconv.Itoa(p.ports.steveHTTP) // where the agent dials it
	}
	if showsItself(c.binary.Version) {
		metrics, pprof := address(p.ports.steveMetrics), address(p.ports.steveProfiles)
		c.flags = append(c.flags, flag{"enable-metrics", "true"}, flag{"metrics-listen-addr", metrics}, flag{"enable-pprof", "true"}, flag{"pprof-listen-addr", pprof})
		c.metrics, c.profiles = "http://"+metrics+"/metrics", "http://"+pprof+"/debug/pprof"
	}
	if p.spec.Steve.RequestCache {
		c.env = append(c.env, "CATTLE_REQUEST_CACHE_DISABLED=false") // anything else, and nothing, disables it
	}
	return c
}

// steveProof lists what every API server has a few of, and nobody measures.
const steveProof = "/v1/apiregistration.k8s.io.apiservices?pagesize=1&page=1"

// steveCalm is how long an SQL cache must have answered lists. Once Steve knows
// the kinds of objects it begins to watch them, and then empties the cache of
// each kind: lists under way fail. That was seen to be over in 0.8 s on two
// busy CPUs.
const steveCalm = time.Second

// steveProbe gives what asks whether Steve is ready: it answers before it knows
// any kind of object, and then all become known together.
func (p *plane) steveProbe() func(context.Context) error {
	steve, client := loopback(p.ports.steve), p.client("", "")
	var since time.Time // when its lists began to be answered
	return func(ctx context.Context) error {
		for _, path := range []string{"/v1/schemas/configmap", steveProof} {
			if err := probe(ctx, client, steve+path); err != nil {
				since = time.Time{}
				return err
			}
		}
		if since.IsZero() {
			since = time.Now()
		}
		if p.spec.Steve.SQLCache && time.Since(since) < steveCalm {
			return errors.New("its cache may yet be emptied")
		}
		return nil
	}
}

// showsItself says whether a version has the flags for metrics and profiles of
// its own. One that does not say what it is is taken for a new one.
func showsItself(of string) bool {
	v, err := version.ParseSemantic(of)
	return err != nil || v.AtLeast(version.MustParseSemantic("v0.9.15")) // the first that was seen to
}

func (p *plane) behindTunnel() bool { return p.prefix != "" }

// Steve gives the way to Rancher's API: to that of the plane downstream, through
// the tunnel. Every caller is an admin there. Steve's own certificate, which
// nobody has signed, is not verified: it is on a port of this machine that
// plimsoll has chosen for it.
func (p *plane) Steve() (*rest.Config, error) {
	if !p.behindTunnel() {
		return &rest.Config{Host: loopback(p.ports.steve), TLSClientConfig: rest.TLSClientConfig{Insecure: true}, QPS: -1}, nil
	}
	upstream := p.target.plane
	config, err := upstream.RESTConfig(target.Load)
	if err != nil {
		return nil, err
	}
	config.Host = loopback(upstream.ports.tunnel) + tunnel.ProxyPath
	return config, nil
}

// shutSteve keeps other machines away from Steve's ports, if the system lets it,
// until unshutSteve. What it is to tell the user of that is left in steveNote.
func (t *Target) shutSteve() {
	ports := t.stevePorts()
	if len(ports) == 0 {
		return
	}
	var names []string
	for _, port := range ports {
		names = append(names, strconv.Itoa(int(port)))
	}
	where := "Steve listens on port " + strings.Join(names, " and ") + " of all interfaces, which it has no flag against"
	var err error
	if t.wall, err = firewall.Shut(ports...); err != nil {
		t.steveNote = fmt.Sprintf("%s: who reaches it is an admin of the target. As root plimsoll would shut it off from other machines, but: %v", where, err)
		return
	}
	t.steveNote = where + ": plimsoll has shut it off from other machines, for as long as it runs"
}

// unshutSteve lifts what shutSteve has done.
func (t *Target) unshutSteve() error {
	if t.wall == nil {
		return nil
	}
	wall := t.wall
	t.wall = nil
	if err := wall.Close(); err != nil {
		return fmt.Errorf("let other machines reach Steve's ports again: %w", err)
	}
	return nil
}

// stevePorts are those that Steves listen on on all interfaces.
func (t *Target) stevePorts() (ports []uint16) {
	for _, p := range t.planes() {
		if p.spec.Steve == nil {
			continue
		}
		ports = append(ports, uint16(p.ports.steve))
		if p.behindTunnel() {
			ports = append(ports, uint16(p.ports.steveHTTP))
		}
	}
	return ports
}
