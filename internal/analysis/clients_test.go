package analysis

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/promql"

	"plimsoll.dev/plimsoll/internal/design"
	"plimsoll.dev/plimsoll/internal/metrics"
	"plimsoll.dev/plimsoll/internal/store"
)

// counter is a series that has a value before the measured step begins, at 2 s, and one at its end, at 12 s.
type counter struct {
	labels        []string
	before, after float64
}

// counted is a run of the fixture in which counters grew, a reading every second.
func counted(t *testing.T, counters []counter) *fixture {
	t.Helper()
	f := begin(t)
	f.events()
	db, err := metrics.Create(f.writer.MetricsDir())
	must(t, err)
	series := make([]*metrics.Series, len(counters))
	for i, c := range counters {
		series[i] = &metrics.Series{Labels: labels.FromStrings(c.labels...)}
	}
	for second := range 13 {
		var samples []metrics.Sample
		for i, c := range counters {
			value := c.before + (c.after-c.before)*float64(max(0, second-2))/10
			if value > 0 || c.before > 0 {
				samples = append(samples, metrics.Sample{Series: series[i], Value: value})
			}
		}
		must(t, db.Append(t.Context(), start().Add(time.Duration(second)*time.Second), samples))
	}
	must(t, db.Close())
	return f
}

func ownRequests(component, code string, before, after float64) counter {
	return counter{[]string{model.MetricNameLabel, "rest_client_requests_total", "component", component, "code", code}, before, after}
}

func sent(user, code, level, retry string, before, after float64) counter {
	return counter{[]string{model.MetricNameLabel, "plimsoll_requests_total", "phase", "gets@10", "user", user, "code", code, "priority_level", level, "retry_after", retry}, before, after}
}

func told(user, agent, resource, code string, before, after float64) counter {
	return counter{[]string{model.MetricNameLabel, "plimsoll_audit_requests_total", "user", user, "agent", agent, "resource", resource, "code", code}, before, after}
}

func TestClientsAreCountedOverTheMeasuredSteps(t *testing.T) {
	run := counted(t, []counter{
		ownRequests("kube-controller-manager", "200", 50, 150),
		ownRequests("kube-controller-manager", "429", 0, 20), // there were none before
		ownRequests("kube-controller-manager", "409", 5, 15),
		ownRequests("kube-scheduler", "<error>", 0, 10),
		ownRequests("kube-apiserver", "200", 0, 500), // to itself, which nothing limits
		sent("load", "201", "", "", 0, 100),
		sent("load", "429", "workload-low", "1", 0, 30),
		sent("load", "429", "global-default", "1", 0, 10),
		sent("user-churner", "503", "", "1", 0, 10),
		sent("user-churner", "503", "", "", 0, 20),
		sent("user-churner", "timeout", "", "", 0, 40),
		told("plimsoll-churner", "churner", "configmaps", "201", 0, 100),      // known from ourselves
		told("system:kube-scheduler", "kube-scheduler", "pods", "200", 0, 90), // known from itself
		told("system:kube-scheduler", "kube-scheduler", "leases", "429", 0, 10),
		told("system:kwok", "kwok", "leases", "200", 0, 10),
		told("system:kwok", "kwok", "pods", "429", 0, 20),
		told("alice", "kubectl", "pods", "403", 0, 10),
		{[]string{model.MetricNameLabel, "apiserver_flowcontrol_rejected_requests_total", "reason", "queue-full", "priority_level", "workload-low", "flow_schema", "a"}, 0, 30},
		{[]string{model.MetricNameLabel, "leader_election_slowpath_total", "component", "kube-scheduler"}, 0, 10},
		{[]string{model.MetricNameLabel, "node_collector_unhealthy_nodes_in_zone", "component", "kube-controller-manager"}, 1, 3},
	}).planned()
	got := map[string]Client{}
	for _, c := range run.Clients {
		got[c.Name] = *c
	}
	want := map[string]Client{
		"gets": {ClientName: ClientName{"gets", LoadRole, false, byPlimsoll}, Requests: Requests{Requests: 140, Rejected: 40},
			RejectedBy: map[string]int64{"workload-low": 30, "global-default": 10}},
		"gets (churner)":            {ClientName: ClientName{"gets (churner)", LoadRole, false, byPlimsoll}, Requests: Requests{70, 10, 0, 20, 40}},
		"kube-controller-manager":   {ClientName: ClientName{"kube-controller-manager", ControlPlane, false, byClient}, Requests: Requests{130, 20, 10, 0, 0}},
		"kube-scheduler":            {ClientName: ClientName{"kube-scheduler", ControlPlane, false, byClient}, Requests: Requests{10, 0, 0, 0, 10}},
		"kube-scheduler: its lease": {ClientName: ClientName{"kube-scheduler: its lease", ControlPlane, true, byAudit}, Requests: Requests{10, 10, 0, 0, 0}},
		"kwok":                      {ClientName: ClientName{"kwok", ControlPlane, false, byAudit}, Requests: Requests{30, 20, 0, 0, 0}},
		"kwok: heartbeats of nodes": {ClientName: ClientName{"kwok: heartbeats of nodes", ControlPlane, true, byAudit}, Requests: Requests{10, 0, 0, 0, 0}},
		"kubectl":                   {ClientName: ClientName{"kubectl", OtherRole, false, byAudit}, Requests: Requests{10, 0, 10, 0, 0}},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("clients differ (-want +got):\n%s", diff)
	}
	health := &Health{SlowRenewals: 10, UnreadyNodes: 3, Refusals: []Refusal{{"queue-full", "workload-low", "a", 30}}}
	if diff := cmp.Diff(health, run.Health); diff != "" {
		t.Errorf("health differs (-want +got):\n%s", diff)
	}
}

