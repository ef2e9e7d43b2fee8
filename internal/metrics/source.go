package metrics

import (
	"context"
	"slices"
	"time"

	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/promql"
)

// Source answers expressions in PromQL: a run's own database, or somebody's
// Prometheus.
type Source interface {
	// Range evaluates an expression at every step from start to end.
	Range(ctx context.Context, expression string, start, end time.Time, step time.Duration) (promql.Matrix, error)
	// At evaluates an expression at one moment: a series with one value each.
	At(ctx context.Context, expression string, at time.Time) (promql.Matrix, error)
	// WhyNothing says why an expression may have given no value.
	WhyNothing(ctx context.Context, expression string) (string, error)
	// Close ends the use of the source.
	Close() error
}

var (
	_ Source = (*Reader)(nil)
	_ Source = (*Remote)(nil)
)

// Model gives series in the form in which Prometheus's HTTP API writes them.
func Model(series promql.Matrix) model.Matrix {
	written := model.Matrix{}
	for _, s := range series {
		metric := model.Metric{}
		s.Metric.Range(func(l labels.Label) { metric[model.LabelName(l.Name)] = model.LabelValue(l.Value) })
		stream := &model.SampleStream{Metric: metric, Values: []model.SamplePair{}}
		for _, p := range s.Floats {
			stream.Values = append(stream.Values, model.SamplePair{Timestamp: model.Time(p.T), Value: model.SampleValue(p.F)})
		}
		written = append(written, stream)
	}
	return written
}

// FromModel undoes Model. Native histograms, which are no numbers, are left out.
func FromModel(written model.Matrix) promql.Matrix {
	var series promql.Matrix
	for _, stream := range written {
		if stream == nil || len(stream.Values) == 0 {
			continue
		}
		one := promql.Series{Metric: labelsOf(stream.Metric)}
		for _, p := range stream.Values {
			one.Floats = append(one.Floats, promql.FPoint{T: int64(p.Timestamp), F: float64(p.Value)})
		}
		series = append(series, one)
	}
	return series
}

func labelsOf(metric model.Metric) labels.Labels {
	named := map[string]string{}
	for name, value := range metric {
		named[string(name)] = string(value)
	}
	return labels.FromMap(named)
}

// Join appends later values to the series that they belong to. Moments that a
// series has already are left out.
func Join(series, later promql.Matrix) promql.Matrix {
	for _, l := range later {
		at := slices.IndexFunc(series, func(s promql.Series) bool { return labels.Equal(s.Metric, l.Metric) })
		if at < 0 {
			series = append(series, l)
			continue
		}
		for _, p := range l.Floats {
			if points := series[at].Floats; len(points) == 0 || p.T > points[len(points)-1].T {
				series[at].Floats = append(points, p)
			}
		}
	}
	return series
}
