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
	info := store.RunInfo{
		Index: planned.Index, Name: planned.Name, Scenario: string(p.Scenario.Metadata.Name), Title: p.Scenario.Metadata.Title,
		Seed: planned.Seed, Parameters: p.Parameters, Started: started, Tool: tool,
	}
	for _, step := range p.Scenario.Spec.Steps {
		stepInfo := store.StepInfo{Name: string(step.Name), Measured: *step.Measured}
		if step.Point != nil {
			stepInfo.Point = &store.Point{Parameter: step.Point.Parameter, Value: step.Point.Value}
		}
		for _, phase := range step.Phases {
			stepInfo.Phases = append(stepInfo.Phases, phaseInfo(phase))
		}
		info.Steps = append(info.Steps, stepInfo)
	}
	for _, o := range p.Scenario.Spec.Objectives {
		info.Objectives = append(info.Objectives, objectiveInfo(o))
	}
	return info
}

func phaseInfo(phase v1.Phase) store.PhaseInfo {
	kind := "closed"
	if phase.Load.Open != nil {
		kind = "open"
	}
	return store.PhaseInfo{
		Name: string(phase.Name), Background: phase.Background, Loop: kind, Load: phase.Load.InWords(),
		Workload: phase.Workload().InWords(), Clients: phase.Load.Clients(), Connections: phase.Connections,
	}
}

func objectiveInfo(o v1.Objective) store.ObjectiveInfo {
	info := store.ObjectiveInfo{Name: o.Name, Measure: o.Measure, PromQL: o.PromQL, Text: o.BoundInWords()}
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
