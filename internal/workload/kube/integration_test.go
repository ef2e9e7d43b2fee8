package kube

import (
	"context"
	"path/filepath"
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
)

// TestRealControlPlane performs every operation on a real etcd and
// kube-apiserver; the first run builds them.
func TestRealControlPlane(t *testing.T) {
	if testing.Short() {
		t.Skip("boots real parts")
	}
	dir := t.TempDir()
	tg, err := local.Start(t.Context(), local.Options{
		Spec: v1.LocalTarget{Datastore: v1.Datastore{Etcd: &v1.Etcd{Members: 1}}},
		Dir:  filepath.Join(dir, "work"), LogDir: filepath.Join(dir, "logs"), Binaries: &assets.Finder{},
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = tg.Close(context.Background()) })
	for _, resource := range []v1.Resource{v1.ConfigMaps, v1.Secrets} {
		t.Run(string(resource), func(t *testing.T) { checkOperations(t, tg, resource) })
	}
}

func checkOperations(t *testing.T, tg *local.Target, resource v1.Resource) {
	const (
		objects  = 500
		pageSize = 100
		payload  = v1.Bytes(10 << 10)
		encoded  = 13656
	)
	namespace := v1.Name("filled-" + string(resource))
	var made atomic.Int64
	started := time.Now()
	many := v1.Fill{Objects: v1.Objects{Resource: resource, Namespace: namespace, Payload: payload}, Count: objects, Clients: 10}
	if err := fill.Run(t.Context(), fill.Options{API: tg, Fill: many, RunID: runID, Made: &made}); err != nil {
		t.Fatal(err)
	}
	if made.Load() != objects {
		t.Errorf("the fill counted %d; want %d", made.Load(), objects)
	}
	t.Logf("filled %d in %s", objects, time.Since(started).Round(time.Millisecond))

	list := v1.KubeWorkload{List: &v1.KubeList{Resource: resource, Namespace: namespace, PageSize: pageSize}}
	everything := v1.KubeWorkload{List: &v1.KubeList{Resource: resource, Namespace: namespace}}
	get := v1.KubeWorkload{Get: &v1.KubeSelection{Resource: resource, Namespace: namespace, Count: objects}}
	churn := v1.KubeWorkload{Churn: &v1.KubeChurn{Objects: v1.Objects{Resource: resource, Namespace: namespace, Payload: payload}}}
	create := v1.KubeWorkload{Create: &v1.Objects{Resource: resource, Namespace: namespace + "-more", Payload: payload}}
	remove := v1.KubeWorkload{Delete: &v1.KubeSelection{Resource: resource, Namespace: namespace, Count: objects}}
	for _, row := range []struct {
		phase      string
		operation  v1.KubeWorkload
		clients    int
		each       int // operations of a client; 0 for all there are
		operations int
		parts      int // of all operations
		items      int64
		least      int64 // bytes
	}{
		{"list", list, 4, 2, 8, 8 * objects / pageSize, 8 * objects, 8 * objects * encoded},
		{"everything", everything, 2, 1, 2, 2, 2 * objects, 2 * objects * encoded},
		{"get", get, 5, 20, 100, 0, 0, 100 * encoded},
		{"churn", churn, 5, 10, 50, 100, 0, 2 * 50 * encoded},
		{"create", create, 5, 10, 50, 0, 0, 2 * 50 * encoded},
		{"list-after-churn", list, 1, 1, 1, objects / pageSize, objects, objects * encoded},
		{"delete", remove, 7, 0, objects, 0, 0, 0},
		{"list-after-delete", list, 1, 1, 1, 1, 0, 0},
	} {
		t.Run(row.phase, func(t *testing.T) {
			sum := performAll(t, dial(t, tg, row.phase, row.clients, row.operation), row.each)
			if sum.operations != row.operations || sum.parts != row.parts || sum.Items != row.items || sum.Bytes < row.least {
				t.Errorf("%+v; want %d operations, %d parts, %d items and at least %d bytes", sum, row.operations, row.parts, row.items, row.least)
			}
			t.Logf("%d operations, %.1f MB, in %s", sum.operations, float64(sum.Bytes)/1e6, sum.took.Round(time.Millisecond))
		})
	}
}

// sum is what the operations of a phase came to together.
type sum struct {
	workload.Result
	operations, parts int
	took              time.Duration
}

// performAll has clients perform operations side by side; each must be ok in all its parts.
func performAll(t *testing.T, clients []workload.Client, each int) (all sum) {
	t.Helper()
	var mu sync.Mutex
	var group sync.WaitGroup
	started := time.Now()
	for _, c := range clients {
		group.Go(func() {
			for done := 0; each == 0 || done < each; done++ {
				op, ok := c.Next()
				if !ok {
					return
				}
				var timed parts
				result := op.Do(t.Context(), &timed)
				for _, p := range append(timed, part{op.Kind, result}) {
					if p.Outcome != record.OK || p.Reason != "" {
						t.Errorf("%s came to %+v", p.kind, p.Result)
					}
				}
				mu.Lock()
				all.operations++
				all.parts += len(timed)
				all.Items += result.Items
				all.Bytes += result.Bytes
				mu.Unlock()
			}
		})
	}
	group.Wait()
	all.took = time.Since(started)
	return all
}
