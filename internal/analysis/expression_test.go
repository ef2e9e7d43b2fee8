package analysis

import (
	"math"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/prometheus/model/labels"

	"plimsoll.dev/plimsoll/internal/design"
	"plimsoll.dev/plimsoll/internal/metrics"
	"plimsoll.dev/plimsoll/internal/record"
	"plimsoll.dev/plimsoll/internal/store"
)

func expression(promql string, max, min float64) store.ObjectiveInfo {
	o := bound("", max, min)
	o.PromQL, o.Unit = promql, "bytes"
	return o
}

// The fixture's resident memory is 100 bytes more in each second: 500 when the
// measured step begins, at 2 s, and 1500 when it ends, at 12 s; etcd's is 1
// byte. The sample of a second is there from 0.3 s before it.
func TestObjectivesInPromQL(t *testing.T) {
	rows := map[string]struct {
		objective store.ObjectiveInfo
		value     float64 // NaN: none
		held      bool
		note      string
	}{
		"the largest keeps its bound":       {expression("process_resident_memory_bytes", 1500, 0), 1500, true, ""},
		"the largest does not":              {expression("process_resident_memory_bytes", 1499, 0), 1500, false, ""},
		"the smallest keeps its bound":      {expression(`process_resident_memory_bytes{component="plimsoll"}`, 0, 500), 500, true, ""},
		"the smallest of all series":        {expression("process_resident_memory_bytes", 0, 500), 1, false, ""},
		"both bounds, the lower one broken": {expression("process_resident_memory_bytes", 2000, 2), 1, false, ""},
		"both bounds, both kept":            {expression("process_resident_memory_bytes", 2000, 1), 1500, true, ""},
		"both bounds, both broken":          {expression("process_resident_memory_bytes", 1000, 2), 1500, false, ""},
		"a scalar":                          {expression("scalar(sum(process_resident_memory_bytes))", 1501, 0), 1501, true, ""},
		"now and then no value":             {expression("process_resident_memory_bytes > 1400", 1500, 0), 1500, true, ""},
		"NaN now and then":                  {expression("0 / (process_resident_memory_bytes > bool 1000)", 1, 0), 0, true, ""},
		"nothing but NaN":                   {expression("0 / (process_resident_memory_bytes * 0)", 1, 0), math.NaN(), false, "nothing but NaN"},
		"infinite":                          {expression("process_resident_memory_bytes / 0", 1, 0), math.NaN(), false, "a value is +Inf"},
		"nothing it keeps":                  {expression("process_resident_memory_bytes > 1e9", 1, 0), math.NaN(), false, "no value over the measured steps"},
		"a metric there isn't":              {expression("process_residential_memory", 1, 0), math.NaN(), false, "no metric is called process_residential_memory; like it are process_resident_memory_bytes"},
		"an error at run time":              {expression(`process_resident_memory_bytes * on() process_resident_memory_bytes`, 1, 0), math.NaN(), false, "many-to-many"},
		"not PromQL":                        {expression("rate(x", 1, 0), math.NaN(), false, "character 7"},
	}
	var objectives []store.ObjectiveInfo
	for name, c := range rows {
		c.objective.Name = name
		objectives = append(objectives, c.objective)
	}
	f := begin(t, objectives...)
	f.events()
	f.usageOfTwo()
	for _, o := range f.planned().Objectives {
		t.Run(o.Name, func(t *testing.T) {
			c := rows[o.Name]
			if (o.Value == nil) != math.IsNaN(c.value) || o.Value != nil && *o.Value != c.value {
				t.Errorf("value = %v, want %v", o.Value, c.value)
			}
			if o.Held != c.held || !strings.Contains(o.Note, c.note) || (c.note == "") != (o.Note == "") {
				t.Errorf("held %v with note %q, want %v with %q", o.Held, o.Note, c.held, c.note)
			}
			if o.Unit != "bytes" || o.Subject() != c.objective.PromQL || (o.N > 0) != (o.Value != nil || strings.Contains(o.Note, "Inf")) {
				t.Errorf("unit %q, subject %q, n %d", o.Unit, o.Subject(), o.N)
			}
		})
	}
}

// usageOfTwo samples two processes in every second.
func (f *fixture) usageOfTwo() {
	db, err := metrics.Create(f.writer.MetricsDir())
	must(f.t, err)
	memory := func(component string) *metrics.Series {
		return &metrics.Series{Labels: labels.FromStrings("__name__", "process_resident_memory_bytes", "component", component)}
	}
	for second := range 14 {
		at := start().Add(time.Duration(second)*time.Second - 300*ms)
		must(f.t, db.Append(f.t.Context(), at, []metrics.Sample{{Series: memory("etcd"), Value: 1}, {Series: memory("plimsoll"), Value: 300 + 100*float64(second)}}))
	}
	must(f.t, db.Close())
}

