package v1alpha1

import "fmt"

// Downstream is a control plane behind a tunnel: the components downstream-etcd,
// downstream-kube-apiserver and downstream-steve, and the tunnel's ends
// tunnel-server and tunnel-agent.
type Downstream struct {
	// Where objects are stored. Default: one etcd member.
	Datastore Datastore `json:"datastore,omitempty"`
	// The API server, which cannot be left out.
	KubeAPIServer KubeAPIServer `json:"kubeAPIServer,omitempty"`
	// Steve in front of it. Default: as that of the first control plane.
	Steve *Steve `json:"steve,omitempty"`
}

// Cluster names a control plane of a target; empty is OnLocal too.
type Cluster string

// The control planes.
const (
	OnLocal      Cluster = "local"
	OnDownstream Cluster = "downstream"
)

// downstreamPrefix begins the names of the components downstream.
const downstreamPrefix = "downstream-"

// plane is the downstream control plane as a target of its own.
func (d *Downstream) plane() *LocalTarget {
	return &LocalTarget{Datastore: d.Datastore, KubeAPIServer: d.KubeAPIServer, Steve: d.Steve}
}

// cluster is the control plane that a fill or a phase is for; nil without one.
func (t Target) cluster(c Cluster) *LocalTarget {
	switch {
	case t.Local == nil || c != OnDownstream:
		return t.Local
	case t.Local.Downstream == nil:
		return nil
	}
	return t.Local.Downstream.plane()
}

// downstream checks the second control plane.
func (v *validator) downstream(local *LocalTarget) {
	if local == nil || local.Downstream == nil {
		return
	}
	const path = "spec.target.local.downstream"
	if !local.KubeAPIServer.On() {
		v.fault(path, "is behind Steve, which needs the API server: leave kubeAPIServer enabled")
	}
	if local.Downstream.KubeAPIServer.Audit != "" {
		v.fault(path+".kubeAPIServer.audit", "only the first control plane is audited: leave it out")
	}
	if !local.Downstream.KubeAPIServer.On() {
		v.fault(path+".kubeAPIServer.enabled", "Steve needs the API server: leave it enabled")
	}
}

// reachable checks that the control plane which a fill or a phase is for exists.
func (v *validator) reachable(path string, c Cluster) {
	if c == OnDownstream && v.target.cluster(c) == nil {
		v.fault(path+".cluster", "the target has no downstream control plane: add downstream: {} to spec.target.local")
	}
}

// followed checks that whose objects are followed, or whose disk is written to, is the first control plane.
func (v *validator) followed(path string, phase *Phase) {
	if phase.Cluster == OnDownstream && (phase.Wait != nil || phase.Disk != nil || phase.Kube != nil && phase.Kube.Bundle != nil) {
		v.fault(path+".cluster", "waits, bundles and disks are of the first control plane: leave it out")
	}
}

// inWords says which control plane it is, if not the usual one.
func (c Cluster) inWords() string {
	if c != OnDownstream {
		return ""
	}
	return fmt.Sprintf(" (%s)", c)
}
