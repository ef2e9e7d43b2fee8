package fill

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"k8s.io/client-go/rest"

	v1 "plimsoll.dev/plimsoll/api/v1alpha1"
	"plimsoll.dev/plimsoll/internal/target"
)

const space = "space"

// fakeAPI answers requests without a network, so that time in tests may be that of synctest.
type fakeAPI func(*http.Request) (*http.Response, error)

func (f fakeAPI) RoundTrip(r *http.Request) (*http.Response, error) {
	if err := r.Context().Err(); err != nil {
		return nil, err
	}
	return f(r)
}

func (f fakeAPI) CloseIdleConnections() {}

func (f fakeAPI) RESTConfig(target.Identity) (*rest.Config, error) {
	return &rest.Config{Host: "http://fake", WrapTransport: func(http.RoundTripper) http.RoundTripper { return f }}, nil
}

func answer(code int, body string, headers ...string) *http.Response {
	header := http.Header{}
	for i := 0; i < len(headers); i += 2 {
		header.Set(headers[i], headers[i+1])
	}
	return &http.Response{StatusCode: code, Status: fmt.Sprint(code), Header: header, Body: io.NopCloser(strings.NewReader(body))}
}

// status is a Kubernetes Status.
func status(reason, message string) string {
	text, _ := json.Marshal(map[string]string{"kind": "Status", "reason": reason, "message": message})
	return string(text)
}

// store keeps the names of what is made.
type store struct {
	mu       sync.Mutex
	objects  map[string]bool
	requests []string
	late     time.Duration // before each answer; without end if negative
}

func (s *store) api(r *http.Request) (*http.Response, error) {
	s.mu.Lock()
	s.requests = append(s.requests, r.Method+" "+r.URL.Path)
	s.mu.Unlock()
	if s.late != 0 && strings.HasSuffix(r.URL.Path, "/configmaps") {
		select {
		case <-time.After(s.late):
		case <-r.Context().Done():
			return nil, r.Context().Err()
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if r.Method == http.MethodGet {
		return answer(http.StatusOK, `{"status":{"phase":"Active"}}`), nil
	}
	var o struct{ Metadata struct{ Name string } }
	if err := json.NewDecoder(r.Body).Decode(&o); err != nil {
		return nil, err
	}
	key := r.URL.Path + "/" + o.Metadata.Name
	if s.objects[key] {
		return answer(http.StatusConflict, status("AlreadyExists", "there")), nil
	}
	s.objects[key] = true
	return answer(http.StatusCreated, "{}"), nil
}

func (s *store) has(name string) bool { return s.objects["/api/v1/namespaces/space/configmaps/"+name] }

// run fills through the API, and gives what was counted.
func run(ctx context.Context, api fakeAPI, fill v1.Fill) (int64, error) {
	var made atomic.Int64
	err := Run(ctx, Options{API: api, Fill: fill, RunID: runID, Seed: 1, Made: &made})
	return made.Load(), err
}

func fillOf(count, clients int) v1.Fill {
	return v1.Fill{Objects: v1.Objects{Resource: v1.ConfigMaps, Namespace: space, Payload: 4}, Count: count, Clients: clients}
}

// refusals answer every creation of an object; the namespace is there.
func refusals(refuse func() *http.Response) fakeAPI {
	return func(r *http.Request) (*http.Response, error) {
		if r.URL.Path == "/api/v1/namespaces" {
			return answer(http.StatusConflict, status("AlreadyExists", "there")), nil
		}
		if r.Method == http.MethodGet {
			return answer(http.StatusOK, "{}"), nil
		}
		return refuse(), nil
	}
}

func TestFillMakesExactlyThatMany(t *testing.T) {
	for _, row := range []struct{ count, clients, there int }{{1, 1, 0}, {1, 20, 0}, {500, 1, 10}, {503, 20, 503}} {
		s := &store{objects: map[string]bool{}}
		for i := range row.there {
			s.objects[fmt.Sprintf("/api/v1/namespaces/space/configmaps/plimsoll-%06d", i)] = true
		}
		made, err := run(t.Context(), s.api, fillOf(row.count, row.clients))
		if err != nil {
			t.Fatal(err)
		}
		if len(s.objects) != row.count+1 || made != int64(row.count) || len(s.requests) != row.count+2 {
			t.Errorf("%d clients made %d objects with %d requests, and counted %d; want %d", row.clients, len(s.objects)-1, len(s.requests), made, row.count)
		}
		if !s.has("plimsoll-000000") || !s.has(fmt.Sprintf("plimsoll-%06d", row.count-1)) {
			t.Errorf("of %d objects the first or the last has another name", row.count)
		}
	}
}

func TestFillTriesAgainWhileTheServerIsBusy(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &store{objects: map[string]bool{}}
		busy := time.Now().Add(5 * time.Second)
		api := fakeAPI(func(r *http.Request) (*http.Response, error) {
			if time.Now().Before(busy) {
				return answer(http.StatusTooManyRequests, "Too many requests, please try again later.", "Retry-After", "1"), nil
			}
			return s.api(r)
		})
		started := time.Now()
		made, err := run(t.Context(), api, fillOf(50, 10))
		if took := time.Since(started); err != nil || took != 5*time.Second || made != 50 || len(s.objects) != 51 {
			t.Errorf("%d objects were made in %s; want 50 in 5s: %v", made, took, err)
		}
	})
}

