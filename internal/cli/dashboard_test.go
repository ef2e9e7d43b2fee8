package cli

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/promql/parser"
	"github.com/rogpeppe/go-internal/testscript"

	"plimsoll.dev/plimsoll/internal/analysis"
	"plimsoll.dev/plimsoll/internal/metrics"
)

const dashboardFile = "../../docs/grafana/plimsoll-run.json"

// dashboard is what of a Grafana dashboard is looked at.
type dashboard struct {
	Panels []struct {
		ID      int
		Title   string
		GridPos struct{ H, W, X, Y int }
		Targets []struct{ Expr, LegendFormat string }
	}
}

func readDashboard() (d dashboard, err error) {
	data, err := os.ReadFile(dashboardFile)
	if err == nil {
		err = json.Unmarshal(data, &d)
	}
	return d, err
}

func (d dashboard) expressions() []string {
	var all []string
	for _, panel := range d.Panels {
		for _, target := range panel.Targets {
			all = append(all, target.Expr)
		}
	}
	return all
}

func TestTheDashboardShowsTheWriteUp(t *testing.T) {
	d, err := readDashboard()
	if err != nil {
		t.Fatal(err)
	}
	ids, places := map[int]bool{}, map[[2]int]bool{}
	for _, panel := range d.Panels {
		place := [2]int{panel.GridPos.X, panel.GridPos.Y}
		if ids[panel.ID] || places[place] || len(panel.Targets) == 0 || panel.GridPos.X+panel.GridPos.W > 24 {
			t.Errorf("panel %s has the number or the place of another, does not fit, or shows nothing", panel.Title)
		}
		ids[panel.ID], places[place] = true, true
		for _, target := range panel.Targets {
			if err := metrics.CheckExpression(target.Expr); err != nil {
				t.Errorf("panel %s: %v", panel.Title, err)
			}
		}
	}
	for _, metric := range analysis.WriteUp() {
		if !slices.Contains(d.expressions(), metric.PromQL) {
			t.Errorf("no panel shows %s", metric.PromQL)
		}
	}
}

// dashboardOf RUN fails unless a run has every metric that the dashboard names,
// but for those that only several members of etcd have.
func dashboardOf(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: dashboard RUN")
	}
	d, err := readDashboard()
	ts.Check(err)
	there := map[string]bool{}
	for _, l := range rawSamples(ts, filepath.Join(ts.MkAbs(args[0]), "metrics")).labels {
		there[l.Get(model.MetricNameLabel)] = true
	}
	for _, expression := range d.expressions() {
		expr, err := parser.NewParser(parser.Options{}).ParseExpr(expression)
		ts.Check(err)
		for _, selector := range parser.ExtractSelectors(expr) {
			for _, matcher := range selector {
				if matcher.Name == model.MetricNameLabel && !there[matcher.Value] && !strings.HasPrefix(matcher.Value, "etcd_network_peer_") {
					ts.Fatalf("the run has no metric %s, which the dashboard shows by %s", matcher.Value, expression)
				}
			}
		}
	}
}
