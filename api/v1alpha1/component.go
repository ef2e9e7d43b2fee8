package v1alpha1

import "fmt"

// Components are the names of the processes of which a run knows memory and
// CPUs: plimsoll itself, and the target's.
func (t Target) Components() []string {
	all := []string{"plimsoll"}
	switch b := t.Borrowed; {
	case t.Null != nil:
		return append(all, "null")
	case t.Local != nil:
		return append(all, t.Local.components()...)
	case b != nil && b.Etcd != nil: // what is borrowed tells of itself, in its own metrics
		return append(all, numbered("etcd", len(b.Etcd.Endpoints))...)
	case b != nil:
		return append(all, "kube-apiserver")
	}
	return all
}

func (t *LocalTarget) components() []string {
	var all []string
	switch d := t.Datastore; {
	case d.Kine != nil && d.Kine.Backend != SQLite && d.Kine.DSN == "":
		all = append(all, string(d.Kine.Backend), "kine")
	case d.Kine != nil:
		all = append(all, "kine")
	case d.Etcd != nil:
		all = append(all, numbered("etcd", d.Etcd.Members)...)
	default:
		all = append(all, "etcd")
	}
	if t.Downstream != nil {
		for _, name := range t.Downstream.plane().components() {
			all = append(all, downstreamPrefix+name)
		}
		all = append(all, "tunnel-server", "tunnel-agent")
	}
	for _, c := range []struct {
		name string
		has  bool
	}{
		{"kube-apiserver", t.KubeAPIServer.On()}, {"kube-controller-manager", t.KubeControllerManager != nil},
		{"kube-scheduler", t.KubeScheduler != nil}, {"kwok", t.Kwok != nil}, {"steve", t.Steve != nil},
	} {
		if c.has {
			all = append(all, c.name)
		}
	}
	return all
}

// numbered are the names of so many members: etcd, or etcd-1 and on.
func numbered(name string, members int) []string {
	if members <= 1 {
		return []string{name}
	}
	var all []string
	for i := range members {
		all = append(all, fmt.Sprintf("%s-%d", name, i+1))
	}
	return all
}
