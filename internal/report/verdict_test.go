package report

import (
	"slices"
	"testing"

	"plimsoll.dev/plimsoll/internal/analysis"
)

func TestMissedObjectivesSaySo(t *testing.T) {
	noted := func(o analysis.Objective, note string) analysis.Objective {
		o.Held, o.Note = false, note
		return o
	}
	missed := func(measure, unit string, value, bound float64, text string) analysis.Objective {
		return objective("", measure, unit, value, 100, bound, text)
	}
	tests := []struct {
		objective analysis.Objective
		want      string
	}{
		{missed("p99(gets.get.response)", "seconds", 1.3249, 1, "≤ 1s"),
			"p99 response time of gets.get was 1.32 s, over the bound of 1 s."},
		{missed("max(walks.walk.service)", "seconds", 31, 30, "≤ 30s"),
			"The longest service time of walks.walk was 31.0 s, over the bound of 30 s."},
		{missed("mean(gets.get.lag)", "seconds", 0.003, 0.002, "≤ 2ms"),
			"Mean lag of gets.get was 3.00 ms, over the bound of 2 ms."},
		{atLeast(missed("success(walks)", "fraction", 0.98, 0.99, "≥ 99%")),
			"The success rate of walks was 98 %, under the bound of 99 %."},
		{atLeast(missed("rate(gets.get)", "per second", 48.2, 50, "≥ 50/s")),
			"The rate of gets.get was 48.2/s, under the bound of 50/s."},
		{missed("sum(etcd_mvcc_db_total_size_in_bytes)", "bytes", 5<<30, 4<<30, "≤ 4GiB"),
			"sum(etcd_mvcc_db_total_size_in_bytes) was 5.00 GiB, over the bound of 4 GiB."},
		// Rounded, the value would be the bound.
		{missed("p99(gets.get.response)", "seconds", 1.0004, 1, "≤ 1s"),
			"p99 response time of gets.get was 1.0004 s, over the bound of 1 s."},
		{noted(missed("max(gets.get.response)", "seconds", 0.9, 1, "≤ 1s"), "a lower bound: 3 of 100 operations timed out, so it cannot be said to have held"),
			"The longest response time of gets.get was 900 ms, within the bound (≤ 1s), but its objective counts as missed: " +
				"it is a lower bound: 3 of 100 operations timed out, so it cannot be said to have held."},
	}
	for _, test := range tests {
		if got := missedSentence(test.objective); got != test.want {
			t.Errorf("%s:\n got %s\nwant %s", test.objective.Measure, got, test.want)
		}
	}
}

func TestWhatDidNotEndHeldOnlySoFar(t *testing.T) {
	for status, want := range map[analysis.Status]string{
		analysis.Complete:   "All 4 objectives held.",
		analysis.Incomplete: "All 4 objectives held so far.",
		analysis.Failed:     "All 4 objectives held so far.",
	} {
		run := quickstart().Runs[0]
		run.Status = status
		if got := judge(run, true).Sentences; !slices.Contains(got, want) {
			t.Errorf("%s: got %q, want %q among them", status, got, want)
		}
	}
}

func TestVerdictIsTheWorstNews(t *testing.T) {
	noObjectives := quickstart().Runs[0]
	noObjectives.Objectives = nil
	warned := quickstart().Runs[0]
	warned.Warnings = []analysis.Warning{{About: "gets", What: "late"}}
	tests := []struct {
		is    string
		run   *analysis.Run
		tone  tone
		first string
	}{
		{"a run that kept every bound", quickstart().Runs[0], good, "All 4 objectives held."},
		{"the same with a warning", warned, caution, "All 4 objectives held."},
		{"a run without bounds", noObjectives, neutral, "No objectives were declared, so nothing passed or failed."},
		{"a run that was stopped", interrupted().Runs[0], bad, "This run is incomplete: interrupted, at 12.0 s. Its numbers are of what ran until then."},
		{"a run whose etcd died", nothingSucceeded().Runs[0], bad,
			"This run failed after 14.2 s: etcd-0 (process 4711) ended by itself after 12.8s with exit status 2; likely cause: the disk is full. Its numbers are of what ran until then."},
	}
	for _, test := range tests {
		if got := judge(test.run, true); got.Tone != test.tone || got.Sentences[0] != test.first {
			t.Errorf("%s:\n got %s: %s\nwant %s: %s", test.is, got.Tone, got.Sentences[0], test.tone, test.first)
		}
	}
}
