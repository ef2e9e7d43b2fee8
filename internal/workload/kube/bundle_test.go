package kube

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	v1 "plimsoll.dev/plimsoll/api/v1alpha1"
	"plimsoll.dev/plimsoll/internal/object"
	"plimsoll.dev/plimsoll/internal/record"
)

// asked is a server that notes what it is asked for, and answers as told.
type asked struct {
	mu       sync.Mutex
	requests []string
	answer   func(request string, n int) *http.Response // to the n-th of this text; nil for success
}

func (a *asked) serve(r *http.Request) (*http.Response, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	request := r.Method + " " + r.URL.Path
	n := 0
	for _, before := range a.requests {
		if before == request {
			n++
		}
	}
	a.requests = append(a.requests, request)
	if a.answer != nil {
		if response := a.answer(request, n); response != nil {
			return response, nil
		}
	}
	return answer(http.StatusOK, "{}"), nil
}

// bundling gives a client that makes bundles.
func bundling(t *testing.T, a *asked, b v1.KubeBundle) *bundler {
	t.Helper()
	k := &kube{Options: Options{Phase: "lab", RunID: runID, Seed: 1, Bundles: new(Bundles)}}
	if _, err := k.templatesOf(&b); err != nil {
		t.Fatal(err)
	}
	return &bundler{fakeAPI(a.serve).client(t), "lab", k.templates, b, b.Retry, k.Bundles.of("lab"), nil, kept[int]{most: b.Keep}}
}

// pair is a bundle of two objects.
func pair() v1.KubeBundle {
	return v1.KubeBundle{Namespace: space, Namespaces: 2, Templates: []string{"{apiVersion: v1, kind: Secret}", "{apiVersion: v1, kind: ConfigMap}"}}
}

func (p parts) words() string {
	var words []string
	for _, one := range p {
		word := one.kind
		if one.Outcome != record.OK {
			word += " " + one.Outcome.String()
		}
		words = append(words, word)
	}
	return strings.Join(words, ", ")
}

func busy(seconds string) *http.Response {
	return answer(http.StatusTooManyRequests, status("TooManyRequests", "later"), "Retry-After", seconds)
}

func TestBundleIsMadeReadAndDeletedInOrder(t *testing.T) {
	whole := pair()
	whole.Read, whole.Delete = true, true
	synctest.Test(t, func(t *testing.T) {
		a := &asked{}
		b := bundling(t, a, whole)
		for range 2 {
			kind, result, done := perform(t.Context(), t, b)
			if kind != "bundle" || result.Outcome != record.OK ||
				done.words() != "create-secret, create-configmap, read-secret, read-configmap, delete-configmap, delete-secret" {
				t.Errorf("%s came to %+v: %s", kind, result, done.words())
			}
		}
		if first, second := a.requests[0], a.requests[6]; first != "POST /api/v1/namespaces/space-0/secrets" || second != "POST /api/v1/namespaces/space-1/secrets" {
			t.Errorf("the bundles are in %q and %q", first, second)
		}
		if last := a.requests[11]; last != "DELETE /api/v1/namespaces/space-1/secrets/lab-1" {
			t.Errorf("the last request is %q", last)
		}
	})
}

func TestBundleEndsWithTheFirstObjectThatCannotBeMade(t *testing.T) {
	refuse := func(request string, _ int) *http.Response {
		if strings.HasPrefix(request, "POST") && strings.HasSuffix(request, "/configmaps") {
			return answer(http.StatusForbidden, status("Forbidden", "exceeded quota"))
		}
		return nil
	}
	for _, row := range []struct {
		name   string
		delete bool
		done   string
	}{
		{"one that stays is left as it is", false, "create-secret, create-configmap failed, read-secret"},
		{"one that goes takes along what was made", true, "create-secret, create-configmap failed, read-secret, delete-secret"},
	} {
		t.Run(row.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				spec := pair()
				spec.Read, spec.Delete = true, row.delete
				_, result, done := perform(t.Context(), t, bundling(t, &asked{answer: refuse}, spec))
				if done.words() != row.done || result.Outcome != record.Failed || result.Reason != "http-403-Forbidden" {
					t.Errorf("came to %+v: %s", result, done.words())
				}
			})
		})
	}
}

