package kube

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	v1 "plimsoll.dev/plimsoll/api/v1alpha1"
	"plimsoll.dev/plimsoll/internal/record"
	"plimsoll.dev/plimsoll/internal/workload"
	"plimsoll.dev/plimsoll/internal/workload/httpconn"
)

const requestTimeout = 10 * time.Second

// pager is a paginated server; its tokens are offsets.
type pager struct {
	total    int
	own      int                              // limit of its own, where the client sets none
	ignores  bool                             // takes no notice of limit
	answer   func(request int) *http.Response // answers in place of the pager, unless nil
	requests []string                         // queries, as they came
	bytes    int64                            // of all bodies
}

func (p *pager) api(r *http.Request) (*http.Response, error) {
	p.requests = append(p.requests, r.URL.RawQuery)
	if p.answer != nil {
		if a := p.answer(len(p.requests)); a != nil {
			p.bytes += a.ContentLength
			return a, nil
		}
	}
	query := r.URL.Query()
	limit, _ := strconv.Atoi(query.Get("limit"))
	from, _ := strconv.Atoi(strings.TrimPrefix(query.Get("continue"), "from/&?"))
	if limit == 0 {
		limit = p.own
	}
	to := p.total
	if limit > 0 && !p.ignores {
		to = min(from+limit, p.total)
	}
	token := ""
	if to < p.total {
		token = fmt.Sprintf("from/&?%d", to) // must be escaped in a query
	}
	body := fmt.Sprintf(`{"metadata":{"continue":%q},"items":[%s]}`, token, strings.Join(slices.Repeat([]string{"{}"}, to-from), ","))
	p.bytes += int64(len(body))
	return answer(http.StatusOK, body), nil
}

func (p *pager) walk(ctx context.Context, t *testing.T, pageSize int) (workload.Result, parts) {
	t.Helper()
	c := newLister(fakeAPI(p.api).client(t), v1.KubeList{Resource: v1.ConfigMaps, PageSize: pageSize}, "", newLender(64))
	op, ok := c.Next()
	if !ok || op.Kind != "walk" {
		t.Fatalf("next operation is %q, %t; want a walk", op.Kind, ok)
	}
	var pages parts
	whole := op.Do(ctx, &pages)
	if whole.Bytes != p.bytes {
		t.Errorf("the walk counts %d bytes; the server sent %d", whole.Bytes, p.bytes)
	}
	return whole, pages
}

// nth answers the nth request in place of the pager.
func nth(n int, code int, body string) func(int) *http.Response {
	return func(request int) *http.Response {
		if request != n {
			return nil
		}
		a := answer(code, body)
		a.ContentLength = int64(len(body))
		return a
	}
}

// expiredStatus is what an API server says to a continue token that it can no longer serve.
func expiredStatus() string {
	return status("Expired", "The provided continue parameter is too old to display a consistent list result.")
}

