package store

import (
	"fmt"

	"plimsoll.dev/plimsoll/internal/design"
)

// Planned is how many runs the plan has; of a search, which decides as it goes,
// how many searches. It is 0 if the plan cannot be read.
func (r *Results) Planned() int {
	var stored struct {
		Runs []struct{} `json:"runs"`
	}
	if err := readJSON(r.Path(PlanFile), &stored); err != nil {
		return 0
	}
	return len(stored.Runs)
}

// Design reads how the experiment is laid out. Experiments of before there were
// variants have one without.
func (r *Results) Design() (design.Design, error) {
	var stored struct {
		Design design.Design `json:"design"`
	}
	if err := readJSON(r.Path(PlanFile), &stored); err != nil {
		return design.Design{}, fmt.Errorf("read the design: %w", err)
	}
	return stored.Design, nil
}
