package loop

import (
	"context"
	"math"
	"math/rand/v2"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"

	"plimsoll.dev/plimsoll/internal/record"
	"plimsoll.dev/plimsoll/internal/workload"
)

// sums merges what a recorder hands on.
type sums struct {
	count             map[record.Outcome]int64
	dispatched        int64
	service, response *hdrhistogram.Histogram
	lag               *hdrhistogram.Histogram
	ops               map[string]int64
}

func newSums() *sums {
	return &sums{count: map[record.Outcome]int64{}, ops: map[string]int64{},
		service: record.NewHistogram(), response: record.NewHistogram(), lag: record.NewHistogram()}
}

func (s *sums) WriteInterval(i record.Interval) error {
	if i.Timing == record.Dispatch && i.Outcome == record.OK {
		s.dispatched += i.Count
		return nil
	}
	s.count[i.Outcome] += i.Count
	s.ops[i.Op] += i.Count
	if i.Service != nil {
		s.service.Merge(i.Service)
	}
	if i.Response != nil {
		s.response.Merge(i.Response)
	}
	if i.Lag != nil {
		s.lag.Merge(i.Lag)
	}
	return nil
}

// server answers after a service time, but for a freeze in which it answers nothing.
type server struct {
	service          time.Duration
	freezeAt, freeze time.Duration
	start            time.Time
}

func (s *server) answer() {
	if since := time.Since(s.start); since >= s.freezeAt && since < s.freezeAt+s.freeze {
		time.Sleep(s.freezeAt + s.freeze - since)
	}
	time.Sleep(s.service)
}

type client struct {
	do   func()
	left int // operations until there is nothing more; negative for no end
}

func (c *client) Next() (workload.Op, bool) {
	c.left--
	return workload.Op{Kind: "get", Do: func(context.Context, workload.Timer) workload.Result {
		c.do()
		return workload.Result{}
	}}, c.left != -1
}

func (c *client) Close() error { return nil }

// run drives clients of do through a loop under synctest's clock.
func run(t *testing.T, clients int, do func(), loop func(*Phase)) *sums {
	t.Helper()
	sink := newSums()
	r := record.New(sink)
	start := time.Now()
	phase := &Phase{Clock: Clock{start: start, pause: time.Sleep}, Done: new(atomic.Int64), Stop: make(chan struct{})}
	for range clients {
		phase.Clients = append(phase.Clients, &client{do: do, left: math.MaxInt})
	}
	for range clients + 1 {
		phase.Shards = append(phase.Shards, r.Shard("p"))
	}
	ctx, cancel := context.WithCancel(t.Context())
	var collector sync.WaitGroup
	collector.Go(func() { r.Run(ctx, start) })
	loop(phase)
	cancel()
	collector.Wait()
	if err := r.Close(); err != nil {
		t.Fatal(err)
	}
	return sink
}

func quantile(h *hdrhistogram.Histogram, q float64) time.Duration {
	return time.Duration(h.ValueAtQuantile(q))
}

// The founding test: a stall belongs to everyone who wanted an answer during
// it, not only to the few whose request was under way.
func TestAFrozenServerShowsInResponseTimeAndNotInServiceTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &server{service: 2 * time.Millisecond, freezeAt: 10 * time.Second, freeze: 6 * time.Second, start: time.Now()}
		got := run(t, 10, s.answer, func(p *Phase) {
			p.Open(context.Background(), Open{Arrivals: constant(100, 30*time.Second), Backlog: 1000, Drain: time.Minute})
		})
		if n := got.count[record.OK]; n != 3000 {
			t.Errorf("%d operations ended, want all 3000", n)
		}
		if p99 := quantile(got.service, 99); p99 > 3*time.Millisecond {
			t.Errorf("p99 of service time = %v: the freeze leaked into it", p99)
		}
		if p99 := quantile(got.response, 99); p99 < 5500*time.Millisecond || p99 > 6100*time.Millisecond {
			t.Errorf("p99 of response time = %v, want nearly the freeze of 6s", p99)
		}
		// 600 of 3,000 arrivals fell into the freeze, so it begins at the 80th percentile.
		if p85 := quantile(got.response, 85); p85 < time.Second {
			t.Errorf("p85 of response time = %v, want over 1s", p85)
		}
		if p75 := quantile(got.response, 75); p75 > 3*time.Millisecond {
			t.Errorf("p75 of response time = %v, want the service time", p75)
		}
	})
}