func TestAnObjectiveInPromQLOfARunWithoutMetricsIsMissed(t *testing.T) {
	f := begin(t, expression("process_resident_memory_bytes", 1, 0))
	f.events()
	o := f.planned().Objectives[0]
	if o.Held || !strings.Contains(o.Note, "no metrics") {
		t.Errorf("held %v with note %q, want it missed for want of metrics", o.Held, o.Note)
	}
}

func TestAnObjectiveInPromQLBeforeAnyMeasuredStepIsMissed(t *testing.T) {
	f := begin(t, expression("process_resident_memory_bytes", 1e9, 0))
	f.environment()
	f.event(0.5, store.TargetReady, "")
	f.usageOfTwo()
	f.event(3, store.Interrupted, "")
	must(t, f.writer.Close(false))
	if o := f.analyze().Objectives[0]; o.Held || o.Note != "no measured step began" {
		t.Errorf("held %v with note %q, want it missed", o.Held, o.Note)
	}
}

func TestABoundOnASweptPhaseIsJudgedAtEveryPoint(t *testing.T) {
	f := beginSweep(t, bound("p50(walks.walk.service)", 0.015, 0), bound("p50(walks@2000.walk.service)", 1, 0))
	f.environment()
	for i, name := range []string{"@1000", "@2000"} {
		at := float64(1 + 2*i)
		f.event(at, store.StepStarted, "list"+name)
		f.event(at, store.PhaseStarted, "walks"+name)
		f.record(sample{phase: "walks" + name, op: "walk", at: after(at + 0.5), took: 10 * ms * (1 << i), n: 30})
		f.event(at+1.5, store.PhaseEnded, "walks"+name)
		f.event(at+1.5, store.StepEnded, "list"+name)
	}
	f.close()
	f.event(5, store.Interrupted, "") // before the third point
	must(t, f.writer.Close(false))
	run := f.analyze()
	var got []string
	for _, o := range run.Objectives {
		line := o.Name + " | " + o.Measure
		if o.Held {
			line += " | held"
		}
		got = append(got, line+" | "+o.Note)
	}
	want := []string{
		"p50(walks.walk.service) at objects=1000 | p50(walks@1000.walk.service) | held | ",
		"p50(walks.walk.service) at objects=2000 | p50(walks@2000.walk.service) | ",
		"p50(walks.walk.service) at objects=4k | p50(walks@4.walk.service) | phase walks@4 did not begin",
		"p50(walks@2000.walk.service) | p50(walks@2000.walk.service) | held | ",
	}
	if strings.Join(got, "\n") != strings.Join(want, "\n") {
		t.Errorf("objectives:\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	if p := run.Steps[1].Point; p == nil || p.Parameter != "objects" || p.Value != 2000 || run.Steps[1].Start != 3 {
		t.Errorf("second step = %+v at %v", run.Steps[1], p)
	}
}

func TestMeasuredSpan(t *testing.T) {
	f := begin(t)
	f.events()
	f.gets(100, record.OK, "", 5*ms)
	f.close() // a kill comes now
	runs, err := f.results.Runs()
	must(t, err)
	if start, end, ok := MeasuredSpan(runs[0]); !ok || start != 2 || end != 11 {
		t.Errorf("measured from %v to %v, %v, want from 2 to the last second, 11", start, end, ok)
	}
}

func TestAPanelHasALineForEachSeriesOfItsExpression(t *testing.T) {
	f := begin(t)
	f.environment()
	f.event(2, store.StepStarted, "load")
	f.event(12, store.StepEnded, "load")
	f.usageOfTwo()
	must(t, f.writer.Close(true))
	runs, err := f.results.Runs()
	must(t, err)
	asked := design.Panel{Title: "memory", PromQL: "process_resident_memory_bytes", Unit: "bytes"}
	one := asked
	one.PromQL = "sum(process_resident_memory_bytes)"
	panels := analyzeRun(t.Context(), runs[0], design.Design{Panels: []design.Panel{asked, one}}).Figures.Panels
	if len(panels) != 2 || panels[0].Panel != asked || len(panels[0].Lines) != 2 || len(panels[1].Lines) != 1 {
		t.Fatalf("panels are %+v", panels)
	}
	if l := panels[0].Lines[1]; l.Labels != "component=plimsoll" || l.Values[5] != 800 {
		t.Errorf("the line of %q is %v at 5 s, want that of plimsoll at 800", l.Labels, l.Values[5])
	}
	if l := panels[1].Lines[0]; l.Labels != "" || l.Values[5] != 801 {
		t.Errorf("the line of %q is %v at 5 s, want one without labels at 801", l.Labels, l.Values[5])
	}
}
