package analysis

import (
	"context"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/promql"

	"plimsoll.dev/plimsoll/internal/metrics"
	"plimsoll.dev/plimsoll/internal/store"
)

// Joined is what metrics came to, put side by side by the moment: a row per
// second.
type Joined struct {
	// Run is the run that it is of, and Started its beginning.
	Run     store.RunInfo
	Started time.Time
	// Seconds are the offsets of the rows from the run's start.
	Seconds []float64
	Columns []Column
}

// Column is one series of a metric.
type Column struct {
	Metric
	// Place is that of the metric among those that were joined.
	Place int
	// Labels tell it from other series of the metric.
	Labels labels.Labels
	// Values are those at each row; NaN is a gap.
	Values []float64
}

// Heading names the column, as series are written in PromQL.
func (c Column) Heading() string {
	name := c.Name
	if c.Labels.IsEmpty() {
		return name
	}
	return name + c.Labels.String()
}

// Component is the process that the series is of; empty if that is not said.
func (c Column) Component() string { return c.Labels.Get("component") }

// Family is the component without the number of a member of etcd.
func (c Column) Family() string { return strings.TrimRight(c.Component(), "-0123456789") }

// Join evaluates metrics at every second of a run from one offset to another. All
// are evaluated at the same moments, so that what stands in a row is of one. A
// metric that the run does not have has no column.
func Join(ctx context.Context, source metrics.Source, run store.RunInfo, from, to float64, list []Metric) (*Joined, error) {
	j := &Joined{Run: run, Started: run.Started}
	from, to = math.Floor(max(0, from)), math.Ceil(to)
	for second := from; second <= to; second++ {
		j.Seconds = append(j.Seconds, second)
	}
	at := (&Run{Started: run.Started}).moments(span{from, to})
	for place, metric := range list {
		matrix, err := source.Range(ctx, metric.PromQL, at.start, at.end, time.Second)
		if err != nil {
			return nil, fmt.Errorf("join %s: %w", metric.Name, err)
		}
		for _, series := range matrix {
			named := series.Metric.DropReserved(func(name string) bool { return name == model.MetricNameLabel })
			j.Columns = append(j.Columns, Column{Metric: metric, Place: place, Labels: named, Values: j.column(series.Floats)})
		}
	}
	return j, nil
}

// Where keeps the rows in which any of a metric's columns has a value.
func (j *Joined) Where(metric Metric) {
	kept := *j
	kept.Seconds, kept.Columns = nil, slices.Clone(j.Columns)
	for i := range kept.Columns {
		kept.Columns[i].Values = nil
	}
	of := j.Of(metric)
	for row, second := range j.Seconds {
		if !slices.ContainsFunc(of, func(c Column) bool { return !math.IsNaN(c.Values[row]) }) {
			continue
		}
		kept.Seconds = append(kept.Seconds, second)
		for i, c := range j.Columns {
			kept.Columns[i].Values = append(kept.Columns[i].Values, c.Values[row])
		}
	}
	*j = kept
}

// column puts values into the rows of their moments.
func (j *Joined) column(points []promql.FPoint) []float64 {
	values := gaps(len(j.Seconds))
	for _, p := range points {
		offset := float64(p.T-j.Started.UnixMilli()) / 1000
		if row := int(math.Round(offset - j.Seconds[0])); row >= 0 && row < len(values) {
			values[row] = p.F
		}
	}
	return values
}

// within gives the values of a column in a span.
func (j *Joined) within(column Column, at span) []float64 {
	var values []float64
	for row, second := range j.Seconds {
		if second >= at.start && second <= at.end {
			values = append(values, column.Values[row])
		}
	}
	return values
}

// Of gives the columns of a metric.
func (j *Joined) Of(metric Metric) []Column {
	var columns []Column
	for _, c := range j.Columns {
		if c.Metric == metric {
			columns = append(columns, c)
		}
	}
	return columns
}
