package report

import (
	"fmt"
	"math"
	"math/rand/v2"
	"time"

	"plimsoll.dev/plimsoll/internal/analysis"
	"plimsoll.dev/plimsoll/internal/design"
	"plimsoll.dev/plimsoll/internal/stats"
	"plimsoll.dev/plimsoll/internal/store"
)

// compared is an experiment of two variants in eight blocks, in which the
// variant lists faster, uses as much memory, and leaves one measure undecided.
func compared() *analysis.Result {
	result := experimentOf("Does vai list faster than the Kubernetes API?", 8, "")
	result.Excluded = []analysis.Exclusion{{Run: 17, Name: "vai", Rule: "the generator was limited: p99 of lag was 31 ms, above 10 % of the p50 of response times"}}
	result.Warnings = []analysis.Warning{{About: "machine", What: "the machine was not idle when 2 of 17 runs began", Why: "its load average was above a quarter of its CPUs", Mend: "close what else runs, and repeat"}}
	spare := run(result, "vai", 17, 1)
	spare.Cell, spare.Block = design.Cell{Variant: "vai"}, 3
	spare.Status, spare.Reason = analysis.Invalid, "the load generator was limited"
	result.Runs = append(result.Runs, spare)
	result.References = references()
	return result
}

// experimentOf makes the runs of both variants, and compares them with the real statistics.
func experimentOf(title string, blocks int, objects string) *analysis.Result {
	result := &analysis.Result{SchemaVersion: 1, Tool: "plimsoll v0.2.0", Scenario: "listing", Title: title}
	result.Design = design.Design{
		Variants: []design.Variant{
			{Name: "kubernetes", Title: "lists straight from kube-apiserver"},
			{Name: "vai", Title: "lists from Steve's SQLite cache", Changes: []string{"target.steve.sqlCache: true"}},
		},
		Blocks: blocks, Seed: 4711, Margin: 0.05,
		Primary: []design.Primary{
			{Name: "listing a page", Measure: "mean(walks.page.service)", Better: "lower"},
			{Name: "memory of the API server", PromQL: "max(resident)", Better: "lower"},
			{Name: "p99 of gets", Measure: "p99(gets.get.response)", Better: "lower"},
		},
	}
	cells := map[string]*analysis.Cell{}
	for _, variant := range []string{"kubernetes", "vai"} {
		cell := &analysis.Cell{Cell: design.Cell{Variant: variant}}
		if objects != "" {
			cell.Axes = map[string]string{"objects": objects}
		}
		cells[variant] = cell
		result.Cells = append(result.Cells, cell)
	}
	for block := range blocks {
		for i, variant := range []string{"kubernetes", "vai"} {
			one := run(result, variant, 2*block+i+1, choose(variant == "vai", 0.58, 1.0))
			one.Cell, one.Block = cells[variant].Cell, block+1
			result.Runs = append(result.Runs, one)
			cells[variant].Runs = append(cells[variant].Runs, one.Index)
		}
	}
	measured(result, cells["kubernetes"], cells["vai"], 1)
	return result
}

// run is a quickstart of a variant, whose pages take a share of the usual time.
func run(result *analysis.Result, variant string, index int, share float64) *analysis.Run {
	run := quickstart().Runs[0]
	run.Name, run.Index, run.Seed = variant, index, result.Design.Seed
	run.Started = run.Started.Add(time.Duration(index) * time.Minute)
	chance := rand.New(rand.NewPCG(uint64(index), 7))
	share *= math.Exp(chance.NormFloat64() * 0.04)
	for i := range run.Figures.Curves {
		c := &run.Figures.Curves[i]
		if c.Phase == "walks" {
			for j := range c.Points {
				c.Points[j].Seconds *= share
			}
		}
	}
	for i := range run.Figures.CPU {
		for j := range run.Figures.CPU[i].Values {
			run.Figures.CPU[i].Values[j] *= (0.5 + share/2) * math.Exp(chance.NormFloat64()*0.08)
		}
	}
	run.Figures.Heatmaps = []analysis.Heatmap{heatmapOf("gets", "get", "response", 18, 30, chance), heatmapOf("walks", "page", "service", 11, 7, chance)}
	return run
}

