package report

import (
	"bytes"
	"slices"
	"strings"
	"testing"

	"plimsoll.dev/plimsoll/internal/analysis"
	"plimsoll.dev/plimsoll/internal/design"
)

func TestWhoWasDroppedIsSaidFirst(t *testing.T) {
	sentences := answer(dropped()).Sentences
	want := []string{
		"With apf, control-plane clients received 0 rejections (429) against 221 with baseline; the load received 155 against 13,229 (medians over runs).",
		"In 1 of 2 runs with baseline, kube-controller-manager ended because it could not renew its lease as the leader.",
	}
	if len(sentences) < 2 || !slices.Equal(sentences[:2], want) {
		t.Errorf("the answer begins with %q", sentences)
	}
}

func TestThatNobodyWasDroppedIsSaidOnce(t *testing.T) {
	result := dropped()
	for _, c := range result.Clients {
		for i := range c.Cells {
			c.Cells[i].Sum.Rejected, c.Cells[i].Median.Rejected = 0, 0
		}
	}
	sentences := answer(result).Sentences
	if sentences[0] != "Nobody was dropped: no request of the load, or of the control plane, was rejected." || strings.HasPrefix(sentences[1], "With apf, control") {
		t.Errorf("the answer begins with %q", sentences)
	}
}

func TestDroppedClientsAtEachValueOfAnAxis(t *testing.T) {
	result := dropped()
	for _, c := range result.Clients {
		for _, cell := range slices.Clone(c.Cells) {
			other := cell
			other.Cell = design.Cell{Variant: cell.Cell.Variant, Axes: map[string]string{"limit": "40"}}
			c.Cells = append(c.Cells, other)
		}
		for i := range 2 {
			c.Cells[i].Cell.Axes = map[string]string{"limit": "5"}
		}
	}
	var told []string
	for _, s := range answer(result).Sentences {
		if strings.HasPrefix(s, "With apf") {
			told = append(told, s)
		}
	}
	if len(told) != 2 || !strings.Contains(told[0], "5") || !strings.Contains(told[1], "40") {
		t.Errorf("told is %q; want a sentence for each limit", told)
	}
}

func TestOneRunWithAControlPlaneTellsWhoWasDropped(t *testing.T) {
	result := dropped()
	result.Runs, result.Cells, result.Excluded = result.Runs[:1], result.Cells[:1], nil
	result.Design = design.Design{Variants: []design.Variant{{}}, Blocks: 1}
	for _, c := range result.Clients {
		c.Cells = []analysis.ClientCell{{Runs: []int{1}, Sum: c.Cells[0].Sum, Median: c.Cells[0].Median}}
	}
	var text, page bytes.Buffer
	if err := Terminal(&text, result); err != nil {
		t.Fatal(err)
	}
	if err := HTML(&page, result); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"this run", "298 of 426", "90 of 102"} {
		if !strings.Contains(text.String(), want) {
			t.Errorf("the terminal does not say %q:\n%s", want, text.String())
		}
	}
	if !strings.Contains(page.String(), `id="clients"`) || !strings.Contains(page.String(), `id="graphs"`) {
		t.Error("the page does not show who was dropped, or not over time")
	}
}
