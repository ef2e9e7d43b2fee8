package v1alpha1_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"plimsoll.dev/plimsoll/api/v1alpha1"
	"plimsoll.dev/plimsoll/internal/assets"
	"plimsoll.dev/plimsoll/internal/plan"
)

// twoPlanes is a document with a target, a fill and a phase.
func twoPlanes(target, fill, phase string) []byte {
	return fmt.Appendf(nil, `apiVersion: plimsoll.dev/v1alpha1
kind: Scenario
metadata: {name: one}
spec:
  target: {local: %s}
  prepare:
  - fill: {resource: configmaps, namespace: filled, count: 10, %s}
  steps:
  - name: only
    phases:
    - name: phase
      load: {closed: {clients: 1, iterations: 1}}
      %s
`, target, fill, phase)
}

func TestFaultsOfTheDownstreamPlane(t *testing.T) {
	const (
		two       = "{downstream: {}}"
		here      = "cluster: local"
		there     = "cluster: downstream"
		listHere  = "steve: {list: {resource: configmaps, verify: true}}"
		listThere = "cluster: downstream\n      " + listHere
		getThere  = "cluster: downstream\n      kube: {get: {resource: configmaps, namespace: filled, count: 10}}"
	)
	for _, row := range []struct{ target, fill, phase, want string }{
		{two, there, listThere, ""},
		{two, here, listHere, ""},
		{two, there, getThere, ""},
		{"{steve: {}}", there, listHere, "the target has no downstream control plane: add downstream: {}"},
		{"{steve: {}}", here, listThere, "the target has no downstream control plane"},
		{two, here, listThere, "checks for the configmaps of a fill, but none makes any"},
		{two, here, getThere, "only 0 configmaps in namespace filled (downstream) are made"},
		{"{downstream: {kubeAPIServer: {enabled: false}}}", there, listThere, "Steve needs the API server"},
		{"{downstream: {kubeAPIServer: {audit: metadata}}}", there, listThere, "only the first control plane is audited"},
		{"{downstream: {datastore: {kine: {backend: sqlite}}}}", there + ", through: datastore", listThere, "only a local target's etcd can be filled directly"},
		{"{downstream: {}, datastore: {kine: {backend: sqlite}}}", there + ", through: datastore", listThere, ""},
		{"{steve: {flags: {https-listen-port: 9443}}, downstream: {}}", there, listThere, "one.yaml:5:36: spec.target.local.steve.flags.https-listen-port: plimsoll chooses where Steve listens"},
		{"{downstream: {steve: {flags: {http-listen-port: null}}}}", there, listThere, "downstream.steve.flags.http-listen-port: plimsoll chooses where Steve listens"},
		{"{steve: {flags: {debug: true}}, downstream: {}}", there, listThere, ""},
		{"{downstream: {}}", there, "cluster: downstream\n      disk: {sequential: {}}", "waits, bundles and disks are of the first control plane"},
	} {
		_, err := plan.Load("one.yaml", twoPlanes(row.target, row.fill, row.phase), nil)
		if (err == nil) != (row.want == "") || err != nil && !strings.Contains(err.Error(), row.want) {
			t.Errorf("%s, %s, %s: %v; want %q", row.target, row.fill, row.phase, err, row.want)
		}
	}
}

func TestBothStevesAreAlikeUnlessTheDocumentSaysOtherwise(t *testing.T) {
	for _, row := range []struct {
		target         string
		here, there    bool // with SQL cache
		versionOfThere string
	}{
		{"{downstream: {}}", false, false, ""},
		{"{steve: {sqlCache: true, version: v0.8.0}, downstream: {}}", true, true, "v0.8.0"},
		{"{steve: {sqlCache: true}, downstream: {steve: {version: v0.9.15}}}", true, false, "v0.9.15"},
	} {
		p, err := plan.Load("one.yaml", twoPlanes(row.target, "cluster: downstream", "steve: {counts: {}}"), nil)
		if err != nil {
			t.Error(err)
			continue
		}
		local := p.Cells[0].Scenario.Spec.Target.Local
		if there := local.Downstream.Steve; local.Steve.SQLCache != row.here || there.SQLCache != row.there || there.Version != row.versionOfThere {
			t.Errorf("%s: %+v, downstream %+v", row.target, local.Steve, there)
		}
	}
}

// TestVersionsOfSteve holds the versions of the document against those that can be built.
func TestVersionsOfSteve(t *testing.T) {
	var built []string
	for _, part := range assets.Parts() {
		if part.Module != "github.com/rancher/steve" {
			continue
		}
		version, err := part.Version()
		if err != nil {
			t.Fatal(err)
		}
		if (part.Name == "steve") != (version == v1alpha1.SteveVersion) || part.Name != "steve" && part.Name != "steve-"+version {
			t.Errorf("part %s is of version %s", part.Name, version)
		}
		built = append(built, version)
	}
	for _, version := range built {
		if _, err := plan.Load("one.yaml", twoPlanes("{steve: {version: "+version+"}}", "through: api", "steve: {counts: {}}"), nil); err != nil {
			t.Errorf("%s is not offered: %v", version, err)
		}
	}
	if offered := v1alpha1.SteveVersions(); len(offered) != len(built) || slices.ContainsFunc(offered, func(v string) bool { return !slices.Contains(built, v) }) {
		t.Errorf("%v are offered, but %v can be built", offered, built)
	}
	_, err := plan.Load("one.yaml", twoPlanes("{steve: {version: v0.9.14}}", "through: api", "steve: {counts: {}}"), nil)
	if err == nil || !strings.Contains(err.Error(), "v0.8.0") || !strings.Contains(err.Error(), "v0.9.15") || !strings.Contains(err.Error(), "v0.10.2") {
		t.Errorf("error for another version is %v", err)
	}
}
