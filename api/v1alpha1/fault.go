package v1alpha1

import (
	"fmt"
	"slices"
	"strings"
	"time"
)

// Fault is what is done to the target while the phases of a step run; exactly one
// kind of it. It ends with the step at the latest, and whatever ends the run.
type Fault struct {
	// Stops the processes of a component (SIGSTOP), and lets them go on: a machine that stands still.
	Pause *PauseFault `json:"pause,omitempty"`
	// Ends the processes of a component at once (SIGKILL), and starts it again on the data that it had: a machine that loses its power, and gets it back.
	Kill *KillFault `json:"kill,omitempty"`
	// Lets a component write to its disk only so often (blkio, of version 1 of control groups): for root on Linux, where that exists.
	SlowDisk *SlowDiskFault `json:"slowDisk,omitempty"`
}

// FaultSpan is what a fault is done to, and when.
type FaultSpan struct {
	// The component, named as its log is: etcd (of three members etcd-1, etcd-2 or etcd-3, or etcd-leader for whichever leads by then), kube-apiserver, kine, downstream-etcd, …; database servers cannot be disturbed.
	Component string `json:"component"`
	// How long after the start of the step's phases it begins. Default: at once.
	After Duration `json:"after,omitempty"`
	// How long it lasts; a killed component is started again after it.
	For Duration `json:"for"`
}

// EtcdLeader stands for the member of etcd that leads when a fault begins.
const EtcdLeader = "etcd-leader"

// PauseFault stops a component.
type PauseFault struct {
	FaultSpan `json:",inline"`
}

// KillFault kills a component, and starts it again.
type KillFault struct {
	FaultSpan `json:",inline"`
}

// SlowDiskFault slows the disk down for one component.
type SlowDiskFault struct {
	FaultSpan `json:",inline"`
	// Most writes that the disk takes from the component; one fdatasync is several. Default 5/s.
	Writes Rate `json:"writes,omitempty" jsonschema:"default=5/s"`
}

func (f *Fault) setDefaults() {
	if f != nil && f.SlowDisk != nil {
		f.SlowDisk.Writes = or(f.SlowDisk.Writes, 5)
	}
}

// Span is what the fault is done to, and when.
func (f *Fault) Span() FaultSpan {
	switch {
	case f.Pause != nil:
		return f.Pause.FaultSpan
	case f.Kill != nil:
		return f.Kill.FaultSpan
	case f.SlowDisk != nil:
		return f.SlowDisk.FaultSpan
	}
	return FaultSpan{}
}

// InWords says what is done, for plans.
func (f *Fault) InWords() string { return f.InWordsTo(f.Span().Component) }

// InWordsTo says what is done to a component: the one that was chosen, of several.
func (f *Fault) InWordsTo(component string) string {
	what := "paused"
	switch {
	case f.Kill != nil:
		what = "killed, and gone"
	case f.SlowDisk != nil:
		what = fmt.Sprintf("held to %v writes to its disk", f.SlowDisk.Writes)
	}
	span := f.Span()
	return fmt.Sprintf("%s is %s for %v, from %v on", component, what, time.Duration(span.For), time.Duration(span.After))
}

// disturbance checks what is done to the target.
func (v *validator) disturbance(path string, step *Step) {
	f := step.Fault
	if f == nil {
		return
	}
	switch path += ".fault"; {
	case f.Pause != nil:
		path += ".pause"
	case f.Kill != nil:
		path += ".kill"
	case f.SlowDisk != nil:
		path += ".slowDisk"
	}
	if v.target.Local == nil {
		v.fault(path, "only a local target can be disturbed: its components are processes of plimsoll")
		return
	}
	span := f.Span()
	if known := v.target.Local.disturbable(); !slices.Contains(known, span.Component) {
		v.fault(path+".component", "no component is called %q%s; there are %s", span.Component, NearMiss(span.Component, known), strings.Join(known, ", "))
	}
	if span.For <= 0 {
		v.fault(path+".for", "must be longer than nothing")
	}
	if f.SlowDisk != nil && f.SlowDisk.Writes < 1 {
		v.fault(path+".writes", "is %v, but must be 1/s at least", f.SlowDisk.Writes)
	}
}

// disturbable are the names of the components that can be disturbed: all but
// database servers, whose processes leave the group of the one that plimsoll knows.
func (t *LocalTarget) disturbable() []string {
	all := slices.DeleteFunc(t.components(), func(name string) bool {
		return slices.Contains([]Backend{Postgres, MariaDB}, Backend(strings.TrimPrefix(name, downstreamPrefix)))
	})
	if etcd := t.Datastore.Etcd; etcd != nil && etcd.Members > 1 {
		all = append(all, EtcdLeader)
	}
	return all
}
