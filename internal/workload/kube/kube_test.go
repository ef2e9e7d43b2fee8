package kube

import (
	"context"
	"encoding/json"
	"errors"
	"math/rand/v2"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	v1 "plimsoll.dev/plimsoll/api/v1alpha1"
	"plimsoll.dev/plimsoll/internal/object"
	"plimsoll.dev/plimsoll/internal/record"
	"plimsoll.dev/plimsoll/internal/target"
	"plimsoll.dev/plimsoll/internal/workload"
)

const (
	space = v1.Name("space")
	runID = "20260101-000000-1"
)

// dial prepares a workload and gives its clients.
func dial(t *testing.T, api target.KubeAPI, phase string, clients int, operation v1.KubeWorkload) []workload.Client {
	t.Helper()
	w := New(Options{API: api, Phase: phase, RunID: runID, Connections: 2, Timeout: requestTimeout, Operation: operation})
	if err := w.Prepare(t.Context()); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := w.Close(); err != nil {
			t.Error(err)
		}
	})
	all := make([]workload.Client, clients)
	for i := range all {
		var err error
		if all[i], err = w.Dial(t.Context(), i, rand.New(rand.NewPCG(1, uint64(i)))); err != nil {
			t.Fatal(err)
		}
	}
	return all
}

// perform performs a client's next operation.
func perform(ctx context.Context, t *testing.T, c workload.Client) (string, workload.Result, parts) {
	t.Helper()
	op, ok := c.Next()
	if !ok {
		t.Fatal("there is no next operation")
	}
	var timer parts
	result := op.Do(ctx, &timer)
	return op.Kind, result, timer
}

// journal is a server that takes note of what is asked of it and agrees to everything.
type journal struct {
	mu       sync.Mutex
	requests []string
}

func (j *journal) api(r *http.Request) (*http.Response, error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.requests = append(j.requests, r.Method+" "+r.URL.Path)
	return answer(http.StatusOK, "{}"), nil
}

func TestObjectsAreThoseOfThePublishedExperiments(t *testing.T) {
	for _, row := range []struct {
		resource v1.Resource
		payload  v1.Bytes
		kind     string
		length   int
		begins   string
	}{
		{v1.ConfigMaps, 10 << 10, "ConfigMap", 13656, "YWFhYWFh"},
		{v1.Secrets, 10 << 10, "Secret", 13656, "YWFhYWFh"},
		{v1.ConfigMaps, 4, "ConfigMap", 8, "YWFhYQ=="},
		{v1.Secrets, 1, "Secret", 4, "YQ=="},
		{v1.ConfigMaps, 0, "ConfigMap", 0, ""},
	} {
		var sent int64
		api := func(r *http.Request) (*http.Response, error) {
			if namespace := answerForNamespace(r); namespace != nil {
				return namespace, nil
			}
			if want := "/api/v1/namespaces/space/" + string(row.resource); r.Method != http.MethodPost || r.URL.Path != want {
				t.Errorf("%s %s; want a POST to %s", r.Method, r.URL.Path, want)
			}
			sent = r.ContentLength
			o := readObject(t, r)
			if o.Kind != row.kind || o.Metadata.Name != "phase-0-1" || o.Metadata.Labels[object.RunLabel] != runID {
				t.Errorf("object is %s %s, labels %v", o.Kind, o.Metadata.Name, o.Metadata.Labels)
			}
			if data := o.Data["data"]; len(data) != row.length || !strings.HasPrefix(data, row.begins) {
				t.Errorf("%d bytes of payload are %d characters, %.8s…; want %d, %s…", row.payload, len(data), data, row.length, row.begins)
			}
			return answer(http.StatusCreated, "created"), nil
		}
		create := &v1.Objects{Resource: row.resource, Namespace: space, Payload: row.payload}
		kind, result, _ := perform(t.Context(), t, dial(t, fakeAPI(api), "phase", 1, v1.KubeWorkload{Create: create})[0])
		if want := (workload.Result{Bytes: sent + int64(len("created"))}); kind != "create" || result != want {
			t.Errorf("%s came to %+v; want %+v, bytes sent and received", kind, result, want)
		}
	}
}

