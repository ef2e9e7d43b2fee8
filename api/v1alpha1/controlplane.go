package v1alpha1

// KubeControllerManager is one kube-controller-manager, with an identity of its own.
type KubeControllerManager struct {
	// Starts it anew when it ends by itself, as a kubelet does with a static Pod: one that loses its lease ends. Each time is an event, and a warning. Default: its end is that of the run.
	Restart bool `json:"restart,omitempty"`
	// Flags laid over plimsoll's own, such as kube-api-qps; null removes one.
	Flags Flags `json:"flags,omitempty"`
}

// KubeScheduler is one kube-scheduler, with an identity of its own.
type KubeScheduler struct {
	// Starts it anew when it ends by itself, as a kubelet does with a static Pod: one that loses its lease ends. Each time is an event, and a warning. Default: its end is that of the run.
	Restart bool `json:"restart,omitempty"`
	// Flags laid over plimsoll's own, such as kube-api-qps; null removes one.
	Flags Flags `json:"flags,omitempty"`
}

// Kwok is one kwok, which stands in for the kubelets of all nodes: they are ready
// and renew their leases; pods bound to them run at once, those of Jobs succeed,
// and deleted ones go at once.
type Kwok struct {
	// Nodes made, and ready, before anything else happens; 0 leaves them to the scenario. Default 10.
	Nodes *int `json:"nodes,omitempty" jsonschema:"minimum=0,maximum=10000,default=10"`
	// Most pods on each of these nodes. Default 110, as kubelets have it.
	PodsPerNode int `json:"podsPerNode,omitempty" jsonschema:"minimum=1,default=110"`
	// Options of its configuration file, laid over its own defaults, such as podPlayStageParallelism.
	Options Flags `json:"options,omitempty"`
	// Flags laid over plimsoll's own; null removes one.
	Flags Flags `json:"flags,omitempty"`
}

func (k *Kwok) setDefaults() {
	if k.Nodes == nil {
		nodes := 10
		k.Nodes = &nodes
	}
	k.PodsPerNode = or(k.PodsPerNode, 110)
}

// inWords says how many nodes there are from the start.
func (k *Kwok) inWords() string {
	if k.Nodes == nil || *k.Nodes == 0 {
		return "kwok"
	}
	return "kwok with " + plural(*k.Nodes, "node")
}

// controlPlane checks that what speaks to the API server has one.
func (v *validator) controlPlane(local *LocalTarget) {
	if local == nil {
		return
	}
	if etcd := local.Datastore.Etcd; etcd != nil && len(etcd.MemberFlags) > etcd.Members {
		v.fault("spec.target.local.datastore.etcd.memberFlags", "has flags for %d members, more than etcd has: %d", len(etcd.MemberFlags), etcd.Members)
	}
	if local.KubeAPIServer.On() {
		return
	}
	const fault = "needs the API server: leave kubeAPIServer enabled"
	if local.KubeControllerManager != nil {
		v.fault("spec.target.local.kubeControllerManager", fault)
	}
	if local.KubeScheduler != nil {
		v.fault("spec.target.local.kubeScheduler", fault)
	}
	if local.Kwok != nil {
		v.fault("spec.target.local.kwok", fault)
	}
}
