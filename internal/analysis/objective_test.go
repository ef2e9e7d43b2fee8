package analysis

import (
	"math"
	"strings"
	"testing"
	"time"

	"plimsoll.dev/plimsoll/internal/record"
	"plimsoll.dev/plimsoll/internal/store"
)

func TestObjectives(t *testing.T) {
	rows := map[string]struct {
		objective store.ObjectiveInfo
		value     float64 // NaN: none
		n         int64
		held      bool
		note      string
	}{
		"a time that is kept":              {bound("p99(gets.get.response)", 1, 0), 0.005, 2000, true, ""},
		"a time that is not":               {bound("p99(gets.get.response)", 0.004, 0), 0.005, 2000, false, ""},
		"a percentile of few":              {bound("p99.9(gets.get.response)", 1, 0), 0.005, 2000, true, "fewer than 10 of 2000 samples"},
		"both bounds":                      {bound("mean(gets.get.service)", 0.006, 0.004), 0.005, 2000, true, ""},
		"below the lower of both":          {bound("mean(gets.get.service)", 1, 0.5), 0.005, 2000, false, ""},
		"exactly the bound":                {bound("count(gets)", 2100, 2100), 2100, 2100, true, ""},
		"success counts what was dropped":  {bound("success(gets)", 0, 0.99), 2000.0 / 2100, 2100, false, ""},
		"success of an operation does not": {bound("success(gets.get)", 0, 0.99), 2000.0 / 2050, 2050, false, ""},
		"a rate of what succeeded":         {bound("rate(gets)", 0, 200), 200, 2000, true, ""},
		"a rate of an operation":           {bound("rate(gets.get)", 0, 201), 200, 2000, false, ""},
		"bytes":                            {bound("bytes(gets.get)", 205_000, 0), 205_000, 2050, true, ""},
		"items":                            {bound("items(gets.get)", 1, 0), 4100, 2050, false, ""},
		"lag":                              {bound("max(gets.get.lag)", 1, 0), 0, 2050, true, ""},
		"deviation":                        {bound("stddev(gets.get.service)", 0.001, 0), 0, 2000, true, ""},
		"a background phase":               {bound("min(churn.cycle.service)", 1, 0), 0.05, 1, true, ""},
		"a part":                           {bound("count(churn.create)", 5, 0), 5, 5, true, ""},
		"no such phase":                    {bound("count(puts)", 1, 0), math.NaN(), 0, false, "no phase puts"},
		"no such operation":                {bound("count(gets.put)", 1, 0), math.NaN(), 0, false, "no operation of it was recorded"},
		"no such clock":                    {bound("max(churn.cycle.response)", 1, 0), math.NaN(), 0, false, "no operation of it was recorded"},
		"no such measure":                  {bound("p98(gets.get.response)", 1, 0), math.NaN(), 0, false, `no statistic is called "p98"`},
	}
	var objectives []store.ObjectiveInfo
	for name, c := range rows {
		c.objective.Name = name
		objectives = append(objectives, c.objective)
	}
	f := begin(t, objectives...)
	f.events()
	f.gets(2000, record.OK, "", 5*ms)
	f.gets(50, record.Failed, "http-500", ms)
	f.record(
		sample{phase: "gets", op: "dispatch", timing: record.Dispatch, outcome: record.Dropped, at: 4 * time.Second, n: 50},
		sample{phase: "churn", op: "cycle", at: 5 * time.Second, took: 50 * ms},
		sample{phase: "churn", op: "create", timing: record.Part, at: 5 * time.Second, took: 20 * ms, n: 5},
	)
	for _, o := range f.planned().Objectives {
		t.Run(o.Name, func(t *testing.T) {
			c := rows[o.Name]
			if (o.Value == nil) != math.IsNaN(c.value) || o.Value != nil && math.Abs(*o.Value-c.value) > max(c.value/1000, 1e-6) {
				t.Errorf("value = %v, want %v", o.Value, c.value)
			}
			if o.N != c.n || o.Held != c.held {
				t.Errorf("held %v by %d, want %v by %d", o.Held, o.N, c.held, c.n)
			}
			if !strings.Contains(o.Note, c.note) || (c.note == "") != (o.Note == "") {
				t.Errorf("note = %q, want %q", o.Note, c.note)
			}
		})
	}
}

func TestATimeoutShowsNoBoundToHold(t *testing.T) {
	rows := map[string]struct {
		objective store.ObjectiveInfo
		held      bool
		note      bool
	}{
		"a percentile below the timeouts":      {bound("p50(gets.get.response)", 10, 0), true, false},
		"a percentile among them":              {bound("p99(gets.get.response)", 10, 0), false, true},
		"one that is missed anyway":            {bound("p99(gets.get.response)", 0.5, 0), false, true},
		"the longest":                          {bound("max(gets.get.response)", 10, 0), false, true},
		"the shortest":                         {bound("min(gets.get.response)", 10, 0), true, false},
		"the mean":                             {bound("mean(gets.get.response)", 10, 0), true, true},
		"a bound from below":                   {bound("max(gets.get.response)", 0, 0.1), true, true},
		"the lag, which is known":              {bound("max(gets.get.lag)", 10, 0), true, false},
		"success, which has nothing to do":     {bound("success(gets)", 0, 0.9), true, false},
		"a percentile that needs more samples": {bound("p99.9(gets.get.response)", 10, 0), false, true},
	}
	var objectives []store.ObjectiveInfo
	for name, c := range rows {
		c.objective.Name = name
		objectives = append(objectives, c.objective)
	}
	f := begin(t, objectives...)
	f.events()
	f.gets(1900, record.OK, "", 5*ms)
	f.gets(100, record.TimedOut, "timeout", 1000*ms)
	for _, o := range f.planned().Objectives {
		t.Run(o.Name, func(t *testing.T) {
			c := rows[o.Name]
			if o.Held != c.held || strings.Contains(o.Note, "lower bound: 100 of 2000 operations timed out") != c.note {
				t.Errorf("held %v with note %q, want %v, and a note of timeouts: %v", o.Held, o.Note, c.held, c.note)
			}
		})
	}
}