func TestNamesAreUniquePerPhaseAndClient(t *testing.T) {
	seen := map[string]bool{}
	api := fakeAPI(func(r *http.Request) (*http.Response, error) {
		if namespace := answerForNamespace(r); namespace != nil {
			return namespace, nil
		}
		o := readObject(t, r)
		if seen[o.Metadata.Name] {
			t.Errorf("%s is made twice", o.Metadata.Name)
		}
		seen[o.Metadata.Name] = true
		return answer(http.StatusCreated, ""), nil
	})
	const clients, each = 13, 12
	phases := []string{"p", "p-1", "p-1-1", "p-11", "plimsoll"}
	for _, phase := range phases {
		create := &v1.Objects{Resource: v1.ConfigMaps, Namespace: space}
		for _, c := range dial(t, api, phase, clients, v1.KubeWorkload{Create: create}) {
			for range each {
				perform(t.Context(), t, c)
			}
		}
	}
	if want := len(phases) * clients * each; len(seen) != want {
		t.Errorf("%d names; want %d", len(seen), want)
	}
}

func TestGetReadsFilledObjectsAtRandomFromTheSeed(t *testing.T) {
	read := func() []string {
		var j journal
		get := &v1.KubeSelection{Resource: v1.Secrets, Namespace: space, Count: 3}
		c := dial(t, fakeAPI(j.api), "gets", 1, v1.KubeWorkload{Get: get})[0]
		for range 60 {
			if kind, result, _ := perform(t.Context(), t, c); kind != "get" || result != (workload.Result{Bytes: 2}) {
				t.Fatalf("%s came to %+v", kind, result)
			}
		}
		return j.requests[2:] // after the namespace, made and read back
	}
	first := read()
	counts := map[string]int{}
	for _, request := range first {
		counts[request]++
	}
	if len(counts) != 3 || counts["GET /api/v1/namespaces/space/secrets/plimsoll-000002"] == 0 {
		t.Errorf("requests are %v; want those of three objects", counts)
	}
	if !slices.Equal(first, read()) {
		t.Error("another run with the same seed reads others")
	}
}

func TestDeleteDeletesEachObjectOnce(t *testing.T) {
	const clients, count = 17, 5000
	var j journal
	remove := &v1.KubeSelection{Resource: v1.ConfigMaps, Namespace: space, Count: count}
	var group sync.WaitGroup
	for _, c := range dial(t, fakeAPI(j.api), "deletes", clients, v1.KubeWorkload{Delete: remove}) {
		group.Go(func() {
			for op, ok := c.Next(); ok; op, ok = c.Next() {
				if result := op.Do(t.Context(), nil); op.Kind != "delete" || result.Outcome != record.OK {
					t.Errorf("%s came to %+v", op.Kind, result)
				}
			}
		})
	}
	group.Wait()
	var want []string
	for i := range count {
		want = append(want, "DELETE /api/v1/namespaces/space/configmaps/"+object.Name(i))
	}
	deleted := j.requests[2:] // after the namespace, made and read back
	slices.Sort(deleted)
	if !slices.Equal(deleted, want) {
		t.Errorf("%d deletions, %d of them different; want %d", len(deleted), len(slices.Compact(deleted)), count)
	}
}

func TestPhaseWithoutOperation(t *testing.T) {
	w := New(Options{API: fakeAPI(new(journal).api), Phase: "idle", Connections: 1})
	if err := w.Prepare(t.Context()); err != nil {
		t.Fatal(err)
	}
	if _, err := w.Dial(t.Context(), 0, nil); err == nil || err.Error() != "phase idle: no operation" {
		t.Errorf("error is %v", err)
	}
}

func TestPrepareSaysWhyThereIsNoNamespace(t *testing.T) {
	api := fakeAPI(func(*http.Request) (*http.Response, error) {
		return answer(http.StatusForbidden, status("Forbidden", "namespaces is forbidden")), nil
	})
	err := New(Options{API: api, Connections: 1, Operation: v1.KubeWorkload{Churn: &v1.KubeChurn{Objects: v1.Objects{Resource: v1.ConfigMaps, Namespace: space}}}}).Prepare(t.Context())
	if err == nil || err.Error() != "make namespace space: the server answers 403 Forbidden: namespaces is forbidden" {
		t.Errorf("error is %v", err)
	}
}

// store is a server that keeps objects, answers late, and leaves unanswered what it is told to.
type store struct {
	mu      sync.Mutex
	objects map[string]bool
	made    int
	late    time.Duration
	refuse  map[string]*http.Response // by method
	silent  string                    // method
}

// answerForNamespace is that of a server where the namespace space is there
// already; nil for other requests.
func answerForNamespace(r *http.Request) *http.Response {
	switch r.URL.Path {
	case "/api/v1/namespaces":
		return answer(http.StatusConflict, status("AlreadyExists", "there"))
	case "/api/v1/namespaces/space":
		return answer(http.StatusOK, `{"status":{"phase":"Active"}}`)
	}
	return nil
}

