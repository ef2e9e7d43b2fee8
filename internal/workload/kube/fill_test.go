package kube

import (
	"context"
	"errors"
	"net/http"
	"slices"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	v1 "plimsoll.dev/plimsoll/api/v1alpha1"
)

func fillOf(count, clients int) v1.Fill {
	return v1.Fill{Objects: v1.Objects{Resource: v1.ConfigMaps, Namespace: space, Payload: 4}, Count: count, Clients: clients}
}

// refusals answer every creation of an object; the namespace is there.
func refusals(refuse func() *http.Response) fakeAPI {
	return func(r *http.Request) (*http.Response, error) {
		if r.URL.Path == "/api/v1/namespaces" {
			return answer(http.StatusConflict, status("AlreadyExists", "there")), nil
		}
		return refuse(), nil
	}
}

func TestFillMakesExactlyThatMany(t *testing.T) {
	for _, row := range []struct{ count, clients int }{{1, 1}, {1, 20}, {500, 1}, {503, 20}} {
		s := store{objects: map[string]bool{}}
		var made atomic.Int64
		if err := Fill(t.Context(), fakeAPI(s.api), fillOf(row.count, row.clients), runID, &made); err != nil {
			t.Fatal(err)
		}
		if len(s.objects) != row.count || s.made != row.count || made.Load() != int64(row.count) {
			t.Errorf("%d clients made %d objects in %d creations, and counted %d; want %d", row.clients, len(s.objects), s.made, made.Load(), row.count)
		}
		if !s.objects[filledName(0)] || !s.objects[filledName(row.count-1)] {
			t.Errorf("of %d objects the first or the last has another name", row.count)
		}
	}
}

func TestFillTriesAgainWhileTheServerIsBusy(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := store{objects: map[string]bool{}}
		busy, requests := time.Now().Add(5*time.Second), 0
		api := fakeAPI(func(r *http.Request) (*http.Response, error) {
			s.mu.Lock()
			requests++
			s.mu.Unlock()
			if time.Now().Before(busy) {
				return answer(http.StatusTooManyRequests, "Too many requests, please try again later.", "Retry-After", "1"), nil
			}
			return s.api(r)
		})
		started := time.Now()
		if err := Fill(t.Context(), api, fillOf(50, 10), runID, new(atomic.Int64)); err != nil {
			t.Fatal(err)
		}
		if took := time.Since(started); took != 5*time.Second || s.made != 50 || requests != 5+1+50 {
			t.Errorf("%d objects were made in %s with %d requests; want 50 in 5s with 56", s.made, took, requests)
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
		{"409 of an object that is there", func() *http.Response {
			return answer(409, status("AlreadyExists", `configmaps "plimsoll-000000" already exists`))
		},
			`the server answers 409 Conflict: configmaps "plimsoll-000000" already exists`, 0},
		{"500", func() *http.Response { return answer(500, status("InternalError", "etcdserver: no leader")) },
			"the server answers 500 Internal Server Error: etcdserver: no leader", 0},
		{"429 without end", func() *http.Response { return answer(429, "busy") },
			"given up after 1m0s: the server answers 429 Too Many Requests: busy", createTimeout},
	} {
		t.Run(row.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				started := time.Now()
				err := Fill(t.Context(), refusals(row.answer), fillOf(5, 1), runID, new(atomic.Int64))
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
		s := store{objects: map[string]bool{}, silent: http.MethodPost}
		started := time.Now()
		err := Fill(t.Context(), fakeAPI(s.api), fillOf(5, 5), runID, new(atomic.Int64))
		if !errors.Is(err, context.DeadlineExceeded) || time.Since(started) != createTimeout {
			t.Errorf("ended after %s with %v; want a timeout after %s", time.Since(started), err, createTimeout)
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
				err := Fill(ctx, api, fillOf(100, 10), runID, new(atomic.Int64))
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
		err := Fill(t.Context(), api, fillOf(1000, 5), runID, new(atomic.Int64))
		var refused *refusedError
		if !errors.As(err, &refused) || refused.code != 500 || requests.Load() > 20 {
			t.Errorf("ended after %d requests with %v", requests.Load(), err)
		}
	})
}

func TestFillMakesItsNamespaceFirst(t *testing.T) {
	var j journal
	if err := Fill(t.Context(), fakeAPI(j.api), fillOf(2, 1), runID, new(atomic.Int64)); err != nil {
		t.Fatal(err)
	}
	want := []string{"POST /api/v1/namespaces", "POST /api/v1/namespaces/space/configmaps", "POST /api/v1/namespaces/space/configmaps"}
	if !slices.Equal(j.requests, want) {
		t.Errorf("requests are %v; want %v", j.requests, want)
	}
}
