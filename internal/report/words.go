package report

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"plimsoll.dev/plimsoll/internal/analysis"
	"plimsoll.dev/plimsoll/internal/design"
	"plimsoll.dev/plimsoll/internal/measure"
	"plimsoll.dev/plimsoll/internal/stats"
	"plimsoll.dev/plimsoll/internal/store"
)

// answer is the first paragraph of a report on several runs: what they came
// to, in words. It is empty for a result that holds no experiment.
func answer(result *analysis.Result) verdict {
	v := verdict{Tone: neutral}
	if len(result.Comparisons) > 0 {
		v.objectivesByCell(result)
	}
	v.clients(result)
	// How a primary measure grows is known after one block; how variants compare is not.
	compared := len(result.Comparisons) > 0
	if compared && result.Design.Blocks == 1 && slices.ContainsFunc(result.Growth, func(g *analysis.Growth) bool { return g.Primary }) {
		v.growth(result)
	}
	v.comparisons(result)
	v.loadLines(result)
	if !compared {
		v.growth(result)
	}
	if len(v.Sentences) == 0 && severalRuns(result) {
		v.cells(result)
	}
	if n := len(result.Excluded); n > 0 {
		v.worsen(caution)
		v.say("%s left out of every comparison, by %s declared before.", plural(n, "run is", "runs are"), choose(n == 1, "a rule", "rules"))
	}
	if n := len(result.Warnings); n > 0 && len(v.Sentences) > 0 {
		v.worsen(caution)
		v.say("%s with the experiment; read %s first.", plural(n, "warning comes", "warnings come"), choose(n == 1, "it", "them"))
	}
	v.unfinished(result)
	if n := result.RunsPlanned; n > len(result.Runs) {
		v.worsen(caution)
		v.say("%d of %d planned runs have begun: the experiment is still running, or was ended before; then go on with plimsoll run --resume DIR.", len(result.Runs), n)
	}
	if severalRuns(result) && !slices.ContainsFunc(result.Runs, func(r *analysis.Run) bool { return len(r.Objectives) > 0 }) {
		v.say("No objectives were declared.")
	}
	return v
}

func (v *verdict) growth(result *analysis.Result) {
	for _, g := range firstGrowth(result) {
		v.say("%s", growthSentence(g))
	}
}

// loadLines tells of each line; of none, if nothing broke anywhere.
func (v *verdict) loadLines(result *analysis.Result) {
	all := result.LoadLines
	if len(all) > 1 && !slices.ContainsFunc(all, func(l *analysis.LoadLine) bool { return l.Broke != nil || l.Held == nil }) {
		v.say("Load line: in none of %d cells was it reached: every objective held at every value that was tried.", len(all))
		return
	}
	for _, l := range all {
		v.say("%s", loadLineSentence(l, len(all) > 1))
	}
}

// severalRuns says whether the result is of an experiment with repetitions.
func severalRuns(result *analysis.Result) bool { return len(result.Runs) > 1 && len(result.Cells) > 0 }

// isExperiment says whether there is more to show than the runs one by one.
func isExperiment(result *analysis.Result) bool {
	return severalRuns(result) || len(result.Comparisons) > 0 || len(result.Growth) > 0 || len(result.LoadLines) > 0 || len(result.References) > 0 || len(result.Clients) > 0 || result.RunsPlanned > len(result.Runs)
}

// objectivesByCell says of objectives where they held, as far as these are few:
// of all when one block cannot decide a comparison, else of those that are a headline.
func (v *verdict) objectivesByCell(result *analysis.Result) {
	all := slices.DeleteFunc(objectivesOver(result), func(o *overRuns) bool { return result.Design.Blocks > 1 && !o.Headline })
	byName := analysis.GroupBy(all, func(o *overRuns) string { return o.Name })
	if len(byName) > mostSentences || len(all) > mostSentences*len(byName) {
		return
	}
	for _, same := range byName {
		var cells []string
		for _, o := range same {
			cells = append(cells, o.inWords())
		}
		v.say("%s: %s.", upperFirst(oneLine(same[0].Name)), strings.Join(cells, ", "))
	}
	if slices.ContainsFunc(all, func(o *overRuns) bool { return o.Held < o.Runs }) {
		v.worsen(bad)
	}
}

// mostSentences is how many comparisons are told one by one.
const mostSentences = 4

func (v *verdict) comparisons(result *analysis.Result) {
	primary, exploratory := primaryFirst(result)
	switch {
	case len(primary) > mostSentences:
		v.inGroups(primary)
	case len(primary) > 0:
		for _, c := range primary {
			v.say("%s", sentence(c))
		}
	case len(exploratory) > 0:
		v.explored(exploratory)
	}
	for _, c := range primary {
		v.colour(c)
	}
}