func heatmapOf(phase, operation, clock string, start float64, seconds int, chance *rand.Rand) analysis.Heatmap {
	h := analysis.Heatmap{Phase: phase, Operation: operation, Clock: clock, Start: start, Width: 1}
	for i := range 41 {
		h.Edges = append(h.Edges, 1e-4*math.Pow(10, float64(i)/10))
	}
	for range seconds {
		column := make([]int64, 40)
		for range 200 {
			row := int(10*math.Log10(logNormal(0.00284, 0.5, 0.001+0.998*chance.Float64())/1e-4)) + int(chance.Float64()+0.02)*12
			column[max(0, min(39, row))]++
		}
		h.Counts = append(h.Counts, column)
	}
	return h
}

// measured gives cells their measures and compares them.
func measured(result *analysis.Result, base, head *analysis.Cell, scale float64) {
	for i, m := range []struct {
		subject       analysis.Subject
		centre, share float64
		noise         float64
	}{
		{analysis.Subject{Name: "listing a page", Measure: "mean(walks.page.service)", Unit: "seconds", Better: "lower", Primary: true}, 0.0211, 0.58, 0.03},
		{analysis.Subject{Name: "memory of the API server", PromQL: "max(resident)", Unit: "", Better: "lower", Primary: true}, 6.1e8, 1.01, 0.008},
		{analysis.Subject{Name: "p99 of gets", Measure: "p99(gets.get.response)", Unit: "seconds", Better: "lower", Primary: true}, 0.0123, 1.06, 0.09},
		{analysis.Subject{Name: "rate(walks.walk)", Measure: "rate(walks.walk)", Unit: "per second", Better: "higher"}, 7.1, 1.7, 0.04},
		{analysis.Subject{Name: "p99(churn.create.service)", Measure: "p99(churn.create.service)", Unit: "seconds", Better: "lower"}, 0.051, 1.32, 0.05},
		{analysis.Subject{Name: "success(gets)", Measure: "success(gets)", Unit: "fraction", Better: "higher"}, 1, 1, 0},
		{analysis.Subject{Name: "p50(gets.get.response)", Measure: "p50(gets.get.response)", Unit: "seconds", Better: "lower"}, 0.0028, 1.02, 0.2},
	} {
		chance := rand.New(rand.NewPCG(uint64(i), 3))
		var values [2][]float64
		for block := range base.Runs {
			drift := math.Exp(0.1 * float64(block) / float64(len(base.Runs)))
			values[0] = append(values[0], scale*m.centre*drift*math.Exp(chance.NormFloat64()*m.noise))
			values[1] = append(values[1], scale*m.centre*m.share*drift*math.Exp(chance.NormFloat64()*m.noise))
			if m.noise == 0 {
				values[0][block], values[1][block] = 1, 1
			}
		}
		for j, cell := range []*analysis.Cell{base, head} {
			cm := &analysis.CellMeasure{Subject: m.subject, Summary: stats.Summarise(values[j]), Outliers: stats.Outliers(values[j])}
			for k := range values[j] {
				cm.Values = append(cm.Values, &values[j][k])
			}
			cell.Measures = append(cell.Measures, cm)
		}
		c := &analysis.Comparison{
			Subject: m.subject, Variant: head.Variant, Baseline: base.Variant, Axes: head.Axes, Margin: result.Design.Margin,
			Base: stats.Summarise(values[0]), Head: stats.Summarise(values[1]), Comparison: stats.Paired(values[0], values[1]),
		}
		for block := range base.Runs {
			c.Blocks = append(c.Blocks, block+1)
		}
		c.Verdict = c.Comparison.Verdict(c.Margin, stats.Direction(m.subject.Better))
		if c.Verdict == stats.Inconclusive {
			c.BlocksNeeded, _ = c.Comparison.BlocksNeeded(c.Margin)
		}
		result.Comparisons = append(result.Comparisons, c)
	}
}

func references() []*analysis.Reference {
	lo, hi, ours, oursLo, oursHi, zero := 1.5, 2.5, 1.72, 1.64, 1.81, 0.042
	return []*analysis.Reference{
		{
			Reference: design.Reference{Statement: "vai lists about twice as fast", Ratio: "mean(walks.page.service)", Variant: "vai", Versus: "kubernetes", Min: &lo, Max: &hi, Text: "1.5 … 2.5×", Source: "https://example.org/steve/performance"},
			Findings:  []analysis.Finding{{Cell: design.Cell{Variant: "vai"}, Value: &ours, Lo: &oursLo, Hi: &oursHi, N: 8, Agreement: analysis.Agrees}},
		},
		{
			Reference: design.Reference{Statement: "a page takes 42 ms", When: map[string]string{"objects": "8000"}, Measure: "mean(walks.page.service)", Variant: "vai", Min: &zero, Max: &zero, Text: "42ms", Source: "talk at KubeCon 2025, slide 17"},
			Findings:  []analysis.Finding{{Cell: design.Cell{Variant: "vai"}, N: 0, Agreement: analysis.NotMeasured}},
		},
	}
}

