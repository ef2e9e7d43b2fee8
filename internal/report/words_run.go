package report

import (
	"fmt"
	"slices"
	"strings"

	"plimsoll.dev/plimsoll/internal/analysis"
)

// tone is how good the news is.
type tone string

const (
	good    tone = "good"
	caution tone = "caution"
	bad     tone = "bad"
	neutral tone = "neutral"
)

// verdict is what a run came to, in sentences, the most important one first.
type verdict struct {
	Tone      tone
	Sentences []string
}

// judge puts a run into words. Of one run of several it leaves out what is said of all of them.
func judge(run *analysis.Run, alone bool) verdict {
	v := verdict{Tone: neutral}
	v.status(run)
	if alone || len(run.Objectives) > 0 {
		v.objectives(run)
	}
	if n := len(run.Warnings); n > 0 {
		v.worsen(caution)
		v.say("%s with the numbers; read %s first.", plural(n, "warning comes", "warnings come"), choose(n == 1, "it", "them"))
	}
	return v
}

func (v *verdict) say(format string, args ...any) {
	v.Sentences = append(v.Sentences, fmt.Sprintf(format, args...))
}

// worsen lowers the tone, and never raises it.
func (v *verdict) worsen(t tone) {
	if v.Tone != bad {
		v.Tone = t
	}
}

func (v *verdict) status(run *analysis.Run) {
	// A log's last lines may follow the reason; they are shown apart.
	reason, _, _ := strings.Cut(strings.TrimSpace(run.Reason), "\n")
	reason = strings.TrimRight(reason, ".:")
	if reason == "" {
		reason = "no reason was recorded"
	}
	switch run.Status {
	case analysis.Invalid:
		v.worsen(bad)
		v.say("This run is invalid: %s. Its numbers are about plimsoll and this machine rather than about the target.", reason)
	case analysis.Incomplete:
		v.worsen(bad)
		v.say("This run is incomplete: %s, at %s. Its numbers are of what ran until then.", reason, seconds(run.Duration))
	case analysis.Failed:
		v.worsen(bad)
		v.say("This run failed after %s: %s. Its numbers are of what ran until then.", seconds(run.Duration), reason)
	}
}

func (v *verdict) objectives(run *analysis.Run) {
	missed := missedOf(run)
	n := len(run.Objectives)
	switch {
	case n == 0:
		v.say("No objectives were declared, so nothing passed or failed.")
		return
	case len(missed) == 0:
		if run.Status == analysis.Complete {
			v.Tone = good
		}
		v.say("%s %s.", choose(n == 1, "The one objective", fmt.Sprintf("All %d objectives", n)), held(run))
		return
	}
	v.worsen(bad)
	for _, objective := range missed {
		v.Sentences = append(v.Sentences, missedSentence(objective))
	}
	if others := n - len(missed); others > 0 {
		v.say("%s %s.", plural(others, "other objective", "other objectives"), held(run))
	}
}

// held is what can be said of objectives that were not missed: a run that did
// not end as planned might have missed them yet.
func held(run *analysis.Run) string {
	return choose(run.Status == analysis.Complete, "held", "held so far")
}

func missedOf(run *analysis.Run) []analysis.Objective {
	return slices.DeleteFunc(slices.Clone(run.Objectives), func(o analysis.Objective) bool { return o.Held })
}

// missedSentence says what was measured, and on which side of which bound.
func missedSentence(o analysis.Objective) string {
	subject := measureWords(o.Subject())
	if o.Value == nil {
		return fmt.Sprintf("There is no value for %s, so its objective counts as missed: %s.", subject, choose(o.Note != "", o.Note, "it was not measured"))
	}
	side, bound := "over", o.Max
	switch {
	case o.Max != nil && *o.Value > *o.Max:
	case o.Min != nil && *o.Value < *o.Min:
		side, bound = "under", o.Min
	default:
		// The note says why a value that is within the bound does not count: it is a lower bound itself.
		return fmt.Sprintf("%s was %s, within the bound (%s), but its objective counts as missed%s.",
			upperFirst(subject), quantity(*o.Value, o.Unit, o.Text), o.Text, choose(o.Note != "", ": it is "+o.Note, ""))
	}
	value, limit := apart(*o.Value, *bound, o)
	return fmt.Sprintf("%s was %s, %s the bound of %s.", upperFirst(subject), value, side, limit)
}

// apart writes a value and its bound with as many digits as tell them apart.
func apart(value, bound float64, o analysis.Objective) (string, string) {
	v, b := quantity(value, o.Unit, o.Text), brief(quantity(bound, o.Unit, o.Text))
	if brief(v) != b {
		return v, b
	}
	unit := map[string]string{"seconds": " s", "fraction": "", "per second": "/s", "bytes": " B"}[o.Unit]
	return fmt.Sprintf("%.9g%s", value, unit), fmt.Sprintf("%.9g%s", bound, unit)
}

// story says in a sentence what each measured phase came to.
func story(run *analysis.Run) []string {
	var sentences []string
	for _, phase := range run.Phases() {
		if phase.Measured && len(phase.Operations) > 0 {
			sentences = append(sentences, phaseSentence(phase))
		}
	}
	return sentences
}

func phaseSentence(phase *analysis.Phase) string {
	operation := phase.Operations[0]
	succeeded := fmt.Sprintf("%s of %s operations succeeded, ", count(phase.Succeeded), count(phase.Count))
	if phase.Succeeded == phase.Count {
		succeeded = fmt.Sprintf("all %s operations succeeded, ", count(phase.Count))
	}
	name, d := operation.MainClock(phase)
	switch {
	case phase.Succeeded == 0 && d == nil:
		return fmt.Sprintf("%s: none of %s operations succeeded, so there are no times.", phase.Name, count(phase.Count))
	case d == nil:
		return fmt.Sprintf("%s: %sat %s.", phase.Name, succeeded, rate(operation.Rate))
	}
	times := fmt.Sprintf("%s time up to %s", name, seconds(d.Max))
	switch {
	case d.P99 != nil:
		times = fmt.Sprintf("%s time %s at p50, %s at p99 and %s at most", name, optionalSeconds(d.P50), seconds(*d.P99), seconds(d.Max))
	case d.P50 != nil:
		times = fmt.Sprintf("%s time %s at p50 and %s at most", name, seconds(*d.P50), seconds(d.Max))
	}
	return fmt.Sprintf("%s: %sat %s; %s.", phase.Name, succeeded, rate(operation.Rate), times)
}
