package engine

import (
	"fmt"
	"maps"
	"time"

	v1 "plimsoll.dev/plimsoll/api/v1alpha1"
	"plimsoll.dev/plimsoll/internal/target"
	"plimsoll.dev/plimsoll/internal/workload"
	"plimsoll.dev/plimsoll/internal/workload/disk"
	"plimsoll.dev/plimsoll/internal/workload/etcd"
	"plimsoll.dev/plimsoll/internal/workload/kube"
	"plimsoll.dev/plimsoll/internal/workload/steve"
)

// workload gives what the phase does; its kind decides what it needs of the target.
func (r *run) workload(spec v1.Phase) (workload.Workload, error) {
	switch {
	case spec.Kube != nil:
		return r.kubeWorkload(spec)
	case spec.Disk != nil:
		return r.diskWorkload(spec), nil
	case spec.Etcd != nil:
		return r.etcdWorkload(spec)
	case spec.Steve != nil:
		return r.steveWorkload(spec)
	}
	return nil, fmt.Errorf("phase %s has a workload of a kind that this plimsoll cannot drive", spec.Name)
}

func (r *run) kubeWorkload(spec v1.Phase) (workload.Workload, error) {
	if r.api == nil {
		return nil, fmt.Errorf("the target serves no Kubernetes API, which phase %s needs", spec.Name)
	}
	return kube.New(kube.Options{
		API: r.api, Phase: string(spec.Name), RunID: r.id, Connections: spec.Connections,
		Timeout: time.Duration(spec.Timeout), Operation: *spec.Kube,
		HTTP: spec.HTTP, User: string(spec.User), Seed: r.planned.Seed, Writes: &r.writes,
		Tally: r.tally,
	}), nil
}

// diskWorkload writes into the folder under test or, on a local target, beside
// the datastore's data. A disk that takes no more ends the run.
func (r *run) diskWorkload(spec v1.Phase) workload.Workload {
	return disk.New(disk.Options{Dir: r.dataDir(), Phase: string(spec.Name), Operation: *spec.Disk, Failed: r.cancel})
}

func (r *run) etcdWorkload(spec v1.Phase) (workload.Workload, error) {
	datastore, ok := r.target.(target.Datastore)
	if !ok {
		return nil, fmt.Errorf("the target has no etcd that can be reached, which phase %s needs", spec.Name)
	}
	_, shared := r.target.(target.Shared)
	local := r.spec.Target.Local
	return etcd.New(etcd.Options{
		Datastore: datastore, Phase: string(spec.Name), RunID: r.id, Shared: shared, Kine: local != nil && local.Datastore.Kine != nil,
		Connections: spec.Connections, Timeout: time.Duration(spec.Timeout), Operation: *spec.Etcd,
		Seed: r.planned.Seed, Writes: &r.etcdWrites,
	}), nil
}

func (r *run) steveWorkload(spec v1.Phase) (workload.Workload, error) {
	served, ok := r.target.(target.Steve)
	if !ok {
		return nil, fmt.Errorf("the target has no Steve, which phase %s needs", spec.Name)
	}
	return steve.New(steve.Options{
		Steve: served, Phase: string(spec.Name), RunID: r.id, Seed: r.planned.Seed, Connections: spec.Connections, HTTP: spec.HTTP,
		Timeout: time.Duration(spec.Timeout), Operation: *spec.Steve, Filled: maps.Clone(r.filled), Writes: &r.writes,
	}), nil
}
