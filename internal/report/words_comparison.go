package report

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"

	"plimsoll.dev/plimsoll/internal/analysis"
	"plimsoll.dev/plimsoll/internal/measure"
	"plimsoll.dev/plimsoll/internal/stats"
)

// mostExploratory is how many exploratory comparisons a report shows at once.
const mostExploratory = 12

// byPlace puts comparisons at the same values of axes together.
func byPlace(comparisons []*analysis.Comparison) []*analysis.Comparison {
	return slices.Concat(analysis.GroupBy(comparisons, func(c *analysis.Comparison) string { return whereWords(c.Axes, c.Point) })...)
}

func pairsCell(c *analysis.Comparison) string {
	if c.Pairs > 0 {
		return fmt.Sprint(c.Pairs)
	}
	return fmt.Sprintf("%d+%d", c.N1, c.N2)
}

// legendWords says what the columns are.
func legendWords(result *analysis.Result) string {
	var confidences []float64
	for _, c := range result.Comparisons {
		confidences = append(confidences, c.Base.Confidence, c.Head.Confidence)
	}
	words := "Medians over runs, ± the wider half of the " + levelOf(confidences) + " interval"
	if slices.ContainsFunc(result.Comparisons, func(c *analysis.Comparison) bool { return c.Base.Lo == nil || c.Head.Lo == nil }) {
		words += " (?: fewer than 6 runs)"
	}
	words += "; n counts blocks"
	if slices.ContainsFunc(result.Comparisons, func(c *analysis.Comparison) bool { return c.Pairs == 0 }) {
		words += ", or runs of both sides where these are not paired"
	}
	if _, exploratory := primaryFirst(result); len(exploratory) > 0 {
		words += "; the verdicts of exploratory measures allow for their number (Holm)"
	}
	return words + "."
}

// comparisonWarnings are those of primary comparisons, each once, with what it is about.
func comparisonWarnings(result *analysis.Result) []string {
	const most = 8
	type told struct{ about, warning string }
	var all []told
	primary, _ := primaryFirst(result)
	for _, c := range primary {
		for _, w := range c.Warnings {
			if t := (told{subjectWords(c.Subject), w}); !slices.Contains(all, t) {
				all = append(all, t)
			}
		}
	}
	var sentences []string
	for _, same := range analysis.GroupBy(all, func(t told) string { return t.warning }) {
		var about []string
		for _, t := range same {
			about = append(about, t.about)
		}
		sentences = append(sentences, upperName(strings.Join(about, ", "))+": "+same[0].warning)
	}
	return sentences[:min(len(sentences), most)]
}

// toneOf gives a verdict its colour.
func toneOf(v stats.Verdict) tone {
	switch v {
	case stats.Better:
		return good
	case stats.Worse:
		return bad
	case stats.Inconclusive:
		return caution
	}
	return neutral
}

// verdictMark is a verdict with a sign, so that colour is not all that carries it.
func verdictMark(v stats.Verdict) string {
	return map[stats.Verdict]string{stats.Better: "✓ better", stats.Worse: "✗ worse", stats.Equivalent: "= equivalent", stats.Inconclusive: "? inconclusive"}[v]
}

// gain is a ratio of times with its interval, as it is spoken of.
type gain struct{ Value, Lo, Hi *float64 }

// inverse turns how many times as long into how many times as fast.
func (g gain) inverse() gain {
	of := func(v *float64) *float64 {
		if v == nil || *v <= 0 {
			return nil
		}
		inverse := 1 / *v
		return &inverse
	}
	return gain{of(g.Value), of(g.Hi), of(g.Lo)}
}

// String reads: 0.58 [0.55, 0.61].
func (g gain) String() string {
	switch {
	case g.Value == nil:
		return absent
	case g.Lo == nil || g.Hi == nil:
		return ratio(*g.Value) + " [?]"
	}
	return fmt.Sprintf("%s [%s, %s]", ratio(*g.Value), ratio(*g.Lo), ratio(*g.Hi))
}

// fewestRuns is how many runs a side of the comparisons has at the least.
func fewestRuns(comparisons []*analysis.Comparison) (fewest int, known bool) {
	for _, c := range comparisons {
		if n := min(c.N1, c.N2); n > 0 && (!known || n < fewest) {
			fewest, known = n, true
		}
	}
	return fewest, known
}