// axes is an experiment over an axis and a third variant: more than sentences can tell one by one.
func axes() *analysis.Result {
	result := experimentOf("Listing over sizes", 6, "1000")
	result.Design.Axes = []design.Axis{{Parameter: "objects", Values: []string{"1000", "8000"}}}
	for _, variant := range []string{"kubernetes", "vai"} {
		cell := &analysis.Cell{Cell: design.Cell{Variant: variant, Axes: map[string]string{"objects": "8000"}}}
		for block := range 6 {
			one := run(result, variant, len(result.Runs)+1, choose(variant == "vai", 4.4, 8.0))
			one.Cell, one.Block = cell.Cell, block+1
			one.Name = fmt.Sprintf("%s-objects8000-%d", variant, block+1)
			result.Runs = append(result.Runs, one)
			cell.Runs = append(cell.Runs, one.Index)
		}
		result.Cells = append(result.Cells, cell)
	}
	measured(result, result.Cells[2], result.Cells[3], 8)
	return result
}

// growing is one run with a sweep: it has growth and a load line, and no comparison.
func growing() *analysis.Result {
	result := quickstart()
	result.Title, result.Scenario = "How far do gets go?", "load-line"
	result.Design = design.Design{Variants: []design.Variant{{Name: "", Title: ""}}, Blocks: 1, Seed: 1}
	result.Cells = []*analysis.Cell{{Runs: []int{1}}}
	subject := analysis.Subject{Name: "p99(gets.get.response)", Measure: "p99(gets.get.response)", Unit: "seconds", Better: "lower", Primary: true}
	bound := 1600.0
	result.Growth = []*analysis.Growth{
		growthOf(subject, "", "rate", 0.002, 0.4, []analysis.Crossing{{Bound: "≤ 100ms", At: &bound}}),
		growthOf(analysis.Subject{Name: "bytes(walks.page)", Measure: "bytes(walks.page)", Unit: "bytes", Better: "lower"}, "", "rate", 1e6, 1, []analysis.Crossing{{Bound: "≤ 1GB"}}),
	}
	result.LoadLines = []*analysis.LoadLine{loadLine("")}
	chance := rand.New(rand.NewPCG(1, 7))
	result.Runs[0].Figures.Heatmaps = []analysis.Heatmap{heatmapOf("gets", "get", "response", 18, 30, chance), heatmapOf("walks", "page", "service", 11, 7, chance)}
	return result
}

func loadLine(variant string) *analysis.LoadLine {
	o := objective("gets answer within 100 ms", "p99(gets.get.response)", "seconds", 0.131, 18000, 0.1, "≤ 100ms")
	at, first, second := 252.4, 252.1, 252.9
	return &analysis.LoadLine{
		Cell: design.Cell{Variant: variant}, Runs: []int{1}, Parameter: "rate",
		Held: &store.Point{Parameter: "rate", Value: 1200, Text: "1200/s"}, Broke: &store.Point{Parameter: "rate", Value: 1500, Text: "1500/s"},
		Objective: &o, Run: 1, At: &at,
		Log: []analysis.LogLine{
			{Component: "etcd", At: &first, Text: `{"level":"warn","msg":"apply request took too long","took":"143.1ms","expected-duration":"100ms"}`},
			{Component: "kube-apiserver", At: &second, Text: `I1120 14:07:19.123456 trace.go:236] Trace[1]: "Get" total time 612ms`},
		},
	}
}

