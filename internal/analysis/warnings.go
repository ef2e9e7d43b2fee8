package analysis

import (
	"fmt"
	"strings"

	"plimsoll.dev/plimsoll/internal/store"
)

// warn adds what a reader of the numbers must know.
func (r *Run) warn(stored *store.Run) {
	for _, damage := range stored.Damage {
		r.Warnings.add("run directory", damage, "the file is damaged or was cut short", "what could be read is shown; run again for whole results")
	}
	for _, phase := range r.Phases() {
		if phase.Measured && phase.End > 0 {
			r.warnPhase(phase)
		}
	}
	for _, e := range stored.Events {
		switch e.Kind {
		case store.SamplingFailed: // a scrape that failed may have been followed by others
			r.Warnings.add("metrics", e.Message, "there are gaps, or no values from then on", "")
		case store.FaultBegan:
			r.Warnings.add(e.Name, fmt.Sprintf("from %.1f s on: %s", e.At, e.Message), "the scenario has this fault, and its numbers are about it", "")
		case store.Stopped:
			r.Warnings.add(e.Name, fmt.Sprintf("the load was ended at %.1f s: %s", e.At, e.Message), "so the scenario has it; what would have come next is not in the numbers", "")
		case store.FaultMissed:
			r.Warnings.add(e.Name, "the fault never began: "+e.Message, "its step was over before", "lower after, or give the phases more time")
		case store.ProfileFailed:
			r.Warnings.add(e.Name, "it could not be profiled: "+e.Message, "", "")
		case store.Restarted:
			what, _, _ := strings.Cut(e.Message, "\n") // what follows is of its log
			r.Warnings.add("components", fmt.Sprintf("at %.1f s: %s", e.At, what), "it was started anew, and did nothing meanwhile; its log tells why it ended", "")
		case store.WaitMissed:
			r.Warnings.add(e.Name, e.Message, "what came next was measured on a target that was not as it should be", "see what keeps them, or raise the timeout of wait")
		case store.Unsettled:
			r.Warnings.add("settling", e.Message, "what came next was measured on a busy target", "raise the timeout or cpus of settle")
		}
	}
}

func (r *Run) warnPhase(phase *Phase) {
	warn := func(what, why, mend string) { r.Warnings.add(phase.Name, what, why, mend) }
	if phase.Count == 0 {
		warn("no operation ended", "the phase was cut short, or its first operations were still under way", "give it more time, or look at the components' logs")
		return
	}
	if phase.Dropped > 0 {
		warn(fmt.Sprintf("%d of %d operations were dropped", phase.Dropped, phase.Count),
			"the backlog was full, or operations still waited in it at the end: the target did not keep up with the rate",
			"lower the rate; response times are of the operations that ran, and so too good")
	}
	if bad := phase.Count - phase.Succeeded - phase.Dropped; bad > 0 {
		warn(fmt.Sprintf("%d of %d operations did not succeed", bad, phase.Count), "", "see outcomes and reasons in the table; times are of operations that succeeded or timed out")
	}
	for _, operation := range phase.Operations {
		if n := operation.Reasons[limitIgnored]; n > 0 {
			warn(fmt.Sprintf("the server ignored limit in %d answers", n), "", "compare whole walks, not pages")
		}
		if n := operation.lacking(); n > 0 {
			warn(fmt.Sprintf("%d of %d walks lacked objects that existed throughout", n, operation.Outcomes["ok"]), "", "a client of these pages would have missed them")
		}
		if n := operation.doubling(); n > 0 {
			warn(fmt.Sprintf("%d of %d walks showed objects more than once", n, operation.Outcomes["ok"]), "", "a client of these pages would have to tell them apart")
		}
	}
	if phase.late() {
		warn(fmt.Sprintf("the generator handed operations over late: %.1f ms at p99", *phase.Dispatch.P99*1000),
			"plimsoll did not get the CPU in time", "lower the rate, or give plimsoll a CPU of its own; response times include this delay")
	}
}

// lateDispatch is how late arrivals may be handed over, at the 99th percentile,
// before the generator counts as a limit: this, or a tenth of the median
// response time, if that is more.
const lateDispatch = 2e-3

// late says whether the generator was, in proportion to any operation's response time.
func (p *Phase) late() bool {
	if p.Dispatch == nil || p.Dispatch.P99 == nil {
		return false
	}
	for _, operation := range p.Operations {
		if response := operation.Response; response != nil && *p.Dispatch.P99 > max(lateDispatch, *response.P50/10) {
			return true
		}
	}
	return false
}
