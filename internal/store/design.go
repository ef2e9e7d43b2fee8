package store

import (
	"fmt"

	"plimsoll.dev/plimsoll/internal/design"
)

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
