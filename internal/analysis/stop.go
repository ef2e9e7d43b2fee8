package analysis

import "plimsoll.dev/plimsoll/internal/store"

// addStop takes in what ended the load: an objective, or the guard, which is
// an objective from then on.
func (r *Run) addStop(events []store.Event) {
	for _, e := range events {
		if e.Kind != store.Stopped {
			continue
		}
		r.Stopped = e.Message
		if e.Bound != nil {
			r.Objectives = append(r.Objectives, Objective{ObjectiveInfo: *e.Bound, Value: e.Value, N: 1, Note: e.Message, Stopped: &e.At})
		}
		for i := range r.Objectives {
			if r.Objectives[i].Name == e.Name {
				r.Objectives[i].Stopped = &e.At
			}
		}
	}
}

// guards says that it is the guard's, and about the machine rather than about an expression or a phase.
func (o Objective) guards() bool { return o.Measure == "" && o.PromQL == "" }
