package kube

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"path/filepath"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"k8s.io/client-go/rest"

	v1 "plimsoll.dev/plimsoll/api/v1alpha1"
	"plimsoll.dev/plimsoll/internal/assets"
	"plimsoll.dev/plimsoll/internal/object"
	"plimsoll.dev/plimsoll/internal/record"
	"plimsoll.dev/plimsoll/internal/target"
	"plimsoll.dev/plimsoll/internal/target/local"
	"plimsoll.dev/plimsoll/internal/workload"
	"plimsoll.dev/plimsoll/internal/workload/httpconn"
)

// open prepares a workload and gives its clients.
func open(t *testing.T, o Options, clients int) []workload.Client {
	t.Helper()
	o.RunID, o.Timeout, o.Connections = runID, requestTimeout, max(o.Connections, 1)
	w := New(o)
	if err := w.Prepare(t.Context()); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = w.Close() })
	all := make([]workload.Client, clients)
	for i := range all {
		var err error
		if all[i], err = w.Dial(t.Context(), i, rand.New(rand.NewPCG(1, uint64(i)))); err != nil {
			t.Fatal(err)
		}
	}
	return all
}

// timings is a timer that keeps what was recorded by Took.
type timings struct {
	mu   sync.Mutex
	took map[string][]time.Duration
}

func (p *timings) Part(ctx context.Context, _ string, do func(context.Context) workload.Result) workload.Result {
	return do(ctx)
}

func (p *timings) Took(kind string, took time.Duration, _ workload.Result) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.took == nil {
		p.took = map[string][]time.Duration{}
	}
	p.took[kind] = append(p.took[kind], took)
}

func (p *timings) of(kind string) []time.Duration {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.Clone(p.took[kind])
}

// TestRealOperations performs the operations that change, watch and mix on a
// real etcd and kube-apiserver.
func TestRealOperations(t *testing.T) {
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
	made := open(t, Options{API: tg, Phase: "plimsoll", Operation: v1.KubeWorkload{Create: &v1.Objects{Resource: v1.ConfigMaps, Namespace: "filled", Payload: 1 << 10}}}, 1)[0]
	for i := range objects {
		makeOne(t, made.(*creator), object.Name(i))
	}
	checkChanges(t, tg)
	checkLists(t, tg)
	checkRings(t, tg)
	t.Run("mix", func(t *testing.T) { checkMix(t, tg) })
	t.Run("watch", func(t *testing.T) { checkWatch(t, tg) })
	t.Run("users", func(t *testing.T) { checkUsers(t, tg) })
}

// objects is how many ConfigMaps there are in the namespace filled.
const objects = 250

// ofFilled selects them, or the first of them.
func ofFilled(count int) v1.KubeSelection {
	return v1.KubeSelection{Resource: v1.ConfigMaps, Namespace: "filled", Count: count}
}

// checkChanges has updates and patches of every kind change objects each time.
func checkChanges(t *testing.T, tg *local.Target) {
	filled := ofFilled(objects)
	for i, operation := range []v1.KubeWorkload{
		{Update: &v1.KubeUpdate{KubeSelection: filled, Payload: 1 << 10}},
		{Patch: &v1.KubePatch{KubeSelection: filled, Type: "merge"}},
		{Patch: &v1.KubePatch{KubeSelection: filled, Type: "json"}},
		{Patch: &v1.KubePatch{KubeSelection: filled, Type: "strategic"}},
		{Patch: &v1.KubePatch{KubeSelection: filled, Type: "apply"}},
	} {
		t.Run(operation.InWords(), func(t *testing.T) {
			before := versions(t, tg, "filled")
			sum := performAll(t, open(t, Options{API: tg, Phase: fmt.Sprintf("changes-%d", i), Operation: operation}, 4), 25)
			if changed := differing(before, versions(t, tg, "filled")); sum.operations != 100 || changed < 50 {
				t.Errorf("%d operations changed %d objects; want 100, and most of 100 among %d", sum.operations, changed, objects)
			}
			one := operation
			if one.Update != nil {
				one.Update = &v1.KubeUpdate{KubeSelection: ofFilled(1)}
			} else {
				one.Patch = &v1.KubePatch{KubeSelection: ofFilled(1), Type: operation.Patch.Type}
			}
			c := open(t, Options{API: tg, Phase: fmt.Sprintf("one-%d", i), Operation: one}, 1)
			seen := map[string]bool{}
			for range 10 {
				performAll(t, c, 1)
				seen[versions(t, tg, "filled")[object.Name(0)]] = true
			}
			if len(seen) != 10 {
				t.Errorf("10 changes of one object gave it %d versions: some were no-ops", len(seen))
			}
		})
	}
}

