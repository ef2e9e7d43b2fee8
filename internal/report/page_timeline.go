package report

import (
	"fmt"
	"math"
	"strings"

	"plimsoll.dev/plimsoll/internal/analysis"
)

// lane is one row of the timeline: what went on from when to when.
type lane struct {
	Step     string // set in a step's first lane
	Name     string
	Words    []string
	Kind     string // setup, warm-up or measured
	Span     string
	Left     float64 // percent of the run
	Width    float64
	NotBegun bool
}

// tick is a mark on the time axis.
type tick struct {
	Left  float64 // percent of the run
	Label string
}

// timeline lays a run out in time.
func timeline(run *analysis.Run) ([]lane, []tick) {
	whole := run.Duration
	for _, step := range run.Steps {
		whole = max(whole, step.End)
	}
	if whole <= 0 {
		whole = 1
	}
	lanes := setupLanes(run, whole)
	for i, step := range run.Steps {
		for j, phase := range step.Phases {
			l := newLane(phase.Name, phase.Start, phase.End, whole)
			l.Kind = choose(step.Measured, "measured", "warm-up")
			l.NotBegun = phase.End <= 0
			l.Words = phaseWords(phase)
			if j == 0 {
				l.Step = fmt.Sprintf("Step %d: %s%s", i+1, step.Name, choose(step.Measured, "", " (not measured)"))
			}
			lanes = append(lanes, l)
		}
	}
	return lanes, timeTicks(whole)
}

// setupLanes are what came before the first step.
func setupLanes(run *analysis.Run, whole float64) []lane {
	if run.Ready <= 0 {
		return nil
	}
	start := newLane("target starts", 0, run.Ready, whole)
	start.Step, start.Kind = "Before the steps", "setup"
	var names []string
	for _, component := range run.Environment.Components {
		names = append(names, component.Name)
	}
	if len(names) > 0 {
		start.Words = []string{strings.Join(names, ", ")}
	}
	lanes := []lane{start}
	if len(run.Steps) > 0 && run.Steps[0].Start > run.Ready {
		prepare := newLane("preparation", run.Ready, run.Steps[0].Start, whole)
		prepare.Kind = "setup"
		lanes = append(lanes, prepare)
	}
	return lanes
}

func newLane(name string, start, end, whole float64) lane {
	return lane{
		Name: name, Left: 100 * start / whole, Width: 100 * (end - start) / whole,
		Span: fmt.Sprintf("%s, %s", seconds(end-start), choose(start == 0, "from the start", "from "+seconds(start))),
	}
}

func phaseWords(phase *analysis.Phase) []string {
	words := []string{phase.Workload, phase.Load}
	if phase.Connections > 0 {
		words = append(words, plural(phase.Connections, "connection", "connections"))
	}
	if phase.Background {
		words = append(words, "in the background")
	}
	return words
}

// timeTicks marks a time axis at round moments, about six of them.
func timeTicks(whole float64) []tick {
	step := niceStep(whole / 6)
	var ticks []tick
	for at := 0.0; at <= whole*0.97; at += step {
		ticks = append(ticks, tick{100 * at / whole, clockTime(at)})
	}
	return ticks
}

// niceStep is the smallest round length of time that is not shorter than s.
func niceStep(s float64) float64 {
	for _, step := range []float64{0.1, 0.2, 0.5, 1, 2, 5, 10, 20, 30, 60, 120, 300, 600, 1200, 1800, 3600, 7200, 14400, 21600} {
		if step >= s {
			return step
		}
	}
	return 43200 * math.Ceil(s/43200)
}
