package store

import (
	"errors"
	"fmt"
	"strings"

	"github.com/HdrHistogram/hdrhistogram-go"

	"plimsoll.dev/plimsoll/internal/record"
)

// counter is a line of counters.jsonl.
type counter struct {
	Second  int              `json:"second"`
	Series  string           `json:"series"` // phase.operation.timing.outcome
	Count   int64            `json:"count"`
	Bytes   int64            `json:"bytes,omitempty"`
	Items   int64            `json:"items,omitempty"`
	Reasons map[string]int64 `json:"reasons,omitempty"`
}

func (c counter) interval() (record.Interval, error) {
	i, err := parseSeries(c.Series)
	switch {
	case err != nil:
		return i, err
	case c.Second < 0 || c.Second > longestRun:
		return i, fmt.Errorf("second %d lies outside of any run", c.Second)
	case c.Count < 0 || c.Bytes < 0 || c.Items < 0:
		return i, errors.New("a count is below zero")
	}
	for reason, n := range c.Reasons {
		if n < 0 {
			return i, fmt.Errorf("the count of reason %q is below zero", reason)
		}
	}
	i.Second, i.Count, i.Bytes, i.Items, i.Reasons = c.Second, c.Count, c.Bytes, c.Items, c.Reasons
	return i, nil
}

// Clock is which of an operation's times a histogram holds.
type Clock string

// The clocks.
const (
	Service  Clock = "service"
	Response Clock = "response"
	Lag      Clock = "lag"
)

// of gives the clock's histogram of an interval.
func (c Clock) of(i record.Interval) *hdrhistogram.Histogram {
	switch c {
	case Service:
		return i.Service
	case Response:
		return i.Response
	case Lag:
		return i.Lag
	}
	return nil
}

// seriesName gives an interval's series the name that it has in files.
func seriesName(i record.Interval) (string, error) {
	for _, part := range []string{i.Phase, i.Op} {
		if strings.ContainsAny(part, "., \r\n") {
			return "", fmt.Errorf("%q cannot name a phase or an operation: it has a dot, a comma or a space", part)
		}
	}
	return i.Phase + "." + i.Op + "." + timingName(i.Timing) + "." + i.Outcome.String(), nil
}

// parseSeries undoes seriesName.
func parseSeries(name string) (record.Interval, error) {
	part := strings.Split(name, ".")
	if len(part) != 4 {
		return record.Interval{}, fmt.Errorf("series %q is not phase, operation, timing and outcome", name)
	}
	i := record.Interval{Phase: part[0], Op: part[1]}
	var known bool
	if i.Timing, known = find([]record.Timing{record.Closed, record.Open, record.Part, record.Dispatch}, timingName, part[2]); !known {
		return i, fmt.Errorf("series %q: unknown timing %q", name, part[2])
	}
	if i.Outcome, known = find(record.Outcomes(), record.Outcome.String, part[3]); !known {
		return i, fmt.Errorf("series %q: unknown outcome %q", name, part[3])
	}
	return i, nil
}

// parseTag undoes the tag that WriteInterval gives a histogram: its series and its clock.
func parseTag(tag string) (record.Interval, Clock, error) {
	dot := strings.LastIndexByte(tag, '.')
	if dot < 0 {
		return record.Interval{}, "", fmt.Errorf("tag %q has no clock", tag)
	}
	i, err := parseSeries(tag[:dot])
	if err != nil {
		return i, "", err
	}
	switch clock := Clock(tag[dot+1:]); clock {
	case Service, Response, Lag:
		return i, clock, nil
	default:
		return i, "", fmt.Errorf("tag %q: unknown clock %q", tag, clock)
	}
}

func timingName(t record.Timing) string {
	return [...]string{"closed", "open", "part", "dispatch"}[t]
}

// find gives the value whose name is name.
func find[T any](values []T, nameOf func(T) string, name string) (found T, ok bool) {
	for _, v := range values {
		if nameOf(v) == name {
			return v, true
		}
	}
	return found, false
}
