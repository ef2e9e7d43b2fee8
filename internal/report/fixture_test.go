package report

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"plimsoll.dev/plimsoll/internal/analysis"
	"plimsoll.dev/plimsoll/internal/mount"
	"plimsoll.dev/plimsoll/internal/store"
)

// quickstart is a result like that of the built-in scenario: a warm-up; 10
// clients that walk a list while others churn; then gets in an open loop.
func quickstart() *analysis.Result {
	run := &analysis.Run{
		Name: "quickstart", Index: 1, Status: analysis.Complete, Seed: 1,
		Parameters: map[string]string{"objects": "2000", "payload": "10KiB"},
		Started:    time.Date(2026, 11, 20, 14, 3, 7, 0, time.UTC),
		Duration:   48.6, Ready: 4.31,
		Steps:       quickstartSteps(),
		Environment: quickstartEnvironment(),
		Components: []analysis.Usage{
			{Component: "etcd", MeanCPU: 0.214, MaxCPU: 0.63, MaxRSS: 148 << 20, EndRSS: 131 << 20},
			{Component: "kube-apiserver", MeanCPU: 1.42, MaxCPU: 2.88, MaxRSS: 612 << 20, EndRSS: 540 << 20},
			{Component: "plimsoll", MeanCPU: 0.31, MaxCPU: 0.72, MaxRSS: 86 << 20, EndRSS: 84 << 20},
		},
	}
	run.Objectives = []analysis.Objective{
		objective("gets of single objects answer within 1 s", "p99(gets.get.response)", "seconds", 0.0123, 6000, 1, "≤ 1s"),
		objective("whole lists take at most 30 s", "p99(walks.walk.service)", "seconds", 2.11, 50, 30, "≤ 30s"),
		atLeast(objective("walks succeed", "success(walks)", "fraction", 1, 50, 0.99, "≥ 99%")),
		atLeast(objective("gets succeed", "success(gets)", "fraction", 1, 6000, 0.99, "≥ 99%")),
	}
	run.Objectives[1].Note = "only 0 samples lie beyond this percentile: it is little more than the maximum"
	run.Figures = quickstartFigures()
	return &analysis.Result{
		SchemaVersion: 1, Tool: "plimsoll v0.1.0", Scenario: "quickstart",
		Title: "One control plane, walked and read", Runs: []*analysis.Run{run},
	}
}

func quickstartSteps() []*analysis.Step {
	const list, get = "list configmaps in plimsoll-fill, pages of 100", "get configmaps in plimsoll-fill, any of 2000"
	return []*analysis.Step{
		{Name: "warm-up", Start: 9.2, End: 11.4, Phases: []*analysis.Phase{{
			Name: "first-walk", Loop: "closed", Load: "1 client, 2 iterations", Workload: list, Clients: 1, Connections: 1,
			Start: 9.2, End: 11.4, Count: 2, Succeeded: 2,
			Operations: []*analysis.Operation{
				operation("walk", false, 2, 2.2, 54_800_000, 4000, nil, times(2, 1.08, 0.05), nil),
				operation("page", true, 40, 2.2, 54_800_000, 4000, nil, times(40, 0.051, 0.3), nil),
			},
		}}},
		{Name: "list", Measured: true, Start: 11.4, End: 18.5, Phases: []*analysis.Phase{{
			Name: "walks", Measured: true, Loop: "closed", Load: "10 clients, 5 iterations each", Workload: list, Clients: 10, Connections: 10,
			Start: 11.4, End: 18.4, Count: 50, Succeeded: 50,
			Operations: []*analysis.Operation{
				operation("walk", false, 50, 7, 1_370_000_000, 100_000, nil, times(50, 1.34, 0.12), nil),
				operation("page", true, 1000, 7, 1_370_000_000, 100_000, nil, times(1000, 0.061, 0.4), nil),
			},
		}, {
			Name: "churn", Background: true, Measured: true, Loop: "closed", Load: "2 clients while the step lasts", Workload: "churn configmaps in plimsoll-churn",
			Clients: 2, Connections: 2, Start: 11.4, End: 18.5, Count: 310, Succeeded: 310,
			Operations: []*analysis.Operation{
				operation("cycle", false, 310, 7.1, 201_000, 0, nil, times(310, 0.045, 0.35), nil),
				operation("create", true, 310, 7.1, 124_000, 0, nil, times(310, 0.021, 0.4), nil),
				operation("delete", true, 310, 7.1, 77_000, 0, nil, times(310, 0.023, 0.4), nil),
			},
		}}},
		{Name: "read", Measured: true, Start: 18.5, End: 48.5, Phases: []*analysis.Phase{{
			Name: "gets", Measured: true, Loop: "open", Load: "200/s for 30s, poisson", Workload: get, Clients: 100, Connections: 10,
			Start: 18.5, End: 48.5, Count: 6000, Succeeded: 6000, Dispatch: times(6000, 0.00021, 0.5),
			Operations: []*analysis.Operation{
				operation("get", false, 6000, 30, 84_000_000, 6000, times(6000, 0.00284, 0.62), times(6000, 0.00245, 0.6), times(6000, 0.00031, 0.5)),
			},
		}}},
	}
}

