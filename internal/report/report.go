// Package report shows a result: to a person at a terminal, to a spreadsheet,
// and as one page that opens in any browser without a network.
package report

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"plimsoll.dev/plimsoll/internal/analysis"
	"plimsoll.dev/plimsoll/internal/store"
)

// titleOf is what the scenario calls itself.
func titleOf(result *analysis.Result) string { return cmp.Or(result.Title, result.Scenario) }

// clock is one of an operation's times.
type clock struct {
	Name string
	*analysis.Distribution
}

// clocksOf lists an operation's times, the main one first.
func clocksOf(operation *analysis.Operation) []clock {
	all := []clock{{"response", operation.Response}, {"service", operation.Service}, {"lag", operation.Lag}}
	return slices.DeleteFunc(all, func(c clock) bool { return c.Distribution == nil })
}

// trouble is what did not succeed of one operation of a phase.
type trouble struct {
	Phase, Operation string // Operation is empty for what never became one
	Measured         bool
	Count            int64
	Outcomes         []tally // other than ok
	Reasons          []tally
	Unsuccessful     map[string]*analysis.Distribution
}

// tally is how often something was counted.
type tally struct {
	Name  string
	Count int64
}

// troublesOf lists the operations of a run that did not all succeed, and those
// that have something to tell although they did.
func troublesOf(run *analysis.Run) []trouble {
	var troubles []trouble
	for _, phase := range run.Phases() {
		for _, operation := range phase.Operations {
			t := trouble{
				Phase: phase.Name, Operation: operation.Name, Measured: phase.Measured, Count: operation.Count,
				Outcomes: tallies(operation.Outcomes, "ok"), Reasons: tallies(operation.Reasons, ""),
				Unsuccessful: operation.Unsuccessful,
			}
			if len(t.Outcomes)+len(t.Reasons) > 0 {
				troubles = append(troubles, t)
			}
		}
		if phase.Dropped > 0 {
			troubles = append(troubles, trouble{
				Phase: phase.Name, Measured: phase.Measured, Count: phase.Count,
				Outcomes: []tally{{"dropped", phase.Dropped}}, Reasons: tallies(phase.DropReasons, ""),
			})
		}
	}
	return troubles
}

// tallies lists counts, the highest first, without the zeros and the one left out.
func tallies(counts map[string]int64, without string) []tally {
	var list []tally
	for name, n := range counts {
		if n > 0 && name != without {
			list = append(list, tally{name, n})
		}
	}
	slices.SortFunc(list, func(a, b tally) int {
		return cmp.Or(cmp.Compare(b.Count, a.Count), cmp.Compare(a.Name, b.Name))
	})
	return list
}

// reasonWords reads: http-429 × 61, timeout × 12.
func reasonWords(reasons []tally) string {
	var words []string
	for _, r := range reasons {
		words = append(words, r.Name+" × "+count(r.Count))
	}
	return strings.Join(words, ", ")
}

// machineOf is the machine in one line.
func machineOf(host store.Host) string {
	var parts []string
	add := func(known bool, part string) {
		if known {
			parts = append(parts, part)
		}
	}
	cpus := fmt.Sprintf("%d CPUs", host.CPUs)
	if host.CPULimit > 0 {
		cpus = fmt.Sprintf("%s of %d CPUs", brief(significant(host.CPULimit)), host.CPUs)
	}
	ram := brief(memory(float64(host.MemoryBytes)))
	if host.MemoryLimit > 0 && host.MemoryLimit < host.MemoryBytes {
		ram = brief(memory(float64(host.MemoryLimit))) + " of " + ram
	}
	add(host.CPUs > 0, cpus)
	add(host.CPUModel != "", host.CPUModel)
	add(host.MemoryBytes > 0, ram)
	add(host.FileSystem != "", host.FileSystem)
	add(host.Platform != "", host.Platform)
	add(host.Virtual != "", host.Virtual)
	if len(parts) == 0 {
		return "machine unknown"
	}
	return strings.Join(parts, " · ")
}

// share is the part of n that k is; nothing of nothing is no number.
func share(k, n int64) string {
	if n == 0 {
		return absent
	}
	return percent(float64(k) / float64(n))
}
