package steve

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/gorilla/websocket"

	v1 "plimsoll.dev/plimsoll/api/v1alpha1"
	"plimsoll.dev/plimsoll/internal/record"
	"plimsoll.dev/plimsoll/internal/workload"
	"plimsoll.dev/plimsoll/internal/workload/httpconn"
	"plimsoll.dev/plimsoll/internal/workload/kube"
)

func TestWalksInEveryPagination(t *testing.T) {
	for _, row := range []struct {
		name     string
		cached   bool
		objects  int
		list     v1.SteveList
		requests []string
		items    int64
		flagged  int // pages
	}{
		{"k8s", false, 25, v1.SteveList{Pagination: "k8s", PageSize: 10}, []string{
			"/v1/configmaps?limit=10", "/v1/configmaps?limit=10&revision=7&continue=a%2Bb%3D10", "/v1/configmaps?limit=10&revision=7&continue=a%2Bb%3D20",
		}, 25, 0},
		{"k8s, of a server that ignores limit", true, 25, v1.SteveList{Pagination: "k8s", PageSize: 10}, []string{"/v1/configmaps?limit=10"}, 25, 1},
		{"page", false, 20, v1.SteveList{Pagination: "page", PageSize: 10}, []string{
			"/v1/configmaps?pagesize=10&page=1", "/v1/configmaps?pagesize=10&page=2&revision=7", "/v1/configmaps?pagesize=10&page=3&revision=7",
		}, 20, 0},
		{"page, although continue holds a number", true, 15, v1.SteveList{Pagination: "page", PageSize: 10}, []string{
			"/v1/configmaps?pagesize=10&page=1", "/v1/configmaps?pagesize=10&page=2&revision=7", "/v1/configmaps?pagesize=10&page=3&revision=7",
		}, 15, 0},
		{"none", false, 25, v1.SteveList{Pagination: "none", PageSize: 10}, []string{"/v1/configmaps?limit=10"}, 10, 0},
		{"none, of a server that ignores limit", true, 25, v1.SteveList{Pagination: "none", PageSize: 10}, []string{"/v1/configmaps?limit=10"}, 25, 1},
		{"nothing there", false, 0, v1.SteveList{Pagination: "page", PageSize: 10}, []string{"/v1/configmaps?pagesize=10&page=1"}, 0, 0},
		{"a namespace, a filter, an order and projects", false, 3, v1.SteveList{
			Pagination: "k8s", PageSize: 2, Namespace: "space", Filter: "metadata.labels.app=web", Sort: "-metadata.name", ProjectsOrNamespaces: "a,b",
		}, []string{
			"/v1/configmaps/space?limit=2&filter=metadata.labels.app%3Dweb&sort=-metadata.name&projectsornamespaces=a%2Cb",
			"/v1/configmaps/space?limit=2&revision=7&continue=a%2Bb%3D2&filter=metadata.labels.app%3Dweb&sort=-metadata.name&projectsornamespaces=a%2Cb",
		}, 3, 0},
	} {
		t.Run(row.name, func(t *testing.T) {
			f := serve(t, &fake{objects: names("space", first(row.objects)...), cached: row.cached})
			c := f.client(t, Options{Operation: list(row.list)})
			for range 2 { // the second walk begins anew
				whole, timed := perform(t, c)
				if whole.Outcome != record.OK || whole.Reason != "" || whole.Items != row.items || whole.Bytes == 0 {
					t.Errorf("came to %+v; want %d items", whole, row.items)
				}
				flagged := 0
				for _, page := range timed.all {
					if page.Reason == httpconn.LimitIgnored {
						flagged++
					}
				}
				if len(timed.of("page")) != len(row.requests) || flagged != row.flagged {
					t.Errorf("%d pages, %d of them flagged; want %d, %d", len(timed.all), flagged, len(row.requests), row.flagged)
				}
			}
			if diff := cmp.Diff(append(row.requests, row.requests...), f.asked()); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestPageThatIgnoresItsNumberEndsTheWalk(t *testing.T) {
	f := serve(t, &fake{answer: func(w http.ResponseWriter, _ *http.Request) {
		_, _ = fmt.Fprint(w, `{"data":[{},{},{}]}`)
	}})
	whole, timed := perform(t, f.client(t, Options{Operation: list(v1.SteveList{Pagination: "page", PageSize: 2})}))
	if whole.Items != 3 || len(timed.all) != 1 || timed.all[0].Reason != httpconn.LimitIgnored {
		t.Errorf("came to %+v in %+v", whole, timed.all)
	}
}

func TestErrorsOfSteve(t *testing.T) {
	for body, want := range map[string]string{
		`{"type":"error","links":{},"code":"unknown revision","message":"unknown revision","status":400,"type":"error"}`: "http-400-unknown-revision",
		`{"code":400}`: "http-400",
		"":             "http-400",
	} {
		f := serve(t, &fake{answer: func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(http.StatusBadRequest)
			_, _ = fmt.Fprint(w, body)
		}})
		if whole, _ := perform(t, f.client(t, Options{Operation: list(v1.SteveList{PageSize: 2})})); whole.Outcome != record.Failed || whole.Reason != want {
			t.Errorf("%s came to %+v; want %s", body, whole, want)
		}
	}
}

func TestWalksAreChecked(t *testing.T) {
	fills := map[v1.Objects]int{{Resource: v1.ConfigMaps, Namespace: "space"}: 130, {Resource: v1.Secrets, Namespace: "space"}: 500, {Resource: v1.ConfigMaps, Namespace: "spread", Namespaces: 3}: 10}
	spread := []string{"spread-0/plimsoll-000000", "spread-1/plimsoll-000001", "spread-2/plimsoll-000002", "spread-0/plimsoll-000003", "spread-1/plimsoll-000004", "spread-2/plimsoll-000005", "spread-0/plimsoll-000006", "spread-1/plimsoll-000007", "spread-2/plimsoll-000008", "spread-0/plimsoll-000009"}
	whole := append(names("space", first(130)...), spread...)
	others := []string{"space/plimsoll-000130", "space/plimsoll-12", "space/plimsoll-00000a", "other/plimsoll-000001", "spread-1/plimsoll-000000", "kube-system/root", "space/plimsoll-999999999999"}
	without := slices.Delete(slices.Clone(whole), 64, 65)
	for _, row := range []struct {
		name, namespace string
		objects         []string
		want            string
	}{
		{"whole", "", whole, ""},
		{"whole, among others", "", slices.Concat(others, whole, others), ""},
		{"one is missing", "", without, missing},
		{"one of a spread is missing", "", whole[:len(whole)-1], missing},
		{"one is shown on another page again", "", append(slices.Clone(whole), whole[1]), duplicate},
		{"one is shown in place of another", "", append(slices.Clone(without), whole[1]), missingAndDuplicate},
		{"one of another namespace is in its place", "", append(slices.Clone(without), "other/plimsoll-000064"), missing},
		{"nothing", "", nil, missing},
		{"the share of one namespace", "spread-1", []string{spread[1], spread[4], spread[7]}, ""},
		{"less than the share", "spread-1", []string{spread[1], spread[4]}, missing},
	} {
		for _, cached := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s, cached %t", row.name, cached), func(t *testing.T) {
				f := serve(t, &fake{objects: row.objects, cached: cached})
				c := f.client(t, Options{Filled: fills, Operation: list(v1.SteveList{Pagination: "page", PageSize: 20, Verify: true, Namespace: v1.Name(row.namespace)})})
				for range 2 { // nothing is kept from one walk to the next
					if whole, _ := perform(t, c); whole.Outcome != record.OK || whole.Reason != row.want || whole.Items != int64(len(row.objects)) {
						t.Errorf("came to %+v; want the reason %q", whole, row.want)
					}
				}
			})
		}
	}
	w := New(Options{Steve: serve(t, &fake{}), Phase: "phase", Connections: 1, Filled: fills, Operation: list(v1.SteveList{Verify: true, Namespace: "elsewhere"})})
	if err := w.Prepare(t.Context()); err == nil || !strings.Contains(err.Error(), "phase phase: walks cannot be checked: no fill has made any configmaps") {
		t.Errorf("error is %v", err)
	}
}