func growthOf(subject analysis.Subject, variant, parameter string, scale, power float64, past []analysis.Crossing) *analysis.Growth {
	g := &analysis.Growth{Subject: subject, Cell: design.Cell{Variant: variant}, Parameter: parameter, FirstPast: past}
	chance := rand.New(rand.NewPCG(uint64(power*100), 5))
	var points []stats.Point
	for x := 100.0; x <= 3200; x *= 2 {
		var values []float64
		for r := range 6 {
			y := scale * math.Pow(x, power) * math.Exp(chance.NormFloat64()*0.05)
			values = append(values, y)
			points = append(points, stats.Point{X: x, Y: y, Run: r})
		}
		g.Points = append(g.Points, analysis.GrowthPoint{Value: x, Summary: stats.Summarise(values)})
	}
	g.Fit = stats.LogLog(points)
	g.InWords = g.Fit.Words(parameter, len(g.Points))
	return g
}

// swept is a comparison of two variants that has growth and load lines.
func swept() *analysis.Result {
	result := compared()
	result.Excluded, result.Warnings, result.References, result.Runs = nil, nil, nil, result.Runs[:16]
	subject := analysis.Subject{Name: "listing a page", Measure: "mean(walks.page.service)", Unit: "seconds", Better: "lower", Primary: true}
	for i, variant := range []string{"kubernetes", "vai"} {
		result.Growth = append(result.Growth, growthOf(subject, variant, "objects", 1e-4*float64(2-i), 1.05-0.3*float64(i), nil))
		result.LoadLines = append(result.LoadLines, loadLine(variant))
	}
	result.LoadLines[1].Held, result.LoadLines[1].Broke = &store.Point{Parameter: "rate", Value: 2400, Text: "2400/s"}, nil
	result.LoadLines[1].Objective, result.LoadLines[1].At, result.LoadLines[1].Log = nil, nil, nil
	return result
}

// fewBlocks is an experiment of one block, from which nothing follows.
func fewBlocks() *analysis.Result { return experimentOf("Too few", 1, "") }

// repetitions is one variant, six times.
func repetitions() *analysis.Result {
	result := experimentOf("One variant, six times", 6, "")
	result.Comparisons = nil
	result.Design.Variants = []design.Variant{{Name: "", Title: ""}}
	result.Cells = result.Cells[:1]
	result.Cells[0].Variant = ""
	var runs []*analysis.Run
	for i, index := range result.Cells[0].Runs {
		runs = append(runs, result.Runs[index-1])
		runs[i].Cell = design.Cell{}
		runs[i].Index, runs[i].Name = i+1, "listing"
		result.Cells[0].Runs[i] = i + 1
	}
	result.Runs = runs
	return result
}

// large is an experiment of ten blocks of an hour each, at a second's resolution, with five components.
func large() *analysis.Result {
	const hour = 3600
	result := experimentOf("An hour, twenty times", 10, "")
	chance := rand.New(rand.NewPCG(1, 9))
	for _, run := range result.Runs {
		f := long().Runs[0].Figures
		f.Curves = run.Figures.Curves
		f.CPU, f.RSS = nil, nil
		for i := range 5 {
			f.CPU = append(f.CPU, analysis.Line{Component: fmt.Sprintf("component-%d", i), Values: wave(hour, 2, hour-1, 0.5+float64(i), 0.4)})
			f.RSS = append(f.RSS, analysis.Line{Component: fmt.Sprintf("component-%d", i), Values: wave(hour, 2, hour-1, 1e8*float64(i+1), 0.4)})
		}
		f.Heatmaps = []analysis.Heatmap{heatmapOf("gets", "get", "response", 18, hour-18, chance)}
		run.Figures, run.Duration = f, hour
		run.Steps[2].End, run.Steps[2].Phases[0].End = hour-1, hour-1
	}
	return result
}

