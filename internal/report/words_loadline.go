package report

import (
	"fmt"
	"slices"
	"strings"

	"plimsoll.dev/plimsoll/internal/analysis"
	"plimsoll.dev/plimsoll/internal/measure"
	"plimsoll.dev/plimsoll/internal/store"
)

func logWords(line analysis.LogLine) string {
	at := ""
	if line.At != nil {
		at = " at " + seconds(*line.At)
	}
	return line.Component + at + ": " + line.Text
}

// grownWords say up to how many objects every objective held, after a name.
func grownWords(l *analysis.LoadLine) string {
	held := ": every objective held up to " + pointText(l.Held) + " " + l.Parameter
	switch {
	case l.Held == nil && l.Broke == nil:
		return ": it is not known: no number of " + l.Parameter + " was measured."
	case l.Held == nil:
		held = ": below " + pointText(l.Broke) + " " + l.Parameter
	case l.Broke == nil:
		return held + ", as many as there came to be."
	}
	words := fmt.Sprintf("%s; at %s%s, %s", held, pointText(l.Broke), atWords(l), brokeFirstWords(l))
	if l.LastHeld != nil {
		words += fmt.Sprintf("; everything held again at up to %s", pointText(l.LastHeld))
	}
	return words + "." + bottleneckWords(l.Bottleneck)
}

func atWords(l *analysis.LoadLine) string {
	if l.At == nil {
		return ""
	}
	return choose(len(l.Runs) < 2, ", after "+seconds(*l.At), fmt.Sprintf(", %s into run %d", seconds(*l.At), l.Run))
}

func brokeFirstWords(l *analysis.LoadLine) string {
	if l.Objective == nil {
		return "the run failed"
	}
	words := "the first to break was: " + l.Objective.Name
	if l.Objective.Value != nil {
		words += fmt.Sprintf(" (it was %s, bound %s)", quantity(*l.Objective.Value, l.Objective.Unit, l.Objective.Text), l.Objective.Text)
	}
	if len(l.Breaks) > 0 && l.Breaks[0].Share < 1 {
		words += fmt.Sprintf(", which was broken %s of the time from then on", wholePercent(l.Breaks[0].Share))
	}
	return words
}

// bottleneckWords say what the machine was short of, with the numbers that this rests on.
func bottleneckWords(b *analysis.Bottleneck) string {
	if b == nil {
		return ""
	}
	var figures []string
	for _, f := range b.Figures {
		if f.Value != nil && (f.Max != nil || f.Min != nil) && (f.Past || len(b.AtLimit) == 0) {
			figures = append(figures, fmt.Sprintf("%s %s, bound %s", f.Name, limitValue(f), limitBound(f)))
		}
	}
	switch {
	case len(figures) == 0:
		return " What the machine was short of is not known: it was not observed."
	case len(b.AtLimit) == 0:
		return fmt.Sprintf(" No resource of the machine was at its limit then (%s), so what limited lies within the components.", strings.Join(figures, "; "))
	}
	return fmt.Sprintf(" At its limit then: %s (%s).", strings.Join(resourceNames(b.AtLimit), " and "), strings.Join(figures, "; "))
}

func resourceNames(resources []string) []string {
	var names []string
	for _, r := range resources {
		names = append(names, map[string]string{"cpu": "CPU", "disk": "disk", "memory": "memory", "quota": "etcd’s quota"}[r])
	}
	return names
}

func limitValue(f analysis.Limit) string {
	switch {
	case f.Value == nil:
		return "not measured"
	case f.Unit == string(measure.Fraction):
		return wholePercent(*f.Value)
	}
	return quantity(*f.Value, f.Unit, "")
}

func limitBound(f analysis.Limit) string {
	switch {
	case f.Max != nil:
		return "< " + percent(*f.Max)
	case f.Min != nil:
		return "> " + percent(*f.Min)
	}
	return absent
}

func ofCell(l *analysis.LoadLine) string {
	if where := cellWords(l.Cell); where != "" {
		return ", " + where
	}
	return ""
}

// loadWords is short: vai: 1,200/s held, 1,500/s broke.
func loadWords(l *analysis.LoadLine) string {
	words := ""
	if where := cellWords(l.Cell); where != "" {
		words = where + ": "
	}
	switch {
	case l.Held == nil:
		return words + fmt.Sprintf("%s broke already", pointText(l.Broke))
	case l.Broke == nil:
		return words + fmt.Sprintf("%s held, the most that was tried", pointText(l.Held))
	}
	return words + fmt.Sprintf("%s held, %s broke", pointText(l.Held), pointText(l.Broke))
}

// loadNotes are what a reader must know of load lines, each once.
func loadNotes(result *analysis.Result) []string {
	var notes []string
	add := func(note string) {
		if !slices.Contains(notes, note) {
			notes = append(notes, note)
		}
	}
	for _, l := range result.LoadLines {
		for _, name := range l.NotMeasured {
			add(fmt.Sprintf("%s was never measured, so it neither held nor broke: the load line is that of the other objectives.", name))
		}
		for _, w := range l.Warnings {
			add("Load line" + strings.TrimRight(" of "+cellWords(l.Cell), " of") + ": " + w)
		}
	}
	return notes
}

// loadLineSentence says which load was held, and what broke.
func loadLineSentence(l *analysis.LoadLine, named bool) string {
	name := "Load line"
	if where := cellWords(l.Cell); where != "" && named {
		name += " of " + where
	}
	if l.Grown {
		return name + grownWords(l)
	}
	broke := ""
	if l.Broke != nil {
		broke = fmt.Sprintf("%s broke %s", pointText(l.Broke), brokenWords(l))
	}
	switch {
	case l.Held == nil && l.Broke == nil:
		return name + ": it is not known: no value was tried to its end."
	case l.Held == nil:
		return fmt.Sprintf("%s: below %s of %s: the least value that was tried %s.", name, pointText(l.Broke), l.Parameter, strings.TrimPrefix(broke, pointText(l.Broke)+" "))
	case l.Broke == nil:
		return fmt.Sprintf("%s: above %s of %s: every objective held at every value that was tried.", name, pointText(l.Held), l.Parameter)
	}
	return fmt.Sprintf("%s (%s): %s held; %s.", name, l.Parameter, pointText(l.Held), broke)
}

// brokenWords reads: p99(gets.get.response) ≤ 100ms (it was 131 ms) after 12 s.
func brokenWords(l *analysis.LoadLine) string {
	words := "an objective"
	if o := l.Objective; o != nil {
		words = strings.TrimSpace(o.Subject() + " " + o.Text)
		if o.Value != nil {
			words += " (it was " + quantity(*o.Value, o.Unit, o.Text) + ")"
		}
	}
	if l.At != nil {
		words += choose(len(l.Runs) < 2, " after "+seconds(*l.At), fmt.Sprintf(", %s into run %d", seconds(*l.At), l.Run))
	}
	return words
}

// pointText is a point's value as it is written, with commas between thousands; nothing of none.
func pointText(p *store.Point) string {
	if p == nil {
		return ""
	}
	_, text, _ := strings.Cut(p.String(), "=")
	end := strings.IndexFunc(text, func(r rune) bool { return r < '0' || r > '9' })
	if end < 0 {
		end = len(text)
	}
	return grouped(text[:end]) + text[end:]
}
