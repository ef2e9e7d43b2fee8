package cli

import (
	"context"
	"net/url"

	v1 "plimsoll.dev/plimsoll/api/v1alpha1"
	"plimsoll.dev/plimsoll/internal/engine"
	"plimsoll.dev/plimsoll/internal/target"
	"plimsoll.dev/plimsoll/internal/target/borrowed"
	"plimsoll.dev/plimsoll/internal/target/directory"
	"plimsoll.dev/plimsoll/internal/workspace"
)

// provideDirectory makes a folder on the disk under test for each run.
func provideDirectory(space *workspace.Workspace) engine.Provision {
	return func(ctx context.Context, spec v1.Target, dir, _ string) (target.Target, error) {
		t, err := directory.Open(ctx, directory.Options{Spec: *spec.Directory, Dir: dir, Own: space.Own})
		if err != nil {
			return nil, err // a nil *directory.Target would be a target
		}
		return t, nil
	}
}

// provideEtcd connects to somebody's etcd for each run. That it is there is
// found out before the first, and whether it may be loaded is asked, unless it
// is on this machine.
func provideEtcd(ctx context.Context, env Environment, cluster *clusterFlags, spec v1.BorrowedEtcd) (engine.Provision, error) {
	first, err := borrowed.OpenEtcd(ctx, spec)
	if err != nil {
		return nil, err
	}
	if err := first.Close(ctx); err != nil {
		return nil, err
	}
	if !cluster.yes && !onThisMachine(spec.Endpoints) {
		if err := env.ask("load " + first.Name()); err != nil {
			return nil, err
		}
	}
	return func(ctx context.Context, spec v1.Target, _, _ string) (target.Target, error) {
		t, err := borrowed.OpenEtcd(ctx, *spec.Borrowed.Etcd)
		if err != nil {
			return nil, err
		}
		return t, nil
	}, nil
}

func onThisMachine(endpoints []string) bool {
	for _, endpoint := range endpoints {
		u, err := url.Parse(endpoint)
		if err != nil || !loopback(u.Hostname()) {
			return false
		}
	}
	return true
}
