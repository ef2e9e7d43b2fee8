package steve

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	v1 "plimsoll.dev/plimsoll/api/v1alpha1"
	"plimsoll.dev/plimsoll/internal/assets"
	"plimsoll.dev/plimsoll/internal/fill"
	"plimsoll.dev/plimsoll/internal/record"
	"plimsoll.dev/plimsoll/internal/target/local"
	"plimsoll.dev/plimsoll/internal/workload"
	"plimsoll.dev/plimsoll/internal/workload/httpconn"
	"plimsoll.dev/plimsoll/internal/workload/kube"
)

const runID = "20260101-000000-1"

// TestRealSteve performs every operation on a real Steve, with its SQL cache and
// without; the first run builds it.
func TestRealSteve(t *testing.T) {
	if testing.Short() {
		t.Skip("boots real parts")
	}
	for _, cached := range []bool{false, true} {
		t.Run(fmt.Sprintf("SQL cache %t", cached), func(t *testing.T) {
			dir := t.TempDir()
			tg, err := local.Start(t.Context(), local.Options{
				Spec: v1.LocalTarget{Datastore: v1.Datastore{Etcd: &v1.Etcd{Members: 1}}, Steve: &v1.Steve{SQLCache: cached}},
				Dir:  filepath.Join(dir, "work"), LogDir: filepath.Join(dir, "logs"), Binaries: &assets.Finder{},
			})
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { _ = tg.Close(context.Background()) })
			checkSteve(t, tg, cached)
		})
	}
}

func checkSteve(t *testing.T, tg *local.Target, cached bool) {
	const objects, pageSize = 250, 100
	configMaps := v1.Objects{Resource: v1.ConfigMaps, Namespace: "filled", Payload: 1 << 10}
	filled := map[v1.Objects]int{configMaps: objects}
	many := v1.Fill{Objects: configMaps, Count: objects, Clients: 10}
	if err := fill.Run(t.Context(), fill.Options{API: tg, Fill: many, RunID: runID, Made: new(atomic.Int64)}); err != nil {
		t.Fatal(err)
	}
	options := func(o v1.SteveWorkload) Options {
		return Options{Steve: tg, Phase: "phase", RunID: runID, Connections: 2, Timeout: time.Minute, Operation: o, Filled: filled}
	}
	// The cache is filled by the first request, and Steve learns of objects by watching.
	walker := dial(t, options(list(v1.SteveList{Pagination: "page", PageSize: pageSize, Verify: true})), 1)[0]
	eventually(t, "a walk shows all objects", func() bool {
		whole, _ := perform(t, walker)
		return whole.Outcome == record.OK && whole.Reason == ""
	})
	for _, row := range []struct {
		name  string
		list  v1.SteveList
		pages int
		items int64
		limit bool // is ignored with the cache
	}{
		{"k8s", v1.SteveList{Namespace: "filled", Pagination: "k8s", Verify: true}, 3, objects, true},
		{"page", v1.SteveList{Namespace: "filled", Pagination: "page", Verify: true}, 4, objects, false},
		{"none", v1.SteveList{Namespace: "filled", Pagination: "none"}, 1, pageSize, true},
		{"sort", v1.SteveList{Namespace: "filled", Pagination: "page", Sort: "-metadata.name", Verify: true}, 4, objects, false},
		{"filter", v1.SteveList{Pagination: "page", Filter: "metadata.name=plimsoll-000042"}, 2, 1, false},
		{"projectsornamespaces", v1.SteveList{Pagination: "page", ProjectsOrNamespaces: "filled"}, 4, objects, false},
	} {
		for _, version := range []string{"2", "1.1"} {
			t.Run(row.name+" over HTTP/"+version, func(t *testing.T) {
				row.list.PageSize = pageSize
				pages, items, flagged := row.pages, row.items, 0
				if row.limit && cached {
					pages, items, flagged = 1, objects, 1
				}
				o := options(list(row.list))
				o.HTTP = version
				var group sync.WaitGroup
				for _, c := range dial(t, o, 4) {
					group.Go(func() {
						op, _ := c.Next()
						timed := new(parts)
						whole := op.Do(t.Context(), timed)
						ignored := 0
						for _, page := range timed.all {
							if page.Reason == httpconn.LimitIgnored {
								ignored++
							}
						}
						if whole.Outcome != record.OK || whole.Reason != "" || whole.Items != items || len(timed.all) != pages || ignored != flagged {
							t.Errorf("came to %+v in %d pages, of which %d ignore limit; want %d items in %d, %d", whole, len(timed.all), ignored, items, pages, flagged)
						}
					})
				}
				group.Wait()
			})
		}
	}
	get := v1.SteveWorkload{Get: &v1.KubeSelection{Resource: v1.ConfigMaps, Namespace: "filled", Count: objects}}
	for name, operation := range map[string]v1.SteveWorkload{"get": get, "counts": {Counts: &v1.SteveCounts{}}} {
		t.Run(name, func(t *testing.T) {
			if result, _ := perform(t, dial(t, options(operation), 1)[0]); result.Outcome != record.OK || result.Reason != "" || result.Bytes < 1<<10 {
				t.Errorf("came to %+v", result)
			}
		})
	}
	t.Run("a filter without an operator", func(t *testing.T) {
		o := options(list(v1.SteveList{Namespace: "filled", Pagination: "page", PageSize: pageSize, Filter: "no such filter"}))
		whole, _ := perform(t, dial(t, o, 1)[0])
		want := workload.Result{Bytes: whole.Bytes} // it fits nothing
		if cached {
			want = workload.Result{Bytes: whole.Bytes, Outcome: record.Failed, Reason: "http-500-ServerError"}
		}
		if whole != want {
			t.Errorf("came to %+v; want %+v", whole, want)
		}
	})
	t.Run("watch", func(t *testing.T) { checkWatch(t, tg, options) })
	t.Run("omissions are found", func(t *testing.T) {
		more := options(list(v1.SteveList{Namespace: "filled", Pagination: "page", PageSize: pageSize, Verify: true}))
		more.Filled = map[v1.Objects]int{configMaps: objects + 1}
		if whole, _ := perform(t, dial(t, more, 1)[0]); whole.Outcome != record.OK || whole.Reason != missing {
			t.Errorf("came to %+v", whole)
		}
	})
}