// mostPlain is how many plain measures a table shows.
const mostPlain = 40

// shownOf are the exploratory comparisons that a report shows at once: those that
// were decided and, if nobody said beforehand what matters or there is too little
// to decide anything, what everybody asks for: means, p99, rates and memory.
func shownOf(result *analysis.Result) []*analysis.Comparison {
	primary, exploratory := primaryFirst(result)
	shown := notable(exploratory, mostExploratory)
	if fewest, known := fewestRuns(primary); len(primary) > 0 && (!known || fewest > 1) {
		return shown
	}
	var all []*analysis.Comparison
	plain := 0
	for _, c := range exploratory {
		statistic, _, _ := strings.Cut(c.Measure, "(")
		asked := slices.Contains([]string{"mean", "p99", "rate", "maxRSS"}, statistic) && c.Ratio != nil && plain < mostPlain
		if asked {
			plain++
		}
		if asked || slices.Contains(shown, c) {
			all = append(all, c)
		}
	}
	return all
}

// Of how many measures a group is told one by one, and in how many places.
const (
	mostDetailed = 4
	mostAt       = 4
)

// detailed says with its interval what became of a measure at the largest value of
// the axis of numbers, for each of the others' values: that is where a difference
// that grows is largest; and how many comparisons it tells of, none if they are
// too many.
func detailed(group []*analysis.Comparison) (words string, told int) {
	along := axisOfNumbers(group)
	largest := math.Inf(-1)
	for _, c := range group {
		largest = max(largest, along.of(c))
	}
	at, name := group, ""
	if along != "" {
		at = slices.DeleteFunc(slices.Clone(group), func(c *analysis.Comparison) bool { return along.of(c) != largest })
		name = ", at " + string(along) + " = " + at[0].Axes[string(along)]
	}
	if len(at) > mostAt || len(group) == 1 {
		return "", 0
	}
	var parts []string
	for _, c := range at {
		axes := maps.Clone(c.Axes)
		delete(axes, string(along))
		where := placeWords(axes, c.Point)
		parts = append(parts, choose(where != "", "with "+where+" ", "")+gainWords(c))
	}
	c := group[0]
	return fmt.Sprintf("%s, %s against %s%s: %s.", upperName(subjectWords(c.Subject)), c.Variant, c.Baseline, name, strings.Join(parts, "; ")), len(at)
}

// gainWords reads: 1.72× as fast [1.65, 1.80].
func gainWords(c *analysis.Comparison) string {
	if c.Ratio == nil {
		return "not measured in both"
	}
	g, unit := gain{c.Ratio, c.Lo, c.Hi}, "× as much"
	switch {
	case c.Unit == string(measure.Seconds) && *c.Ratio < 1 && *c.Ratio > 0:
		g, unit = g.inverse(), "× as fast"
	case c.Unit == string(measure.Seconds):
		unit = "× as long"
	}
	words := ratio(*g.Value) + unit
	if g.Lo != nil && g.Hi != nil {
		words += fmt.Sprintf(" [%s, %s]", ratio(*g.Lo), ratio(*g.Hi))
	}
	return words + choose(c.Verdict == stats.Inconclusive || c.Verdict == stats.Equivalent, " ("+string(c.Verdict)+")", "")
}

// numbered is an axis whose values are numbers.
type numbered string

// axisOfNumbers is the axis with the most values if they all are numbers; empty if there is none.
func axisOfNumbers(group []*analysis.Comparison) numbered {
	best, most := numbered(""), 1
	for _, name := range slices.Sorted(maps.Keys(group[0].Axes)) {
		values := map[float64]bool{}
		for _, c := range group {
			values[numbered(name).of(c)] = true
		}
		if !values[math.Inf(-1)] && len(values) > most {
			best, most = numbered(name), len(values)
		}
	}
	return best
}

// of is the value of a comparison on the axis; what is no number is below all.
func (n numbered) of(c *analysis.Comparison) float64 {
	v, err := strconv.ParseFloat(c.Axes[string(n)], 64)
	if err != nil {
		return math.Inf(-1)
	}
	return v
}

