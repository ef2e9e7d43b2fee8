package analysis

import (
	"context"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/model/labels"

	"plimsoll.dev/plimsoll/internal/measure"
	"plimsoll.dev/plimsoll/internal/metrics"
)

// Graph is a few lines over time that belong together. Lines are in the order of their names.
type Graph struct {
	// Place is where it stands among the others, which not every run has.
	Place       int
	Title, Unit string
	Lines       []GraphLine
}

// GraphLine is one of them: a value every so many seconds from the start of the first measured step.
type GraphLine struct {
	Name   string
	Values []float64
}

// GraphStep is the time in seconds between two values of a graph's lines; both
// a run of a minute and one of an hour are drawn from it.
const GraphStep = 2

// graphQuery is a graph, as PromQL over the metrics of a run. The API server's
// own are read every five seconds, which rates must span three times.
type graphQuery struct {
	title string
	unit  measure.Unit
	lines []lineQuery
}

// lineQuery gives the lines of one expression, named by their labels after a prefix.
type lineQuery struct{ prefix, expression string }

func graphQueries() []graphQuery {
	one := func(expression string) []lineQuery { return []lineQuery{{"", expression}} }
	return []graphQuery{
		{"429s received by the control plane", measure.PerSecond, []lineQuery{
			{"", `sum by (component) (rate(rest_client_requests_total{code="429",component=~"kube-controller-manager|kube-scheduler"}[10s]))`},
			{"", `sum by (agent) (rate(plimsoll_audit_requests_total{code="429",user!~"plimsoll-.*",agent!~"kube-controller-manager|kube-scheduler"}[5s]))`},
		}},
		{"429s received by the load, by user", measure.PerSecond, one(`sum by (user) (label_replace(rate(plimsoll_requests_total{code="429"}[5s]), "user", "$1", "user", "user-(.*)"))`)},
		{"Requests refused by the API server, by priority level and reason", measure.PerSecond, []lineQuery{
			{"", `sum by (priority_level, reason) (rate(apiserver_flowcontrol_rejected_requests_total[15s]))`},
			// A server without priority and fairness has no levels.
			{"in-flight limit", `sum(rate(apiserver_request_terminations_total{code="429"}[15s])) unless on() count(apiserver_flowcontrol_nominal_limit_seats)`},
		}},
		{"Requests by verb", measure.PerSecond, one(`sum by (verb) (rate(apiserver_request_total{verb!~"WATCH|CONNECT"}[15s]))`)},
		{"Answers by code", measure.PerSecond, one(`sum by (code) (rate(apiserver_request_total{verb!~"WATCH|CONNECT"}[15s]))`)},
		{"Requests in flight", measure.Count, one(`sum by (request_kind) (apiserver_current_inflight_requests)`)},
		{"Requests in queues, by priority level", measure.Count, one(`sum by (priority_level) (apiserver_flowcontrol_current_inqueue_requests)`)},
		{"Wait in queue at p99, by priority level", measure.Seconds,
			one(`histogram_quantile(0.99, sum by (le, priority_level) (rate(apiserver_flowcontrol_request_wait_duration_seconds_bucket[15s])))`)},
		{"Request duration", measure.Seconds, []lineQuery{
			{"p50", `histogram_quantile(0.5, sum by (le) (rate(apiserver_request_duration_seconds_bucket{verb!~"WATCH|CONNECT"}[15s])))`},
			{"p99", `histogram_quantile(0.99, sum by (le) (rate(apiserver_request_duration_seconds_bucket{verb!~"WATCH|CONNECT"}[15s])))`},
		}},
		{"Objects, by resource and state", measure.Count, one(`sum by (resource, state) (plimsoll_objects)`)},
		{"CPU", measure.CPUs, one(`sum by (component) (rate(process_cpu_seconds_total[5s]))`)},
		{"Load average of the machine, over a minute", measure.Count, []lineQuery{{"load", `node_load1`}}},
		{"Resident memory", measure.Bytes, one(`sum by (component) (process_resident_memory_bytes)`)},
	}
}

// addGraphs evaluates what shows how a control plane fared, if there is one.
func (r *Run) addGraphs(ctx context.Context, reader *metrics.Reader) {
	measured := r.measured()
	if r.Clients == nil || measured.end == 0 {
		return
	}
	for place, query := range graphQueries() {
		graph := Graph{Place: place, Title: query.title, Unit: string(query.unit)}
		for _, lines := range query.lines {
			found, err := r.graphLines(ctx, reader, lines, measured)
			if err != nil {
				r.Warnings.add("metrics", err.Error(), "", "")
				return
			}
			graph.Lines = append(graph.Lines, found...)
		}
		if len(graph.Lines) > 0 {
			slices.SortStableFunc(graph.Lines, func(a, b GraphLine) int { return strings.Compare(a.Name, b.Name) })
			r.Figures.Graphs = append(r.Figures.Graphs, graph)
		}
	}
}

// graphLines evaluates an expression. Lines that are 0 throughout are left out.
func (r *Run) graphLines(ctx context.Context, reader *metrics.Reader, query lineQuery, within span) ([]GraphLine, error) {
	at := r.moments(within)
	matrix, err := reader.Range(ctx, query.expression, at.start, at.end, GraphStep*time.Second)
	if err != nil {
		return nil, err
	}
	var lines []GraphLine
	for _, series := range matrix {
		line := GraphLine{Name: lineName(query.prefix, series.Metric), Values: gaps(int((within.end-within.start)/GraphStep) + 1)}
		any := false
		for _, p := range series.Floats {
			i := int((p.T - at.start.UnixMilli()) / (GraphStep * 1000))
			if i < len(line.Values) && !math.IsInf(p.F, 0) {
				line.Values[i] = p.F
				any = any || p.F != 0 && !math.IsNaN(p.F)
			}
		}
		if any {
			lines = append(lines, line)
		}
	}
	return lines, nil
}

// lineName is the prefix and the values of the labels.
func lineName(prefix string, metric labels.Labels) string {
	parts := []string{prefix}
	metric.Range(func(l labels.Label) {
		if l.Name != model.MetricNameLabel && l.Name != "component" || prefix == "" {
			parts = append(parts, l.Value)
		}
	})
	return strings.TrimSpace(strings.Join(parts, " "))
}
