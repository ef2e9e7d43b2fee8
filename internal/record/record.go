// Package record keeps what every operation did, in memory that does not grow
// with the number of operations: each client owns a small ring of samples, a
// collector drains the rings, and once a second hands on one interval per
// phase, operation and outcome.
package record

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"
)

// Outcome is how an operation ended.
type Outcome uint8

const (
	// OK is an operation that did what it was to do.
	OK Outcome = iota
	// Rejected is an answer of 429, or of 503 with Retry-After.
	Rejected
	// TimedOut is an operation that was given up; its times are lower bounds.
	TimedOut
	// Failed is any other error.
	Failed
	// Dropped is an operation that never started because the backlog was full; it has no times.
	Dropped
	outcomes
)

// Outcomes lists every outcome, in the order of reports.
func Outcomes() []Outcome { return []Outcome{OK, Rejected, TimedOut, Failed, Dropped} }

func (o Outcome) String() string {
	return [outcomes]string{"ok", "rejected", "timed-out", "failed", "dropped"}[o]
}

// Timing says where a sample's intended start comes from, and so which times mean something.
type Timing uint8

const (
	// Closed: the client's last operation ended. Service time and lag.
	Closed Timing = iota
	// Open: the arrival process. Response time, service time and lag.
	Open
	// Part: a measured part of a larger operation, such as a page of a walk. Service time.
	Part
	// Dispatch: the generator handed an arrival over. Lag only: how late the generator itself was.
	Dispatch
)

// Sample is one finished operation. Times are offsets from the run's start on
// the monotonic clock.
type Sample struct {
	Op       string
	Timing   Timing
	Intended time.Duration
	Started  time.Duration
	Finished time.Duration
	Outcome  Outcome
	Reason   string // why the outcome is what it is, one of a few, such as "http-500" or "reset"; empty when all is well
	Bytes    int64
	Items    int64
}

// Interval is one second of one series.
type Interval struct {
	Phase   string
	Op      string
	Timing  Timing
	Outcome Outcome
	Second  int // since the run's start
	Count   int64
	Bytes   int64
	Items   int64
	Reasons map[string]int64
	// Histograms of nanoseconds with three significant digits; nil where the timing has none. They
	// are valid only during the call that they are handed to.
	Service, Response, Lag *hdrhistogram.Histogram
}

// Sink takes intervals as seconds end. It is called from one goroutine at a time.
type Sink interface {
	WriteInterval(Interval) error
}

// ringSize bounds what a client may record between two drains before it has to
// drain itself; a power of two.
const ringSize = 128

// Shard is one client's way into the recorder. Record is for one goroutine at a time.
type Shard struct {
	recorder *Recorder
	phase    string
	series   []*series // those this shard has met; few, so a scan beats a map
	ring     [ringSize]Sample
	head     atomic.Uint64 // next to write; only Record moves it
	tail     atomic.Uint64 // next to read; moved under recorder.mu
}

// Record keeps a sample. It neither allocates nor, but for a full ring, locks.
func (s *Shard) Record(sample Sample) {
	head := s.head.Load()
	if head-s.tail.Load() == ringSize {
		s.recorder.mu.Lock()
		s.drain()
		s.recorder.mu.Unlock()
	}
	s.ring[head%ringSize] = sample
	s.head.Store(head + 1)
}

// drain moves the ring's samples into their series; recorder.mu is held.
func (s *Shard) drain() {
	head := s.head.Load()
	for tail := s.tail.Load(); tail != head; tail++ {
		s.recorder.add(s, &s.ring[tail%ringSize])
		s.tail.Store(tail + 1)
	}
}

// find gives the series of a sample, made on first use.
func (s *Shard) find(sample *Sample) *series {
	for _, known := range s.series {
		if known.key.op == sample.Op && known.key.outcome == sample.Outcome && known.key.timing == sample.Timing {
			return known
		}
	}
	found := s.recorder.find(key{s.phase, sample.Op, sample.Outcome, sample.Timing})
	s.series = append(s.series, found)
	return found
}

// Recorder gathers the samples of a run.
type Recorder struct {
	sink Sink

	mu     sync.Mutex
	second int // the open second
	shards map[*Shard]struct{}
	series map[key]*series
	order  []*series // by first use, so that output is stable
	carry  []carried // samples that finished after the open second
	live   map[string]Live
	err    error // the sink's first
}

type key struct {
	phase, op string
	outcome   Outcome
	timing    Timing
}

type carried struct {
	series *series
	sample Sample
}

// New gives a recorder that hands every finished second to sink.
func New(sink Sink) *Recorder {
	return &Recorder{sink: sink, shards: map[*Shard]struct{}{}, series: map[key]*series{}, live: map[string]Live{}}
}

// Shard gives a client of the phase its own way in.
func (r *Recorder) Shard(phase string) *Shard {
	s := &Shard{recorder: r, phase: phase}
	r.mu.Lock()
	r.shards[s] = struct{}{}
	r.mu.Unlock()
	return s
}

// Release drains shards whose clients have ended and lets go of them.
func (r *Recorder) Release(shards ...*Shard) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, s := range shards {
		s.drain()
		delete(r.shards, s)
	}
}

// drainEvery is how often rings are emptied: short against a second, long
// against the work of emptying them.
const drainEvery = 50 * time.Millisecond

