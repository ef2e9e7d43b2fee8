package v1alpha1

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestEveryNamespaceOfARunIsItsOwn(t *testing.T) {
	spec := &Spec{
		Prepare: []Preparation{
			{Fill: &Fill{Objects: Objects{Namespace: "one"}}},
			{Fill: &Fill{Objects: Objects{Namespace: "spread", Namespaces: 3}}},
		},
		Steps: []Step{{Phases: []Phase{
			{Kube: &KubeWorkload{List: &KubeList{Namespace: "spread-2"}}},
			{Steve: &SteveWorkload{List: &SteveList{Namespace: "one", ProjectsOrNamespaces: "one,spread-1,kube-system"}}},
			{Steve: &SteveWorkload{List: &SteveList{}}},
			{Steve: &SteveWorkload{Get: &KubeSelection{Namespace: "one"}}},
			{Steve: &SteveWorkload{Watch: &KubeWatch{Namespace: "spread-0"}}},
			{Steve: &SteveWorkload{Counts: &SteveCounts{}}},
		}}},
	}
	if err := spec.SuffixNamespaces("-x7"); err != nil {
		t.Fatal(err)
	}
	phases := spec.Steps[0].Phases
	got := []Name{
		spec.Prepare[0].Fill.Namespace, spec.Prepare[1].Fill.Namespace, phases[0].Kube.List.Namespace, phases[1].Steve.List.Namespace,
		phases[2].Steve.List.Namespace, phases[3].Steve.Get.Namespace, phases[4].Steve.Watch.Namespace,
	}
	// The numbers of spread namespaces come last, since the fill puts them there; all namespaces stay all.
	if diff := cmp.Diff([]Name{"one-x7", "spread-x7", "spread-x7-2", "one-x7", "", "one-x7", "spread-x7-0"}, got); diff != "" {
		t.Error(diff)
	}
	if got := phases[1].Steve.List.ProjectsOrNamespaces; got != "one-x7,spread-x7-1,kube-system" {
		t.Errorf("projects or namespaces are %s", got)
	}
	if err := spec.SuffixNamespaces("-" + strings.Repeat("x", 60)); err == nil || !strings.Contains(err.Error(), "too long") {
		t.Errorf("error is %v", err)
	}
}
