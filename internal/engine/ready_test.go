package engine

import (
	"maps"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"plimsoll.dev/plimsoll/internal/follow"
	"plimsoll.dev/plimsoll/internal/loop"
	"plimsoll.dev/plimsoll/internal/record"
)

// kept is a sink of intervals that keeps what they say.
type kept []record.Interval

func (k *kept) WriteInterval(i record.Interval) error {
	// What it points to is valid only during the call; the highest value tells enough of a histogram.
	i.Bytes, i.Reasons = i.Service.Max(), maps.Clone(i.Reasons)
	*k = append(*k, i)
	return nil
}

func TestTimeUntilReady(t *testing.T) {
	const answered, seen = 2 * time.Second, 5 * time.Second
	for _, row := range []struct {
		name    string
		before  follow.State   // when the answer is noted
		heard   []follow.State // afterwards
		outcome record.Outcome
		reason  string
		took    time.Duration
	}{
		{"from the answer until it is seen", follow.Progressing, []follow.State{follow.Available}, record.OK, "", seen - answered},
		{"only the first time", follow.Progressing, []follow.State{follow.Available, follow.Progressing, follow.Available}, record.OK, "", seen - answered},
		{"none, if it was seen before the answer", follow.Available, nil, record.OK, "", 0},
		{"a lower bound, if it is deleted", follow.Progressing, []follow.State{follow.Terminating, follow.Gone}, record.Failed, "deleted", seen - answered},
		{"a lower bound, if the run ends before", follow.Progressing, nil, record.TimedOut, "not-ready", 10*time.Second - answered},
	} {
		t.Run(row.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var sink kept
				recorder := record.New(&sink)
				clock := loop.NewClock()
				r := &readiness{
					clock: clock, resource: "deployments", shard: recorder.Shard("lab"), pending: map[string]time.Time{},
					state: func(string) follow.State { return row.before },
				}
				time.Sleep(answered)
				r.created("secrets", "space", "one", time.Now()) // which never becomes ready, and is not waited for
				r.created("deployments", "space", "one", time.Now())
				time.Sleep(seen - answered)
				for _, state := range row.heard {
					r.heard(follow.Change{Namespace: "space", Name: "one", From: follow.Progressing, To: state, At: time.Now()})
					time.Sleep(time.Second)
				}
				time.Sleep(10*time.Second - clock.Now())
				r.end()
				if err := recorder.Close(); err != nil {
					t.Fatal(err)
				}
				sink = slices.DeleteFunc(sink, func(i record.Interval) bool { return i.Op == "first-to-last" })
				if len(sink) != 1 {
					t.Fatalf("recorded are %+v", sink)
				}
				got := sink[0]
				off := time.Duration(got.Bytes) - row.took
				if got.Phase != "lab" || got.Op != "ready" || got.Count != 1 || got.Outcome != row.outcome || off.Abs() > row.took/500 ||
					got.Reasons[row.reason] != 1 && row.reason != "" {
					t.Errorf("recorded is %+v, after %v; want %s %q after %v", got, time.Duration(got.Bytes), row.outcome, row.reason, row.took)
				}
			})
		})
	}
}

func TestTimeFromTheFirstThatIsReadyToTheLast(t *testing.T) {
	for _, row := range []struct {
		name    string
		ready   []time.Duration // after the creation of three
		outcome record.Outcome
		took    time.Duration
	}{
		{"of all", []time.Duration{2 * time.Second, 3 * time.Second, 7 * time.Second}, record.OK, 5 * time.Second},
		{"a lower bound, if one never is", []time.Duration{2 * time.Second, 3 * time.Second}, record.TimedOut, 8 * time.Second},
		{"none, if none ever is", nil, 0, 0},
	} {
		t.Run(row.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var sink kept
				recorder := record.New(&sink)
				clock := loop.NewClock()
				r := &readiness{
					clock: clock, resource: "pods", shard: recorder.Shard("lab"), pending: map[string]time.Time{},
					state: func(string) follow.State { return follow.Pending },
				}
				names := []string{"one", "two", "three"}
				for _, name := range names {
					r.created("pods", "space", name, time.Now())
				}
				for i, after := range row.ready {
					time.Sleep(after - clock.Now())
					r.heard(follow.Change{Namespace: "space", Name: names[i], From: follow.Pending, To: follow.Running, At: time.Now()})
				}
				time.Sleep(10*time.Second - clock.Now())
				r.end()
				if err := recorder.Close(); err != nil {
					t.Fatal(err)
				}
				sink = slices.DeleteFunc(sink, func(i record.Interval) bool { return i.Op != "first-to-last" })
				if row.ready == nil {
					if len(sink) != 0 {
						t.Errorf("recorded is %+v", sink)
					}
					return
				}
				if len(sink) != 1 || sink[0].Count != 1 || sink[0].Outcome != row.outcome ||
					(time.Duration(sink[0].Bytes)-row.took).Abs() > row.took/500 {
					t.Errorf("recorded is %+v; want %s after %v", sink, row.outcome, row.took)
				}
			})
		})
	}
}