func TestFillGivesUpAndSaysWhy(t *testing.T) {
	const where = "fill configmaps in namespace space: create plimsoll-000000: "
	quota := status("Forbidden", `configmaps "plimsoll-000000" is forbidden: exceeded quota: small`)
	webhook := status("", `admission webhook "policy.example.com" denied the request: no`)
	for _, row := range []struct {
		name   string
		answer func() *http.Response
		want   string
		took   time.Duration
	}{
		{"403 of a quota", func() *http.Response { return answer(403, quota) },
			`the server answers 403 Forbidden: configmaps "plimsoll-000000" is forbidden: exceeded quota: small`, 0},
		{"a refusal of admission", func() *http.Response { return answer(400, webhook) },
			`the server answers 400 Bad Request: admission webhook "policy.example.com" denied the request: no`, 0},
		{"409 of another kind", func() *http.Response { return answer(409, status("Conflict", "try later")) },
			"the server answers 409 Conflict: try later", 0},
		{"a full etcd", func() *http.Response {
			return answer(500, status("InternalError", "etcdserver: mvcc: database space exceeded"))
		},
			"the server answers 500 Internal Server Error: etcdserver: mvcc: database space exceeded" + quotaHint, 0},
		{"500", func() *http.Response { return answer(500, status("InternalError", "etcdserver: no leader")) },
			"the server answers 500 Internal Server Error: etcdserver: no leader", 0},
		{"429 without end", func() *http.Response { return answer(429, "busy") },
			"given up after 1m0s: the server answers 429 Too Many Requests: busy", requestTimeout},
	} {
		t.Run(row.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				started := time.Now()
				_, err := run(t.Context(), refusals(row.answer), fillOf(5, 1))
				if err == nil || err.Error() != where+row.want {
					t.Errorf("error is\n%v; want\n%s", err, where+row.want)
				}
				if took := time.Since(started); took != row.took {
					t.Errorf("took %s; want %s", took, row.took)
				}
			})
		})
	}
}

func TestFillBoundsACreationWithoutAnswer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &store{objects: map[string]bool{}, late: 24 * time.Hour}
		started := time.Now()
		_, err := run(t.Context(), s.api, fillOf(5, 5))
		if !errors.Is(err, context.DeadlineExceeded) || time.Since(started) != requestTimeout {
			t.Errorf("ended after %s with %v; want a timeout after %s", time.Since(started), err, requestTimeout)
		}
	})
}

func TestFillStopsPromptly(t *testing.T) {
	interrupted := errors.New("interrupted")
	for name, api := range map[string]fakeAPI{
		"while requests are under way": (&store{objects: map[string]bool{}, late: time.Hour}).api,
		"while it waits to try again":  refusals(func() *http.Response { return answer(429, "") }),
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ctx, cancel := context.WithCancelCause(t.Context())
				const after = 2500 * time.Millisecond
				time.AfterFunc(after, func() { cancel(interrupted) })
				started := time.Now()
				_, err := run(ctx, api, fillOf(100, 10))
				if !errors.Is(err, interrupted) || time.Since(started) != after {
					t.Errorf("ended after %s with %v; want %v at once, after %s", time.Since(started), err, interrupted, after)
				}
			})
		})
	}
}

func TestFillStopsWithItsFirstError(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var requests atomic.Int32
		api := refusals(func() *http.Response {
			time.Sleep(time.Millisecond)
			if requests.Add(1) == 10 {
				return answer(500, "oops")
			}
			return answer(http.StatusCreated, "")
		})
		_, err := run(t.Context(), api, fillOf(1000, 5))
		var refused *refusedError
		if !errors.As(err, &refused) || refused.code != 500 || requests.Load() > 20 {
			t.Errorf("ended after %d requests with %v", requests.Load(), err)
		}
	})
}

func TestFillMakesItsNamespaceFirst(t *testing.T) {
	s := &store{objects: map[string]bool{}}
	if _, err := run(t.Context(), s.api, fillOf(2, 1)); err != nil {
		t.Fatal(err)
	}
	const objects = "POST /api/v1/namespaces/space/configmaps"
	if want := []string{"POST /api/v1/namespaces", "GET /api/v1/namespaces/space", objects, objects}; !slices.Equal(s.requests, want) {
		t.Errorf("requests are %v; want %v", s.requests, want)
	}
}

func TestNamespaceThatIsBeingDeleted(t *testing.T) {
	_, err := run(t.Context(), func(r *http.Request) (*http.Response, error) {
		if r.Method == http.MethodGet {
			return answer(http.StatusOK, `{"status":{"phase":"Terminating"}}`), nil
		}
		return answer(http.StatusConflict, status("AlreadyExists", "there")), nil
	}, fillOf(2, 1))
	if err == nil || !strings.Contains(err.Error(), "make namespace space: it is there, but is being deleted") {
		t.Errorf("error is %v", err)
	}
}

// Outside of namespaces, names are not a run's own.
func TestFillTakesNoObjectOfAnotherRunForItsOwn(t *testing.T) {
	template := "apiVersion: rbac.authorization.k8s.io/v1\nkind: ClusterRole\nrules: []\n"
	for label, want := range map[string]string{
		runID:     "",
		"other-1": "create plimsoll-000000: it is there already, of run other-1: wait until that ends",
		"":        "create plimsoll-000000: it is there already, and not of plimsoll: remove it",
	} {
		_, err := run(t.Context(), func(r *http.Request) (*http.Response, error) {
			if r.Method == http.MethodGet {
				return answer(http.StatusOK, `{"metadata":{"labels":{"plimsoll.dev/run":"`+label+`"}}}`), nil
			}
			return answer(http.StatusConflict, status("AlreadyExists", "there")), nil
		}, v1.Fill{Objects: v1.Objects{Template: template}, Count: 1, Clients: 1})
		if want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("label %q: error is %v, want %q", label, err, want)
		}
	}
}
