package engine

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"time"

	v1 "plimsoll.dev/plimsoll/api/v1alpha1"
	"plimsoll.dev/plimsoll/internal/follow"
	"plimsoll.dev/plimsoll/internal/store"
	"plimsoll.dev/plimsoll/internal/target"
	"plimsoll.dev/plimsoll/internal/workload"
	"plimsoll.dev/plimsoll/internal/workload/disk"
	"plimsoll.dev/plimsoll/internal/workload/etcd"
	"plimsoll.dev/plimsoll/internal/workload/kube"
	"plimsoll.dev/plimsoll/internal/workload/steve"
)

// cluster is a control plane that phases and fills speak to: that of the target,
// or the one downstream.
type cluster struct {
	side       any                // what has its capabilities
	api        target.KubeAPI     // nil if it has none
	datastore  target.Datastore   // nil if it cannot be reached
	filled     map[v1.Objects]int // how many there are of the objects that were filled
	writes     kube.Writes        // of all phases, for their watches
	etcdWrites etcd.Writes        // the same of etcd's API
}

func newCluster(side any) *cluster {
	c := &cluster{side: side, filled: map[v1.Objects]int{}}
	c.api, _ = side.(target.KubeAPI)
	c.datastore, _ = side.(target.Datastore)
	return c
}

func (r *run) cluster(name v1.Cluster) (*cluster, error) {
	if c := r.clusters[cmp.Or(name, v1.OnLocal)]; c != nil {
		return c, nil
	}
	return nil, fmt.Errorf("the target has no control plane %q", name)
}

// workload gives what the phase does; its kind decides what it needs of the target.
func (r *run) workload(ctx context.Context, spec v1.Phase) (workload.Workload, error) {
	c, err := r.cluster(spec.Cluster)
	if err != nil {
		return nil, err
	}
	switch {
	case spec.Kube != nil:
		return r.kubeWorkload(ctx, spec, c)
	case spec.Wait != nil:
		return r.wait(ctx, spec)
	case spec.Disk != nil:
		return r.diskWorkload(spec), nil
	case spec.Etcd != nil:
		return r.etcdWorkload(spec, c)
	case spec.Steve != nil:
		return r.steveWorkload(spec, c)
	}
	return nil, fmt.Errorf("phase %s has a workload of a kind that this plimsoll cannot drive", spec.Name)
}

// wait gives what waits. That it was missed is written down and said, and the
// run goes on: what did not happen is a finding.
func (r *run) wait(ctx context.Context, spec v1.Phase) (workload.Workload, error) {
	follower, err := r.follower(ctx, spec.Wait.Resource)
	if err != nil {
		return nil, err
	}
	return follow.NewWait(follower, r.clusters[v1.OnLocal].api, *spec.Wait, func(missed string) {
		r.event(store.WaitMissed, string(spec.Name), missed)
		r.say("%s: %s", spec.Name, missed)
	})
}

func (r *run) kubeWorkload(ctx context.Context, spec v1.Phase, c *cluster) (workload.Workload, error) {
	if c.api == nil {
		return nil, fmt.Errorf("the target serves no Kubernetes API, which phase %s needs", spec.Name)
	}
	created, err := r.created(ctx, spec)
	if err != nil {
		return nil, err
	}
	tally := r.tally
	if spec.Cluster == v1.OnDownstream {
		tally = nil // it knows those who refuse by the names of the first control plane
	}
	return kube.New(kube.Options{
		API: c.api, Phase: string(spec.Name), RunID: r.id, Connections: spec.Connections,
		Timeout: time.Duration(spec.Timeout), Operation: *spec.Kube,
		HTTP: spec.HTTP, User: string(spec.User), Seed: r.planned.Seed, Writes: &c.writes,
		UserAgent: spec.UserAgent, Tally: tally, Bundles: &r.bundles, Created: created,
	}), nil
}

// created gives who is told of the objects that a phase makes and that become
// ready, if that is to be timed.
func (r *run) created(ctx context.Context, spec v1.Phase) (kube.Created, error) {
	if spec.Kube.Bundle == nil || !spec.Kube.Bundle.Ready {
		return nil, nil
	}
	var all []*readiness
	for _, resource := range spec.Kube.Bundle.BecomeReady() {
		f, err := r.follower(ctx, resource)
		if err != nil {
			return nil, err
		}
		all = append(all, r.readiness(f, resource, spec.Name))
	}
	return func(resource v1.Resource, namespace, name string, answered time.Time) {
		for _, ready := range all {
			ready.created(resource, namespace, name, answered)
		}
	}, nil
}

// diskWorkload writes into the folder under test or, on a local target, beside
// the datastore's data. A disk that takes no more ends the run.
func (r *run) diskWorkload(spec v1.Phase) workload.Workload {
	return disk.New(disk.Options{Dir: r.dataDirs()[0], Phase: string(spec.Name), Operation: *spec.Disk, Failed: r.cancel})
}

func (r *run) etcdWorkload(spec v1.Phase, c *cluster) (workload.Workload, error) {
	if c.datastore == nil {
		return nil, fmt.Errorf("the target has no etcd that can be reached, which phase %s needs", spec.Name)
	}
	_, shared := r.target.(target.Shared)
	emulation, _ := c.side.(target.Emulation)
	return etcd.New(etcd.Options{
		Datastore: c.datastore, Phase: string(spec.Name), RunID: r.id, Shared: shared, Kine: emulation != nil && emulation.Emulates() != "",
		Connections: spec.Connections, Timeout: time.Duration(spec.Timeout), Operation: *spec.Etcd,
		Seed: r.planned.Seed, Writes: &c.etcdWrites,
	}), nil
}

func (r *run) steveWorkload(spec v1.Phase, c *cluster) (workload.Workload, error) {
	served, ok := c.side.(target.Steve)
	if !ok {
		return nil, fmt.Errorf("the target has no Steve, which phase %s needs", spec.Name)
	}
	return steve.New(steve.Options{
		Steve: served, Phase: string(spec.Name), RunID: r.id, Seed: r.planned.Seed, Connections: spec.Connections, HTTP: spec.HTTP,
		Timeout: time.Duration(spec.Timeout), Operation: *spec.Steve, Filled: maps.Clone(c.filled), Writes: &c.writes,
	}), nil
}
