package analysis

import "plimsoll.dev/plimsoll/internal/measure"

// value gives a measure of the run and the number of operations that it rests
// on; false says that the run does not have it.
func (r *Run) value(m measure.Measure) (value float64, n int64, ok bool) {
	phase := r.phase(m.Phase)
	if phase == nil {
		return 0, 0, false
	}
	count, good, bytes, items := phase.Count, phase.Succeeded, int64(0), int64(0)
	var distribution *Distribution
	if m.Operation != "" {
		operation := phase.operation(m.Operation)
		if operation == nil {
			return 0, 0, false
		}
		count, good, bytes, items = operation.Count, operation.Outcomes["ok"], operation.Bytes, operation.Items
		distribution = operation.clock(m.Clock)
	}
	switch m.Statistic {
	case "success":
		return float64(good) / float64(count), count, count > 0
	case "count":
		return float64(count), count, true
	case "rate":
		return float64(good) / phase.Seconds(), good, phase.Seconds() > 0
	case "bytes":
		return float64(bytes), count, true
	case "items":
		return float64(items), count, true
	}
	if distribution == nil {
		return 0, 0, false
	}
	value, ok = distribution.statistic(m.Statistic)
	return value, distribution.Count, ok
}
