package kube

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	v1 "plimsoll.dev/plimsoll/api/v1alpha1"
	"plimsoll.dev/plimsoll/internal/record"
	"plimsoll.dev/plimsoll/internal/workload"
)

func eventText(kind, name, version string) string {
	return fmt.Sprintf(`{"type":%q,"object":{"metadata":{"name":%q,"namespace":"space","resourceVersion":%q}}}`, kind, name, version)
}

const endOfInitialEvents = `{"type":"BOOKMARK","object":{"metadata":{"annotations":{"k8s.io/initial-events-end":"true"}}}}`

// body is a stream that ends with its request.
type streamBody struct {
	*io.PipeReader
	stop func() bool
}

func (b streamBody) Close() error {
	b.stop()
	return b.PipeReader.Close()
}

// stream answers a watch with what send writes.
func stream(r *http.Request, send func(io.Writer)) *http.Response {
	reader, writer := io.Pipe()
	stop := context.AfterFunc(r.Context(), func() { _ = writer.CloseWithError(r.Context().Err()) })
	go send(writer)
	return &http.Response{StatusCode: http.StatusOK, Header: http.Header{}, Body: streamBody{reader, stop}}
}

func TestWatch(t *testing.T) {
	const answered, phase = 3 * time.Second, 10 * time.Second
	path := collection(v1.ConfigMaps, space) + "/"
	for _, row := range []struct {
		name    string
		send    func(io.Writer, *Writes)
		over    error
		took    time.Duration
		want    workload.Result
		delays  []time.Duration
		opening time.Duration
	}{
		{"times events from their writes' answers", func(w io.Writer, writes *Writes) {
			time.Sleep(time.Second)
			fmt.Fprintln(w, eventText("ADDED", "old", "1"), endOfInitialEvents)
			writes.Note(Write{path + "a", "2"})
			time.Sleep(time.Second)
			fmt.Fprintln(w, eventText("MODIFIED", "a", "2"))
			fmt.Fprintln(w, eventText("MODIFIED", "somebody-else", "3"))
			fmt.Fprintln(w, eventText("ADDED", "b", "4")) // before its answer
			time.Sleep(time.Second)
			writes.Note(Write{path + "b", "4"})
			writes.Note(Write{path + "a", Deleted})
			fmt.Fprintln(w, eventText("DELETED", "a", "5"))
		}, workload.ErrOver, phase + workload.LastEvents, workload.Result{Items: 5}, []time.Duration{0, 0, time.Second}, time.Second},
		{"hears of what is written last", func(w io.Writer, writes *Writes) {
			fmt.Fprintln(w, endOfInitialEvents)
			writes.Note(Write{path + "a", "2"})
			time.Sleep(phase + workload.LastEvents/2)
			fmt.Fprintln(w, eventText("ADDED", "a", "2"))
		}, workload.ErrOver, phase + workload.LastEvents, workload.Result{Items: 1}, []time.Duration{phase + workload.LastEvents/2}, 0},
		{"is not OK when the run is cut", func(w io.Writer, _ *Writes) { fmt.Fprintln(w, endOfInitialEvents) },
			nil, phase, workload.Result{Outcome: record.Failed, Reason: "cut-short"}, nil, 0},
		{"times out without a first event", func(io.Writer, *Writes) {},
			workload.ErrOver, answered, workload.Result{Outcome: record.TimedOut, Reason: "timeout"}, nil, answered},
		{"says that its history is gone", func(w io.Writer, _ *Writes) {
			fmt.Fprintln(w, `{"type":"ERROR","object":{"kind":"Status","reason":"Expired","code":410}}`)
		}, workload.ErrOver, 0, workload.Result{Outcome: record.Failed, Reason: "event-Expired"}, nil, 0},
		{"says that the server ended it", func(w io.Writer, _ *Writes) {
			fmt.Fprintln(w, endOfInitialEvents)
			_ = w.(io.Closer).Close()
		}, workload.ErrOver, 0, workload.Result{Reason: "watch-ended"}, nil, 0},
		{"fails when the server ends it at once", func(w io.Writer, _ *Writes) { _ = w.(io.Closer).Close() },
			workload.ErrOver, 0, workload.Result{Outcome: record.Failed, Reason: "watch-ended"}, nil, 0},
	} {
		t.Run(row.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var writes Writes
				api := fakeAPI(func(r *http.Request) (*http.Response, error) {
					return stream(r, func(w io.Writer) { row.send(w, &writes) }), nil
				})
				c := api.client(t)
				c.Timeout, c.writes = answered, &writes
				ctx, cancel := context.WithCancelCause(t.Context())
				time.AfterFunc(phase, func() { cancel(row.over) })
				var timed timings
				started := time.Now()
				result := newWatcher(c, v1.KubeWatch{Resource: v1.ConfigMaps, Namespace: space}).watch(ctx, &timed)
				if took := time.Since(started); took != row.took {
					t.Errorf("took %s; want %s", took, row.took)
				}
				result.Bytes = 0
				delays := timed.of("event")
				slices.Sort(delays)
				if result != row.want || !slices.Equal(delays, row.delays) {
					t.Errorf("came to %+v, delays %v; want %+v, %v", result, delays, row.want, row.delays)
				}
				if first := timed.of("first-event"); len(first) != 1 || first[0] != row.opening {
					t.Errorf("first events after %v; want one after %s", first, row.opening)
				}
				cancel(nil)
			})
		})
	}
}

