package report

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"plimsoll.dev/plimsoll/internal/analysis"
	"plimsoll.dev/plimsoll/internal/stats"
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

// clients says who was dropped: for each variant, beside the baseline, at the same parameters.
func (v *verdict) clients(result *analysis.Result) {
	base := ""
	if len(result.Design.Variants) > 0 {
		base = result.Design.Variants[0].Name
	}
	if len(result.Clients) == 0 {
		return
	}
	control, load := totalOf(result, analysis.ControlPlane), totalOf(result, analysis.LoadRole)
	if control == nil || load == nil {
		return
	}
	if len(control.Cells) > 1 && nobodyRejected(control) && nobodyRejected(load) {
		v.say("Nobody was dropped: no request of the load, or of the control plane, was rejected.")
		v.lostLeases(result)
		return
	}
	said := 0
	for i, cell := range control.Cells {
		at := slices.IndexFunc(control.Cells, func(b analysis.ClientCell) bool {
			return b.Cell.Variant == base && maps.Equal(b.Cell.Axes, cell.Cell.Axes)
		})
		if cell.Cell.Variant == base || at < 0 || said == mostSentences || len(cell.Runs) == 0 || len(control.Cells[at].Runs) == 0 {
			continue
		}
		said++
		baseline := control.Cells[at]
		v.say("With %s, control-plane clients received %s against %s with %s; the load received %s against %s%s%s.",
			oneLine(cell.Cell.Variant), rejections(cell.Median.Rejected), count(int64(baseline.Median.Rejected)), oneLine(base),
			count(int64(load.Cells[i].Median.Rejected)), count(int64(load.Cells[at].Median.Rejected)),
			choose(len(cell.Runs) > 1 || len(baseline.Runs) > 1, " (medians over runs)", ""), whereWords(cell.Cell.Axes, nil))
	}
	v.lostLeases(result)
}

func nobodyRejected(all *analysis.ClientCells) bool {
	return !slices.ContainsFunc(all.Cells, func(c analysis.ClientCell) bool { return c.Sum.Rejected > 0 })
}

// lostLeases says in how many runs a component of the control plane ended for want of its lease.
func (v *verdict) lostLeases(result *analysis.Result) {
	for _, cell := range result.Clients[0].Cells {
		lost := map[string]int{}
		for _, run := range result.Runs {
			if run.Health == nil || !slices.Contains(cell.Runs, run.Index) {
				continue
			}
			for name := range run.Health.LostLeases {
				lost[name]++
			}
		}
		for _, name := range slices.Sorted(maps.Keys(lost)) {
			v.worsen(bad)
			v.say("In %d of %s%s, %s ended because it could not renew its lease as the leader.",
				lost[name], plural(len(cell.Runs), "run", "runs"), choose(cell.Cell.Variant != "", " with "+oneLine(cellWords(cell.Cell)), ""), name)
		}
	}
}

func rejections(n float64) string {
	return count(int64(n)) + choose(n == 1, " rejection (429)", " rejections (429)")
}

// totalOf is what all clients of a role got together; nil if there are none.
func totalOf(result *analysis.Result, role analysis.Role) *analysis.ClientCells {
	for _, c := range result.Clients {
		if c.Role == role && c.Name == analysis.All {
			return c
		}
	}
	return nil
}

// lead is the verdict over several runs.
func lead(result *analysis.Result) verdict {
	if len(result.Runs) == 1 {
		return verdict{}
	}
	v := verdict{Tone: neutral}
	complete, missed, judged := 0, 0, 0
	for _, run := range result.Runs {
		if run.Status == analysis.Complete {
			complete++
		}
		if len(run.Objectives) > 0 {
			judged++
		}
		if len(missedOf(run)) > 0 {
			missed++
		}
	}
	n := len(result.Runs)
	switch {
	case missed > 0:
		v.worsen(bad)
		v.say("Objectives were missed in %d of %s.", missed, plural(n, "run", "runs"))
	case judged > 0:
		v.Tone = good
		v.say("All objectives %s in %s.", choose(complete == n, "held", "held so far"), choose(judged == n, "all "+plural(n, "run", "runs"), fmt.Sprintf("the %d of %d runs that declare any", judged, n)))
	default:
		v.say("%s; no objectives were declared.", plural(n, "run", "runs"))
	}
	if complete < n {
		v.worsen(bad)
		v.say("Only %d of %d runs are complete.", complete, n)
	}
	return v
}

// inWords says whether the objective held there, and how near it came to its bound.
func (o *overRuns) inWords() string {
	if o.worst == nil && o.Held < o.Runs {
		return fmt.Sprintf("not known with %s (nothing was measured)", oneLine(o.Where))
	}
	worst := o.Worst
	switch {
	case o.Runs > 1 && o.Held == o.Runs:
		worst += fmt.Sprintf(" at worst in %d runs", o.Runs)
	case o.Runs > 1:
		worst += fmt.Sprintf(" at worst, missed in %d of %d runs", o.Runs-o.Held, o.Runs)
	}
	return fmt.Sprintf("%s with %s (%s)", choose(o.Held == o.Runs, "yes", "no"), oneLine(o.Where), worst)
}
