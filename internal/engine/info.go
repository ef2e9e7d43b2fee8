package engine

import (
	"cmp"
	"time"

	v1 "plimsoll.dev/plimsoll/api/v1alpha1"
	"plimsoll.dev/plimsoll/internal/plan"
	"plimsoll.dev/plimsoll/internal/store"
)

// runInfo says what a run is to do, in the store's terms.
func runInfo(tool string, p *plan.Plan, planned plan.Run, started time.Time) store.RunInfo {
	spec := &planned.Cell.Scenario.Spec
	info := store.RunInfo{
		Index: planned.Index, Name: planned.Name, Scenario: p.Name, Title: p.Title,
		Seed: planned.Seed, Parameters: planned.Cell.Parameters, Cell: planned.Cell.Cell, Block: planned.Block,
		Probe: point(planned.Probe), Started: started, Tool: tool,
	}
	for _, step := range spec.Steps {
		stepInfo := store.StepInfo{Name: string(step.Name), Measured: *step.Measured, Point: point(step.Point)}
		for _, phase := range step.Phases {
			stepInfo.Phases = append(stepInfo.Phases, phaseInfo(phase))
		}
		info.Steps = append(info.Steps, stepInfo)
	}
	for _, o := range spec.Objectives {
		info.Objectives = append(info.Objectives, objectiveInfo(o))
	}
	return info
}

func point(p *v1.Point) *store.Point {
	if p == nil {
		return nil
	}
	return &store.Point{Parameter: p.Parameter, Value: p.Value, Text: p.Text}
}

func phaseInfo(phase v1.Phase) store.PhaseInfo {
	kind := "closed"
	if phase.Load.Open != nil {
		kind = "open"
	}
	return store.PhaseInfo{
		Name: string(phase.Name), Background: phase.Background, Loop: kind, Load: phase.LoadInWords(),
		Workload: phase.InWords(), Clients: phase.Load.Clients(), Connections: phase.Connections,
	}
}

func objectiveInfo(o v1.Objective) store.ObjectiveInfo {
	info := store.ObjectiveInfo{Name: o.Name, Measure: o.Measure, PromQL: o.PromQL, Headline: o.Headline, Text: o.BoundInWords()}
	if info.Name == "" {
		info.Name = cmp.Or(o.Measure, o.PromQL) + " " + info.Text
	}
	if o.Max != nil {
		info.Max, info.Unit = &o.Max.Value, string(o.Max.Unit)
	}
	if o.Min != nil {
		info.Min, info.Unit = &o.Min.Value, string(o.Min.Unit)
	}
	return info
}