// TestWalkThatBeginsAnewIsCheckedAnew has a token expire in mid-walk.
func TestWalkThatBeginsAnewIsCheckedAnew(t *testing.T) {
	f := &fake{objects: names("space", first(10)...)}
	gone := false
	f.answer = func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Query().Has("continue") && !gone {
			gone = true
			w.WriteHeader(http.StatusGone)
			return
		}
		f.list(w, r)
	}
	fills := map[v1.Objects]int{{Resource: v1.ConfigMaps, Namespace: "space"}: 10}
	whole, timed := perform(t, serve(t, f).client(t, Options{Filled: fills, Operation: list(v1.SteveList{Pagination: "k8s", PageSize: 4, Verify: true})}))
	if whole.Outcome != record.OK || whole.Reason != httpconn.Restarted || whole.Items != 10 || len(timed.all) != 5 {
		t.Errorf("came to %+v in %d pages", whole, len(timed.all))
	}
}

func TestGetAndCounts(t *testing.T) {
	f := serve(t, &fake{answer: func(w http.ResponseWriter, _ *http.Request) { _, _ = fmt.Fprint(w, "{}") }})
	get := v1.SteveWorkload{Get: &v1.KubeSelection{Resource: "deployments", Namespace: "space", Count: 1}}
	for _, operation := range []v1.SteveWorkload{get, {Counts: &v1.SteveCounts{}}} {
		if result, _ := perform(t, f.client(t, Options{Operation: operation, HTTP: "1.1"})); result != (workload.Result{Bytes: 2}) {
			t.Errorf("came to %+v", result)
		}
	}
	if diff := cmp.Diff([]string{"/v1/apps.deployments/space/plimsoll-000000", "/v1/counts"}, f.asked()); diff != "" {
		t.Error(diff)
	}
}

