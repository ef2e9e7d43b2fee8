package report

import (
	"fmt"
	"strings"
	"unicode"

	"plimsoll.dev/plimsoll/internal/analysis"
)

// straight is the share of the variance that a line explains of what is called one.
const straight = 0.9

// eachWords say what each object more costs: 2.31 KiB per pod (95 % 2.2 … 2.4 KiB) beside 61 MiB; nothing, of what has no line.
func eachWords(g *analysis.Growth) string {
	if g.Line == nil || g.Line.Slope.Value == nil || g.Line.Intercept == nil {
		return ""
	}
	slope := g.Line.Slope
	words := fmt.Sprintf("%s per %s", signedMemory(*slope.Value), singular(g.Parameter))
	if slope.Lo != nil && slope.Hi != nil {
		words += fmt.Sprintf(" (95 %% %s … %s)", signedMemory(*slope.Lo), signedMemory(*slope.Hi))
	}
	words += fmt.Sprintf(" beside %s that are there without any", signedMemory(*g.Line.Intercept))
	if g.Line.R2 != nil && *g.Line.R2 < straight {
		words += fmt.Sprintf("; a straight line explains no more than %s of it", wholePercent(*g.Line.R2))
	}
	return words
}

func signedMemory(bytes float64) string {
	if bytes < 0 {
		return "−" + memory(-bytes)
	}
	return memory(bytes)
}

// singular is one of what is counted: pod, of running pods.
func singular(counted string) string {
	words := strings.Fields(counted)
	if len(words) == 0 {
		return "object"
	}
	name := words[len(words)-1]
	if stem, ies := strings.CutSuffix(name, "ies"); ies {
		return stem + "y"
	}
	return strings.TrimSuffix(name, "s")
}

// exponentWords reads: exponent 1.02 (0.97 … 1.07).
func exponentWords(g *analysis.Growth) string {
	e := g.Fit.Exponent
	if e.Value == nil {
		return "no fit"
	}
	words := fmt.Sprintf("exponent %.2f", *e.Value)
	if e.Lo != nil && e.Hi != nil {
		words += fmt.Sprintf(" (%.2f … %.2f)", *e.Lo, *e.Hi)
	}
	return words
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