func TestWithoutPriorityAndFairnessTheLimitsRefuse(t *testing.T) {
	refused := []string{model.MetricNameLabel, "apiserver_request_terminations_total", "code", "429", "verb"}
	run := counted(t, []counter{
		ownRequests("kube-scheduler", "429", 0, 10),
		{append(refused, "POST"), 0, 10}, {append(refused, "GET"), 0, 20},
	}).planned()
	want := []Refusal{{Reason: "in-flight", Count: 30}}
	if diff := cmp.Diff(want, run.Health.Refusals); diff != "" {
		t.Errorf("refusals differ (-want +got):\n%s", diff)
	}
	graph := func(title string) *Graph {
		for i, g := range run.Figures.Graphs {
			if g.Title == title {
				return &run.Figures.Graphs[i]
			}
		}
		t.Fatalf("there is no graph %q in %v", title, run.Figures.Graphs)
		return nil
	}
	received := graph("429s received by the control plane")
	if len(received.Lines) != 1 || received.Lines[0].Name != "kube-scheduler" || fmt.Sprintf("%.1f", received.Lines[0].Values[5]) != "1.0" {
		t.Errorf("the graph is %+v; want one a second by the scheduler", received)
	}
	if limit := graph("Requests refused by the API server, by priority level and reason"); len(limit.Lines) != 1 || limit.Lines[0].Name != "in-flight limit" {
		t.Errorf("the graph is %+v", limit)
	}
}

func TestOfLoadAloneNobodyIsTold(t *testing.T) {
	run := counted(t, []counter{sent("load", "429", "", "1", 0, 10)}).planned()
	if run.Clients != nil || run.Health != nil || run.Figures.Graphs != nil {
		t.Errorf("clients are %v, health %v, graphs %v; want none without a control plane", run.Clients, run.Health, run.Figures.Graphs)
	}
}

func TestALostLeaseIsTold(t *testing.T) {
	f := counted(t, []counter{ownRequests("etcd", "200", 0, 10), ownRequests("kube-scheduler", "429", 0, 10)})
	f.close()
	must(t, f.writer.Event(store.Event{At: 9, Kind: store.RunFailed, Message: "a component died: etcd (process 42) ended by itself\nleaderelection lost"}))
	must(t, f.writer.Close(false))
	run := f.analyze()
	if run.Status != Failed || run.Health == nil || run.Health.LostLeases["etcd"] != 1 {
		t.Errorf("status is %s, health %+v", run.Status, run.Health)
	}
}

