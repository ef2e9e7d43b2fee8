package follow

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"time"

	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/metadata"

	v1 "plimsoll.dev/plimsoll/api/v1alpha1"
	"plimsoll.dev/plimsoll/internal/record"
	"plimsoll.dev/plimsoll/internal/target"
	"plimsoll.dev/plimsoll/internal/workload"
)

// lookEvery is how often a wait looks whether it is still worth it.
const lookEvery = time.Second

// Wait is a workload of one operation, which lasts until objects are in a state.
type Wait struct {
	follower *Follower
	spec     v1.Wait
	state    State
	reasons  reasons
	missed   func(string)

	mu         sync.Mutex
	there      map[State]int // objects that are waited for
	most       int           // how many there were at most
	progressed time.Time     // when there was last one more in the state, or one less of all
	changed    chan struct{}
}

// NewWait gives a wait. missed is told, for people, what it did not live to see and why.
func NewWait(f *Follower, api target.KubeAPI, spec v1.Wait, missed func(string)) (*Wait, error) {
	config, err := api.RESTConfig(target.Admin)
	if err != nil {
		return nil, fmt.Errorf("wait for %s: %w", spec.Resource, err)
	}
	config.UserAgent = UserAgent
	w := &Wait{
		follower: f, spec: spec, missed: missed, there: map[State]int{}, changed: make(chan struct{}, 1),
		state: map[v1.WaitState]State{v1.WaitRunning: Running, v1.WaitAvailable: Available, v1.WaitPresent: Present, v1.WaitGone: Gone}[spec.State],
	}
	w.reasons.spec, w.reasons.follower = spec, f
	if w.reasons.client, err = kubernetes.NewForConfig(config); err == nil {
		w.reasons.metadata, err = metadata.NewForConfig(config)
	}
	if err != nil {
		return nil, fmt.Errorf("wait for %s: %w", spec.Resource, err)
	}
	return w, nil
}

// Prepare waits until the follower knows what there is.
func (w *Wait) Prepare(ctx context.Context) error {
	for !w.follower.Current() {
		if !workload.Sleep(ctx, 10*time.Millisecond) {
			return fmt.Errorf("wait for %s: %w", w.spec.Resource, context.Cause(ctx))
		}
	}
	return nil
}

// Dial gives the one who waits.
func (w *Wait) Dial(context.Context, int, *rand.Rand) (workload.Client, error) { return w, nil }

// Close does nothing: the follower goes on.
func (w *Wait) Close() error { return nil }

// Next gives the wait.
func (w *Wait) Next() (workload.Op, bool) {
	return workload.Op{Kind: "wait", Lasting: true, Do: w.wait}, true
}

// Progress is how many objects are as they are waited for, and of how many.
func (w *Wait) Progress() (done, total int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.state == Gone {
		return w.most - w.all(), w.most
	}
	return w.in(), w.spec.Count
}

func (w *Wait) wait(ctx context.Context, _ workload.Timer) workload.Result {
	began := time.Now()
	w.postpone()
	defer w.follower.Listen(w.heard)()
	timeout := time.NewTimer(time.Duration(w.spec.Timeout))
	defer timeout.Stop()
	look := time.NewTicker(lookEvery)
	defer look.Stop()
	for !w.met() {
		select {
		case <-w.changed:
		case <-look.C:
			if w.stalled() < time.Duration(w.spec.Patience) {
				continue
			}
			if why := w.reasons.find(ctx); why.hopeless && !w.met() {
				return w.miss(record.Failed, why, began)
			}
			w.postpone()
		case <-timeout.C:
			return w.miss(record.TimedOut, w.reasons.find(ctx), began)
		case <-ctx.Done():
			return workload.Result{Outcome: record.Failed, Reason: "cut-short"}
		}
	}
	done, _ := w.Progress()
	return workload.Result{Items: int64(done)}
}

// heard takes in a change of an object.
func (w *Wait) heard(c Change) {
	if !covers(w.spec, c.Namespace, c.Name) {
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	before := w.distance()
	if c.From != Gone {
		w.there[c.From]--
	}
	if c.To != Gone {
		w.there[c.To]++
	}
	w.most = max(w.most, w.all())
	if w.distance() < before {
		w.progressed = c.At
	}
	select {
	case w.changed <- struct{}{}:
	default:
	}
}

// covers says whether an object is waited for; a namespace is in itself.
func covers(spec v1.Wait, namespace, name string) bool {
	if spec.Resource == "namespaces" {
		return spec.Covers(name)
	}
	return spec.Covers(namespace)
}

// met says whether all is as it is waited for, as far as the server can be asked.
func (w *Wait) met() bool {
	if !w.follower.Current() {
		return false
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.distance() <= 0
}

// distance is how many changes it takes at least; w.mu is held, as it is for those below.
func (w *Wait) distance() int {
	if w.state == Gone {
		return w.all()
	}
	return w.spec.Count - w.in()
}

// in is how many objects are in the state.
func (w *Wait) in() int {
	if w.state == Present { // in whichever state, but going
		return w.all() - w.there[Terminating]
	}
	return w.there[w.state]
}

func (w *Wait) all() int {
	n := 0
	for _, count := range w.there {
		n += count
	}
	return n
}

// stalled is for how long nothing has come closer.
func (w *Wait) stalled() time.Duration {
	w.mu.Lock()
	defer w.mu.Unlock()
	return time.Since(w.progressed)
}

// postpone has patience begin anew.
func (w *Wait) postpone() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.progressed = time.Now()
}

// miss ends a wait that was not met.
func (w *Wait) miss(outcome record.Outcome, why reason, began time.Time) workload.Result {
	w.missed(w.inWords(why, time.Since(began)))
	result := workload.Result{Outcome: outcome, Reason: why.word}
	if result.Reason == "" {
		result.Reason = "timeout"
	}
	return result
}

// inWords says what is missing, and why.
func (w *Wait) inWords(why reason, after time.Duration) string {
	w.mu.Lock()
	defer w.mu.Unlock()
	var text string
	switch all := w.all(); {
	case w.state == Gone:
		text = fmt.Sprintf("%d %s are still there after %.0f s", all, w.spec.Resource, after.Seconds())
	case all < w.spec.Count:
		text = fmt.Sprintf("%d of %d %s are %s after %.0f s, and only %d exist", w.in(), w.spec.Count, w.spec.Resource, w.spec.State, after.Seconds(), all)
	default:
		text = fmt.Sprintf("%d of %d %s are %s after %.0f s", w.in(), w.spec.Count, w.spec.Resource, w.spec.State, after.Seconds())
	}
	var others []string
	for state, n := range w.there {
		if n > 0 && state != w.state && w.state != Present {
			others = append(others, fmt.Sprintf("%d %s", n, state))
		}
	}
	if slices.Sort(others); len(others) > 0 {
		text += " (" + strings.Join(others, ", ") + ")"
	}
	if why.example != "" {
		text += "; one of them is " + why.example
	}
	if why.text != "" {
		text += "; " + why.text
	}
	return text
}