func quickstartEnvironment() store.Environment {
	return store.Environment{
		SchemaVersion: 1,
		Host: store.Host{
			OS: "linux", Platform: "Debian 12.11", Kernel: "6.1.0-37-amd64", Architecture: "amd64", CPUModel: "AMD EPYC 7B13",
			CPUs: 4, CPULimit: 3.5, MemoryBytes: 16 << 30, MemoryLimit: 8 << 30, Mount: mount.Mount{FileSystem: "ext4", Device: "/dev/nvme0n1p1"},
			DiskFreeBytes: 41 << 30, Virtual: "kvm", Load1: 0.42,
		},
		Components: []store.Component{
			{
				Name: "etcd", Version: "3.6.5", Binary: "/home/user/.cache/plimsoll/etcd-3.6.5/etcd", Source: "built from go.etcd.io/etcd/server/v3@v3.6.5",
				SHA256: "5f0c1d9b2c7e4a8890d3b5f6172839405a6b7c8d9e0f112233445566778899aa", PID: 4711, Log: "logs/etcd.log",
				Args: []string{"--name=etcd-0", "--data-dir=work/etcd-0", "--listen-client-urls=https://127.0.0.1:34567", "--quota-backend-bytes=8589934592"},
			},
			{
				Name: "kube-apiserver", Version: "v1.37.2", Binary: "/home/user/.cache/plimsoll/kube-apiserver-v1.37.2/kube-apiserver", Source: "built from k8s.io/kubernetes@v1.37.2",
				SHA256: "aa99887766554433221100f1e0d9c8b7a6051f3e2d4c5b6a79880716253443ff", PID: 4720, Log: "logs/kube-apiserver.log",
				Args: []string{"--etcd-servers=https://127.0.0.1:34567", "--authorization-mode=RBAC", "--max-requests-inflight=400", "--service-cluster-ip-range=10.0.0.0/24"},
			},
		},
	}
}

