package analysis

import (
	"context"
	"math"
	"slices"

	"plimsoll.dev/plimsoll/internal/measure"
	"plimsoll.dev/plimsoll/internal/metrics"
	"plimsoll.dev/plimsoll/internal/stats"
)

// Bottleneck says what a machine was short of in a span of time, by a fixed rule:
// a resource is at its limit if one of its figures, on average over the span, is
// past that figure's bound.
type Bottleneck struct {
	// From and To are seconds from the run's start.
	From float64 `json:"fromSeconds"`
	To   float64 `json:"toSeconds"`
	// AtLimit are the resources at their limit; none says that what limited was no resource of the
	// machine, but lies within the components.
	AtLimit []string `json:"atLimit"`
	// Figures are all that the rule looked at, and some that it did not and that help to judge.
	Figures []Limit `json:"figures"`
}

// Limit is a figure that says how much of a resource was used.
type Limit struct {
	Resource string `json:"resource"` // cpu, disk, memory or quota
	Name     string `json:"name"`
	PromQL   string `json:"promql"`
	Unit     string `json:"unit"`
	// Value is the mean over the span; nil if it was not measured.
	Value *float64 `json:"value"`
	// Max or Min is the bound; a figure with none is shown only.
	Max  *float64 `json:"max,omitempty"`
	Min  *float64 `json:"min,omitempty"`
	Past bool     `json:"past"`
}

// limits are the figures by which a resource is judged.
//
// CPU: less than a tenth of the machine was idle. Disk: it had requests in
// hand, or something waited for it, nearly all the time; etcd alone, which waits
// for each of its fsyncs, makes a disk half busy without being held up by it.
// Memory: less than a tenth is available, or something waits for it. Quota:
// etcd's database, of which it takes no more writes when that is full.
func limits() []Limit {
	atMost := func(v float64) *float64 { return &v }
	fraction := string(measure.Fraction)
	return []Limit{
		{Resource: "cpu", Name: "the machine's CPUs were busy", Unit: fraction, Max: atMost(0.9), PromQL: `1 - avg(sum by (cpu) (rate(node_cpu_seconds_total{mode=~"idle|iowait"}[10s])))`},
		{Resource: "cpu", Name: "of which plimsoll itself", Unit: fraction, PromQL: `sum(rate(process_cpu_seconds_total{component="plimsoll"}[10s])) / count(node_cpu_seconds_total{mode="idle"})`},
		{Resource: "disk", Name: "the busiest disk had requests", Unit: fraction, Max: atMost(0.9), PromQL: `max(rate(node_disk_io_time_seconds_total[10s]))`},
		{Resource: "disk", Name: "all work that could run waited for disks", Unit: fraction, Max: atMost(0.5), PromQL: `max(rate(node_pressure_io_stalled_seconds_total[10s]))`},
		{Resource: "disk", Name: "a request to the busiest disk took", Unit: string(measure.Seconds), PromQL: `max((rate(node_disk_read_time_seconds_total[10s]) + rate(node_disk_write_time_seconds_total[10s])) / (rate(node_disk_reads_completed_total[10s]) + rate(node_disk_writes_completed_total[10s])))`},
		{Resource: "memory", Name: "memory still available", Unit: fraction, Min: atMost(0.1), PromQL: `min(node_memory_MemAvailable_bytes / node_memory_MemTotal_bytes)`},
		{Resource: "memory", Name: "some work waited for memory", Unit: fraction, Max: atMost(0.1), PromQL: `max(rate(node_pressure_memory_waiting_seconds_total[10s]))`},
		{Resource: "quota", Name: "etcd's database filled its quota", Unit: fraction, Max: atMost(0.95), PromQL: `max(sum by (component) (etcd_mvcc_db_total_size_in_bytes) / sum by (component) (etcd_server_quota_backend_bytes))`},
	}
}

// addMachine reads the figures of limits. The machine is observed that plimsoll
// runs on: of a target elsewhere it says nothing.
func (r *Run) addMachine(ctx context.Context, reader *metrics.Reader) {
	here := slices.ContainsFunc(r.Components, func(u Usage) bool { return u.Component != generator })
	if !here || len(r.Objectives)+len(r.stored.Info.Objectives) == 0 {
		return
	}
	var list []Metric
	for _, l := range limits() {
		list = append(list, Metric{Name: l.Name, PromQL: l.PromQL, Unit: l.Unit})
	}
	joined, err := Join(ctx, reader, r.stored.Info, 0, r.Duration, list)
	if err != nil {
		r.Warnings.add("metrics", err.Error(), "", "")
		return
	}
	r.machine = joined
}

// Before a moment at which something broke, so many seconds tell what it was
// short of; after it, what broke has consequences of its own.
const (
	secondsBefore = 20.0
	secondsAfter  = 2.0
)

// bottleneckIn says what the machine was short of in a span; nil if it was not observed.
func (r *Run) bottleneckIn(at span) *Bottleneck {
	if r.machine == nil || len(r.machine.Columns) == 0 {
		return nil
	}
	b := &Bottleneck{From: math.Max(0, at.start), To: math.Min(at.end, r.Duration), AtLimit: []string{}}
	for place, limit := range limits() {
		for _, column := range r.machine.Columns {
			if column.Place == place {
				limit.Value = number(stats.Mean(r.machine.within(column, span{b.From, b.To})))
			}
		}
		if v := limit.Value; v != nil {
			limit.Past = limit.Max != nil && *v >= *limit.Max || limit.Min != nil && *v <= *limit.Min
		}
		if limit.Past && !slices.Contains(b.AtLimit, limit.Resource) {
			b.AtLimit = append(b.AtLimit, limit.Resource)
		}
		b.Figures = append(b.Figures, limit)
	}
	return b
}
