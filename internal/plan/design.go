package plan

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"

	v1 "plimsoll.dev/plimsoll/api/v1alpha1"
	"plimsoll.dev/plimsoll/internal/design"
	"plimsoll.dev/plimsoll/internal/measure"
	"plimsoll.dev/plimsoll/internal/metrics"
)

// design says how the experiment is laid out.
func (d *document) design(e *Experiment, variants []variant, axes []string, values [][]any) {
	spec := &e.Scenario().Spec
	laid := design.Design{Blocks: spec.Repetitions, Seed: spec.Seed, Margin: float64(spec.Margin)}
	for i, v := range variants {
		info := design.Variant{Name: v.name, Title: v.name, Changes: changes(v.patch)}
		if v.name == "" {
			info.Title = string(e.Scenario().Metadata.Name)
		} else {
			info.Title = cmp.Or(spec.Variants[i].Title, v.name)
		}
		laid.Variants = append(laid.Variants, info)
	}
	for i, name := range axes {
		axis := design.Axis{Parameter: name}
		for _, value := range values[i] {
			axis.Values = append(axis.Values, fmt.Sprint(value))
		}
		laid.Axes = append(laid.Axes, axis)
	}
	for i, p := range spec.Primary {
		d.checkPromQL([]string{"spec", "primary", strconv.Itoa(i), "promql"}, p.PromQL)
		laid.Primary = append(laid.Primary, primaryInfo(p, spec.Margin))
	}
	for i := range spec.References {
		laid.References = append(laid.References, d.reference(i, &spec.References[i], e, laid))
	}
	for i, p := range spec.Panels {
		d.checkPromQL([]string{"spec", "panels", strconv.Itoa(i), "promql"}, p.PromQL)
		laid.Panels = append(laid.Panels, design.Panel{Title: cmp.Or(p.Title, p.PromQL), PromQL: p.PromQL, Unit: p.Unit})
	}
	if s := spec.Search; s != nil {
		d.checkSearch(s, laid)
		laid.Search = &design.Search{
			Parameter: s.Parameter, From: fmt.Sprint(s.From), To: fmt.Sprint(s.To), Within: float64(s.Within),
		}
	}
	e.Design = laid
}

func primaryInfo(p v1.PrimaryMeasure, margin v1.Percent) design.Primary {
	info := design.Primary{
		Name: cmp.Or(p.Name, p.Measure, p.PromQL), Measure: p.Measure, PromQL: p.PromQL, Better: p.Better,
		Margin: float64(cmp.Or(p.Margin, margin)),
	}
	if m, err := measure.Parse(p.Measure); err == nil && info.Better == "" {
		info.Better = m.Better()
	}
	info.Better = cmp.Or(info.Better, measure.Lower)
	return info
}

// checkComponents finds measures of components that no cell's target has; one
// of the baseline's alone is not measured in the others.
func (d *document) checkComponents(e *Experiment) {
	var known []string
	for _, cell := range e.Cells {
		known = append(known, cell.Scenario.Spec.Target.Components()...)
	}
	slices.Sort(known)
	known = slices.Compact(known)
	check := func(list string, i int, field, text string) {
		m, err := measure.Parse(text)
		if err == nil && m.Component != "" && !slices.Contains(known, m.Component) {
			d.fault([]string{"spec", list, strconv.Itoa(i), field}, "no component is called %q%s; there are %s",
				m.Component, v1.NearMiss(m.Component, known), strings.Join(known, ", "))
		}
	}
	for _, cell := range e.Cells {
		spec := &cell.Scenario.Spec
		for i, o := range spec.Objectives {
			check("objectives", i, "measure", o.Measure)
		}
		for i, p := range spec.Primary {
			check("primary", i, "measure", p.Measure)
		}
		for i, r := range spec.References {
			check("references", i, "measure", r.Measure)
			check("references", i, "ratio", r.Ratio)
			check("references", i, "growth", r.Growth)
		}
	}
}

func (d *document) checkPromQL(path []string, expression string) {
	if expression == "" {
		return
	}
	if err := metrics.CheckExpression(expression); err != nil {
		d.fault(path, "%v", err)
	}
}

// reference turns what was published into the store's terms.
func (d *document) reference(i int, r *v1.Reference, e *Experiment, laid design.Design) design.Reference {
	path := []string{"spec", "references", strconv.Itoa(i)}
	baseline := laid.Variants[0].Name
	info := design.Reference{
		Statement: r.Statement, Measure: r.Measure, Ratio: r.Ratio, Growth: r.Growth, Source: r.Source, Text: r.Value.Text,
		Variant: cmp.Or(string(r.Variant), baseline), When: map[string]string{},
	}
	if r.Ratio != "" {
		info.Versus = cmp.Or(string(r.Versus), baseline)
		if r.Variant == "" && len(laid.Variants) > 1 {
			info.Variant = laid.Variants[1].Name
		}
		if info.Variant == info.Versus {
			d.fault(under(path, "ratio"), "needs two different variants: name them in variant and versus")
		}
	}
	for field, name := range map[string]v1.Name{"variant": r.Variant, "versus": r.Versus} {
		if name != "" && !slices.ContainsFunc(laid.Variants, func(v design.Variant) bool { return v.Name == string(name) }) {
			d.fault(under(path, field), "no variant is called %q", name)
		}
	}
	known := d.parameterNames(e)
	for _, name := range slices.Sorted(maps.Keys(r.When)) {
		info.When[name] = fmt.Sprint(r.When[name]) // which --set may have left out: it is then not measured
		if !slices.Contains(known, name) {
			d.fault(under(path, "when", name), "neither a parameter nor a sweep is called %q%s", name, v1.NearMiss(name, known))
		}
	}
	info.Min, info.Max = finite(r.Value.Min), finite(r.Value.Max)
	return info
}

// parameterNames lists the parameters, also those of sweeps only.
func (d *document) parameterNames(e *Experiment) []string {
	known := slices.Sorted(maps.Keys(d.parameters()))
	for _, step := range e.Scenario().Spec.Steps {
		if p := step.Point; p != nil && !slices.Contains(known, p.Parameter) {
			known = append(known, p.Parameter)
		}
	}
	return known
}

func finite(v float64) *float64 {
	if math.IsInf(v, 0) {
		return nil
	}
	return &v
}

func (d *document) checkSearch(s *v1.Search, laid design.Design) {
	path := []string{"spec", "search"}
	from, fromUnit := Quantity(s.From)
	to, toUnit := Quantity(s.To)
	_, declared := d.parameters()[s.Parameter]
	switch {
	case !declared:
		d.fault(under(path, "parameter"), "the scenario has no parameter %q: declare it under spec.parameters", s.Parameter)
	case slices.ContainsFunc(laid.Axes, func(a design.Axis) bool { return a.Parameter == s.Parameter }):
		d.fault(under(path, "parameter"), "%s is an axis: give it a single value, which the search replaces", s.Parameter)
	case from <= 0 || to <= from:
		d.fault(path, "must rise: from must be above 0, and below to")
	case fromUnit != toUnit:
		d.fault(path, "from is in %q, but to is in %q: write both with the same unit", fromUnit, toUnit)
	case s.Factor <= 1:
		d.fault(under(path, "factor"), "must be above 1")
	}
}