// dropped is an experiment with a whole control plane, whose requests one
// variant drops; in one of its runs that ended it.
func dropped() *analysis.Result {
	result := &analysis.Result{SchemaVersion: 1, Tool: "plimsoll v0.2.0", Scenario: "priority-fairness", Title: "Whose requests are dropped?"}
	result.Design = design.Design{Variants: []design.Variant{{Name: "baseline", Title: "limits in flight"}, {Name: "apf", Title: "priority and fairness"}}, Blocks: 2, Seed: 9}
	for i, variant := range []string{"baseline", "apf", "apf", "baseline"} {
		one := run(result, variant, i+1, 1)
		one.Cell, one.Block, one.Figures.Heatmaps = design.Cell{Variant: variant}, i/2+1, nil
		one.Health = &analysis.Health{SlowRenewals: choose(variant == "baseline", 4.0, 0)}
		one.Figures.Graphs = graphsOf(variant == "baseline", i)
		result.Runs = append(result.Runs, one)
	}
	last := result.Runs[3]
	last.Status, last.Reason = analysis.Failed, "a component died: kube-controller-manager (process 5) ended by itself"
	last.Health = &analysis.Health{LostLeases: map[string]int{"kube-controller-manager": 1}, UnreadyNodes: 2}
	result.Excluded = []analysis.Exclusion{{Run: 4, Name: "baseline", Rule: "a run that failed is left out: " + last.Reason}}
	result.Cells = []*analysis.Cell{{Cell: design.Cell{Variant: "baseline"}, Runs: []int{1}}, {Cell: design.Cell{Variant: "apf"}, Runs: []int{2, 3}}}
	for _, c := range []struct {
		name     analysis.ClientName
		base     analysis.Requests
		head     analysis.Requests
		rejected map[string]int64
	}{
		{analysis.ClientName{Name: "churn (churner)", Role: analysis.LoadRole, Source: "plimsoll"}, analysis.Requests{Requests: 27396, Rejected: 26458, Unanswered: 12},
			analysis.Requests{Requests: 6640, Rejected: 310}, map[string]int64{"workload-low": 300, "global-default": 10}},
		{analysis.ClientName{Name: analysis.All, Role: analysis.LoadRole}, analysis.Requests{Requests: 27396, Rejected: 26458, Unanswered: 12}, analysis.Requests{Requests: 6640, Rejected: 310}, nil},
		{analysis.ClientName{Name: "kube-controller-manager", Role: analysis.ControlPlane, Source: "own"}, analysis.Requests{Requests: 426, Rejected: 298, ClientErrors: 8},
			analysis.Requests{Requests: 5618, ClientErrors: 600}, nil},
		{analysis.ClientName{Name: "kwok", Role: analysis.ControlPlane, Source: "audit"}, analysis.Requests{Requests: 170, Rejected: 144, ServerErrors: 3}, analysis.Requests{Requests: 660}, nil},
		{analysis.ClientName{Name: "kwok: heartbeats of nodes", Role: analysis.ControlPlane, Part: true, Source: "audit"}, analysis.Requests{Requests: 102, Rejected: 90}, analysis.Requests{Requests: 60}, nil},
		{analysis.ClientName{Name: analysis.All, Role: analysis.ControlPlane}, analysis.Requests{Requests: 596, Rejected: 442, ClientErrors: 8, ServerErrors: 3}, analysis.Requests{Requests: 6278, ClientErrors: 600}, nil},
	} {
		half := func(r analysis.Requests) analysis.Requests {
			return analysis.Requests{Requests: r.Requests / 2, Rejected: r.Rejected / 2, ClientErrors: r.ClientErrors / 2, ServerErrors: r.ServerErrors / 2, Unanswered: r.Unanswered / 2}
		}
		result.Clients = append(result.Clients, &analysis.ClientCells{ClientName: c.name, Cells: []analysis.ClientCell{
			{Cell: design.Cell{Variant: "baseline"}, Runs: []int{1, 4}, Sum: c.base, Median: half(c.base)},
			{Cell: design.Cell{Variant: "apf"}, Runs: []int{2, 3}, Sum: c.head, Median: half(c.head), RejectedBy: c.rejected},
		}})
	}
	return result
}

// graphsOf has a graph of one line for each client, one of more lines than are drawn, and one that only priority and fairness has.
func graphsOf(baseline bool, run int) []analysis.Graph {
	line := func(name string, height float64) analysis.GraphLine {
		l := analysis.GraphLine{Name: name}
		for i := range choose(baseline, 20, 24) + run {
			l.Values = append(l.Values, choose(i == 9, math.NaN(), height*math.Sqrt(float64(i))))
		}
		return l
	}
	memory := analysis.Graph{Place: 9, Title: "Resident memory", Unit: "bytes"}
	for i := range 9 {
		memory.Lines = append(memory.Lines, line(fmt.Sprintf("component-%d", i), float64((i+1)<<24)))
	}
	if baseline {
		return []analysis.Graph{{Title: "429s received by the control plane", Unit: "per second", Lines: []analysis.GraphLine{line("kube-scheduler", 2), line("kwok", 5)}}, memory}
	}
	return []analysis.Graph{{Place: 5, Title: "Wait in queue at p99, by priority level", Unit: "seconds", Lines: []analysis.GraphLine{line("global-default", 0.4)}}, memory}
}