func quickstartFigures() *analysis.Figures {
	f := &analysis.Figures{}
	for second := range 50 {
		f.Seconds = append(f.Seconds, float64(second))
	}
	outcome := func(phase, operation string, begin, end int, perSecond float64) {
		f.Outcomes = append(f.Outcomes, analysis.Line{Phase: phase, Operation: operation, Outcome: "ok", Values: wave(50, begin, end, perSecond, 0.12)})
	}
	outcome("churn", "create", 11, 18, 44)
	outcome("churn", "cycle", 11, 18, 44)
	outcome("churn", "delete", 11, 18, 44)
	outcome("first-walk", "page", 9, 11, 16)
	outcome("first-walk", "walk", 9, 11, 1)
	outcome("gets", "get", 18, 48, 200)
	outcome("walks", "page", 11, 18, 142)
	outcome("walks", "walk", 11, 18, 7)
	usage := func(component string, idle, walking, reading, start, most float64) {
		cpu, rss := wave(50, 2, 49, idle, 0.2), wave(50, 1, 49, start, 0.01)
		for s := range cpu {
			rss[s] = min(most, rss[s]*(1+float64(s)/12))
			switch {
			case s >= 9 && s < 19:
				cpu[s] *= walking / idle
			case s >= 19:
				cpu[s] *= reading / idle
			}
		}
		f.CPU = append(f.CPU, analysis.Line{Component: component, Values: cpu})
		f.RSS = append(f.RSS, analysis.Line{Component: component, Values: rss})
	}
	usage("etcd", 0.12, 0.55, 0.08, 60<<20, 148<<20)
	usage("kube-apiserver", 0.4, 2.6, 0.5, 230<<20, 612<<20)
	usage("plimsoll", 0.05, 0.62, 0.22, 48<<20, 86<<20)
	// The sampler missed three seconds: a gap must stay one.
	for s := 30; s < 33; s++ {
		f.CPU[1].Values[s] = math.NaN()
	}
	curve := func(phase, operation, clock string, d *analysis.Distribution, spread float64) {
		c := analysis.Curve{Phase: phase, Operation: operation, Clock: clock, Count: d.Count}
		for i := 0; float64(i) <= math.Log10(float64(d.Count))*30; i++ {
			q := 1 - math.Pow(10, -float64(i)/30)
			c.Points = append(c.Points, analysis.Point{Quantile: q, Seconds: logNormal(*d.P50, spread, max(q, 0.002))})
		}
		f.Curves = append(f.Curves, c)
	}
	for _, step := range quickstartSteps()[1:] {
		for _, phase := range step.Phases {
			for _, o := range phase.Operations {
				name, d := o.MainClock(phase)
				curve(phase.Name, o.Name, string(name), d, 0.4)
			}
		}
	}
	return f
}

// wave is a series of n seconds that is NaN before begin and after end.
func wave(n, begin, end int, level, swing float64) []float64 {
	values := make([]float64, n)
	for s := range values {
		values[s] = math.NaN()
		if s >= begin && s <= end {
			values[s] = math.Round(level*(1+swing*math.Sin(float64(s)*1.7))*1000) / 1000
		}
	}
	return values
}

func operation(name string, part bool, n int64, took float64, bytes, items int64, response, service, lag *analysis.Distribution) *analysis.Operation {
	return &analysis.Operation{
		Name: name, Part: part, Count: n, Rate: float64(n) / took, Bytes: bytes, Items: items,
		Outcomes: map[string]int64{"ok": n}, Reasons: map[string]int64{},
		Response: response, Service: service, Lag: lag,
	}
}

// times is a log-normal distribution; percentiles with too few samples beyond them are left out.
func times(n int64, median, spread float64) *analysis.Distribution {
	d := &analysis.Distribution{
		Count: n, Min: logNormal(median, spread, 1/float64(n+1)), Max: logNormal(median, spread, 1-1/float64(n+1)),
		Mean: median * math.Exp(spread*spread/2), Stddev: median * spread,
	}
	at := func(q float64) *float64 {
		if q > 0.5 && float64(n)*(1-q) < 10 {
			return nil
		}
		v := logNormal(median, spread, q)
		return &v
	}
	d.P50, d.P90, d.P95, d.P99, d.P999 = at(0.5), at(0.9), at(0.95), at(0.99), at(0.999)
	return d
}

func logNormal(median, spread, quantile float64) float64 {
	return median * math.Exp(spread*math.Sqrt2*math.Erfinv(2*quantile-1))
}

func objective(name, measure, unit string, value float64, n int64, bound float64, text string) analysis.Objective {
	return analysis.Objective{
		ObjectiveInfo: store.ObjectiveInfo{Name: name, Measure: measure, Max: &bound, Text: text, Unit: unit},
		Value:         &value, N: n, Held: value <= bound,
	}
}

// atLeast turns an objective's upper bound into a lower one.
func atLeast(o analysis.Objective) analysis.Objective {
	o.Min, o.Max = o.Max, nil
	o.Held = o.Value != nil && *o.Value >= *o.Min
	return o
}

