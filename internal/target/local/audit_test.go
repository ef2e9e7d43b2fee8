package local

import (
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"

	"plimsoll.dev/plimsoll/internal/target"
)

func event(stage, user, agent, verb, object string, code int) string {
	return fmt.Sprintf(`{"kind":"Event","level":"Metadata","stage":%q,"verb":%q,"user":{"username":%q},"userAgent":%q,"objectRef":%s,"responseStatus":{"metadata":{},"code":%d}}`+"\n",
		stage, verb, user, agent, object, code)
}

func TestAuditCountsEachRequestOnce(t *testing.T) {
	registry := prometheus.NewRegistry()
	a, err := startAudit(t.TempDir(), registry)
	if err != nil {
		t.Fatal(err)
	}
	const pods, leases = `{"resource":"pods"}`, `{"resource":"leases"}`
	server, err := os.OpenFile(a.path, os.O_WRONLY|os.O_APPEND, 0)
	if err != nil {
		t.Fatal(err)
	}
	for _, line := range []string{
		event("ResponseComplete", "system:kwok", "kwok/v0.8.0 (linux/amd64)", "update", leases, 200),
		event("ResponseComplete", "system:kwok", "kwok/v0.8.0 (linux/amd64)", "update", leases, 429),
		event("ResponseStarted", "system:kube-scheduler", "kube-scheduler/v1.36.3 a/b", "watch", pods, 200), // lasts
		event("ResponseComplete", "system:kube-scheduler", "kube-scheduler/v1.36.3 a/b", "watch", pods, 200),
		event("ResponseStarted", "admin", "kubectl/v1", "get", `{"resource":"pods","subresource":"log"}`, 200),
		event("ResponseComplete", "admin", "kubectl/v1", "get", `{"resource":"pods","subresource":"log"}`, 200),
		event("Panic", "admin", "kubectl/v1", "list", pods, 500),
		event("RequestReceived", "admin", "kubectl/v1", "list", pods, 0),
		"no event\n",
		`{"stage":"ResponseComplete","verb":"get","user":{"username":"system:anonymous"},"responseStatus":{"code":200}}` + "\n", // no object
	} {
		if _, err := server.WriteString(line); err != nil {
			t.Fatal(err)
		}
	}
	_ = server.Close()
	want := `
# HELP plimsoll_audit_damaged_total Lines of the audit log that are no events.
# TYPE plimsoll_audit_damaged_total counter
plimsoll_audit_damaged_total 1
# HELP plimsoll_audit_requests_total Requests that the API server tells of in its audit log.
# TYPE plimsoll_audit_requests_total counter
plimsoll_audit_requests_total{agent="",code="200",resource="",user="system:anonymous",verb="get"} 1
plimsoll_audit_requests_total{agent="kube-scheduler",code="200",resource="pods",user="system:kube-scheduler",verb="watch"} 1
plimsoll_audit_requests_total{agent="kubectl",code="200",resource="pods",user="admin",verb="get"} 1
plimsoll_audit_requests_total{agent="kubectl",code="500",resource="pods",user="admin",verb="list"} 1
plimsoll_audit_requests_total{agent="kwok",code="200",resource="leases",user="system:kwok",verb="update"} 1
plimsoll_audit_requests_total{agent="kwok",code="429",resource="leases",user="system:kwok",verb="update"} 1
`
	eventually(t, 30*time.Second, func() string {
		if err := testutil.GatherAndCompare(registry, strings.NewReader(want)); err != nil {
			return err.Error()
		}
		return ""
	})
	if err := a.close(); err != nil {
		t.Error(err)
	}
}

func TestAuditIsBounded(t *testing.T) {
	a, err := startAudit(t.TempDir(), prometheus.NewRegistry())
	if err != nil {
		t.Fatal(err)
	}
	_ = a.close() // now counting is ours
	for i := range mostAudited + 100 {
		var e auditEvent
		e.User.Username, e.ResponseStatus.Code = fmt.Sprint(i), 200
		a.count(e)
	}
	if n := testutil.CollectAndCount(a.requests); n != mostAudited+1 {
		t.Errorf("there are %d series; want %d", n, mostAudited+1)
	}
}

func TestAuditOfARealServer(t *testing.T) {
	spec := controlPlane(3)
	spec.KubeAPIServer.Audit = "metadata"
	o := options(t, spec)
	tg := boot(t, o)
	load := configOf(t, tg, target.Load)
	counted := func(labels prometheus.Labels) (n float64) {
		families, err := tg.Counters().Gather()
		if err != nil {
			t.Fatal(err)
		}
		for _, family := range families {
			for _, metric := range family.GetMetric() {
				fits := family.GetName() == "plimsoll_audit_requests_total"
				for _, pair := range metric.GetLabel() {
					want, asked := labels[pair.GetName()]
					fits = fits && (!asked || want == pair.GetValue())
				}
				if fits {
					n += metric.GetCounter().GetValue()
				}
			}
		}
		return n
	}
	lists := prometheus.Labels{"user": "plimsoll-load", "verb": "list", "resource": "configmaps", "code": "200"}
	eventually(t, 30*time.Second, func() string { // the target itself lists once, to see whether the user may
		if counted(lists) == 0 {
			return "no list is counted"
		}
		return ""
	})
	before := counted(lists)
	for range 3 {
		if code, _ := call(t, load, "GET", "/api/v1/namespaces/default/configmaps", nil); code != 200 {
			t.Fatalf("a list gives %d", code)
		}
	}
	call(t, load, "GET", "/api/v1/namespaces/default/configmaps/none", nil)
	eventually(t, 30*time.Second, func() string {
		for _, row := range []struct {
			name   string
			labels prometheus.Labels
			want   float64
		}{
			{"the load user's lists", lists, before + 3},
			{"its get of nothing", prometheus.Labels{"user": "plimsoll-load", "verb": "get", "resource": "configmaps", "code": "404"}, 1},
		} {
			if n := counted(row.labels); n != row.want {
				return fmt.Sprintf("%s: %v; want %v", row.name, n, row.want)
			}
		}
		for _, labels := range []prometheus.Labels{
			{"agent": "kwok", "resource": "leases"}, {"agent": "kube-scheduler", "verb": "watch"}, {"agent": "kube-controller-manager", "user": controllerManagerUser},
		} {
			if counted(labels) == 0 {
				return fmt.Sprintf("nothing is counted of %v", labels)
			}
		}
		return ""
	})
	checkClose(t, tg, o)
}