func TestWhatIsRejectedIsSentAgainWhenTheServerSays(t *testing.T) {
	for _, row := range []struct {
		name    string
		retry   *v1.Retry
		after   string // what the server asks for, in seconds
		times   int    // that it rejects
		outcome record.Outcome
		reason  string
		took    time.Duration
		creates int
	}{
		{"never, unless asked to", nil, "1", 1, record.Rejected, "http-429-TooManyRequests", 0, 1},
		{"after what the server says", &v1.Retry{Attempts: 5, Wait: v1.Duration(time.Second)}, "3", 2, record.OK, retried, 6 * time.Second, 3},
		{"after the wait, if that is longer", &v1.Retry{Attempts: 5, Wait: v1.Duration(4 * time.Second)}, "1", 2, record.OK, retried, 8 * time.Second, 3},
		{"no more often than it may", &v1.Retry{Attempts: 2, Wait: v1.Duration(time.Second)}, "1", 9, record.Rejected, "http-429-TooManyRequests", 2 * time.Second, 3},
		{"not at all, when it was taken", &v1.Retry{Attempts: 5, Wait: v1.Duration(time.Second)}, "1", 0, record.OK, "", 0, 1},
	} {
		t.Run(row.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				a := &asked{answer: func(request string, n int) *http.Response {
					if strings.HasSuffix(request, "/secrets") && n < row.times {
						return busy(row.after)
					}
					return nil
				}}
				spec := pair()
				spec.Retry = row.retry
				began := time.Now()
				_, result, done := perform(t.Context(), t, bundling(t, a, spec))
				creates := strings.Count(done.words(), "create-secret")
				if result.Outcome != row.outcome || result.Reason != row.reason || time.Since(began) != row.took || creates != row.creates {
					t.Errorf("came to %+v after %v and %d attempts: %s", result, time.Since(began), creates, done.words())
				}
			})
		})
	}
}

func TestRunThatEndsWaitsForNoRetry(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := &asked{answer: func(string, int) *http.Response { return busy("3600") }}
		spec := pair()
		spec.Retry = &v1.Retry{Attempts: 100, Wait: v1.Duration(time.Second)}
		ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
		defer cancel()
		began := time.Now()
		if _, result, _ := perform(ctx, t, bundling(t, a, spec)); result.Outcome != record.Rejected || time.Since(began) != 5*time.Second {
			t.Errorf("came to %+v after %v", result, time.Since(began))
		}
	})
}

func TestBundlesOfAPhaseAreDeletedOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := &asked{answer: func(request string, _ int) *http.Response {
			if request == "DELETE /api/v1/namespaces/space-1/secrets/lab-1" {
				return answer(http.StatusNotFound, status("NotFound", "gone"))
			}
			return nil
		}}
		b := bundling(t, a, pair())
		for range 3 {
			perform(t.Context(), t, b)
		}
		u := &unbundler{bundling(t, a, pair()), new(atomic.Int64)}
		u.made = b.made
		a.requests = nil
		var ended []string
		for op, more := u.Next(); more; op, more = u.Next() {
			var timer parts
			result := op.Do(t.Context(), &timer)
			ended = append(ended, fmt.Sprint(op.Kind, " ", result.Outcome, " ", timer.words()))
		}
		if len(ended) != 3 || ended[1] != "unbundle ok delete-configmap, delete-secret" {
			t.Errorf("deletions are %q", ended)
		}
		if last := a.requests[5]; last != "DELETE /api/v1/namespaces/space-0/secrets/lab-2" {
			t.Errorf("the last request is %q", last)
		}
	})
}

func TestDefaultBundleIsADeploymentWithAllThatItTakes(t *testing.T) {
	s := v1.Scenario{Spec: v1.Spec{Steps: []v1.Step{{Phases: []v1.Phase{{Kube: &v1.KubeWorkload{Bundle: &v1.KubeBundle{Namespace: space}}}}}}}}
	s.Default()
	b := s.Spec.Steps[0].Phases[0].Kube.Bundle
	var kinds []string
	for _, text := range b.Templates {
		template, err := object.New(b.Objects(text), runID, 1)
		if err != nil {
			t.Fatal(err)
		}
		kinds = append(kinds, template.Info().Kind)
		made, err := template.JSON(7, "lab-7", string(space))
		if err != nil || !strings.Contains(string(made), `"lab-7"`) {
			t.Errorf("%s, %v", made, err)
		}
	}
	if got := strings.Join(kinds, " "); got != "ConfigMap Secret Deployment Service" {
		t.Errorf("it has %s", got)
	}
}
