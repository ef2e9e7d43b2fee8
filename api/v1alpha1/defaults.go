package v1alpha1

import "time"

// Default fills in what a document left out. It is what Validate and the
// engine expect.
func (s *Scenario) Default() {
	spec := &s.Spec
	spec.Repetitions = or(spec.Repetitions, 1)
	spec.Seed = or(spec.Seed, 1)
	if local := spec.Target.Local; local != nil {
		if local.Datastore == (Datastore{}) {
			local.Datastore.Etcd = &Etcd{}
		}
		if etcd := local.Datastore.Etcd; etcd != nil {
			etcd.Members = or(etcd.Members, 1)
		}
	}
	for i := range spec.Prepare {
		if fill := spec.Prepare[i].Fill; fill != nil {
			fill.Payload = or(fill.Payload, 4)
			fill.Clients = or(fill.Clients, 16)
		}
	}
	for i := range spec.Steps {
		step := &spec.Steps[i]
		if step.Measured == nil {
			measured := true
			step.Measured = &measured
		}
		for j := range step.Phases {
			step.Phases[j].setDefaults()
		}
	}
}

func (p *Phase) setDefaults() {
	p.Timeout = or(p.Timeout, Duration(time.Minute))
	if open := p.Load.Open; open != nil {
		open.Arrivals = or(open.Arrivals, Poisson)
		open.Clients = or(open.Clients, 100)
		open.Backlog = or(open.Backlog, 10_000)
	}
	p.Connections = or(p.Connections, p.Load.Clients())
	if p.Kube != nil {
		if create := p.Kube.Create; create != nil {
			create.Payload = or(create.Payload, 4)
		}
		if churn := p.Kube.Churn; churn != nil {
			churn.Payload = or(churn.Payload, 4)
		}
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

func or[T comparable](value, otherwise T) T {
	var zero T
	if value == zero {
		return otherwise
	}
	return value
}