func (s *store) api(r *http.Request) (*http.Response, error) {
	if namespace := answerForNamespace(r); namespace != nil {
		return namespace, nil
	}
	wait := time.After(s.late)
	if s.silent == r.Method {
		wait = nil
	}
	select {
	case <-wait:
	case <-r.Context().Done():
		return nil, r.Context().Err()
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if refusal := s.refuse[r.Method]; refusal != nil {
		return refusal, nil
	}
	if r.Method == http.MethodPost {
		var o body
		if err := json.NewDecoder(r.Body).Decode(&o); err != nil {
			return nil, err
		}
		s.made++
		s.objects[o.Metadata.Name] = true
		return answer(http.StatusCreated, "made"), nil
	}
	name := strings.TrimPrefix(r.URL.Path, "/api/v1/namespaces/space/configmaps/")
	if !s.objects[name] {
		return answer(http.StatusNotFound, ""), nil
	}
	delete(s.objects, name)
	return answer(http.StatusOK, "gone"), nil
}

func TestChurn(t *testing.T) {
	const late, wait = 100 * time.Millisecond, time.Minute
	cut := part{"", workload.Result{Outcome: record.Failed, Reason: "cut-short"}}
	created, deleted := part{"create", workload.Result{}}, part{"delete", workload.Result{}}
	for _, row := range []struct {
		name  string
		store *store
		cut   time.Duration // when the run is cut short; 0 for never
		took  time.Duration
		want  workload.Result
		parts []part
		left  int
	}{
		{"makes, waits and deletes", &store{}, 0, 2*late + wait, workload.Result{}, []part{created, deleted}, 0},
		{"cut short while it waits, deletes at once", &store{}, 10 * time.Second, 10*time.Second + late, cut.Result, []part{created, deleted}, 0},
		{"cut short while it makes, lets it be made, and deletes", &store{}, late / 2, 2 * late, cut.Result, []part{created, deleted}, 0},
		{"cut short while it deletes, lets it be deleted", &store{}, wait + late + late/2, 2*late + wait, workload.Result{}, []part{created, deleted}, 0},
		{"cut short when the server is silent, gives up", &store{silent: http.MethodDelete}, 10 * time.Second, 10*time.Second + cleanupTime, cut.Result,
			[]part{created, {"delete", cut.Result}}, 1},
		{"deletes nothing where nothing was made", &store{refuse: map[string]*http.Response{http.MethodPost: answer(429, "")}}, 0, late,
			workload.Result{Outcome: record.Rejected, Reason: "http-429"},
			[]part{{"create", workload.Result{Outcome: record.Rejected, Reason: "http-429"}}}, 0},
		{"fails as its delete does", &store{refuse: map[string]*http.Response{http.MethodDelete: answer(500, "")}}, 0, 2*late + wait,
			workload.Result{Outcome: record.Failed, Reason: "http-500"},
			[]part{created, {"delete", workload.Result{Outcome: record.Failed, Reason: "http-500"}}}, 1},
	} {
		t.Run(row.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				row.store.objects, row.store.late = map[string]bool{}, late
				churn := &v1.KubeChurn{Objects: v1.Objects{Resource: v1.ConfigMaps, Namespace: space}, Wait: v1.Duration(wait)}
				c := dial(t, fakeAPI(row.store.api), "churn", 1, v1.KubeWorkload{Churn: churn})[0]
				ctx, cancel := context.WithCancelCause(t.Context())
				defer cancel(nil)
				if row.cut > 0 {
					time.AfterFunc(row.cut, func() { cancel(errors.New("interrupted")) })
				}
				started := time.Now()
				kind, result, timed := perform(ctx, t, c)
				if took := time.Since(started); kind != "cycle" || took != row.took {
					t.Errorf("%s took %s; want %s", kind, took, row.took)
				}
				var bytes int64
				for i := range timed {
					bytes += timed[i].Bytes
					timed[i].Bytes = 0
				}
				if result.Bytes != bytes {
					t.Errorf("the cycle has %d bytes, its parts %d", result.Bytes, bytes)
				}
				result.Bytes = 0
				if result != row.want || !slices.Equal(timed, row.parts) {
					t.Errorf("came to %+v of %+v; want %+v of %+v", result, timed, row.want, row.parts)
				}
				if len(row.store.objects) != row.left {
					t.Errorf("%d objects are left; want %d", len(row.store.objects), row.left)
				}
			})
		})
	}
}
