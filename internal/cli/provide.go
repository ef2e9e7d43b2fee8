package cli

import (
	"context"
	"encoding/json"
	"errors"

	v1 "plimsoll.dev/plimsoll/api/v1alpha1"
	"plimsoll.dev/plimsoll/internal/assets"
	"plimsoll.dev/plimsoll/internal/engine"
	"plimsoll.dev/plimsoll/internal/plan"
	"plimsoll.dev/plimsoll/internal/target"
	"plimsoll.dev/plimsoll/internal/target/directory"
	"plimsoll.dev/plimsoll/internal/target/local"
	"plimsoll.dev/plimsoll/internal/workspace"
)

// checkMachine says whether the target could be started on this machine, without doing any of it.
func checkMachine(ctx context.Context, spec v1.Target) error {
	switch {
	case spec.Directory != nil:
		return directory.Check(*spec.Directory)
	case spec.Local != nil:
		return local.Check(ctx, *spec.Local)
	}
	return nil
}

// findParts finds the target's binaries before anything is timed, building those that are missing.
func findParts(ctx context.Context, finder *assets.Finder, spec v1.Target) error {
	if spec.Local == nil {
		return nil
	}
	for _, part := range local.Parts(*spec.Local) {
		if _, err := finder.Find(ctx, part); err != nil {
			return err
		}
	}
	return nil
}

// provider gives the way to the targets of an experiment, with everything done
// that can fail before a run begins. done ends it.
func provider(ctx context.Context, env Environment, display *display, cluster *clusterFlags, p *plan.Plan) (provision engine.Provision, done func() error, err error) {
	for _, cell := range p.Cells { // of all, before minutes go into a build for the first
		if err := checkMachine(ctx, cell.Scenario.Spec.Target); err != nil {
			return nil, nil, err
		}
	}
	clusters := map[string][]*v1.Spec{} // by what names them
	finder := &assets.Finder{Progress: display.build}
	ways := map[string]engine.Provision{}
	for _, cell := range p.Cells {
		spec := &cell.Scenario.Spec
		switch b := spec.Target.Borrowed; {
		case b != nil && b.Etcd != nil && ways["borrowed etcd"] == nil:
			ways["borrowed etcd"], err = provideEtcd(ctx, env, cluster, *b.Etcd)
		case b != nil && b.Etcd == nil:
			clusters[nameOf(*b)] = append(clusters[nameOf(*b)], spec)
		default:
			err = findParts(ctx, finder, spec.Target)
		}
		if err != nil {
			return nil, nil, err
		}
	}
	opened := map[string]target.Target{}
	for name, specs := range clusters {
		t, err := cluster.admit(ctx, env, *specs[0].Target.Borrowed, specs)
		if err != nil {
			return nil, nil, err
		}
		opened[name] = t.Capabilities()
	}
	ways["borrowed"] = func(_ context.Context, spec v1.Target, _, _ string) (target.Target, error) {
		return opened[nameOf(*spec.Borrowed)], nil
	}
	space, err := openWorkspace()
	if err != nil {
		return nil, nil, err
	}
	ways["directory"], ways["local"], ways["null"] = provideDirectory(space), provideLocal(finder, space, display), provideNull
	return func(ctx context.Context, spec v1.Target, dir, logs string) (target.Target, error) {
		way := ways[kindOf(spec)]
		if way == nil {
			return nil, errors.New("the target is of no kind that plimsoll knows")
		}
		return way(ctx, spec, dir, logs)
	}, space.Close, nil
}

// nameOf is the same for targets that are the same.
func nameOf(b v1.BorrowedTarget) string {
	name, err := json.Marshal(b)
	if err != nil {
		panic(err) // texts only
	}
	return string(name)
}

func kindOf(t v1.Target) string {
	switch {
	case t.Borrowed != nil && t.Borrowed.Etcd != nil:
		return "borrowed etcd"
	case t.Borrowed != nil:
		return "borrowed"
	case t.Directory != nil:
		return "directory"
	case t.Null != nil:
		return "null"
	}
	return "local"
}

// provideLocal starts a fresh local target for each run.
func provideLocal(finder *assets.Finder, space *workspace.Workspace, display *display) engine.Provision {
	return func(ctx context.Context, spec v1.Target, dir, logs string) (target.Target, error) {
		program, err := self()
		if err != nil {
			return nil, err
		}
		t, err := local.Start(ctx, local.Options{
			Spec: *spec.Local, Dir: dir, SecretDir: space.Dir, Own: space.Own, LogDir: logs, Binaries: finder, Program: program,
			Note: func(note string) { display.Say("%s", note) },
		})
		if err != nil {
			return nil, err // a nil *local.Target would be a target
		}
		return t.Capabilities(), nil
	}
}

// openWorkspace makes this process's private folder in the cache, as that is on
// a disk; a folder for temporary files may be in memory.
func openWorkspace() (*workspace.Workspace, error) {
	cache, err := assets.CacheDir()
	if err != nil {
		return nil, err
	}
	return workspace.Open(cache)
}
