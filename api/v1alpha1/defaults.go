package v1alpha1

import (
	"slices"
	"time"

	"plimsoll.dev/plimsoll/internal/measure"
)

// Default fills in what a document left out. It is what Validate and the
// engine expect.
func (s *Scenario) Default() {
	spec := &s.Spec
	spec.Repetitions = or(spec.Repetitions, 1)
	spec.Seed = or(spec.Seed, 1)
	spec.Target.setDefaults()
	spec.setGuard()
	if s := spec.Search; s != nil {
		s.Factor = or(s.Factor, 2)
		s.Within = or(s.Within, 0.1)
	}
	setPreparations(spec.Prepare, spec.Target)
	for i := range spec.Steps {
		step := &spec.Steps[i]
		if step.Measured == nil {
			measured := true
			step.Measured = &measured
		}
		if step.Sweep != nil && len(step.Sweep.Values) == 0 {
			step.Sweep.Factor = or(step.Sweep.Factor, 2)
		}
		setPreparations(step.Prepare, spec.Target)
		step.Fault.setDefaults()
		step.Profile.setDefaults()
		step.waiting()
		for j := range step.Phases {
			step.Phases[j].setDefaults()
		}
	}
	spec.knowNodes()
	spec.findBundles()
	spec.expectWaits()
}

// knowNodes tells templates how many nodes there are for what they make.
func (s *Spec) knowNodes() {
	if s.Target.Local == nil || s.Target.Local.Kwok == nil {
		return
	}
	nodes := *s.Target.Local.Kwok.Nodes
	for _, p := range s.preparations() {
		if p.Fill != nil {
			p.Fill.Nodes = nodes
		}
	}
	for _, phase := range s.Phases() {
		if phase.Kube != nil {
			phase.Kube.knowNodes(nodes)
		}
	}
}

func (t *Target) setDefaults() {
	if t.Null != nil {
		t.Null.Answer = or(t.Null.Answer, 1<<10)
	}
	local := t.Local
	if local == nil {
		return
	}
	local.Datastore.setDefaults()
	if local.Kwok != nil {
		local.Kwok.setDefaults()
	}
	if d := local.Downstream; d != nil {
		d.Datastore.setDefaults()
		if local.Steve == nil {
			local.Steve = &Steve{}
		}
		if d.Steve == nil {
			steve := *local.Steve
			d.Steve = &steve
		}
	}
}

func (d *Datastore) setDefaults() {
	if *d == (Datastore{}) {
		d.Etcd = &Etcd{}
	}
	if etcd := d.Etcd; etcd != nil {
		etcd.Members = or(etcd.Members, 1)
	}
	if kine := d.Kine; kine != nil {
		if kine.Backend == SQLite {
			kine.Synchronous = or(kine.Synchronous, "full")
		}
		if kine.MaxConnections == nil {
			connections := 0
			if kine.Backend != SQLite {
				connections = 100
			}
			kine.MaxConnections = &connections
		}
	}
}

func (o *Objects) setDefaults() { o.Payload = or(o.Payload, 4) }

func setPreparations(preparations []Preparation, t Target) {
	for _, p := range preparations {
		if fill := p.Fill; fill != nil {
			fill.Objects.setDefaults()
			fill.Clients = or(fill.Clients, 16)
			fill.Cluster = or(fill.Cluster, OnLocal)
			if fill.Through == "" {
				fill.Through = ThroughAPI
				if plane := t.cluster(fill.Cluster); plane != nil && plane.Datastore.Etcd != nil {
					fill.Through = ThroughDatastore
				}
			}
		}
		if settle := p.Settle; settle != nil {
			settle.CPUs = or(settle.CPUs, 0.2)
			settle.Timeout = or(settle.Timeout, Duration(time.Minute))
		}
	}
}

// LeaveOut removes background phases without clients, and the objectives on them.
func (s *Spec) LeaveOut() {
	idle := map[string]bool{}
	for i := range s.Steps {
		s.Steps[i].Phases = slices.DeleteFunc(s.Steps[i].Phases, func(p Phase) bool {
			out := p.Background && p.Load.Clients() == 0
			idle[string(p.Name)] = idle[string(p.Name)] || out
			return out
		})
	}
	s.Objectives = slices.DeleteFunc(s.Objectives, func(o Objective) bool {
		m, err := measure.Parse(o.Measure)
		return err == nil && idle[m.Phase]
	})
}

func (p *Phase) setDefaults() {
	p.Timeout = or(p.Timeout, Duration(time.Minute))
	p.HTTP = or(p.HTTP, "2")
	p.Cluster = or(p.Cluster, OnLocal)
	if open := p.Load.Open; open != nil {
		open.Arrivals = or(open.Arrivals, Poisson)
		open.Clients = or(open.Clients, 100)
		open.Backlog = or(open.Backlog, 10_000)
		open.RateTo = or(open.RateTo, open.Rate)
	}
	p.Connections = or(p.Connections, p.Load.Clients())
	if w := p.Workload(); w != nil {
		w.setDefaults(p.Load)
	}
}

// Clients is how many clients the load has.
func (l Load) Clients() int {
	switch {
	case l.Closed != nil:
		return l.Closed.Clients
	case l.Open != nil:
		return l.Open.Clients
	}
	return 0
}

// Operations is about how many arrive in all.
func (o *OpenLoad) Operations() float64 {
	return float64(o.Rate+o.RateTo) / 2 * time.Duration(o.Duration).Seconds()
}

func or[T comparable](value, otherwise T) T {
	var zero T
	if value == zero {
		return otherwise
	}
	return value
}