func TestAFullBacklogDropsAndCounts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &server{service: 10 * time.Second, start: time.Now()}
		got := run(t, 1, s.answer, func(p *Phase) {
			p.Open(context.Background(), Open{Arrivals: constant(10, 5*time.Second), Backlog: 5, Drain: 25 * time.Second})
		})
		// 50 arrivals. One is served at 0 s and, as 10 s apart, two more before the drain ends at 29.9 s.
		if ok, dropped := got.count[record.OK], got.count[record.Dropped]; ok != 3 || dropped != 47 {
			t.Errorf("%d served and %d dropped of 50, want 3 and 47", ok, dropped)
		}
		if got.dispatched != 50 {
			t.Errorf("dispatched %d of 50 arrivals", got.dispatched)
		}
	})
}

func TestClosedLoopBounds(t *testing.T) {
	for name, test := range map[string]struct {
		bounds Closed
		want   int64
	}{
		"iterations are shared by the clients":           {Closed{Iterations: 10}, 10},
		"iterations per client":                          {Closed{IterationsPerClient: 10}, 40},
		"duration, 100 ms an operation":                  {Closed{Duration: time.Second}, 40},
		"duration, 100 ms an operation and 100 ms think": {Closed{Duration: time.Second, Think: 100 * time.Millisecond}, 20},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := &server{service: 100 * time.Millisecond, start: time.Now()}
				got := run(t, 4, s.answer, func(p *Phase) { p.Closed(context.Background(), test.bounds) })
				if n := got.count[record.OK]; n != test.want {
					t.Errorf("%d operations, want %d", n, test.want)
				}
				if n := got.response.TotalCount(); n != 0 {
					t.Errorf("a closed loop recorded %d response times", n)
				}
				if lag := quantile(got.lag, 100); lag > 0 {
					t.Errorf("lag = %v on a perfect clock", lag)
				}
			})
		})
	}
}

func TestStopEndsALoopAfterTheOperationsUnderWay(t *testing.T) {
	for name, loop := range map[string]func(*Phase){
		"closed": func(p *Phase) { p.Closed(context.Background(), Closed{}) },
		"closed, thinking": func(p *Phase) {
			p.Closed(context.Background(), Closed{Think: time.Hour})
		},
		"open": func(p *Phase) {
			p.Open(context.Background(), Open{Arrivals: constant(1, 0), Backlog: 10, Drain: time.Second})
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := &server{service: 10 * time.Millisecond, start: time.Now()}
				start := time.Now()
				got := run(t, 2, s.answer, func(p *Phase) {
					stop := make(chan struct{})
					p.Stop = stop
					time.AfterFunc(5*time.Second, func() { close(stop) })
					loop(p)
				})
				if took := time.Since(start); took > 5100*time.Millisecond {
					t.Errorf("ended after %v, want soon after 5s", took)
				}
				if got.count[record.OK] == 0 {
					t.Error("nothing was recorded before the stop")
				}
			})
		})
	}
}

func TestAClientWithNothingLeftEndsItsLoop(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		got := run(t, 2, func() {}, func(p *Phase) {
			for i := range p.Clients {
				p.Clients[i] = &client{do: func() {}, left: 7}
			}
			p.Closed(context.Background(), Closed{})
		})
		if n := got.count[record.OK]; n != 14 {
			t.Errorf("%d operations, want 14", n)
		}
	})
}

// What a user wanted is never lost without a trace, however the loop ends.
func TestEveryArrivalEndsInOneOutcome(t *testing.T) {
	for name, test := range map[string]struct {
		loop    func(p *Phase)
		served  int64
		dropped int64
	}{
		"interrupted in mid-freeze, with a backlog": {func(p *Phase) {
			stop := make(chan struct{})
			p.Stop = stop
			time.AfterFunc(12*time.Second, func() { close(stop) })
			p.Open(context.Background(), Open{Arrivals: constant(100, 0), Backlog: 1000, Drain: time.Minute})
		}, 1005, 195}, // by 12 s 1200 have arrived; 1000 were answered before the freeze at 10 s, 5 are under way in it
		"nothing left to do": {func(p *Phase) {
			for i := range p.Clients {
				p.Clients[i].(*client).left = 20
			}
			p.Open(context.Background(), Open{Arrivals: constant(100, time.Minute), Backlog: 1000, Drain: time.Minute})
		}, 100, 1},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := &server{service: 2 * time.Millisecond, freezeAt: 10 * time.Second, freeze: 6 * time.Second, start: time.Now()}
				got := run(t, 5, s.answer, test.loop)
				if sum := got.count[record.OK] + got.count[record.Dropped]; sum != got.dispatched {
					t.Errorf("%d arrivals, but %d outcomes", got.dispatched, sum)
				}
				if got.count[record.OK] != test.served || got.count[record.Dropped] < test.dropped {
					t.Errorf("%d served and %d dropped, want %d and at least %d", got.count[record.OK], got.count[record.Dropped], test.served, test.dropped)
				}
			})
		})
	}
}

