package v1alpha1_test

import (
	"fmt"
	"strings"
	"testing"

	"plimsoll.dev/plimsoll/internal/plan"
)

const profiled = `apiVersion: plimsoll.dev/v1alpha1
kind: Scenario
metadata: {name: one}
spec:
  target: %s
  objectives:
  - {measure: success(walks), min: 99%%}
  - {measure: rate(churn.cycle), min: 1/s}
  - {measure: maxCPU(kube-apiserver), max: 1.5}
  steps:
  - name: only
    phases:
    - name: walks
      load: {closed: {clients: %d, iterations: 1}}
      kube: {list: {resource: configmaps}}
    - name: churn
      background: true
      load: {closed: {clients: %d}}
      kube: {churn: {resource: configmaps, namespace: other}}
  - name: profile
    measured: %t
    profile: %s
    phases:
    - name: again
      load: {closed: {clients: 1, iterations: 1}}
      kube: {list: {resource: configmaps}}
`

func TestFaultsOfProfiles(t *testing.T) {
	const local, borrowed = "{local: {steve: {}}}", "{borrowed: {}}"
	for _, row := range []struct {
		target   string
		measured bool
		profile  string
		want     string
	}{
		{local, false, "{components: [kube-apiserver, steve]}", ""},
		{local, true, "{components: [steve]}", "the step needs measured: false"},
		{local, false, "{components: [etcd]}", "no component called \"etcd\" can be profiled; of this target kube-apiserver, steve can"},
		{local, false, "{components: [kube-api-server]}", "did you mean \"kube-apiserver\"?"},
		{local, false, "{components: [steve], for: 10ms}", "must be 1s at least"},
		{borrowed, false, "{components: [kube-apiserver]}", "only the components of a local target can be profiled"},
	} {
		_, err := plan.Load("one.yaml", fmt.Appendf(nil, profiled, row.target, 1, 1, row.measured, row.profile), nil)
		if (err == nil) != (row.want == "") || err != nil && !strings.Contains(err.Error(), row.want) {
			t.Errorf("%s of %s, measured %t: %v; want %q", row.profile, row.target, row.measured, err, row.want)
		}
	}
}

func TestABackgroundPhaseWithoutClientsIsLeftOut(t *testing.T) {
	load := func(clients, churners int) (*plan.Experiment, error) {
		return plan.Load("one.yaml", fmt.Appendf(nil, profiled, "{local: {}}", clients, churners, false, "{components: [kube-apiserver]}"), nil)
	}
	for churners, want := range map[int][2]int{0: {1, 2}, 5: {2, 3}} {
		e, err := load(1, churners)
		if err != nil {
			t.Fatal(err)
		}
		spec := e.Scenario().Spec
		if got := [2]int{len(spec.Steps[0].Phases), len(spec.Objectives)}; got != want {
			t.Errorf("with %d churners there are %d phases and %d objectives, want %d and %d", churners, got[0], got[1], want[0], want[1])
		}
	}
	if _, err := load(0, 5); err == nil || !strings.Contains(err.Error(), "only a background phase can be left out so") {
		t.Errorf("a phase without clients that is not in the background: %v", err)
	}
}