func groupSentence(group []*analysis.Comparison) string {
	if len(group) == 1 {
		return sentence(group[0])
	}
	lowest, highest := math.Inf(1), math.Inf(-1)
	for _, one := range group {
		if one.Ratio != nil {
			lowest, highest = min(lowest, *one.Ratio), max(highest, *one.Ratio)
		}
	}
	span := ""
	if lowest <= highest {
		span = "; ratio " + ratio(lowest)
		if ratio(highest) != ratio(lowest) {
			span = fmt.Sprintf("; ratios %s … %s", ratio(lowest), ratio(highest))
		}
	}
	c := group[0]
	return fmt.Sprintf("%s, %s against %s: %s%s.", upperName(subjectWords(c.Subject)), c.Variant, c.Baseline, tallyWhere(group), span)
}

// tallyWhere reads: better in 3 of 4 (objects = 1000; …), inconclusive in 1 of 4 (objects = 8000).
func tallyWhere(group []*analysis.Comparison) string {
	const most, longest = 4, 120 // what more is said, the table says better
	var parts []string
	for _, verdict := range verdictOrder {
		var at []string
		for _, c := range group {
			if c.Verdict == verdict {
				at = append(at, placeWords(c.Axes, c.Point))
			}
		}
		if len(at) == 0 {
			continue
		}
		places := fmt.Sprintf("in %d of %d", len(at), len(group))
		if len(at) == len(group) {
			places = choose(len(group) == 2, "in both", fmt.Sprintf("in all %d", len(group)))
		}
		if named := strings.Join(at, "; "); len(at) <= most && len(named) <= longest {
			places += " (" + named + ")"
		}
		parts = append(parts, fmt.Sprintf("%s %s", verdict, places))
	}
	return strings.Join(parts, ", ")
}

var verdictOrder = []stats.Verdict{stats.Better, stats.Worse, stats.Equivalent, stats.Inconclusive}

func tallyVerdicts(comparisons []*analysis.Comparison) string {
	var parts []string
	for _, verdict := range verdictOrder {
		n := 0
		for _, c := range comparisons {
			if c.Verdict == verdict {
				n++
			}
		}
		if n > 0 {
			parts = append(parts, fmt.Sprintf("%d %s %s", n, choose(n == 1, "is", "are"), verdict))
		}
	}
	return strings.Join(parts, ", ")
}

// sentence is a comparison in words.
func sentence(c *analysis.Comparison) string {
	subject := upperName(subjectWords(c.Subject)) + whereWords(c.Axes, c.Point)
	if c.Ratio == nil {
		why := "it was not measured in both"
		if len(c.Warnings) > 0 {
			why = strings.TrimRight(c.Warnings[0], ".")
		}
		return fmt.Sprintf("%s: %s cannot be compared with %s: %s.", subject, c.Variant, c.Baseline, why)
	}
	evidence := evidence(c)
	switch c.Verdict {
	case stats.Equivalent:
		return fmt.Sprintf("%s: %s and %s are equivalent within %s %s.", subject, c.Variant, c.Baseline, percent(c.Margin), evidence)
	case stats.Better, stats.Worse:
		return fmt.Sprintf("%s: %s %s %s %s: %s.", subject, c.Variant, effect(c), c.Baseline, evidence, c.Verdict)
	}
	return fmt.Sprintf("%s: whether %s is better or worse than %s is inconclusive %s%s.", subject, c.Variant, c.Baseline, evidence, blocksWords(c))
}

// effect is how a variant stands to the baseline: "is 1.72× as fast as".
func effect(c *analysis.Comparison) string {
	r := *c.Ratio
	switch measure.Unit(c.Unit) {
	case measure.Seconds:
		if r < 1 && r > 0 && c.Better != measure.Higher {
			return fmt.Sprintf("is %s× as fast as", ratio(1/r))
		}
		return fmt.Sprintf("takes %s× as long as", ratio(r))
	case measure.Bytes:
		return fmt.Sprintf("comes to %s× the bytes of", ratio(r))
	case measure.PerSecond:
		return fmt.Sprintf("reaches %s× the rate of", ratio(r))
	}
	return fmt.Sprintf("comes to %s× that of", ratio(r))
}