// checkLists has lists of every freshness and encoding show all objects, over either version of HTTP.
func checkLists(t *testing.T, tg *local.Target) {
	for _, read := range []string{"latest", readAny, readExact, readNotOlder, readWatchList} {
		for _, encoding := range []string{"json", "protobuf"} {
			for _, version := range []string{"2", "1.1"} {
				t.Run(read+" "+encoding+" over HTTP/"+version, func(t *testing.T) {
					for _, pageSize := range []int{0, 100} {
						if read == readAny && pageSize > 0 {
							continue // the cache ignores limit, and the page says so
						}
						list := &v1.KubeList{Resource: v1.ConfigMaps, Namespace: "filled", PageSize: pageSize, Read: read, Encoding: encoding}
						sum := performAll(t, open(t, Options{API: tg, Phase: "lists", HTTP: version, Connections: 2, Operation: v1.KubeWorkload{List: list}}, 6), 3)
						if sum.operations != 18 || sum.Items != 18*objects {
							t.Errorf("pages of %d: %d walks found %d items; want 18 walks and %d items", pageSize, sum.operations, sum.Items, 18*objects)
						}
					}
				})
			}
		}
	}
}

// checkRings has clients keep the last objects, and bundles, that they made.
func checkRings(t *testing.T, tg *local.Target) {
	t.Run("ring", func(t *testing.T) {
		keep := &v1.KubeRing{Objects: v1.Objects{Resource: v1.Secrets, Namespace: "ring", Namespaces: 2, Payload: 10}, Keep: 5}
		sum := performAll(t, open(t, Options{API: tg, Phase: "ring", Operation: v1.KubeWorkload{Ring: keep}}, 3), 20)
		if sum.operations != 60 || sum.parts != 60+45 {
			t.Errorf("%+v; want 60 turns of 60 creations and 45 deletions", sum)
		}
		count := 0
		for _, namespace := range []v1.Name{"ring-0", "ring-1"} {
			list := &v1.KubeList{Resource: v1.Secrets, Namespace: namespace}
			count += int(performAll(t, open(t, Options{API: tg, Phase: "look", Operation: v1.KubeWorkload{List: list}}, 1), 1).Items)
		}
		if count != 15 {
			t.Errorf("%d objects are left in the rings; want 15", count)
		}
	})

	t.Run("ring of bundles", func(t *testing.T) {
		keep := &v1.KubeBundle{Namespace: "rings", Keep: 5, Templates: []string{"apiVersion: v1\nkind: ConfigMap\n", "apiVersion: v1\nkind: Secret\n"}}
		sum := performAll(t, open(t, Options{API: tg, Phase: "ring", Operation: v1.KubeWorkload{Bundle: keep}}, 3), 20)
		if sum.operations != 60 || sum.parts != 2*(60+45) {
			t.Errorf("%+v; want 60 bundles of 120 creations and 90 deletions", sum)
		}
		for _, resource := range []v1.Resource{v1.ConfigMaps, v1.Secrets} {
			list := &v1.KubeList{Resource: resource, Namespace: "rings"}
			if left := performAll(t, open(t, Options{API: tg, Phase: "look", Operation: v1.KubeWorkload{List: list}}, 1), 1).Items; left != 15 {
				t.Errorf("%d %s are left in the rings; want 15", left, resource)
			}
		}
	})
}

