package record

import (
	"context"
	"fmt"
	"maps"
	"runtime"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// memory keeps what a test wants to look at; histograms are read at once, as a sink must.
type memory struct {
	counts    map[string]int64
	seconds   map[int]int64
	reasons   map[string]int64
	p50       map[string]time.Duration
	clockless []string
}

func newMemory() *memory {
	return &memory{counts: map[string]int64{}, seconds: map[int]int64{}, reasons: map[string]int64{}, p50: map[string]time.Duration{}}
}

func (m *memory) WriteInterval(i Interval) error {
	name := fmt.Sprintf("%s.%s.%s", i.Phase, i.Op, i.Outcome)
	m.counts[name] += i.Count
	m.seconds[i.Second] += i.Count
	for reason, n := range i.Reasons {
		m.reasons[reason] += n
	}
	if i.Service != nil {
		m.p50[name+".service"] = time.Duration(i.Service.ValueAtQuantile(50))
	}
	if i.Response != nil {
		m.p50[name+".response"] = time.Duration(i.Response.ValueAtQuantile(50))
	}
	if i.Service == nil && i.Response == nil {
		m.clockless = append(m.clockless, name)
	}
	return nil
}

func TestSamplesReachTheSecondTheyFinishedIn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		sink := newMemory()
		r := New(sink)
		ctx, cancel := context.WithCancel(t.Context())
		go r.Run(ctx, time.Now())
		shard := r.Shard("walk")
		start := time.Now()
		for range 40 { // one every 100 ms, finishing in seconds 0 to 3
			time.Sleep(time.Millisecond)
			shard.Record(Sample{Op: "page", Finished: time.Since(start)})
			time.Sleep(99 * time.Millisecond)
		}
		cancel()
		synctest.Wait()
		if err := r.Close(); err != nil {
			t.Fatal(err)
		}
		want := map[int]int64{0: 10, 1: 10, 2: 10, 3: 10}
		if !maps.Equal(sink.seconds, want) {
			t.Errorf("samples per second = %v, want %v", sink.seconds, want)
		}
	})
}

func TestASampleFromTheNextSecondWaitsForIt(t *testing.T) {
	sink := newMemory()
	r := New(sink)
	shard := r.Shard("walk")
	shard.Record(Sample{Op: "page", Finished: 900 * time.Millisecond})
	shard.Record(Sample{Op: "page", Finished: 1100 * time.Millisecond})
	r.advance(1150 * time.Millisecond)
	if got := sink.seconds[0]; got != 1 {
		t.Errorf("second 0 holds %d samples, want 1", got)
	}
	if err := r.Close(); err != nil {
		t.Fatal(err)
	}
	if got := sink.seconds[1]; got != 1 {
		t.Errorf("second 1 holds %d samples, want 1", got)
	}
}

func TestCloseKeepsWhatFinishedAfterTheOpenSecond(t *testing.T) {
	sink := newMemory()
	r := New(sink)
	shard := r.Shard("walk")
	for _, finished := range []time.Duration{900, 1020, 3500} {
		shard.Record(Sample{Op: "page", Finished: finished * time.Millisecond})
	}
	if err := r.Close(); err != nil {
		t.Fatal(err)
	}
	if want := map[int]int64{0: 1, 1: 1, 3: 1}; !maps.Equal(sink.seconds, want) {
		t.Errorf("samples per second = %v, want %v", sink.seconds, want)
	}
}

func TestEachTimingHasTheTimesThatMeanSomething(t *testing.T) {
	sink := newMemory()
	r := New(sink)
	shard := r.Shard("p")
	at := func(timing Timing, op string, outcome Outcome) Sample {
		return Sample{Op: op, Timing: timing, Outcome: outcome, Intended: 0, Started: 100 * time.Millisecond, Finished: 300 * time.Millisecond}
	}
	shard.Record(at(Open, "get", OK))
	shard.Record(at(Closed, "list", OK))
	shard.Record(at(Part, "page", OK))
	shard.Record(at(Open, "get", Dropped))
	if err := r.Close(); err != nil {
		t.Fatal(err)
	}
	near := func(name string, want time.Duration) {
		if got := sink.p50[name]; (got - want).Abs() > want/1000 {
			t.Errorf("median of %s = %v, want %v", name, got, want)
		}
	}
	near("p.get.ok.response", 300*time.Millisecond)
	near("p.get.ok.service", 200*time.Millisecond)
	near("p.list.ok.service", 200*time.Millisecond)
	near("p.page.ok.service", 200*time.Millisecond)
	if _, ok := sink.p50["p.list.ok.response"]; ok {
		t.Error("a closed loop has no response time")
	}
	if len(sink.clockless) != 1 || sink.clockless[0] != "p.get.dropped" {
		t.Errorf("series without times = %v, want only the dropped ones", sink.clockless)
	}
}

func TestNothingIsLostWhenManyClientsRecordAtOnce(t *testing.T) {
	sink := newMemory()
	r := New(sink)
	ctx, cancel := context.WithCancel(t.Context())
	var collector, clients sync.WaitGroup
	collector.Go(func() { r.Run(ctx, time.Now()) })
	const perClient = 10_000
	for range 16 {
		clients.Go(func() {
			shard := r.Shard("p")
			for i := range perClient {
				sample := Sample{Op: "get", Finished: time.Duration(i)}
				if i%100 == 0 {
					sample.Outcome, sample.Reason = Failed, "http-500"
				}
				shard.Record(sample)
			}
			r.Release(shard)
		})
	}
	clients.Wait()
	cancel()
	collector.Wait()
	if err := r.Close(); err != nil {
		t.Fatal(err)
	}
	if got := sink.counts["p.get.ok"] + sink.counts["p.get.failed"]; got != 16*perClient {
		t.Errorf("recorded %d of %d samples", got, 16*perClient)
	}
	if got := sink.reasons["http-500"]; got != 16*perClient/100 {
		t.Errorf("reason counted %d times, want %d", got, 16*perClient/100)
	}
}

func TestMemoryDoesNotGrowWithOperations(t *testing.T) {
	r := New(newMemory())
	shard := r.Shard("p")
	record := func(n int) {
		for i := range n {
			d := time.Duration(i%1000) * time.Millisecond
			shard.Record(Sample{Op: "get", Finished: d})
		}
	}
	heap := func() uint64 {
		var m runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&m)
		return m.HeapAlloc
	}
	record(1000)
	before := heap()
	record(10_000_000)
	if grown := int64(heap()) - int64(before); grown > 64<<10 {
		t.Errorf("10 million operations grew the heap by %d bytes", grown)
	}
	runtime.KeepAlive(r)
}

func BenchmarkRecord(b *testing.B) {
	r := New(newMemory())
	shard := r.Shard("p")
	b.ReportAllocs()
	i := 0
	for b.Loop() {
		i++
		d := time.Duration(i % 900_000_000)
		shard.Record(Sample{Op: "get", Timing: Open, Intended: d / 3, Started: d / 2, Finished: d})
	}
}