func TestMixKeepsItsWeights(t *testing.T) {
	selection := v1.KubeSelection{Resource: v1.ConfigMaps, Namespace: space, Count: 10}
	mixed := v1.KubeWorkload{Mix: []v1.KubeMixed{
		{Weight: 6, KubeWorkload: v1.KubeWorkload{Get: &selection}},
		{Weight: 3, KubeWorkload: v1.KubeWorkload{Patch: &v1.KubePatch{KubeSelection: selection}}},
		{Weight: 1, KubeWorkload: v1.KubeWorkload{Delete: &selection}},
	}}
	kinds := func() (all []string) {
		var j journal
		c := dial(t, fakeAPI(j.api), "mix", 1, mixed)[0]
		for range 3000 {
			kind, _, _ := perform(t.Context(), t, c)
			all = append(all, kind)
		}
		return all
	}
	first, counts := kinds(), map[string]int{}
	for _, kind := range first {
		counts[kind]++
	}
	if counts["delete"] != 10 || counts["get"] < 1900 || counts["get"] > 2080 { // two thirds of the others
		t.Errorf("%v of 3000; want 10 deletions, and two gets for each patch", counts)
	}
	if !slices.Equal(first, kinds()) {
		t.Error("another run with the same seed mixes otherwise")
	}
	only := v1.KubeWorkload{Mix: mixed.Mix[2:]}
	c := dial(t, fakeAPI(new(journal).api), "mix", 1, only)[0]
	for range 10 {
		perform(t.Context(), t, c)
	}
	if _, more := c.Next(); more {
		t.Error("a mix of nothing but deletions goes on when all is deleted")
	}
}

func TestPatchValuesDiffer(t *testing.T) {
	seen := map[string]bool{}
	api := fakeAPI(func(r *http.Request) (*http.Response, error) {
		if r.Method == http.MethodPatch {
			text, _ := io.ReadAll(r.Body)
			seen[string(text)] = true
			if want := "application/json-patch+json"; r.Header.Get("Content-Type") != want {
				t.Errorf("Content-Type is %s; want %s", r.Header.Get("Content-Type"), want)
			}
		}
		return answer(http.StatusOK, "{}"), nil
	})
	patch := &v1.KubePatch{KubeSelection: v1.KubeSelection{Resource: v1.ConfigMaps, Namespace: space, Count: 2}, Type: "json"}
	for _, phase := range []string{"a", "b"} {
		for _, c := range dial(t, api, phase, 5, v1.KubeWorkload{Patch: patch}) {
			for range 20 {
				perform(t.Context(), t, c)
			}
		}
	}
	if len(seen) != 200 {
		t.Errorf("%d different patches; want 200", len(seen))
	}
}
