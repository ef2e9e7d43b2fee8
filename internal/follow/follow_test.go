package follow

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	core "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"

	v1 "plimsoll.dev/plimsoll/api/v1alpha1"
	"plimsoll.dev/plimsoll/internal/record"
	"plimsoll.dev/plimsoll/internal/target"
	"plimsoll.dev/plimsoll/internal/workload"
)

// server answers without a network, so that time may be that of synctest: every
// request takes the next answer, and waits for it.
type server struct {
	t       *testing.T
	answers chan *http.Response

	mu    sync.Mutex
	asked []string
}

func newServer(t *testing.T) *server {
	return &server{t: t, answers: make(chan *http.Response, 100)}
}

func (s *server) RESTConfig(target.Identity) (*rest.Config, error) {
	return &rest.Config{Host: "http://fake", WrapTransport: func(http.RoundTripper) http.RoundTripper { return s }}, nil
}

func (s *server) RoundTrip(r *http.Request) (*http.Response, error) {
	if r.URL.Path == "/version" {
		return answer(http.StatusOK, nil), nil
	}
	if strings.HasSuffix(r.URL.Path, "/events") { // there are none
		return answer(http.StatusOK, io.NopCloser(bytes.NewReader([]byte(`{"kind":"EventList","apiVersion":"v1","items":[]}`)))), nil
	}
	s.mu.Lock()
	s.asked = append(s.asked, r.URL.RawQuery)
	s.mu.Unlock()
	select {
	case next := <-s.answers:
		context.AfterFunc(r.Context(), func() { next.Body.Close() }) // as a connection does
		return next, nil
	case <-r.Context().Done():
		return nil, r.Context().Err()
	}
}

func answer(code int, body io.ReadCloser) *http.Response {
	if body == nil {
		body = http.NoBody
	}
	return &http.Response{StatusCode: code, Status: fmt.Sprint(code), Header: http.Header{"Content-Type": {"application/json"}}, Body: body}
}

// list is an answer with pods; token is of the next page.
func (s *server) list(token string, pods ...*core.Pod) {
	list := &core.PodList{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "PodList"}, ListMeta: metav1.ListMeta{ResourceVersion: "7", Continue: token}}
	for _, p := range pods {
		list.Items = append(list.Items, *p)
	}
	s.answers <- answer(http.StatusOK, io.NopCloser(bytes.NewReader(encode(s.t, list))))
}

// watch is an answer that goes on with whatever is written.
func (s *server) watch() *io.PipeWriter {
	reader, writer := io.Pipe()
	s.answers <- answer(http.StatusOK, reader)
	return writer
}

func (s *server) send(to io.Writer, kind string, p *core.Pod) {
	if _, err := to.Write(framed(event(s.t, kind, p))); err != nil {
		s.t.Error(err)
	}
	synctest.Wait()
}

// following gives a follower of pods under way, and what it failed with.
func following(t *testing.T, s *server) (*Follower, *[]string) {
	t.Helper()
	failures := new([]string)
	f, err := New(t.Context(), s, pods, func(err error) { *failures = append(*failures, err.Error()) })
	if err != nil {
		t.Fatal(err)
	}
	go f.Run(t.Context())
	synctest.Wait()
	return f, failures
}

func running(name string) *core.Pod { return pod(name, core.PodRunning, core.ConditionTrue) }
func pending(name string) *core.Pod { return pod(name, core.PodPending, core.ConditionFalse) }

// numbers are the counts of pods that wait and that run, and whether they are current.
func numbers(f *Follower) string {
	counts, current := f.Counts()
	return fmt.Sprintf("%d pending, %d running, %v", counts[Pending], counts[Running], current)
}

func TestFollowerCountsWhatItListsAndWatches(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newServer(t)
		f, failures := following(t, s)
		expect := func(when, want string) {
			t.Helper()
			synctest.Wait()
			if got := numbers(f); got != want {
				t.Errorf("%s: %s; want %s", when, got, want)
			}
		}
		expect("before the list", "0 pending, 0 running, false")
		s.list("more", pending("one"))
		expect("after half of it", "1 pending, 0 running, false")
		s.list("", running("two"))
		expect("after the list", "1 pending, 1 running, true")
		w := s.watch()
		s.send(w, "MODIFIED", running("one"))
		s.send(w, "ADDED", pending("three"))
		expect("after two events", "1 pending, 2 running, true")
		s.send(w, "DELETED", running("two"))
		bookmark := pod("", core.PodPending, core.ConditionFalse)
		bookmark.Namespace, bookmark.ResourceVersion = "", "99"
		s.send(w, "BOOKMARK", bookmark)
		expect("after a deletion and a bookmark", "1 pending, 1 running, true")

		time.Sleep(time.Minute)
		w.Close() // in order: it goes on from the bookmark
		w = s.watch()
		s.send(w, "DELETED", pending("three"))
		expect("after the next watch", "0 pending, 1 running, true")
		if last := s.asked[len(s.asked)-1]; last != "allowWatchBookmarks=true&resourceVersion=99&watch=1" {
			t.Errorf("it asks for %s", last)
		}
		if len(*failures) > 0 {
			t.Errorf("it fails with %q", *failures)
		}
	})
}