// TestALostLeaseOfWhatIsStartedAnewIsTold has a component end twice, once for another reason.
func TestALostLeaseOfWhatIsStartedAnewIsTold(t *testing.T) {
	f := counted(t, []counter{ownRequests("kube-scheduler", "429", 0, 10)})
	must(t, f.writer.Event(store.Event{At: 5, Kind: store.Restarted, Message: "etcd (process 42) ended by itself\nleaderelection lost"}))
	must(t, f.writer.Event(store.Event{At: 8, Kind: store.Restarted, Message: "etcd (process 43) ended by itself\nout of memory"}))
	run := f.planned()
	if run.Status != Complete || run.Health == nil || run.Health.LostLeases["etcd"] != 1 || len(run.Health.LostLeases) != 1 {
		t.Errorf("status is %s, health %+v", run.Status, run.Health)
	}
	told := 0
	for _, w := range run.Warnings {
		if w.About == "components" && !strings.Contains(w.What, "leaderelection") {
			told++
		}
	}
	if told != 2 {
		t.Errorf("%d of 2 ends are told by their first line: %v", told, run.Warnings)
	}
}

func TestIncreaseOfACounter(t *testing.T) {
	for _, row := range []struct {
		name   string
		values []float64 // of seconds, the first of which is before the span
		want   float64
	}{
		{"one that only grows", []float64{5, 7, 10}, 5},
		{"one that grew before", []float64{5, 5, 5}, 0},
		{"one that began anew", []float64{90, 100, 3, 5}, 15},
		{"one that began anew twice", []float64{8, 2, 10, 1}, 11},
	} {
		var points []promql.FPoint
		for second, v := range row.values {
			points = append(points, promql.FPoint{T: int64(second) * 1000, F: v})
		}
		if got := increaseSince(0, points); got != row.want {
			t.Errorf("%s grew by %g; want %g", row.name, got, row.want)
		}
	}
	late := []promql.FPoint{{T: 1000, F: 4}, {T: 2000, F: 6}}
	if got := increaseSince(0, late); got != 6 {
		t.Errorf("one that was not there before grew by %g; want 6", got)
	}
}

func TestClientsSideBySide(t *testing.T) {
	run := func(index int, variant string, rejected ...float64) *Run {
		r := &Run{Index: index, Cell: design.Cell{Variant: variant}, Status: Complete}
		for i, n := range rejected {
			r.Clients = append(r.Clients, &Client{
				ClientName: ClientName{Name: fmt.Sprint(i), Role: ControlPlane, Part: i == 2}, Requests: Requests{Requests: 100, Rejected: n},
				RejectedBy: map[string]int64{"system": int64(n)},
			})
		}
		return r
	}
	failed := run(3, "base", 9, 1)
	failed.Status = Failed
	groups := []*group{
		{Cell: &Cell{Cell: design.Cell{Variant: "base"}}, all: []*Run{run(1, "base", 1, 2, 1), run(2, "base", 3, 4, 3), failed}},
		{Cell: &Cell{Cell: design.Cell{Variant: "apf"}}, all: []*Run{run(4, "apf", 0, 0, 0)}},
	}
	rows := clientsOf(groups)
	if len(rows) != 4 || rows[3].Name != All {
		t.Fatalf("rows are %v; want three clients and all of them", rows)
	}
	all := rows[3].Cells[0]
	// Of 3, 7 and 10: the failed run counts, what is a part does not.
	if all.Median.Rejected != 7 || all.Sum.Rejected != 20 || all.Sum.Requests != 600 || all.RejectedBy["system"] != 20 || len(all.Runs) != 3 {
		t.Errorf("all clients of the baseline are %+v", all)
	}
	if apf := rows[3].Cells[1]; apf.Sum.Rejected != 0 || apf.Sum.Requests != 200 {
		t.Errorf("all clients of the variant are %+v", apf)
	}
	groups[1].all[0].Probe = &store.Point{Parameter: "limit", Value: 5}
	if rows := clientsOf(groups); rows != nil {
		t.Errorf("a search has %v; its runs have nothing in common", rows)
	}
}
