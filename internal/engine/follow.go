package engine

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/model/labels"

	v1 "plimsoll.dev/plimsoll/api/v1alpha1"
	"plimsoll.dev/plimsoll/internal/follow"
	"plimsoll.dev/plimsoll/internal/metrics"
	"plimsoll.dev/plimsoll/internal/store"
)

// objectsMetric is how many objects of a resource there are in each state.
const objectsMetric = "plimsoll_objects"

// followers are those of a run, one per resource. They go on until its end.
type followers struct {
	all    map[v1.Resource]*follow.Follower
	group  sync.WaitGroup
	cancel []context.CancelFunc
	ended  []func() // what is to be done once they have ended
}

func (f *followers) close() {
	for _, cancel := range f.cancel {
		cancel()
	}
	f.group.Wait()
	for _, do := range f.ended {
		do()
	}
}

// follower gives that of a resource, which follows from its first use on.
func (r *run) follower(ctx context.Context, resource v1.Resource) (*follow.Follower, error) {
	if known := r.followers.all[resource]; known != nil {
		return known, nil
	}
	api := r.clusters[v1.OnLocal].api
	if api == nil {
		return nil, errors.New("the target serves no Kubernetes API, whose objects could be followed")
	}
	f, err := follow.New(ctx, api, resource, func(err error) { r.event(store.SamplingFailed, string(resource), err.Error()) })
	if err != nil {
		return nil, err
	}
	beside, cancel := context.WithCancel(context.WithoutCancel(ctx))
	r.followers.cancel = append(r.followers.cancel, cancel)
	r.followers.group.Go(func() { f.Run(beside) })
	if r.followers.all == nil {
		r.followers.all = map[v1.Resource]*follow.Follower{}
	}
	r.followers.all[resource] = f
	return f, nil
}

// census counts the objects that the document asks for, every second from now on.
func (r *run) census(ctx context.Context) error {
	var counted []*counted
	for _, resource := range r.spec.Observe {
		f, err := r.follower(ctx, resource)
		if err != nil {
			return cause(ctx, err)
		}
		counted = append(counted, newCounted(f, resource))
	}
	if len(counted) == 0 {
		return nil
	}
	beside, cancel := context.WithCancel(context.WithoutCancel(ctx))
	r.followers.cancel = append(r.followers.cancel, cancel)
	r.followers.group.Go(func() { r.count(beside, counted) })
	return nil
}

func (r *run) count(ctx context.Context, all []*counted) {
	tick := time.NewTicker(time.Second)
	defer tick.Stop()
	for {
		var samples []metrics.Sample
		at := r.clock.Time()
		for _, c := range all {
			samples = append(samples, c.samples()...)
		}
		// The run's end must not cost its last second: what there is then is counted too.
		if err := r.metrics.Append(context.WithoutCancel(ctx), at, samples); err != nil {
			r.event(store.SamplingFailed, "", err.Error())
			return
		}
		if ctx.Err() != nil {
			return
		}
		select {
		case <-ctx.Done():
		case <-tick.C:
		}
	}
}

// counted is a resource and the names of its series.
type counted struct {
	follower *follow.Follower
	series   map[follow.State]*metrics.Series
}

func newCounted(f *follow.Follower, resource v1.Resource) *counted {
	c := &counted{f, map[follow.State]*metrics.Series{}}
	for _, state := range follow.StatesOf(resource) {
		c.series[state] = &metrics.Series{Labels: labels.FromStrings(
			model.MetricNameLabel, objectsMetric, "resource", string(resource), "state", state.String())}
	}
	return c
}

// samples are the numbers of objects; while the server is lost there are none, so that a gap stays one.
func (c *counted) samples() []metrics.Sample {
	counts, current := c.follower.Counts()
	if !current {
		return nil
	}
	var all []metrics.Sample
	for state, series := range c.series {
		all = append(all, metrics.Sample{Series: series, Value: float64(counts[state])})
	}
	return all
}
