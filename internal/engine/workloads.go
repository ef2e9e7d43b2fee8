package engine

import (
	"fmt"
	"time"

	v1 "plimsoll.dev/plimsoll/api/v1alpha1"
	"plimsoll.dev/plimsoll/internal/workload"
	"plimsoll.dev/plimsoll/internal/workload/kube"
)

// workload gives what the phase does; its kind decides what it needs of the target.
func (r *run) workload(spec v1.Phase) (workload.Workload, error) {
	switch {
	case spec.Kube != nil:
		return r.kubeWorkload(spec)
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
	}), nil
}