// checkMix has clients choose among operations.
func checkMix(t *testing.T, tg *local.Target) {
	filled := ofFilled(objects)
	operation := v1.KubeWorkload{Mix: []v1.KubeMixed{
		{Weight: 3, KubeWorkload: v1.KubeWorkload{Get: &filled}},
		{Weight: 1, KubeWorkload: v1.KubeWorkload{Create: &v1.Objects{Resource: v1.ConfigMaps, Namespace: "mixed"}}},
		{Weight: 1, KubeWorkload: v1.KubeWorkload{Create: &v1.Objects{Resource: v1.ConfigMaps, Namespace: "mixed"}}},
	}}
	performAll(t, open(t, Options{API: tg, Phase: "mix@0_5", Operation: operation}, 4), 50)
}

// makeOne makes an object under a name of a fill.
func makeOne(t *testing.T, c *creator, name string) {
	t.Helper()
	body, err := c.template.JSON(0, name, "filled")
	if err != nil {
		t.Fatal(err)
	}
	if result := c.create(t.Context(), creation{c.template.Collection("filled"), name, body, nil}); result.Outcome != record.OK {
		t.Fatalf("create %s: %+v", name, result)
	}
}

// ask sends a request as an identity and decodes the answer.
func ask(t *testing.T, api target.KubeAPI, id target.Identity, method, path, body string, into any) {
	t.Helper()
	connections, err := httpconn.ConnectAPI(t.Context(), api, id, httpconn.Options{Connections: 1})
	if err != nil {
		t.Fatal(err)
	}
	defer connections.Close()
	text, length := concat(body)
	response, err := connections[0].Exchange(t.Context(), httpconn.Request{Method: method, Path: path, Body: text, Length: length})
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	answer, _ := io.ReadAll(response.Body)
	if err := json.Unmarshal(answer, into); err != nil || response.StatusCode >= 300 {
		t.Fatalf("%s %s: %s, %v: %s", method, path, response.Status, err, answer)
	}
}

// versions are those of a namespace's configmaps, by name.
func versions(t *testing.T, api target.KubeAPI, namespace v1.Name) map[string]string {
	t.Helper()
	var found struct {
		Items []struct {
			Metadata struct{ Name, ResourceVersion string }
		}
	}
	ask(t, api, target.Admin, http.MethodGet, collection(v1.ConfigMaps, namespace), "", &found)
	all := map[string]string{}
	for _, item := range found.Items {
		all[item.Metadata.Name] = item.Metadata.ResourceVersion
	}
	return all
}

func differing(a, b map[string]string) (n int) {
	for name := range a {
		if a[name] != b[name] {
			n++
		}
	}
	return n
}

