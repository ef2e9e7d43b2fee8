package sampler

import (
	"fmt"

	"github.com/prometheus/client_golang/prometheus"
	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/model/labels"

	"plimsoll.dev/plimsoll/internal/metrics"
)

// gatherer reads what plimsoll itself counts.
type gatherer struct {
	prometheus.Gatherer
	known map[string]*metrics.Series // by their labels
}

func newGatherer(of prometheus.Gatherer) *gatherer {
	return &gatherer{of, map[string]*metrics.Series{}}
}

// read gives every counter and every gauge; of other kinds plimsoll has none.
func (g *gatherer) read() ([]metrics.Sample, error) {
	families, err := g.Gather()
	if err != nil {
		return nil, fmt.Errorf("gather: %w", err)
	}
	var samples []metrics.Sample
	for _, family := range families {
		for _, metric := range family.GetMetric() {
			value := metric.GetCounter().GetValue()
			if family.GetType() == dto.MetricType_GAUGE {
				value = metric.GetGauge().GetValue()
			}
			samples = append(samples, metrics.Sample{Series: g.series(family.GetName(), metric), Value: value})
		}
	}
	return samples, nil
}

func (g *gatherer) series(name string, metric *dto.Metric) *metrics.Series {
	builder := labels.NewScratchBuilder(len(metric.GetLabel()) + 1)
	builder.Add(model.MetricNameLabel, name)
	for _, pair := range metric.GetLabel() {
		builder.Add(pair.GetName(), pair.GetValue())
	}
	builder.Sort()
	all := builder.Labels()
	key := all.String()
	if g.known[key] == nil {
		g.known[key] = &metrics.Series{Labels: all}
	}
	return g.known[key]
}
