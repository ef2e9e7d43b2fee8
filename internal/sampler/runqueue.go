package sampler

import (
	"github.com/prometheus/common/model"
	"github.com/prometheus/procfs"
	"github.com/prometheus/prometheus/model/labels"

	"plimsoll.dev/plimsoll/internal/metrics"
)

// runQueue reads how long the threads of a process were ready to run and waited
// for a CPU, and how often they got one: what makes a client late that is itself
// never busy. The kernel counts it by thread, so time of threads that have ended
// is kept here.
type runQueue struct {
	pid               int
	seen              map[int]procfs.ProcSchedstat // by thread
	waited            uint64                       // nanoseconds
	slices            uint64
	waiting, obtained *metrics.Series
}

// newRunQueue names the series after those of the node_exporter for CPUs.
func newRunQueue(component string, pid int) *runQueue {
	name := func(metric string) *metrics.Series {
		return &metrics.Series{Labels: labels.FromStrings(model.MetricNameLabel, metric, "component", component)}
	}
	return &runQueue{
		pid: pid, seen: map[int]procfs.ProcSchedstat{},
		waiting: name("process_schedstat_waiting_seconds_total"), obtained: name("process_schedstat_timeslices_total"),
	}
}

// read gives the totals; nothing where the kernel does not count.
func (q *runQueue) read() []metrics.Sample {
	threads, err := procfs.AllThreads(q.pid)
	if err != nil {
		return nil
	}
	now := make(map[int]procfs.ProcSchedstat, len(threads))
	for _, t := range threads {
		stat, err := t.Schedstat()
		if err != nil {
			continue // it has ended
		}
		before := q.seen[t.PID]
		if stat.WaitingNanoseconds < before.WaitingNanoseconds || stat.RunTimeslices < before.RunTimeslices {
			before = procfs.ProcSchedstat{} // another one, with the number of one that has ended
		}
		q.waited += stat.WaitingNanoseconds - before.WaitingNanoseconds
		q.slices += stat.RunTimeslices - before.RunTimeslices
		now[t.PID] = stat
	}
	q.seen = now
	if len(now) == 0 {
		return nil
	}
	return []metrics.Sample{{Series: q.waiting, Value: float64(q.waited) / 1e9}, {Series: q.obtained, Value: float64(q.slices)}}
}