// Run drains the rings and ends seconds until ctx is done. start is the run's
// beginning, from which seconds are counted.
func (r *Recorder) Run(ctx context.Context, start time.Time) {
	tick := time.NewTicker(drainEvery)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
			r.advance(time.Since(start))
		}
	}
}

// advance drains every ring and ends the seconds before now.
func (r *Recorder) advance(now time.Duration) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for s := range r.shards {
		s.drain()
	}
	for r.second < int(now/time.Second) {
		r.endSecond()
	}
}

// Live is how a phase fares: its last whole second, and its errors so far.
type Live struct {
	Op           string // the most frequent whole operation of the last second
	Clock        string // of the times: response or service
	Rate         int64
	P50, P99     time.Duration
	Unsuccessful int64
}

// Live gives the state of a phase for whoever watches.
func (r *Recorder) Live(phase string) Live {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.live[phase]
}

// Close drains what is left, hands on the last second, and gives the sink's first error.
func (r *Recorder) Close() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	for s := range r.shards {
		s.drain()
	}
	for len(r.carry) > 0 { // each end moves what belongs to the next second into it
		r.endSecond()
	}
	r.endSecond()
	return r.err
}

// Err gives the sink's first error, such as a full disk, while the run goes on.
func (r *Recorder) Err() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.err
}

func (r *Recorder) add(s *Shard, sample *Sample) {
	found := s.find(sample)
	if sample.Finished >= time.Duration(r.second+1)*time.Second {
		r.carry = append(r.carry, carried{found, *sample})
		return
	}
	found.add(sample)
}

func (r *Recorder) find(k key) *series {
	found := r.series[k]
	if found == nil {
		found = newSeries(k)
		r.series[k] = found
		r.order = append(r.order, found)
	}
	return found
}

// endSecond hands on the open second and opens the next.
func (r *Recorder) endSecond() {
	for phase, l := range r.live {
		r.live[phase] = Live{Unsuccessful: l.Unsuccessful}
	}
	for _, s := range r.order {
		if s.count == 0 {
			continue
		}
		r.live[s.key.phase] = s.live(r.live[s.key.phase])
		if err := r.sink.WriteInterval(s.interval(r.second)); err != nil && r.err == nil {
			r.err = err
		}
		s.reset()
	}
	r.second++
	left := r.carry[:0]
	for _, c := range r.carry {
		if c.sample.Finished < time.Duration(r.second+1)*time.Second {
			c.series.add(&c.sample)
		} else {
			left = append(left, c)
		}
	}
	r.carry = left
}

// series is the open second of one phase, operation and outcome.
type series struct {
	key                    key
	count, bytes, items    int64
	reasons                map[string]int64
	service, response, lag *hdrhistogram.Histogram
}

// HighestTime is the longest time that histograms tell apart; longer ones are counted as this.
const HighestTime = time.Hour

// NewHistogram gives an empty histogram of the geometry that all of plimsoll's have: nanoseconds
// up to HighestTime, three significant digits (so a value is off by at most 0.1 %).
func NewHistogram() *hdrhistogram.Histogram {
	return hdrhistogram.New(1, int64(HighestTime), 3)
}

func newSeries(k key) *series {
	s := &series{key: k}
	if k.outcome == Dropped {
		return s
	}
	if k.timing != Dispatch {
		s.service = NewHistogram()
	}
	if k.timing == Open {
		s.response = NewHistogram()
	}
	if k.timing != Part {
		s.lag = NewHistogram()
	}
	return s
}

func (s *series) add(sample *Sample) {
	s.count++
	s.bytes += sample.Bytes
	s.items += sample.Items
	if sample.Reason != "" {
		if s.reasons == nil {
			s.reasons = map[string]int64{}
		}
		s.reasons[sample.Reason]++
	}
	record(s.service, sample.Finished-sample.Started)
	record(s.response, sample.Finished-sample.Intended)
	record(s.lag, sample.Started-sample.Intended)
}

// record keeps d in h, if there is one; what h cannot hold is kept as its bound.
func record(h *hdrhistogram.Histogram, d time.Duration) {
	if h != nil {
		_ = h.RecordValue(int64(min(max(d, 0), HighestTime)))
	}
}

func (s *series) interval(second int) Interval {
	return Interval{
		Phase: s.key.phase, Op: s.key.op, Timing: s.key.timing, Outcome: s.key.outcome,
		Second: second, Count: s.count, Bytes: s.bytes, Items: s.items, Reasons: s.reasons,
		Service: s.service, Response: s.response, Lag: s.lag,
	}
}

// live adds the series' second to what is known of its phase.
func (s *series) live(l Live) Live {
	switch {
	case s.key.timing == Part: // of an operation that counts
	case s.key.outcome != OK:
		l.Unsuccessful += s.count
	case s.key.timing != Dispatch && s.count > l.Rate:
		clock, h := "service", s.service
		if s.response != nil {
			clock, h = "response", s.response
		}
		l.Op, l.Clock, l.Rate = s.key.op, clock, s.count
		l.P50, l.P99 = time.Duration(h.ValueAtQuantile(50)), time.Duration(h.ValueAtQuantile(99))
	}
	return l
}

func (s *series) reset() {
	s.count, s.bytes, s.items = 0, 0, 0
	clear(s.reasons)
	for _, h := range []*hdrhistogram.Histogram{s.service, s.response, s.lag} {
		if h != nil {
			h.Reset()
		}
	}
}
