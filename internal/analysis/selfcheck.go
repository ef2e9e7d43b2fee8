package analysis

import (
	"fmt"
	"math"
	"strings"

	"plimsoll.dev/plimsoll/internal/record"
	"plimsoll.dev/plimsoll/internal/stats"
)

// What plimsoll allows itself. A run beyond these limits is invalid: its numbers
// are more about plimsoll than about the target. They are far from what a busy
// machine does to a run now and then, which is a warning; see lateDispatch.
const (
	// invalidLag is how late a tenth of the arrivals may be handed over, in seconds, if this is also
	// more than half of the response time that nine of ten keep.
	invalidLag = 5e-3
	// invalidCPU is the share of the machine's CPUs that plimsoll may use on average.
	invalidCPU = 0.9
	// busyIdle is the share of the CPUs that is idle on a machine with anything to spare.
	busyIdle = 0.05
	// longPauses is the share of time that its garbage collector may stop plimsoll for: with it, one time in a
	// hundred has a pause in it.
	longPauses = 0.01
	// longWaits is how many of plimsoll's threads may wait for a CPU, on average, before it is asked whether they
	// waited longer than they ran.
	longWaits = 0.1
	// streams is how many requests one HTTP/2 connection carries before they queue inside the client;
	// servers allow 100 to 250.
	streams = 100
)

// check asks whether the run measured the target.
func (r *Run) check(g gathered) {
	for _, phase := range r.Phases() {
		if !phase.Measured || phase.End == 0 || phase.Count == 0 {
			continue
		}
		if phase.lagged() {
			r.invalidate(fmt.Sprintf("plimsoll handed a tenth of the arrivals of %s over more than %.1f ms late, which is most of their response time; lower the rate, or give plimsoll CPUs of its own",
				phase.Name, *phase.Dispatch.P90*1000))
		}
		r.checkStreams(phase)
		if !phase.Background {
			r.checkSteady(phase, g)
		}
	}
	r.checkCPU()
}

// invalidate marks a run that did all that was planned.
func (r *Run) invalidate(reason string) {
	if r.Status != Complete && r.Status != Invalid {
		return
	}
	r.Status = Invalid
	if r.Reason != "" {
		reason = r.Reason + "; " + reason
	}
	r.Reason = reason
}

// lagged says whether arrivals were handed over so late that this is most of
// what was measured. Dispatch is timed before an arrival meets the backlog, so a
// target that does not keep up has no part in it.
func (p *Phase) lagged() bool {
	if p.Dispatch == nil || p.Dispatch.P90 == nil || *p.Dispatch.P90 <= invalidLag {
		return false
	}
	for _, operation := range p.Operations {
		if r := operation.Response; r != nil && r.P90 != nil && *p.Dispatch.P90 > *r.P90/2 {
			return true
		}
	}
	return false
}

func (r *Run) checkStreams(phase *Phase) {
	if phase.Connections > 0 && phase.Clients > streams*phase.Connections {
		r.Warnings.add(phase.Name, fmt.Sprintf("%d clients share %d connections", phase.Clients, phase.Connections),
			fmt.Sprintf("beyond about %d requests at once, an HTTP/2 connection queues them inside plimsoll, and that looks like time of the target", streams),
			fmt.Sprintf("raise connections to %d at least", (phase.Clients+streams-1)/streams))
	}
}

// cpus is how many CPUs plimsoll used on average, and how many the components of the target.
func (r *Run) cpus() (own, others float64) {
	for _, usage := range r.Components {
		if usage.Component == generator {
			own = usage.MeanCPU
		} else {
			others += usage.MeanCPU
		}
	}
	return own, others
}

const (
	shortOfCPUWhy  = "plimsoll was short of CPU: it sends requests and sees answers that much later, which is in all times, also those of closed loops, whose lag does not show it"
	shortOfCPUMend = "give it a CPU of its own, lower the load, or stop what else runs on the machine"
)

// shortOfCPU says whether plimsoll's threads waited for a CPU longer than they ran.
func (r *Run) shortOfCPU() bool {
	own, _ := r.cpus()
	return r.waiting > longWaits && r.waiting > own
}