func TestWatchEnds(t *testing.T) {
	const start = `{"name":"resource.start","data":{"type":"subscribe"}}`
	const event = `{"name":"resource.create","revision":"8","data":{"id":"space/a","metadata":{"name":"a","namespace":"space","resourceVersion":"8"}}}`
	for _, row := range []struct {
		name     string
		messages []string
		stays    bool // until the client goes
		outcome  record.Outcome
		reason   string
		items    int64
	}{
		{"with its phase", []string{start, event, `{"name":"ping","data":{"version":"x"}}`, event}, true, record.OK, "", 2},
		{"by the server's word", []string{start, event, `{"name":"resource.stop"}`}, true, record.OK, "watch-ended", 1},
		{"with the connection", []string{start, event}, false, record.OK, "watch-ended", 1},
		{"before it starts", nil, false, record.Failed, "watch-ended", 0},
		{"without ever starting", nil, true, record.TimedOut, "timeout", 0},
		{"with a revision that is gone", []string{start, `{"name":"resource.error","data":{"error":"resourceversion too old"}}`}, true, record.Failed, "event-too-old", 0},
		{"with another error", []string{`{"name":"resource.error","data":{"error":"failed to find schema x"}}`}, true, record.Failed, "event-error", 0},
		{"with something else", []string{"hello"}, true, record.Failed, "not-events", 0},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			asked := make(chan string, 1)
			ctx, over := context.WithCancelCause(t.Context())
			f := serve(t, &fake{objects: names("space", 1), speak: func(conn *websocket.Conn, message string) {
				asked <- message
				for _, m := range row.messages {
					_ = conn.WriteMessage(websocket.TextMessage, []byte(m+"\n"))
				}
				if row.stays {
					conn.SetPongHandler(func(string) error { // it has read all messages
						over(workload.ErrOver)
						return nil
					})
					if len(row.messages) > 0 {
						_ = conn.WriteMessage(websocket.PingMessage, nil)
					}
					_, _, _ = conn.ReadMessage()
				}
			}})
			options := Options{Timeout: requestTimeout, Operation: v1.SteveWorkload{Watch: &v1.KubeWatch{Resource: v1.ConfigMaps, Namespace: "space"}}}
			if row.outcome == record.TimedOut {
				options.Timeout = 2 * time.Second // of the list before it too
			}
			op, _ := f.client(t, options).Next()
			timed := new(parts)
			result := op.Do(ctx, timed)
			if result.Outcome != row.outcome || result.Reason != row.reason || result.Items != row.items || !op.Lasting {
				t.Errorf("came to %+v; want %s %q and %d items", result, row.outcome, row.reason, row.items)
			}
			if starts := timed.of("start"); len(starts) != 1 {
				t.Errorf("%d starts; want one", len(starts))
			}
			if got, want := <-asked, `{"resourceType":"configmap","namespace":"space","resourceVersion":"7"}`; got != want {
				t.Errorf("subscribed with %s; want %s", got, want)
			}
		})
	}
}

func TestWatchThatIsRefused(t *testing.T) {
	f := &fake{}
	f.answer = func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusForbidden) }
	watch := v1.SteveWorkload{Watch: &v1.KubeWatch{Resource: v1.ConfigMaps}}
	if result, _ := perform(t, serve(t, f).client(t, Options{Operation: watch, Writes: new(kube.Writes)})); result.Reason != "http-403" {
		t.Errorf("came to %+v; want the refusal of its list", result)
	}
}

func TestNamesOfResources(t *testing.T) {
	for resource, want := range map[v1.Resource]string{
		v1.ConfigMaps: "/v1/configmaps configmap", "endpoints": "/v1/endpoints endpoints", "deployments": "/v1/apps.deployments apps.deployment",
		"ingresses": "/v1/networking.k8s.io.ingresses networking.k8s.io.ingress",
	} {
		if got := collection(resource, "") + " " + typeOf(resource); got != want {
			t.Errorf("%s is %s; want %s", resource, got, want)
		}
	}
}
