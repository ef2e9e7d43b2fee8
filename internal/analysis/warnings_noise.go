package analysis

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"plimsoll.dev/plimsoll/internal/stats"
)

// What makes figures noisy.
const (
	shortPhase  = 2.0 // seconds; a shorter phase is a moment, and not a state
	largeSpread = 0.5 // of a cell's runs, as a share of their median
	busyOthers  = 0.2 // share of the machine that others than plimsoll and the target use
)

// noiseIn warns, once of each kind, of what makes a difference come up by chance.
func noiseIn(runs []*Run, groups []*group) []Warning {
	return slices.Concat(shortPhases(runs), wideSpreads(groups), busyHost(runs), shortOfCPU(runs))
}

func shortPhases(runs []*Run) []Warning {
	var names []string
	count, shortest := 0, shortPhase
	for _, run := range runs {
		for _, phase := range run.Phases() {
			if !phase.Measured || phase.Background || phase.End == 0 || phase.Seconds() >= shortPhase || run.excludedBy() != "" {
				continue
			}
			count++
			shortest = min(shortest, phase.Seconds())
			if name := phase.Written(); !slices.Contains(names, name) {
				names = append(names, name)
			}
		}
	}
	if count == 0 {
		return nil
	}
	what := fmt.Sprintf("it took %.2g s", shortest)
	if count > 1 {
		what = fmt.Sprintf("%d measured phases took less than %g s, the shortest %.2g s", count, shortPhase, shortest)
	}
	return []Warning{{
		strings.Join(names, ", "), what, "noise is large in so short a time: a pause, a collection of garbage or another program makes much of the figures",
		"measure longer: raise duration, operations, or the size of the lists",
	}}
}

// wideSpreads looks at the primary measures and at the mean times of operations.
func wideSpreads(groups []*group) []Warning {
	others, widest := -1, 0.0
	var what string
	for _, g := range groups {
		for _, m := range g.Measures {
			wide, known := spreadOf(m.Summary)
			if !m.Primary && !isMeanTime(m.Subject) || !known || wide <= largeSpread {
				continue
			}
			others++
			if wide > widest {
				widest = wide
				point := ""
				if m.Point != nil {
					point = " at " + m.Point.String()
				}
				what = fmt.Sprintf("runs of %s differ in %s%s by %.0f %% of the median", g.name(), cmp.Or(m.Measure, m.Name), point, wide*100)
			}
		}
	}
	if others < 0 {
		return nil
	}
	if others > 0 {
		what += fmt.Sprintf("; so do those of %d more by over %.0f %%", others, largeSpread*100)
	}
	return []Warning{{
		"noise", what, "noise is large: a few such runs differ by chance, and what is called better or worse may be a false alarm",
		"measure longer, on a machine that does nothing else, and repeat more often",
	}}
}

// spreadOf is how far runs of one kind lie apart, as a share of their median:
// the wider half of its interval or, of fewer runs, their range.
func spreadOf(s stats.Summary) (float64, bool) {
	if s.N < 2 || s.Median == nil || *s.Median <= 0 {
		return 0, false
	}
	if wide, known := s.Spread(); known {
		return wide, true
	}
	return (*s.Max - *s.Min) / *s.Median, true
}

func busyHost(runs []*Run) []Warning {
	busy, most, in := 0, 0.0, (*Run)(nil)
	for _, run := range runs {
		if others, known := run.strangers(); known && others > busyOthers*float64(run.Environment.Host.CPUs) {
			busy++
			if others > most {
				most, in = others, run
			}
		}
	}
	if busy == 0 {
		return nil
	}
	what := fmt.Sprintf("others than plimsoll and the target used %.2f of the %d CPUs while it was measured", most, in.Environment.Host.CPUs)
	if len(runs) > 1 {
		what = fmt.Sprintf("others than plimsoll and the target used much CPU in %d of %d runs, most in run %d: %.2f of %d", busy, len(runs), in.Index, most, in.Environment.Host.CPUs)
	}
	return []Warning{{
		"machine", what, "they take CPU time from what is measured, at times that nobody chose: times are too long, and differ from run to run",
		"stop what else runs on the machine, and run again",
	}}
}

// shortOfCPU tells of several runs what each of them tells of itself.
func shortOfCPU(runs []*Run) []Warning {
	short := slices.DeleteFunc(slices.Clone(runs), func(r *Run) bool { return !r.shortOfCPU() })
	if len(runs) == 1 || len(short) == 0 {
		return nil
	}
	worst := slices.MaxFunc(short, func(a, b *Run) int { return cmp.Compare(a.waiting, b.waiting) })
	return []Warning{{
		generator, fmt.Sprintf("its threads waited for a CPU longer than they ran in %d of %d runs, most in run %d: %.2f of them waited on average", len(short), len(runs), worst.Index, worst.waiting),
		shortOfCPUWhy, shortOfCPUMend,
	}}
}

// strangers is how much CPU others than plimsoll and the components of the
// target used over the measured steps; false says that it cannot be told: of a
// target that was borrowed, it is not known what is its own.
func (r *Run) strangers() (float64, bool) {
	if r.idle == nil || r.Environment.Host.CPUs == 0 || r.Environment.Host.CPULimit > 0 || r.measured().end == 0 {
		return 0, false
	}
	others, target := float64(r.Environment.Host.CPUs)-*r.idle, false
	for _, usage := range r.Components {
		others -= usage.MeanCPU
		target = target || usage.Component != generator
	}
	return others, target
}
