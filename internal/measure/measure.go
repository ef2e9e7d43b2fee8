// Package measure is the little language in which scenarios name numbers of a
// run, in objectives and elsewhere.
package measure

import (
	"fmt"
	"regexp"
	"strings"
)

// Measure names one number of a run:
//
//	STATISTIC(PHASE)                    success, count, rate
//	STATISTIC(PHASE.OPERATION)          success, count, rate, bytes, items
//	STATISTIC(PHASE.OPERATION.CLOCK)    min, mean, stddev, p50, p90, p95, p99, p99.9, max
//
// CLOCK is response, service or lag. Times are seconds, success is a fraction,
// rate is of operations that succeeded, per second.
type Measure struct {
	Statistic string
	Phase     string
	Operation string
	Clock     string
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
	CPUs      Unit = "CPUs" // of a component; no measure of the language has it
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
	pattern := regexp.MustCompile(`^([a-z]+|p[0-9]+(?:\.[0-9]+)?)\(([^()]*)\)$`)
	found := pattern.FindStringSubmatch(strings.ReplaceAll(text, " ", ""))
	if found == nil {
		return Measure{}, fmt.Errorf("%q is not a measure: write STATISTIC(PHASE.OPERATION.CLOCK), such as p99(gets.get.response)", text)
	}
	subject := append(strings.Split(found[2], "."), "", "")
	m := Measure{found[1], subject[0], subject[1], subject[2]}
	parts := strings.Count(found[2], ".") + 1
	timed, known := m.timed()
	switch {
	case !known:
		return m, fmt.Errorf("%q: no statistic is called %q; there are success, count, rate, bytes, items, min, mean, stddev, p50, p90, p95, p99, p99.9 and max", text, m.Statistic)
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
	subject := m.Phase
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
	case "bytes":
		return Bytes
	}
	return Seconds
}