// interrupted is a quickstart that was stopped while clients walked.
func interrupted() *analysis.Result {
	result := quickstart()
	run := result.Runs[0]
	run.Status, run.Reason, run.Duration = analysis.Incomplete, "interrupted", 12.04
	list, read := run.Steps[1], run.Steps[2]
	list.End = 12.04
	for _, phase := range list.Phases {
		phase.End, phase.Count, phase.Succeeded = 12.04, 3, 3
		phase.Operations = phase.Operations[:1]
		phase.Operations[0] = operation(phase.Operations[0].Name, false, 3, 0.64, 82_200_000, 6000, nil, times(3, 0.41, 0.2), nil)
	}
	read.Start, read.End = 0, 0
	gets := read.Phases[0]
	gets.Start, gets.End, gets.Count, gets.Succeeded, gets.Operations, gets.Dispatch = 0, 0, 0, 0, nil, nil
	for _, i := range []int{0, 3} {
		o := &run.Objectives[i]
		o.Value, o.N, o.Held, o.Note = nil, 0, false, "the run has no such measure: no operation of it was recorded"
	}
	f := run.Figures
	f.Seconds = f.Seconds[:14]
	for _, lines := range [][]analysis.Line{f.Outcomes, f.CPU, f.RSS} {
		for i := range lines {
			lines[i].Values = lines[i].Values[:14]
		}
	}
	f.Curves = f.Curves[:1]
	return result
}

// overloaded is a quickstart whose gets were too many: some were rejected, some
// timed out, some never started, and one objective was missed.
func overloaded() *analysis.Result {
	result := quickstart()
	run := result.Runs[0]
	gets := run.Steps[2].Phases[0]
	gets.Count, gets.Succeeded, gets.Dropped = 6000, 5706, 212
	gets.DropReasons = map[string]int64{"backlog-full": 180, "interrupted": 32}
	gets.Dispatch = times(5788, 0.00021, 0.5)
	get := gets.Operations[0]
	get.Count, get.Rate = 5788, 5706/30.0
	get.Outcomes = map[string]int64{"ok": 5706, "rejected": 61, "timed-out": 12, "failed": 9}
	get.Reasons = map[string]int64{"http-429": 61, "timeout": 12, "reset": 7, "http-500": 2}
	get.Response, get.Service, get.Lag = times(5718, 0.41, 0.5), times(5718, 0.0341, 0.8), times(5718, 0.31, 0.6)
	get.Response.LowerBounds, get.Service.LowerBounds = 12, 12
	get.Response.Max, get.Service.Max = 60, 60
	get.Unsuccessful = map[string]*analysis.Distribution{"rejected": times(61, 0.0012, 0.3), "failed": times(9, 0.21, 0.9)}
	run.Objectives[0] = objective("gets of single objects answer within 1 s", "p99(gets.get.response)", "seconds", *get.Response.P99, 5718, 1, "≤ 1s")
	run.Objectives[3] = atLeast(objective("gets succeed", "success(gets)", "fraction", 0.951, 6000, 0.99, "≥ 99%"))
	run.Warnings = []analysis.Warning{
		{About: "gets", What: "212 of 6000 operations were dropped", Why: "the backlog was full: the target did not keep up with the rate",
			Mend: "lower the rate; response times are of the operations that ran, and so too good"},
		{About: "gets", What: "82 of 6000 operations did not succeed", Mend: "see outcomes and reasons in the table; times are of operations that succeeded or timed out"},
	}
	for outcome, perSecond := range map[string]float64{"rejected": 2, "timed-out": 0.4, "failed": 0.3, "dropped": 14} {
		name := choose(outcome == "dropped", "dispatch", "get")
		run.Figures.Outcomes = append(run.Figures.Outcomes, analysis.Line{Phase: "gets", Operation: name, Outcome: outcome, Values: wave(50, 18, 48, perSecond, 0.9)})
	}
	slices.SortFunc(run.Figures.Outcomes, func(a, b analysis.Line) int {
		return strings.Compare(a.Phase+a.Operation+a.Outcome, b.Phase+b.Operation+b.Outcome)
	})
	return result
}