// checkWatch has watches, over one and over all namespaces, hear of every
// creation, update, patch and deletion that other phases make.
func checkWatch(t *testing.T, tg *local.Target) {
	var writes Writes
	during, over := context.WithCancelCause(t.Context())
	var watches sync.WaitGroup
	all := []*timings{{}, {}, {}}
	for i, namespace := range []v1.Name{"filled", "", "filled"} {
		operation := v1.KubeWorkload{Watch: &v1.KubeWatch{Resource: v1.ConfigMaps, Namespace: namespace}}
		op, ok := open(t, Options{API: tg, Phase: "watch", Operation: operation, Writes: &writes}, 1)[0].Next()
		if !ok || !op.Lasting {
			t.Fatal("a watch does not last")
		}
		watches.Go(func() {
			if result := op.Do(during, all[i]); result.Outcome != record.OK || result.Reason != "" {
				t.Errorf("the watch came to %+v", result)
			}
		})
	}
	eventually(t, "all watches have begun", func() bool {
		return len(all[0].of("first-event")) == 1 && len(all[1].of("first-event")) == 1 && len(all[2].of("first-event")) == 1
	})
	filled := ofFilled(50)
	created := v1.Objects{Resource: v1.ConfigMaps, Namespace: "filled"}
	heard := func(n int) func() bool {
		return func() bool { return !slices.ContainsFunc(all, func(t *timings) bool { return len(t.of("event")) < n }) }
	}
	early := 0 // changes until the watches have shown all that was there already, of which they time none
	prober := open(t, Options{API: tg, Phase: "early", Operation: v1.KubeWorkload{Patch: &v1.KubePatch{KubeSelection: filled}}, Writes: &writes}, 1)
	eventually(t, "all watches hear of a change", func() bool {
		early++
		performAll(t, prober, 1)
		return heard(1)()
	})
	want := 0
	var changes sync.WaitGroup
	for i, operation := range []v1.KubeWorkload{
		{Create: &created}, {Update: &v1.KubeUpdate{KubeSelection: filled}}, {Patch: &v1.KubePatch{KubeSelection: filled}}, {Churn: &v1.KubeChurn{Objects: created}},
	} {
		clients := open(t, Options{API: tg, Phase: fmt.Sprintf("writes-%d", i), Operation: operation, Writes: &writes}, 3)
		want += 3 * 20
		if operation.Churn != nil {
			want += 3 * 20
		}
		changes.Go(func() { performAll(t, clients, 20) })
	}
	changes.Wait()
	eventually(t, "all watches hear of every change", heard(want+1))
	stopped := time.Now()
	over(workload.ErrOver)
	watches.Wait()
	if took := time.Since(stopped); took > 10*time.Second {
		t.Errorf("the watches ended %s after their phase", took)
	}
	for i, timed := range all {
		delays := timed.of("event")
		slices.Sort(delays)
		if len(delays) <= want || len(delays) > early+want {
			t.Errorf("watch %d: %d delays; want one for each of %d writes, and of %d before them those that came late enough", i, len(delays), want, early)
			continue
		}
		if first := timed.of("first-event")[0]; first <= 0 || first > 30*time.Second || delays[0] < 0 || delays[len(delays)-1] > 30*time.Second {
			t.Errorf("watch %d: first event after %s, delays from %s to %s", i, first, delays[0], delays[len(delays)-1])
		}
		t.Logf("watch %d: first event after %s; delays: median %s, largest %s", i, timed.of("first-event")[0], delays[len(delays)/2], delays[len(delays)-1])
	}
}

func checkUsers(t *testing.T, tg *local.Target) {
	for _, user := range []string{"", "alice", "bob"} {
		var review struct {
			Status struct {
				UserInfo struct {
					Username string
					Groups   []string
				}
			}
		}
		id := target.Load
		if user != "" {
			id = target.User(user)
		}
		ask(t, tg, id, http.MethodPost, "/apis/authentication.k8s.io/v1/selfsubjectreviews", `{"apiVersion":"authentication.k8s.io/v1","kind":"SelfSubjectReview"}`, &review)
		if info := review.Status.UserInfo; info.Username != "plimsoll-"+cmp.Or(user, "load") || !slices.Contains(info.Groups, "plimsoll:load") {
			t.Errorf("user %q is %+v", user, info)
		}
	}
	var asked atomic.Value
	api := identities{tg, &asked}
	get := v1.KubeWorkload{Get: &v1.KubeSelection{Resource: v1.ConfigMaps, Namespace: "filled", Count: 1}}
	performAll(t, open(t, Options{API: api, Phase: "as-alice", User: "alice", Operation: get}, 2), 5)
	if asked.Load() != target.User("alice") {
		t.Errorf("a phase of alice's is performed as %v", asked.Load())
	}
}

// identities takes note of the last identity that was asked for.
type identities struct {
	target.KubeAPI
	last *atomic.Value
}

func (i identities) RESTConfig(id target.Identity) (*rest.Config, error) {
	i.last.Store(id)
	return i.KubeAPI.RESTConfig(id)
}

// eventually waits for what the other side of a connection sees.
func eventually(t *testing.T, what string, isSo func() bool) {
	t.Helper()
	for deadline := time.Now().Add(30 * time.Second); !isSo(); time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("it never happened that %s", what)
		}
	}
}
