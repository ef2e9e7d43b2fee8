package report

import (
	"strings"
	"testing"

	"plimsoll.dev/plimsoll/internal/analysis"
)

func TestOneBlockBeginsWithItsObjectives(t *testing.T) {
	result := compared()
	result.Design.Blocks = 1
	for _, run := range result.Runs {
		run.Objectives = []analysis.Objective{objective("the disk is fast enough", "p99(walks.page.service)", "seconds", 0.012, 600, 0.01, "≤ 10ms")}
	}
	v := answer(result)
	if first := v.Sentences[0]; !strings.HasPrefix(first, "The disk is fast enough: no with ") || !strings.Contains(first, "(12.0 ms)") || v.Tone != bad {
		t.Errorf("%s: %s", v.Tone, first)
	}
	result.Design.Blocks = 6
	if first := answer(result).Sentences[0]; strings.Contains(first, "fast enough") {
		t.Errorf("six blocks begin with %s", first)
	}
}