// checkCPU asks whether there was CPU left for the target, and for plimsoll.
func (r *Run) checkCPU() {
	host := r.Environment.Host
	cpus := float64(host.CPUs)
	if host.CPULimit > 0 {
		cpus = min(cpus, host.CPULimit)
	}
	own, others := r.cpus()
	if r.pausing > longPauses {
		r.Warnings.add(generator, fmt.Sprintf("its garbage collector stopped plimsoll for %.1f %% of the time", r.pausing*100),
			"an operation that ends in a pause seems to take longer than it did", "lower the load, or the number of clients")
	}
	if r.shortOfCPU() {
		r.Warnings.add(generator, fmt.Sprintf("its threads waited for a CPU longer than they ran: %.2f of them waited on average, and %.2f ran", r.waiting, own),
			shortOfCPUWhy, shortOfCPUMend)
	}
	switch {
	case cpus == 0 || r.measured().end == 0:
	case own > invalidCPU*cpus:
		r.invalidate(fmt.Sprintf("plimsoll itself used %.2f of the %g CPUs, so it was the limit; lower the load, or run it on a machine with more CPUs", own, cpus))
	case r.idle != nil && host.CPULimit == 0 && *r.idle < busyIdle*cpus && own > others:
		r.Warnings.add(generator, fmt.Sprintf("the machine was busy throughout, and plimsoll used more CPU (%.2f) than the target (%.2f)", own, others),
			"it takes CPU time that the target needs, and its own delays are in the times", "lower the load, or run the target elsewhere")
	}
}

// What is called steady.
const (
	steadySeconds = 10.0 // a shorter phase is not asked
	steadyLimit   = 0.25 // change over the phase, as a share of the mean
	steadyP       = 0.01 // chance of so different halves if nothing changed
	steadyBins    = 60   // seconds of long phases are put together
	steadyRate    = 5.0  // operations per second that make a rate of one second worth looking at
)

// checkSteady warns of a phase that changed while it was measured.
func (r *Run) checkSteady(phase *Phase, g gathered) {
	if phase.Seconds() < steadySeconds || phase.ramped() {
		return
	}
	for _, operation := range phase.Operations {
		s := g[seriesKey{phase.Name, operation.Name, timingOf(phase), record.OK}]
		if operation.Part || s == nil || operation.Rate < steadyRate {
			continue
		}
		rates, medians := s.bySecond(phase)
		clock, _ := operation.MainClock(phase)
		for _, c := range []struct {
			what   string
			values []float64
		}{{"the rate of " + operation.Name, rates}, {"the median " + string(clock) + " time of " + operation.Name, medians}} {
			if change, unsteady := drift(c.values); unsteady {
				r.Warnings.add(phase.Name, fmt.Sprintf("%s changed by %+.0f %% over the phase", c.what, change*100),
					"the target was not in a steady state, so figures of the whole phase depend on when it began and on how long it took",
					"warm up longer, let it settle before the step, or measure longer")
			}
		}
	}
}

// ramped says that the load was to change.
func (p *Phase) ramped() bool {
	return strings.Contains(p.Load, " more every ") || p.Loop == "open" && strings.Contains(p.Load, " to ")
}

func timingOf(phase *Phase) record.Timing {
	if phase.Loop == "open" {
		return record.Open
	}
	return record.Closed
}

// bySecond gives the counts and the medians of the whole seconds of a phase.
func (s *series) bySecond(phase *Phase) (counts, medians []float64) {
	for second := int(math.Ceil(phase.Start)); second < int(math.Floor(phase.End)); second++ {
		counts = append(counts, float64(s.perSecond[second]))
		median, known := s.medians[second]
		if !known {
			median = math.NaN()
		}
		medians = append(medians, median)
	}
	return counts, medians
}

// drift says by how much a series changed, and whether that is more than chance.
func drift(values []float64) (change float64, unsteady bool) {
	bins := binned(values, steadyBins)
	trend := stats.Steadiness(bins, steadyLimit)
	if trend.Change == nil || trend.Steady {
		return 0, false
	}
	half := len(bins) / 2
	halves := stats.Unpaired(bins[:half], bins[half:])
	return *trend.Change, halves.P != nil && *halves.P <= steadyP
}

// binned takes the means of so many stretches of equal length; NaN are left out.
func binned(values []float64, most int) []float64 {
	if len(values) <= most {
		return values
	}
	bins := make([]float64, most)
	for i := range bins {
		bins[i] = stats.Mean(values[i*len(values)/most : (i+1)*len(values)/most])
	}
	return bins
}
