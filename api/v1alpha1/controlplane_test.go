package v1alpha1

import (
	"strings"
	"testing"
)

func TestControlPlaneOfADocument(t *testing.T) {
	no, three := false, 3
	steps := []Step{{Name: "s", Phases: []Phase{{Name: "p", Disk: &DiskWorkload{Sequential: &SequentialWrites{}}, Load: Load{Closed: &ClosedLoad{Clients: 1, Iterations: 1}}}}}}
	s := &Scenario{Spec: Spec{Steps: steps, Target: Target{Local: &LocalTarget{KubeControllerManager: &KubeControllerManager{}, KubeScheduler: &KubeScheduler{}, Kwok: &Kwok{}}}}}
	s.Default()
	if kwok := s.Spec.Target.Local.Kwok; *kwok.Nodes != 10 || kwok.PodsPerNode != 110 {
		t.Errorf("kwok is %+v", kwok)
	}
	if faults := s.Validate(); len(faults) != 0 {
		t.Errorf("faults are %v", faults)
	}
	s.Spec.Target.Local.Kwok.Nodes = &three
	if words, want := s.Spec.Target.Local.InWords(), "one etcd member, kube-apiserver, kube-controller-manager, kube-scheduler, kwok with 3 nodes"; words != want {
		t.Errorf("in words: %s", words)
	}
	s.Spec.Target.Local.KubeAPIServer.Enabled = &no
	var paths []string
	for _, f := range s.Validate() {
		paths = append(paths, strings.TrimPrefix(f.Path, "spec.target.local."))
	}
	if got := strings.Join(paths, " "); got != "kubeControllerManager kubeScheduler kwok" {
		t.Errorf("without an API server, faults are at %s", got)
	}
}
