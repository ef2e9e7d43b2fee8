package analysis

import (
	"math"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"plimsoll.dev/plimsoll/internal/record"
	"plimsoll.dev/plimsoll/internal/store"
)

func TestAPhaseThatChangesWhileItIsMeasured(t *testing.T) {
	for name, c := range map[string]struct {
		took func(second int) time.Duration
		want string
	}{
		"steady":                {func(int) time.Duration { return 5 * ms }, ""},
		"a mad second":          {func(s int) time.Duration { return 5*ms + time.Duration(s/9)*500*ms }, ""},
		"ever slower":           {func(s int) time.Duration { return 5*ms + time.Duration(s)*ms }, "gets: the median response time of get changed by +"},
		"faster as caches fill": {func(s int) time.Duration { return 20*ms - time.Duration(s)*ms }, "gets: the median response time of get changed by -"},
	} {
		f := begin(t)
		f.events()
		for second := 2; second < 12; second++ {
			f.record(sample{phase: "gets", op: "get", timing: record.Open, at: time.Duration(second)*time.Second + ms, took: c.took(second), n: 100})
		}
		f.record(sample{phase: "churn", op: "cycle", at: 5 * time.Second, took: 50 * ms})
		got := ""
		for _, w := range f.planned().Warnings {
			got += w.About + ": " + w.What
		}
		if !strings.HasPrefix(got, c.want) || c.want == "" && got != "" {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
}

// TestNoiseIsNoDrift: of phases that are as noisy as a busy machine makes them,
// few are called unsteady.
func TestNoiseIsNoDrift(t *testing.T) {
	random, flagged := rand.New(rand.NewPCG(1, 1)), 0
	const phases = 500
	for range phases {
		values := make([]float64, 10+random.IntN(100))
		for i := range values {
			values[i] = math.Exp(0.3 * random.NormFloat64())
		}
		if _, unsteady := drift(values); unsteady {
			flagged++
		}
	}
	if flagged > phases/50 {
		t.Errorf("%d of %d steady phases are called unsteady", flagged, phases)
	}
}

func TestTheGeneratorMustNotBeTheLimit(t *testing.T) {
	idle := func(v float64) *float64 { return &v }
	use := func(plimsoll, etcd float64) []Usage {
		return []Usage{{Component: "etcd", MeanCPU: etcd}, {Component: "plimsoll", MeanCPU: plimsoll}}
	}
	for name, c := range map[string]struct {
		host   store.Host
		idle   *float64
		usage  []Usage
		status Status
		warns  bool
	}{
		"with CPU to spare":                           {store.Host{CPUs: 2}, idle(1), use(0.4, 0.5), Complete, false},
		"on a busy machine that the target uses":      {store.Host{CPUs: 2}, idle(0), use(0.7, 1.2), Complete, false},
		"on a busy machine that strangers use":        {store.Host{CPUs: 2}, idle(0), use(0.3, 0.5), Complete, false},
		"as the largest user of a busy machine":       {store.Host{CPUs: 2}, idle(0.05), use(1.1, 0.8), Complete, true},
		"using nearly all of the machine":             {store.Host{CPUs: 2}, idle(0), use(1.85, 0.1), Invalid, false},
		"using all that its control group allows":     {store.Host{CPUs: 8, CPULimit: 1}, idle(6), use(0.95, 0.05), Invalid, false},
		"on a machine of which the size is not known": {store.Host{}, idle(0), use(9, 0), Complete, false},
		"on a machine of which the rest is not known": {store.Host{CPUs: 2}, nil, use(1.5, 0.2), Complete, false},
	} {
		run := &Run{Status: Complete, idle: c.idle, Components: c.usage, Steps: []*Step{{Measured: true, End: 1}}}
		run.Environment.Host = c.host
		run.check(nil)
		if run.Status != c.status || (len(run.Warnings) > 0) != c.warns || (run.Status == Invalid) != strings.Contains(run.Reason, "lower the load") {
			t.Errorf("%s: %s, %q, %v; want %s", name, run.Status, run.Reason, run.Warnings, c.status)
		}
	}
	failed := &Run{Status: Failed, Reason: "etcd died"}
	if failed.invalidate("late"); failed.Status != Failed || failed.Reason != "etcd died" {
		t.Error("a run that failed stays one")
	}
}

func TestStreamsOfOneConnection(t *testing.T) {
	for clients, want := range map[int]bool{200: false, 201: true} {
		run := &Run{Steps: []*Step{{Measured: true, End: 1, Phases: []*Phase{{Name: "gets", Measured: true, End: 1, Count: 1, Clients: clients, Connections: 2}}}}}
		run.check(nil)
		if (len(run.Warnings) == 1) != want {
			t.Errorf("%d clients on 2 connections: %v", clients, run.Warnings)
		}
	}
}

func TestPausesOfTheGeneratorAreTold(t *testing.T) {
	for share, want := range map[float64]bool{0.001: false, 0.03: true} {
		run := &Run{pausing: share, Steps: []*Step{{Measured: true, End: 1}}}
		run.check(nil)
		if (len(run.Warnings) == 1) != want {
			t.Errorf("stopped for %v of the time: %v", share, run.Warnings)
		}
	}
}

func TestWaitsOfTheGeneratorForACPUAreTold(t *testing.T) {
	for _, row := range []struct {
		waiting, running float64
		warns            bool
	}{{0.05, 0.01, false}, {0.3, 0.5, false}, {1.2, 0.2, true}} {
		run := &Run{waiting: row.waiting, Components: []Usage{{Component: generator, MeanCPU: row.running}}, Steps: []*Step{{Measured: true, End: 1}}}
		run.check(nil)
		if (len(run.Warnings) == 1) != row.warns {
			t.Errorf("%.2f threads waited and %.2f ran: %v", row.waiting, row.running, run.Warnings)
		}
	}
}