// evidence reads: (mean service time 12.3 ms against 21.1 ms; ratio 0.58, 95 % interval 0.55 … 0.61, 8 blocks).
func evidence(c *analysis.Comparison) string {
	var parts []string
	if c.Head.Median != nil && c.Base.Median != nil {
		parts = append(parts, strings.TrimSpace(fmt.Sprintf("%s %s against %s", statisticWords(c.Subject),
			amount(*c.Head.Median, c.Subject), amount(*c.Base.Median, c.Subject))))
	}
	numbers := "ratio " + ratio(*c.Ratio)
	if c.Lo != nil && c.Hi != nil {
		numbers += fmt.Sprintf(", %s interval %s … %s", levelWords(c.Confidence), ratio(*c.Lo), ratio(*c.Hi))
	} else {
		numbers += ", no interval"
	}
	return "(" + strings.Join(append(parts, numbers+", "+sizeWords(c)), "; ") + ")"
}

func sizeWords(c *analysis.Comparison) string {
	if c.Pairs > 0 {
		return plural(c.Pairs, "block", "blocks")
	}
	return fmt.Sprintf("%d against %d runs, not paired", c.N2, c.N1)
}

func blocksWords(c *analysis.Comparison) string {
	unit := choose(c.Pairs > 0, "blocks", "runs of each")
	switch {
	case c.BlocksNeeded > max(c.Pairs, min(c.N1, c.N2)):
		return fmt.Sprintf("; about %s %s would decide", count(int64(c.BlocksNeeded)), unit)
	case c.BlocksNeeded > 0:
		return fmt.Sprintf("; an experiment of %s %s may decide", count(int64(c.BlocksNeeded)), unit)
	}
	return fmt.Sprintf("; how many %s would decide cannot be told", unit)
}

// levelWords is the confidence of an interval, as it is: exact intervals move in steps.
func levelWords(confidence float64) string {
	if confidence == 0 || math.Abs(confidence-stats.Level) < 0.0005 {
		return percent(stats.Level)
	}
	return trimmed(fmt.Sprintf("%.1f", confidence*100)) + " %"
}

// levelOf is the confidence of several intervals: their own, if it is one.
func levelOf(confidences []float64) string {
	words := ""
	for _, c := range confidences {
		if c == 0 {
			continue
		}
		if level := levelWords(c); words != "" && words != level {
			return "≥ " + percent(stats.Level)
		} else {
			words = level
		}
	}
	return cmp.Or(words, percent(stats.Level))
}

// ratioHead heads the column of ratios with the confidence of their intervals.
func ratioHead(comparisons []*analysis.Comparison) string {
	var confidences []float64
	for _, c := range comparisons {
		confidences = append(confidences, c.Confidence)
	}
	return "ratio [" + levelOf(confidences) + "]"
}

// statisticWords is what the centre of a subject is of: "p99 response time".
func statisticWords(s analysis.Subject) string {
	m, err := measure.Parse(s.Measure)
	switch {
	case err != nil || s.Name == s.Measure:
		return ""
	case m.Clock == "lag":
		return m.Statistic + " lag"
	case m.Clock != "":
		return m.Statistic + " " + m.Clock + " time"
	}
	return m.Statistic
}

// ratioCell writes a ratio with its interval.
func ratioCell(c *analysis.Comparison) string { return gain{c.Ratio, c.Lo, c.Hi}.String() }

// notable are the exploratory comparisons worth a line: those that were decided,
// the largest changes first.
func notable(comparisons []*analysis.Comparison, most int) []*analysis.Comparison {
	decided := slices.DeleteFunc(slices.Clone(comparisons), func(c *analysis.Comparison) bool {
		return c.Verdict == stats.Inconclusive || c.Verdict == "" || c.Ratio == nil
	})
	slices.SortStableFunc(decided, func(a, b *analysis.Comparison) int {
		return cmp.Compare(math.Abs(math.Log(*b.Ratio)), math.Abs(math.Log(*a.Ratio)))
	})
	return decided[:min(most, len(decided))]
}