// checkWatch watches while objects come and go through the Kubernetes API.
func checkWatch(t *testing.T, tg *local.Target, options func(v1.SteveWorkload) Options) {
	var writes kube.Writes
	churned := v1.Objects{Resource: v1.ConfigMaps, Namespace: "churned", Payload: 10}
	operations := []v1.KubeWorkload{{Create: &churned}, {Churn: &v1.KubeChurn{Objects: churned}}}
	during, over := context.WithCancelCause(t.Context())
	var watches sync.WaitGroup
	timed := []*parts{{}, {}}
	for i, namespace := range []v1.Name{"", "churned"} {
		o := options(v1.SteveWorkload{Watch: &v1.KubeWatch{Resource: v1.ConfigMaps, Namespace: namespace}})
		o.Writes = &writes
		op, _ := dial(t, o, 1)[0].Next()
		watches.Go(func() {
			if result := op.Do(during, timed[i]); result.Outcome != record.OK || result.Reason != "" {
				t.Errorf("the watch came to %+v", result)
			} else {
				t.Logf("the watch came to %+v", result)
			}
		})
	}
	both := func(kind string, n int) func() bool {
		return func() bool { return len(timed[0].of(kind)) >= n && len(timed[1].of(kind)) >= n }
	}
	eventually(t, "the watches have begun", both("start", 1))
	const each, clients = 10, 2
	const want = 3 * each * clients // a churned object is made and deleted
	for i, operation := range operations {
		w := kube.New(kube.Options{API: tg, Phase: fmt.Sprintf("writes-%d", i), RunID: runID, Connections: clients, Timeout: time.Minute, Operation: operation, Writes: &writes})
		if err := w.Prepare(t.Context()); err != nil {
			t.Fatal(err)
		}
		defer w.Close()
		var group sync.WaitGroup
		for index := range clients {
			c, err := w.Dial(t.Context(), index, nil)
			if err != nil {
				t.Fatal(err)
			}
			group.Go(func() {
				for range each {
					op, _ := c.Next()
					if result := op.Do(t.Context(), new(parts)); result.Outcome != record.OK {
						t.Errorf("a write came to %+v", result)
					}
				}
			})
		}
		group.Wait()
	}
	eventually(t, "the watches hear of the last write", both("event", want))
	over(workload.ErrOver)
	watches.Wait()
	for i, all := range timed {
		events := all.of("event")
		if len(events) != want {
			t.Errorf("watch %d: %d delays; want %d, one for each write", i, len(events), want)
			continue
		}
		slices.SortFunc(events, func(a, b part) int { return int(a.took - b.took) })
		t.Logf("watch %d: started after %s; delays: median %s, largest %s", i, all.of("start")[0].took, events[len(events)/2].took, events[len(events)-1].took)
	}
}