func TestFollowerListsAnewWhenItIsTooLate(t *testing.T) {
	for _, row := range []struct {
		name     string
		end      func(*server, *io.PipeWriter)
		failures int
	}{
		{"by an event", func(s *server, w *io.PipeWriter) {
			_, _ = w.Write(framed(event(s.t, "ERROR", &metav1.Status{
				TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Status"}, Reason: metav1.StatusReasonExpired, Code: http.StatusGone,
			})))
		}, 0},
		{"by an answer", func(s *server, w *io.PipeWriter) {
			time.Sleep(time.Minute)
			w.Close()
			s.answers <- answer(http.StatusGone, nil)
		}, 0},
		{"and says so when the server was lost", func(_ *server, w *io.PipeWriter) { w.CloseWithError(io.ErrUnexpectedEOF) }, 1},
		{"and says so when the server makes no sense", func(_ *server, w *io.PipeWriter) { _, _ = w.Write(framed([]byte("?????"))) }, 1},
	} {
		t.Run(row.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := newServer(t)
				f, failures := following(t, s)
				s.list("", running("one"), running("two"))
				w := s.watch()
				synctest.Wait()
				var changes []string
				defer f.Listen(func(c Change) { changes = append(changes, fmt.Sprintf("%s %s→%s", c.Name, c.From, c.To)) })()
				changes = nil
				row.end(s, w)
				synctest.Wait()
				if got := numbers(f); got != "0 pending, 2 running, false" {
					t.Errorf("while it is lost: %s", got)
				}
				s.list("", running("two"), pending("three"))
				time.Sleep(mostPause)
				synctest.Wait()
				if got := numbers(f); got != "1 pending, 1 running, true" {
					t.Errorf("afterwards: %s", got)
				}
				slices.Sort(changes)
				if got := fmt.Sprint(changes); got != "[one running→gone three gone→pending]" {
					t.Errorf("changes are %s", got)
				}
				if len(*failures) != row.failures {
					t.Errorf("it fails with %q", *failures)
				}
			})
		})
	}
}

func TestWait(t *testing.T) {
	for _, row := range []struct {
		name    string
		wait    v1.Wait
		events  func(*server, io.Writer)
		outcome record.Outcome
		took    time.Duration
		missed  string
	}{
		{
			name: "is met by what is there already", wait: v1.Wait{State: v1.WaitRunning, Count: 1},
			events: func(*server, io.Writer) {},
		},
		{
			name: "is met by the last one", wait: v1.Wait{State: v1.WaitRunning, Count: 2}, took: 3 * time.Second,
			events: func(s *server, w io.Writer) {
				time.Sleep(3 * time.Second)
				s.send(w, "MODIFIED", running("two"))
			},
		},
		{
			name: "is not met by what is elsewhere", wait: v1.Wait{Namespace: "elsewhere", State: v1.WaitRunning, Count: 1},
			events: func(*server, io.Writer) {}, outcome: record.TimedOut, took: time.Minute,
			missed: "0 of 1 pods are running after 60 s, and only 0 exist; no event tells why",
		},
		{
			name: "says what is missing when its time is over", wait: v1.Wait{State: v1.WaitRunning, Count: 2},
			events: func(*server, io.Writer) {}, outcome: record.TimedOut, took: time.Minute,
			missed: "1 of 2 pods are running after 60 s (1 pending); one of them is space/two; no event tells why",
		},
		{
			name: "is met when the last one is gone", wait: v1.Wait{State: v1.WaitGone}, took: 2 * time.Second,
			events: func(s *server, w io.Writer) {
				time.Sleep(time.Second)
				s.send(w, "DELETED", running("one"))
				time.Sleep(time.Second)
				s.send(w, "DELETED", pending("two"))
			},
		},
	} {
		t.Run(row.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := newServer(t)
				f, _ := following(t, s)
				s.list("", running("one"), pending("two"))
				watch := s.watch()
				synctest.Wait()
				row.wait.Resource, row.wait.Timeout, row.wait.Patience = pods, v1.Duration(time.Minute), v1.Duration(10*time.Second)
				missed := ""
				w, err := NewWait(f, s, row.wait, func(text string) { missed = text })
				if err != nil {
					t.Fatal(err)
				}
				if err := w.Prepare(t.Context()); err != nil {
					t.Fatal(err)
				}
				op, _ := w.Next()
				began := time.Now()
				go row.events(s, watch)
				var timer workload.Timer
				result := op.Do(t.Context(), timer)
				if result.Outcome != row.outcome || time.Since(began) != row.took || missed != row.missed {
					t.Errorf("came to %s after %v: %q", result.Outcome, time.Since(began), missed)
				}
			})
		})
	}
}
