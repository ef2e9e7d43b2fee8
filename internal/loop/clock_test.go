package loop

import (
	"context"
	"reflect"
	"sync/atomic"
	"testing"
	"time"
	"unsafe"

	"github.com/HdrHistogram/hdrhistogram-go"

	"plimsoll.dev/plimsoll/internal/record"
	"plimsoll.dev/plimsoll/internal/workload"
)

// set gives a moment as it looks once the wall clock has been set by some
// seconds since: its wall time is off by them, its monotonic time is not.
// Tests cannot set the machine's clock, and the time package keeps its fields to itself.
func set(t *testing.T, moment time.Time, seconds int64) time.Time {
	t.Helper()
	if field, ok := reflect.TypeOf(moment).FieldByName("wall"); !ok || field.Offset != 0 || field.Type.Kind() != reflect.Uint64 {
		t.Skip("this Go keeps times in another way")
	}
	const nanosecondBits = 30 // and above them, up to the highest bit, seconds
	wall := (*uint64)(unsafe.Pointer(&moment))
	*wall -= uint64(seconds << nanosecondBits)
	return moment
}

func TestTheTestsClockIsReallySet(t *testing.T) {
	now := time.Now()
	stepped := set(t, now, 3600)
	if off := now.Round(0).Sub(stepped.Round(0)); off != time.Hour { // Round drops the monotonic time
		t.Fatalf("the wall clock is off by %v, want an hour", off)
	}
	if off := now.Sub(stepped); off != 0 {
		t.Fatalf("the monotonic clock is off by %v", off)
	}
}

// The wall clock is set by an hour, forth and back, in mid-run: nothing that
// was measured moves, and no second is begun too early or too late.
func TestAClockThatIsSetInMidRunMovesNothing(t *testing.T) {
	for name, seconds := range map[string]int64{"forth": 3600, "back": -3600} {
		t.Run(name, func(t *testing.T) {
			clock := Clock{start: set(t, time.Now(), seconds), pause: pause}
			kept := &longest{}
			recorder := record.New(kept)
			beside, cancel := context.WithCancel(t.Context())
			ended := make(chan struct{})
			go func() {
				defer close(ended)
				recorder.Run(beside, clock.Start())
			}()
			p := Phase{Clock: clock, Clients: []workload.Client{sleeper{}}, Shards: []*record.Shard{recorder.Shard("p")}, Done: new(atomic.Int64)}
			before := clock.Time()
			p.Closed(t.Context(), Closed{IterationsPerClient: 5})
			after := clock.Time()
			cancel()
			<-ended
			if err := recorder.Close(); err != nil {
				t.Fatal(err)
			}
			// Bounds against an hour, not against the machine.
			if took := after.Sub(before); took < 5*nap || took > time.Minute {
				t.Errorf("five operations of %v took %v", nap, took)
			}
			if kept.time < nap || kept.time > time.Minute || kept.second > 60 {
				t.Errorf("the longest operation took %v, and the last second is %d", kept.time, kept.second)
			}
		})
	}
}

const nap = 10 * time.Millisecond

// sleeper is a client whose operations last for a nap.
type sleeper struct{}

func (sleeper) Next() (workload.Op, bool) {
	return workload.Op{Kind: "nap", Do: func(context.Context, workload.Timer) workload.Result {
		time.Sleep(nap)
		return workload.Result{}
	}}, true
}

// longest keeps the longest time, and the last second, that a recorder hands on.
type longest struct {
	time   time.Duration
	second int
}

func (l *longest) WriteInterval(i record.Interval) error {
	l.second = max(l.second, i.Second)
	for _, h := range []*hdrhistogram.Histogram{i.Service, i.Lag} {
		if h != nil {
			l.time = max(l.time, time.Duration(h.Max()))
		}
	}
	return nil
}
