package v1alpha1

import (
	"strings"
	"testing"
	"time"
)

func TestFaultsAreChecked(t *testing.T) {
	span := func(component string, lasting time.Duration) FaultSpan {
		return FaultSpan{Component: component, For: Duration(lasting)}
	}
	local := Target{Local: &LocalTarget{}}
	members := Target{Local: &LocalTarget{Datastore: Datastore{Etcd: &Etcd{Members: 3}}}}
	for _, row := range []struct {
		target Target
		fault  Fault
		want   string // empty: it is fine
	}{
		{local, Fault{Pause: &PauseFault{span("etcd", time.Second)}}, ""},
		{local, Fault{Pause: &PauseFault{span("kube-apiserver", time.Second)}}, ""},
		{members, Fault{SlowDisk: &SlowDiskFault{FaultSpan: span("etcd-2", time.Second)}}, ""},
		{members, Fault{Pause: &PauseFault{span("etcd", time.Second)}}, `no component is called "etcd"; did you mean "etcd-1"`},
		{members, Fault{Kill: &KillFault{span("etcd-leader", time.Second)}}, ""},
		{local, Fault{Kill: &KillFault{span("etcd-leader", time.Second)}}, "spec.steps.0.fault.kill.component: no component"},
		{local, Fault{Pause: &PauseFault{span("kwok", time.Second)}}, "there are etcd, kube-apiserver"},
		{local, Fault{Pause: &PauseFault{span("etcd", 0)}}, "must be longer than nothing"},
		{local, Fault{SlowDisk: &SlowDiskFault{span("etcd", time.Second), 0.5}}, "must be 1/s at least"},
		{Target{Directory: &DirectoryTarget{}}, Fault{Pause: &PauseFault{span("etcd", time.Second)}}, "only a local target"},
	} {
		v := validator{target: row.target}
		row.fault.setDefaults()
		v.disturbance("spec.steps.0", &Step{Fault: &row.fault})
		var all []string
		for _, f := range v.faults {
			all = append(all, f.Path+": "+f.Message)
		}
		if got := strings.Join(all, "\n"); row.want == "" && got != "" || !strings.Contains(got, row.want) {
			t.Errorf("%s: %q, want %q", row.fault.InWords(), got, row.want)
		}
	}
}
