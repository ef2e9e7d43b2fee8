package report

import (
	"strings"
	"testing"

	"plimsoll.dev/plimsoll/internal/analysis"
)

// bounded gives an experiment of eight blocks whose runs have the one objective, which each misses.
func bounded(headline bool) *analysis.Result {
	result := compared()
	for _, run := range result.Runs {
		o := objective("the disk is fast enough", "p99(walks.page.service)", "seconds", 0.012, 600, 0.01, "≤ 10ms")
		o.Headline = headline
		run.Objectives = []analysis.Objective{o}
	}
	return result
}

func TestOneBlockBeginsWithItsObjectives(t *testing.T) {
	result := bounded(false)
	result.Design.Blocks = 1
	v := answer(result)
	if first := v.Sentences[0]; !strings.HasPrefix(first, "The disk is fast enough: no with ") || !strings.Contains(first, "12.0 ms") || v.Tone != bad {
		t.Errorf("%s: %s", v.Tone, first)
	}
}

func TestSeveralBlocksBeginWithAHeadlineOnly(t *testing.T) {
	if first := answer(bounded(false)).Sentences[0]; strings.Contains(first, "fast enough") {
		t.Errorf("eight blocks begin with %s", first)
	}
	v := answer(bounded(true))
	if first := v.Sentences[0]; !strings.HasPrefix(first, "The disk is fast enough: no with kubernetes (12.0 ms at worst, missed in 8 of 8 runs), ") || v.Tone != bad {
		t.Errorf("%s: %s", v.Tone, first)
	}
}
