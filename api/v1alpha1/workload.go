package v1alpha1

// Workload is what a phase does, of whatever kind.
type Workload interface {
	// Operations are the kinds of operations that it performs: the whole ones, and then their parts.
	Operations() (whole, parts []string)
	// InWords says what it does, for plans and reports.
	InWords() string

	setDefaults(Load)
	// check finds what is wrong with it, and with the target for it. It has its defaults.
	check(v *validator, path string, phase *Phase)
}

// workloadKind is a kind of workload that a phase may ask for, by a field.
type workloadKind struct {
	field    string
	workload Workload
	asked    bool
}

func (p *Phase) kinds() []workloadKind {
	return []workloadKind{
		{"kube", p.Kube, p.Kube != nil},
		{"steve", p.Steve, p.Steve != nil},
		{"disk", p.Disk, p.Disk != nil},
		{"etcd", p.Etcd, p.Etcd != nil},
	}
}

// Workloads are the fields of a phase of which one is set.
func Workloads() []string {
	var fields []string
	for _, kind := range (&Phase{}).kinds() {
		fields = append(fields, kind.field)
	}
	return fields
}

// Workload is the phase's one workload; nil, if it has none.
func (p *Phase) Workload() Workload {
	for _, kind := range p.kinds() {
		if kind.asked {
			return kind.workload
		}
	}
	if p.Wait != nil {
		return p.Wait
	}
	return nil
}

// InWords says what the phase's workload does, and where.
func (p *Phase) InWords() string { return p.Workload().InWords() + p.Cluster.inWords() }

// LoadInWords says what the load of the phase is; a wait is none.
func (p *Phase) LoadInWords() string {
	if p.Wait != nil {
		return "one watch"
	}
	return p.Load.InWords()
}

// servesKubernetes says whether there is a Kubernetes API.
func (t Target) servesKubernetes() bool {
	switch {
	case t.Local != nil:
		return t.Local.KubeAPIServer.On()
	case t.Borrowed != nil:
		return t.Borrowed.Etcd == nil
	}
	return t.Null != nil
}

// servesSteve says whether there is a Steve.
func (t Target) servesSteve() bool {
	return t.Local != nil && t.Local.Steve != nil || t.Borrowed != nil && t.Borrowed.Steve != nil
}

// On says whether it is started.
func (k KubeAPIServer) On() bool { return k.Enabled == nil || *k.Enabled }
