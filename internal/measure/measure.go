// Package measure is the little language in which scenarios name numbers of a
// run, in objectives and elsewhere.
package measure

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
)

// Measure names one number of a run:
//
//	STATISTIC(PHASE)                    success, count, rate
//	STATISTIC(PHASE.OPERATION)          success, count, rate, bytes, items
//	STATISTIC(PHASE.OPERATION.CLOCK)    min, mean, stddev, p50, p90, p95, p99, p99.9, max
//	STATISTIC(COMPONENT)                maxRSS, endRSS, meanCPU, maxCPU
//
// CLOCK is response, service or lag. Times are seconds, success is a fraction,
// rate is of operations that succeeded, per second. COMPONENT is a process of the
// target: its resident memory, the largest and the last in the measured steps, in
// bytes, and its CPUs, on average and in the busiest second of these steps.
type Measure struct {
	Statistic string
	Phase     string
	Operation string
	Clock     string
	// Component is empty unless the measure is of one; Phase is then empty.
	Component string
}

// Statistics of components.
const (
	MaxRSS  = "maxRSS"
	EndRSS  = "endRSS"
	MeanCPU = "meanCPU"
	MaxCPU  = "maxCPU"
)

// ofComponent says that a statistic is one of components.
func ofComponent(statistic string) bool {
	return slices.Contains([]string{MaxRSS, EndRSS, MeanCPU, MaxCPU}, statistic)
}

// Unit is the base unit of a measure's values.
type Unit string

// The units.
const (
	Seconds   Unit = "seconds"
	Bytes     Unit = "bytes"
	PerSecond Unit = "per second"
	Fraction  Unit = "fraction"
	Count     Unit = "count"
	CPUs      Unit = "CPUs" // bounds on it are plain numbers
)

// Quantiles are the percentiles that reports show and measures may name.
func Quantiles() []float64 { return []float64{50, 90, 95, 99, 99.9} }

// Quantile gives the quantile that a statistic such as p99 stands for, in percent.
func Quantile(statistic string) (float64, bool) {
	for _, q := range Quantiles() {
		if statistic == fmt.Sprintf("p%v", q) {
			return q, true
		}
	}
	return 0, false
}

// Parse reads a measure.
func Parse(text string) (Measure, error) {
	pattern := regexp.MustCompile(`^([a-zA-Z]+|p[0-9]+(?:\.[0-9]+)?)\(([^()]*)\)$`)
	found := pattern.FindStringSubmatch(strings.ReplaceAll(text, " ", ""))
	if found == nil {
		return Measure{}, fmt.Errorf("%q is not a measure: write STATISTIC(PHASE.OPERATION.CLOCK), such as p99(gets.get.response)", text)
	}
	if ofComponent(found[1]) {
		if found[2] == "" || strings.Contains(found[2], ".") {
			return Measure{}, fmt.Errorf("%q: %s is of a component: write %s(COMPONENT), such as %s(kube-apiserver)", text, found[1], found[1], found[1])
		}
		return Measure{Statistic: found[1], Component: found[2]}, nil
	}
	subject := append(strings.Split(found[2], "."), "", "")
	m := Measure{Statistic: found[1], Phase: subject[0], Operation: subject[1], Clock: subject[2]}
	parts := strings.Count(found[2], ".") + 1
	timed, known := m.timed()
	switch {
	case !known:
		return m, fmt.Errorf("%q: no statistic is called %q; there are success, count, rate, bytes, items, min, mean, stddev, p50, p90, p95, p99, p99.9 and max, and of components maxRSS, endRSS, meanCPU and maxCPU", text, m.Statistic)
	case parts > 3 || m.Phase == "" || parts > 1 && m.Operation == "":
		return m, fmt.Errorf("%q is not a measure: between the brackets stands PHASE, PHASE.OPERATION or PHASE.OPERATION.CLOCK", text)
	case timed && parts != 3:
		return m, fmt.Errorf("%q: %s is a statistic of a time: name phase, operation and clock, such as %s(%s.get.response)", text, m.Statistic, m.Statistic, m.Phase)
	case !timed && parts == 3:
		return m, fmt.Errorf("%q: %s is not a statistic of a time: leave out .%s", text, m.Statistic, m.Clock)
	case timed && m.Clock != "response" && m.Clock != "service" && m.Clock != "lag":
		return m, fmt.Errorf("%q: no clock is called %q; there are response, service and lag", text, m.Clock)
	case (m.Statistic == "bytes" || m.Statistic == "items") && parts != 2:
		return m, fmt.Errorf("%q: %s are of an operation: write %s(%s.OPERATION)", text, m.Statistic, m.Statistic, m.Phase)
	}
	return m, nil
}

// timed says whether the statistic is one of times, and whether there is such a statistic.
func (m Measure) timed() (timed, known bool) {
	switch m.Statistic {
	case "success", "count", "rate", "bytes", "items":
		return false, true
	case "min", "mean", "stddev", "max":
		return true, true
	}
	_, known = Quantile(m.Statistic)
	return known, known
}

// String gives the measure as it is written.
func (m Measure) String() string {
	subject := m.Phase + m.Component
	for _, part := range []string{m.Operation, m.Clock} {
		if part != "" {
			subject += "." + part
		}
	}
	return m.Statistic + "(" + subject + ")"
}

// Which way is good.
const (
	Lower  = "lower"
	Higher = "higher"
)

// Better says which way is good: times are better lower, rates, success and
// counts higher.
func (m Measure) Better() string {
	switch m.Unit() {
	case PerSecond, Fraction, Count:
		return Higher
	}
	return Lower
}

// Unit is the base unit of the measure's values.
func (m Measure) Unit() Unit {
	switch m.Statistic {
	case "success":
		return Fraction
	case "rate":
		return PerSecond
	case "count", "items":
		return Count
	case "bytes", MaxRSS, EndRSS:
		return Bytes
	case MeanCPU, MaxCPU:
		return CPUs
	}
	return Seconds
}

// BoundUnit is the unit that bounds on the measure are written in.
func (m Measure) BoundUnit() Unit {
	if unit := m.Unit(); unit != CPUs {
		return unit
	}
	return Count
}
