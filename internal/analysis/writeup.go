package analysis

import "plimsoll.dev/plimsoll/internal/measure"

// Metric is an expression whose values stand beside others, second by second.
type Metric struct {
	// Name heads its columns; it is the expression itself of one that somebody wrote.
	Name   string `json:"name"`
	PromQL string `json:"promql"`
	// Title says what it is, in words; Unit is as in measure.Unit. Both are empty of what somebody wrote.
	Title string `json:"title,omitempty"`
	Unit  string `json:"unit,omitempty"`
	// Aside says that it is put into tables, and neither drawn nor fitted: others tell more.
	Aside bool `json:"-"`
}

func (m Metric) aside() Metric {
	m.Aside = true
	return m
}

// ObjectCounts are the numbers of objects of the resources that a run was told to observe.
func ObjectCounts() Metric {
	const name = "plimsoll_objects"
	return Metric{Name: name, PromQL: "sum by (resource, state) (" + name + ")", Title: "objects", Unit: string(measure.Count)}
}

// WriteUp are the metrics that tell how a datastore and its API server fare as
// objects become many: those of the published write-up of etcd's limits, each by
// component, and what has been added since. Counters are rates, and histograms
// quantiles of what was added to them, over 10 s; the API server's own metrics
// are sampled every 5 s, and have 15 s.
func WriteUp() []Metric {
	set := []Metric{
		{Name: "process_resident_memory_bytes", PromQL: `sum by (component) (process_resident_memory_bytes{component!="plimsoll"})`, Title: "resident memory", Unit: string(measure.Bytes)},
		{Name: "process_cpus", PromQL: `sum by (component) (rate(process_cpu_seconds_total{component!="plimsoll"}[10s]))`, Title: "CPUs used", Unit: string(measure.CPUs)},
		{Name: "etcd_mvcc_db_total_size_in_bytes", PromQL: `sum by (component) (etcd_mvcc_db_total_size_in_bytes)`, Title: "database on disk", Unit: string(measure.Bytes)},
	}
	for _, histogram := range []struct{ name, title string }{
		{"etcd_disk_wal_fsync_duration_seconds", "fsync of the log"},
		{"etcd_disk_backend_commit_duration_seconds", "commit to the backend"},
		{"etcd_server_apply_duration_seconds", "apply of a proposal"},
		{"etcd_debugging_snap_save_total_duration_seconds", "save of a snapshot"},
	} {
		set = append(set, quantileOf(histogram.name, "", "10s", "0.5", histogram.title).aside(), quantileOf(histogram.name, "", "10s", "0.99", histogram.title))
	}
	return append(set,
		Metric{Name: "etcd_server_proposals_pending", PromQL: `sum by (component) (etcd_server_proposals_pending)`, Title: "pending proposals", Unit: string(measure.Count)},
		perSecond("etcd_server_proposals_committed_total", "", "10s", "committed proposals").aside(),
		perSecond("etcd_server_proposals_failed_total", "", "10s", "failed proposals"),
		// etcd_http_failed_total went with etcd's second API; who calls by gRPC and goes away has not failed.
		perSecond("grpc_server_handled_total", `{grpc_code!~"OK|Canceled"}`, "10s", "failed requests to etcd"),
		perSecond("etcd_network_peer_sent_bytes_total", "", "10s", "bytes sent to peers"),
		perSecond("etcd_network_peer_received_bytes_total", "", "10s", "bytes received from peers"),
		Metric{Name: "etcd_server_leader_changes_seen_total", PromQL: `sum by (component) (etcd_server_leader_changes_seen_total)`, Title: "changes of leader seen", Unit: string(measure.Count)}.aside(),
		quantileOf("apiserver_request_duration_seconds", `verb!~"WATCH|CONNECT"`, "15s", "0.5", "time of requests").aside(),
		quantileOf("apiserver_request_duration_seconds", `verb!~"WATCH|CONNECT"`, "15s", "0.99", "time of requests"),
		perSecond("apiserver_request_total", `{code=~"429|5.."}`, "15s", "rejected and failed requests"),
	)
}

// quantileOf is a quantile of what was added to a histogram within a window.
func quantileOf(histogram, matchers, window, quantile, title string) Metric {
	percentile := map[string]string{"0.5": "p50", "0.99": "p99"}[quantile]
	if matchers != "" {
		matchers = "{" + matchers + "}"
	}
	return Metric{
		Name:   histogram + "_" + percentile,
		PromQL: "histogram_quantile(" + quantile + ", sum by (component, le) (rate(" + histogram + "_bucket" + matchers + "[" + window + "])))",
		Title:  title + ", " + percentile, Unit: string(measure.Seconds),
	}
}

// perSecond is the rate of a counter.
func perSecond(counter, selector, window, title string) Metric {
	return Metric{
		Name: counter + "_per_second", PromQL: "sum by (component) (rate(" + counter + selector + "[" + window + "]))",
		Title: title, Unit: string(measure.PerSecond),
	}
}