func TestWalk(t *testing.T) {
	ok := func(items int64) part { return part{"page", workload.Result{Items: items}} }
	bad := func(outcome record.Outcome, reason string) part {
		return part{"page", workload.Result{Outcome: outcome, Reason: reason}}
	}
	for _, row := range []struct {
		name     string
		pager    pager
		pageSize int
		want     workload.Result
		pages    []part
	}{
		{"follows continue to the end", pager{total: 250}, 100,
			workload.Result{Items: 250}, []part{ok(100), ok(100), ok(50)}},
		{"needs no page more when the last one is full", pager{total: 200}, 100,
			workload.Result{Items: 200}, []part{ok(100), ok(100)}},
		{"lists nothing in one page", pager{}, 100, workload.Result{}, []part{ok(0)}},
		{"asks for everything at once", pager{total: 250}, 0, workload.Result{Items: 250}, []part{ok(250)}},
		{"follows a server that pages though no limit was set", pager{total: 25, own: 10}, 0,
			workload.Result{Items: 25}, []part{ok(10), ok(10), ok(5)}},
		{"flags the page of a server that ignores limit", pager{total: 250, ignores: true}, 100,
			workload.Result{Items: 250}, []part{{"page", workload.Result{Items: 250, Reason: httpconn.LimitIgnored}}}},
		{"begins anew when its token expired, and says so", pager{total: 25, answer: nth(3, http.StatusGone, expiredStatus())}, 10,
			workload.Result{Items: 25, Reason: httpconn.Restarted},
			[]part{ok(10), ok(10), bad(record.Failed, "http-410-Expired"), ok(10), ok(10), ok(5)}},
		{"begins anew also when the 410 is not from Kubernetes", pager{total: 15, answer: nth(2, http.StatusGone, "gone")}, 10,
			workload.Result{Items: 15, Reason: httpconn.Restarted},
			[]part{ok(10), bad(record.Failed, "http-410"), ok(10), ok(5)}},
		{"does not begin anew when the first page is a 410", pager{total: 15, answer: nth(1, http.StatusGone, expiredStatus())}, 10,
			workload.Result{Outcome: record.Failed, Reason: "http-410-Expired"},
			[]part{bad(record.Failed, "http-410-Expired")}},
		{"ends with the outcome of a page that fails in its middle", pager{total: 25, answer: nth(2, http.StatusInternalServerError, status("InternalError", "oops"))}, 10,
			workload.Result{Outcome: record.Failed, Reason: "http-500-InternalError", Items: 10},
			[]part{ok(10), bad(record.Failed, "http-500-InternalError")}},
		{"ends when it is rejected, without another try", pager{total: 25, answer: nth(2, http.StatusTooManyRequests, "busy")}, 10,
			workload.Result{Outcome: record.Rejected, Reason: "http-429", Items: 10},
			[]part{ok(10), bad(record.Rejected, "http-429")}},
		{"ends when a page is cut short, and does not flag its items", pager{total: 25, answer: nth(2, http.StatusOK, `{"items":[{},{},{}`)}, 2,
			workload.Result{Outcome: record.Failed, Reason: "not-a-list", Items: 5},
			[]part{ok(2), {"page", workload.Result{Outcome: record.Failed, Reason: "not-a-list", Items: 3}}}},
		{"ends when a page continues with itself", pager{total: 25, answer: nth(2, http.StatusOK, `{"metadata":{"continue":"from/&?10"},"items":[{}]}`)}, 10,
			workload.Result{Outcome: record.Failed, Reason: httpconn.ContinueRepeated, Items: 11},
			[]part{ok(10), ok(1)}},
	} {
		t.Run(row.name, func(t *testing.T) {
			whole, pages := row.pager.walk(t.Context(), t, row.pageSize)
			var sum int64
			for i := range pages {
				sum += pages[i].Bytes
				pages[i].Bytes = 0
			}
			if sum != whole.Bytes {
				t.Errorf("pages have %d bytes, the walk %d", sum, whole.Bytes)
			}
			whole.Bytes = 0
			if whole != row.want {
				t.Errorf("the walk came to %+v; want %+v", whole, row.want)
			}
			if !slices.Equal(pages, row.pages) {
				t.Errorf("pages are\n%+v; want\n%+v", pages, row.pages)
			}
		})
	}
}

func TestWalkWhoseTokensAlwaysExpireEnds(t *testing.T) {
	p := pager{total: 25}
	p.answer = func(request int) *http.Response {
		if request%2 == 1 {
			return nil
		}
		return nth(request, http.StatusGone, expiredStatus())(request)
	}
	whole, pages := p.walk(t.Context(), t, 10)
	if whole.Outcome != record.Failed || whole.Reason != "http-410-Expired" {
		t.Errorf("the walk came to %+v; want the last 410", whole)
	}
	if want := 2 * (1 + httpconn.MaxRestarts); len(pages) != want {
		t.Errorf("the walk asked for %d pages; want %d", len(pages), want)
	}
}

func TestWalkSendsLimitAndContinue(t *testing.T) {
	p := pager{total: 15}
	p.walk(t.Context(), t, 10)
	if want := []string{"limit=10", "limit=10&continue=from%2F%26%3F10"}; !slices.Equal(p.requests, want) {
		t.Errorf("queries are %q; want %q", p.requests, want)
	}
}

func TestWalkEndsWithItsContext(t *testing.T) {
	ctx, cancel := context.WithCancelCause(t.Context())
	p := pager{total: 1000}
	p.answer = func(request int) *http.Response {
		if request == 3 {
			cancel(errors.New("interrupted"))
		}
		return nil
	}
	whole, pages := p.walk(ctx, t, 10)
	if whole.Outcome != record.Failed || whole.Reason != "cut-short" || len(pages) != 4 {
		t.Errorf("the walk came to %+v after %d pages; want it cut short in its fourth", whole, len(pages))
	}
}
