package plan

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"

	v1 "plimsoll.dev/plimsoll/api/v1alpha1"
)

// maxPoints bounds the values of one sweep.
const maxPoints = 100

// point is where a step of the tree comes from: the step as written, and, if
// that is swept, the value that it is for.
type point struct {
	written   int
	parameter string
	value     any
}

// sweep replaces every swept step by one copy for each value, in which the
// parameter is bound.
func (d *document) sweep(parameters map[string]any, used map[string]bool) {
	steps, replaceSteps := d.steps()
	var expanded []any
	var points []point // the document's at the end: until then paths are as written
	for i, step := range steps {
		fields, _ := step.(map[string]any)
		sweep, swept := fields["sweep"].(map[string]any)
		if !swept {
			expanded = append(expanded, step)
			points = append(points, point{written: i})
			continue
		}
		at := []string{"spec", "steps", strconv.Itoa(i)}
		path := append(slices.Clone(at), "sweep")
		fields["sweep"] = d.replace(sweep, path, parameters, used)
		name, _ := sweep["parameter"].(string)
		for _, value := range d.values(sweep, path) {
			bound := maps.Clone(parameters)
			bound[name] = value
			points = append(points, point{i, name, value})
			expanded = append(expanded, d.replace(clone(step), at, bound, used))
		}
	}
	replaceSteps(expanded)
	d.points = points
}

// steps gives the document's steps and the way to replace them; none if they
// are malformed, which the schema says later.
func (d *document) steps() ([]any, func([]any)) {
	spec := d.spec()
	steps, ok := spec["steps"].([]any)
	if !ok {
		return nil, func([]any) {}
	}
	return steps, func(expanded []any) { spec["steps"] = expanded }
}

// values gives the values of a sweep. A malformed one has the single value 1,
// so that the step is looked at all the same.
func (d *document) values(sweep map[string]any, path []string) []any {
	listed, isList := sweep["values"].([]any)
	from, hasFrom := number(sweep["from"])
	to, hasTo := number(sweep["to"])
	factor, hasFactor := number(sweep["factor"])
	if !hasFactor {
		factor = 2
	}
	switch {
	case isList && (hasFrom || hasTo):
		d.fault(path, "has both values and a geometric series: choose one")
	case isList && len(listed) > 0 && len(listed) <= maxPoints:
		return listed
	case isList:
		d.fault(append(slices.Clone(path), "values"), "must have from 1 to %d values", maxPoints)
	case !hasFrom || !hasTo:
		d.fault(path, "needs values, or from and to")
	case from <= 0 || to < from || factor <= 1:
		d.fault(path, "must rise: from above 0, to not below from, factor above 1")
	default:
		return d.geometric(from, to, factor, path)
	}
	return []any{1}
}

func (d *document) geometric(from, to, factor float64, path []string) []any {
	var values []any
	for v := from; v <= to*(1+1e-9); v *= factor {
		if len(values) == maxPoints {
			d.fault(path, "has more than %d values: raise from or factor", maxPoints)
			break
		}
		if rounded := math.Round(v); rounded == v || from == math.Trunc(from) {
			values = append(values, int64(rounded))
		} else {
			values = append(values, v)
		}
	}
	return values
}

// asWritten turns the path of a copy into that of the step as written.
func (d *document) asWritten(path []string) []string {
	if len(path) < 3 || path[0] != "spec" || path[1] != "steps" {
		return path
	}
	i, err := strconv.Atoi(path[2])
	if err != nil || i >= len(d.points) {
		return path
	}
	written := slices.Clone(path)
	written[2] = strconv.Itoa(d.points[i].written)
	return written
}

// markPoints tells the copies of swept steps apart: they get their point, and
// its value behind their name and those of their phases, as in walks@1000.
func (d *document) markPoints(s *v1.Scenario) {
	for i := range s.Spec.Steps {
		p := d.points[i]
		if p.parameter == "" {
			continue
		}
		step := &s.Spec.Steps[i]
		value, _ := number(p.value)
		step.Point = &v1.Point{Parameter: p.parameter, Value: value, Text: fmt.Sprint(p.value)}
		// The names of series are joined by dots.
		at := v1.Name("@" + strings.ReplaceAll(strconv.FormatFloat(value, 'f', -1, 64), ".", "_"))
		step.Name += at
		for j := range step.Phases {
			step.Phases[j].Name += at
		}
	}
}

// number reads a number, also the one that a quantity such as 50/s begins with.
func number(v any) (float64, bool) {
	switch v := v.(type) {
	case float64:
		return v, true
	case uint64:
		return float64(v), true
	case int64:
		return float64(v), true
	case int:
		return float64(v), true
	case string:
		n, _, err := v1.SplitUnit(v)
		return n, err == nil
	}
	return 0, false
}

// Quantity gives the number and the unit of a value such as 100 or "50/s"; 0 of
// what is no quantity.
func Quantity(v any) (value float64, unit string) {
	value, _ = number(v)
	if text, isText := v.(string); isText {
		_, unit, _ = v1.SplitUnit(text)
	}
	return value, unit
}

func clone(value any) any {
	switch v := value.(type) {
	case map[string]any:
		copied := make(map[string]any, len(v))
		for key, inner := range v {
			copied[key] = clone(inner)
		}
		return copied
	case []any:
		copied := make([]any, len(v))
		for i, inner := range v {
			copied[i] = clone(inner)
		}
		return copied
	}
	return value
}