// nothingSucceeded is a run whose every walk failed, as a dead component makes it.
func nothingSucceeded() *analysis.Result {
	result := quickstart()
	run := result.Runs[0]
	run.Status = analysis.Failed
	run.Reason = "etcd-0 (process 4711) ended by itself after 12.8s with exit status 2; likely cause: the disk is full\nlast lines of logs/etcd-0.log:\n{\"level\":\"fatal\",\"msg\":\"failed to sync\",\"error\":\"no space left on device\"}\n{\"level\":\"info\",\"msg\":\"closing\"}"
	run.Duration = 14.2
	run.Steps = run.Steps[1:2]
	walks := run.Steps[0].Phases[0]
	run.Steps[0].Phases = run.Steps[0].Phases[:1]
	run.Steps[0].End, walks.End = 14.2, 14.2
	walks.Count, walks.Succeeded = 50, 0
	failed := times(50, 0.0004, 0.4)
	walks.Operations = []*analysis.Operation{{
		Name: "walk", Count: 50, Outcomes: map[string]int64{"failed": 50}, Reasons: map[string]int64{"refused": 50},
		Unsuccessful: map[string]*analysis.Distribution{"failed": failed},
	}}
	run.Objectives = []analysis.Objective{atLeast(objective("walks succeed", "success(walks)", "fraction", 0, 50, 0.99, "≥ 99%"))}
	run.Components, run.Figures = nil, nil
	return result
}

// hostile is a quickstart in which every text tries to be more than text.
func hostile() *analysis.Result {
	const attack = `</script><script>document.title="owned"</script><img src=x onerror=alert(1)>`
	const escape = "\x1b[2J\x1b]0;owned\x07"
	result := quickstart()
	result.Title, result.Scenario, result.Tool = attack+escape, attack, attack
	run := result.Runs[0]
	run.Name, run.Status, run.Reason = attack, analysis.Failed, attack+escape+"\n"+attack+escape
	run.Parameters = map[string]string{"objects": `1'; rm -rf "$HOME" #`}
	run.Warnings = []analysis.Warning{{About: attack, What: attack + escape, Why: attack, Mend: attack}}
	run.Objectives[0].Name, run.Objectives[0].Measure, run.Objectives[0].Text, run.Objectives[0].Held = attack, attack, attack, false
	run.Components[0].Component = attack + escape
	run.Steps[1].Name = attack
	walks := run.Steps[1].Phases[0]
	walks.Name, walks.Workload, walks.Load = attack+escape, attack, attack
	walks.Operations[0].Name = attack
	walks.Operations[0].Outcomes = map[string]int64{"ok": 49, attack: 1}
	walks.Operations[0].Reasons = map[string]int64{attack + escape: 1}
	run.Figures.Outcomes[0].Phase, run.Figures.Outcomes[0].Operation = walks.Name, attack
	run.Figures.CPU[0].Component = attack
	run.Figures.Curves[0].Phase, run.Figures.Curves[0].Operation = attack, attack
	etcd := &run.Environment.Components[0]
	etcd.Name, etcd.Version, etcd.Args = attack, attack, []string{attack}
	run.Environment.Host.CPUModel = attack
	return result
}

// repeated is two runs, of which the second missed an objective.
func repeated() *analysis.Result {
	result, second := quickstart(), overloaded().Runs[0]
	second.Name, second.Index = "quickstart-2", 2
	result.Runs = append(result.Runs, second)
	return result
}

// long is an hour at a second's resolution, with many lines.
func long() *analysis.Result {
	const hour = 3600
	result := quickstart()
	run := result.Runs[0]
	run.Duration = hour
	run.Steps[2].End, run.Steps[2].Phases[0].End = hour-1, hour-1
	f := run.Figures
	f.Seconds, f.Outcomes = nil, nil
	for second := range hour {
		f.Seconds = append(f.Seconds, float64(second))
	}
	for i := range 20 {
		f.Outcomes = append(f.Outcomes, analysis.Line{Phase: "gets", Operation: fmt.Sprintf("get-%d", i), Outcome: "ok", Values: wave(hour, 18, hour-1, 200+float64(i), 0.3)})
	}
	for _, lines := range [][]analysis.Line{f.CPU, f.RSS} {
		for i := range lines {
			lines[i].Values = wave(hour, 2, hour-1, 1.7e8/float64(i+1), 0.2)
		}
	}
	return result
}