// colour makes the tone that of the worst verdict; better needs all others to be decided.
func (v *verdict) colour(c *analysis.Comparison) {
	switch c.Verdict {
	case stats.Worse:
		v.worsen(bad)
	case stats.Better:
		if v.Tone == neutral {
			v.Tone = good
		}
	case stats.Inconclusive:
		v.worsen(caution)
	}
}

// primaryFirst parts the comparisons.
func primaryFirst(result *analysis.Result) (primary, exploratory []*analysis.Comparison) {
	for _, c := range result.Comparisons {
		if c.Primary {
			primary = append(primary, c)
		} else {
			exploratory = append(exploratory, c)
		}
	}
	return primary, exploratory
}

// explored says what can be said when no measure was declared to be primary.
func (v *verdict) explored(comparisons []*analysis.Comparison) {
	v.say("No primary measure was declared, so nothing was tested that had been asked before. Of %s, %s.",
		plural(len(comparisons), "exploratory comparison", "exploratory comparisons"), tallyVerdicts(comparisons))
	if fewest, known := fewestRuns(comparisons); known && fewest < 2 {
		v.say("With one run of each nothing is known of noise: any of the ratios may be that.")
	}
	for _, c := range notable(comparisons, 3) {
		v.say("%s", sentence(c))
	}
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

// inGroups tells of each measure of each variant over the cells and points in one sentence.
func (v *verdict) inGroups(comparisons []*analysis.Comparison) {
	for i, group := range analysis.GroupBy(comparisons, func(c *analysis.Comparison) [2]string { return [2]string{c.Variant, c.Name} }) {
		words, told := "", 0
		if i < mostDetailed {
			words, told = detailed(group)
		}
		if told > 0 {
			v.say("%s", words)
		}
		if told < len(group) {
			v.say("%s", groupSentence(group))
		}
	}
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
	const most = 4
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
		if len(at) > most {
			at = append(at[:most-1], "…")
		}
		parts = append(parts, fmt.Sprintf("%s %s (%s)", verdict, places, strings.Join(at, "; ")))
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

// subjectWords names what was measured.
func subjectWords(s analysis.Subject) string {
	if s.Name != "" && s.Name != s.Measure {
		return s.Name
	}
	if s.Measure != "" {
		return measureWords(s.Measure)
	}
	return s.PromQL
}

// upperName begins a sentence with what is a word, not with p99 or a name.
func upperName(s string) string {
	if first, _, _ := strings.Cut(s, " "); len(s) > 0 && strings.IndexFunc(first, func(r rune) bool { return r < 'a' || r > 'z' }) < 0 {
		return strings.ToUpper(s[:1]) + s[1:]
	}
	return upperFirst(s)
}

// placeWords say at which values: "objects = 1000, page = 100".
func placeWords(axes map[string]string, point *store.Point) string {
	var parts []string
	for _, name := range slices.Sorted(maps.Keys(axes)) {
		parts = append(parts, name+" = "+axes[name])
	}
	if point != nil {
		name, value, _ := strings.Cut(point.String(), "=")
		parts = append(parts, name+" = "+value)
	}
	return strings.Join(parts, ", ")
}

// whereWords are the same to follow a name: " (objects = 1000)"; nothing, if there is nothing to say.
func whereWords(axes map[string]string, point *store.Point) string {
	words := placeWords(axes, point)
	return choose(words == "", "", " ("+words+")")
}

// cellWords name a cell: "vai (objects = 1000)".
func cellWords(c design.Cell) string {
	return strings.TrimSpace(strings.TrimSpace(c.Variant) + whereWords(c.Axes, nil))
}

// cellAt names a cell and a point of a sweep in it.
func cellAt(c design.Cell, point *store.Point) string {
	return strings.TrimSpace(cellWords(c) + whereWords(nil, point))
}

// ratio writes a ratio with two decimals, or as many as tell it from 1.
func ratio(r float64) string {
	switch {
	case math.IsNaN(r) || math.IsInf(r, 0):
		return absent
	case r >= 100:
		return significant(r)
	case r < 0.1 && r > 0:
		return trimmed(fmt.Sprintf("%.2g", r))
	case r != 1 && math.Abs(r-1) < 0.005:
		return fmt.Sprintf("%.3f", r)
	}
	return fmt.Sprintf("%.2f", r)
}

// spread writes the half width of an interval as a share of its centre.
func spread(s stats.Summary) string {
	if s.Median == nil || s.Lo == nil || s.Hi == nil || *s.Median == 0 {
		return "± ?"
	}
	half := max(*s.Hi-*s.Median, *s.Median-*s.Lo) / math.Abs(*s.Median)
	return "± " + wholePercent(half)
}

// wholePercent writes a share without decimals unless it is small.
func wholePercent(share float64) string {
	switch {
	case share >= 0.0995:
		return fmt.Sprintf("%.0f %%", share*100)
	case share > 0 && share < 0.0005:
		return "< 0.1 %"
	}
	return fmt.Sprintf("%.1f %%", share*100)
}

// amount writes a value of a subject in its unit; numbers without one are
// shortened: 638 M.
func amount(v float64, s analysis.Subject) string {
	if s.Unit != "" {
		return quantity(v, s.Unit, "")
	}
	for _, scale := range []struct {
		from   float64
		suffix string
	}{{1e12, " T"}, {1e9, " G"}, {1e6, " M"}, {1e5, " k"}} {
		if math.Abs(v) >= scale.from {
			return significant(v/choose(scale.from == 1e5, 1e3, scale.from)) + scale.suffix
		}
	}
	if v != 0 && math.Abs(v) < 1e-3 {
		return fmt.Sprintf("%.3g", v)
	}
	return significant(v)
}

// centre writes a summary's median and how sure it is.
func centre(s stats.Summary, subject analysis.Subject) string {
	if s.Median == nil {
		return absent
	}
	return amount(*s.Median, subject) + " " + spread(s)
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

// cells says what repetitions of one variant came to.
func (v *verdict) cells(result *analysis.Result) {
	for _, cell := range result.Cells {
		for _, m := range cell.Measures {
			if !m.Primary || m.Summary.Median == nil || len(v.Sentences) >= mostSentences {
				continue
			}
			v.say("%s%s: %s, median of %s%s.", upperName(subjectWords(m.Subject)), strings.TrimRight(" "+cellWords(cell.Cell), " "),
				amount(*m.Summary.Median, m.Subject), plural(m.Summary.N, "run", "runs"), intervalWords(m.Summary, m.Subject))
		}
	}
	if len(v.Sentences) == 0 {
		v.say("%s of one variant: there is nothing to compare, and no primary measure was declared.", plural(len(result.Runs), "run", "runs"))
	}
}

func intervalWords(s stats.Summary, subject analysis.Subject) string {
	if s.Lo == nil || s.Hi == nil {
		return ""
	}
	return fmt.Sprintf(" (%s interval %s … %s)", levelWords(s.Confidence), amount(*s.Lo, subject), amount(*s.Hi, subject))
}

// unfinished says how many runs did not end as planned.
func (v *verdict) unfinished(result *analysis.Result) {
	counts := map[analysis.Status]int{}
	for _, run := range result.Runs {
		counts[run.Status]++
	}
	for _, status := range []analysis.Status{analysis.Failed, analysis.Invalid, analysis.Incomplete} {
		if n := counts[status]; n > 0 && len(result.Runs) > 1 {
			v.worsen(caution)
			v.say("%d of %d runs %s %s.", n, len(result.Runs), choose(n == 1, "is", "are"), status)
		}
	}
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

// growthSentence says how a measure grows.
func growthSentence(g *analysis.Growth) string {
	words := g.InWords
	where := cellWords(g.Cell)
	if where != "" {
		where = ", " + where
	}
	if each := eachWords(g); each != "" {
		words = each
	}
	s := fmt.Sprintf("%s%s: %s", upperName(subjectWords(g.Subject)), where, words)
	for _, c := range g.FirstPast {
		bound := boundWords(strings.TrimSpace(strings.TrimLeft(c.Bound, "≤≥<>= ")))
		side := choose(strings.HasPrefix(strings.TrimSpace(c.Bound), "≥"), "below", "above")
		if c.At == nil {
			s += fmt.Sprintf("; never %s %s", side, bound)
		} else {
			s += fmt.Sprintf("; first %s %s at %s", side, bound, brief(significant(*c.At)))
		}
	}
	return s + "."
}

// boundWords sets a space between the number and the unit of a bound: 1 s.
func boundWords(bound string) string {
	unit := strings.IndexFunc(bound, unicode.IsLetter)
	if unit <= 0 || bound[unit-1] < '0' || bound[unit-1] > '9' || strings.ContainsAny(bound, " /") {
		return bound
	}
	return bound[:unit] + " " + bound[unit:]
}

// firstGrowth are the growths that the first paragraph tells of.
func firstGrowth(result *analysis.Result) []*analysis.Growth {
	var primary []*analysis.Growth
	for _, g := range result.Growth {
		if g.Primary {
			primary = append(primary, g)
		}
	}
	if len(primary) == 0 {
		primary = result.Growth
	}
	return primary[:min(mostSentences, len(primary))]
}