func TestPartsAreRecordedApart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		got := run(t, 1, nil, func(p *Phase) {
			p.Clients[0] = walker{}
			p.Closed(context.Background(), Closed{Iterations: 3})
		})
		if got.ops["walk"] != 3 || got.ops["page"] != 15 {
			t.Errorf("operations = %v, want 3 walks of 5 pages", got.ops)
		}
	})
}

type walker struct{}

func (walker) Close() error { return nil }
func (walker) Next() (workload.Op, bool) {
	return workload.Op{Kind: "walk", Do: func(ctx context.Context, parts workload.Timer) workload.Result {
		for range 5 {
			parts.Part(ctx, "page", func(context.Context) workload.Result {
				time.Sleep(time.Millisecond)
				return workload.Result{}
			})
		}
		return workload.Result{}
	}}, true
}

// constant is a constant rate for a duration.
func constant(rate float64, duration time.Duration) Arrivals {
	return Profile{rate, rate, duration}.Constant()
}

func TestARampHasTheRatesInBetween(t *testing.T) {
	for name, profile := range map[string]Profile{
		"rising":  {10, 110, 10 * time.Second},
		"falling": {110, 10, 10 * time.Second},
		"to rest": {100, 0, 10 * time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			random := rand.New(rand.NewPCG(1, 2))
			for process, arrivals := range map[string]Arrivals{"constant": profile.Constant(), "poisson": profile.Poisson(random)} {
				var perSecond [10]float64
				var last time.Duration
				for at := range arrivals {
					if at < last || at >= profile.Duration {
						t.Fatalf("%s: arrival at %v after %v", process, at, last)
					}
					last = at
					perSecond[at/time.Second]++
				}
				for second, n := range perSecond {
					want := profile.From + (profile.To-profile.From)*(float64(second)+0.5)/10
					slack := 1.0
					if process == "poisson" {
						slack = 4*math.Sqrt(want) + 1
					}
					if math.Abs(n-want) > slack {
						t.Errorf("%s: %v arrivals in second %d, want about %v", process, n, second, want)
					}
				}
			}
		})
	}
}

func TestARampStartsClientsInGroups(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		start := time.Now()
		var mu sync.Mutex
		perSecond := map[time.Duration]int{}
		run(t, 6, func() {
			mu.Lock()
			perSecond[time.Since(start)/time.Second]++
			mu.Unlock()
			time.Sleep(time.Second)
		}, func(p *Phase) {
			p.Closed(context.Background(), Closed{Duration: 5 * time.Second, RampClients: 2, RampEvery: 2 * time.Second})
		})
		for second, want := range map[time.Duration]int{0: 2, 1: 2, 2: 4, 3: 4, 4: 6} {
			if perSecond[second] != want {
				t.Errorf("%d operations began in second %d, want %d", perSecond[second], second, want)
			}
		}
	})
}

func TestConstantArrivalsDoNotDrift(t *testing.T) {
	got := slices.Collect(constant(3, 10*time.Second))
	if len(got) != 30 {
		t.Fatalf("%d arrivals in 10s at 3/s, want 30", len(got))
	}
	if last := got[27]; last != 9*time.Second {
		t.Errorf("the 28th arrival is at %v, want 9s", last)
	}
}

func TestPoissonArrivalsHaveTheirRateAndVariance(t *testing.T) {
	random := func() *rand.Rand { return rand.New(rand.NewPCG(1, 2)) }
	const rate, seconds = 200.0, 100
	got := slices.Collect(Profile{rate, rate, seconds * time.Second}.Poisson(random()))
	if n := float64(len(got)); math.Abs(n-rate*seconds) > 4*math.Sqrt(rate*seconds) {
		t.Errorf("%v arrivals, want %v", n, rate*seconds)
	}
	var perSecond [seconds]float64
	for _, at := range got {
		perSecond[at/time.Second]++
	}
	var variance float64
	for _, n := range perSecond {
		variance += (n - rate) * (n - rate) / seconds
	}
	if variance < rate/2 || variance > rate*2 { // of a Poisson process it equals the mean
		t.Errorf("variance of arrivals per second = %v, want about %v", variance, rate)
	}
	if again := slices.Collect(Profile{rate, rate, seconds * time.Second}.Poisson(random())); !slices.Equal(got, again) {
		t.Error("the same seed gave other arrivals")
	}
}

func TestPauseIsFinerThanTheRuntimesTimers(t *testing.T) {
	var over []time.Duration
	for range 50 {
		start := time.Now()
		pause(200 * time.Microsecond)
		over = append(over, time.Since(start)-200*time.Microsecond)
	}
	slices.Sort(over)
	t.Logf("pause overshoots by %v at the median", over[len(over)/2])
	if over[0] < 0 {
		t.Errorf("pause returned %v early", -over[0])
	}
}
