package stats

import (
	"math"
	"math/rand/v2"
	"testing"
)

func TestVerdict(t *testing.T) {
	unlikely, likely := 0.01, 0.2
	for _, row := range []struct {
		name      string
		lo, hi    float64
		p         *float64
		margin    float64
		direction Direction
		want      Verdict
	}{
		{"a response time beyond the margin is worse", 1.06, 1.2, &unlikely, 0.05, LowerIsBetter, Worse},
		{"a throughput beyond the margin is better", 1.06, 1.2, &unlikely, 0.05, HigherIsBetter, Better},
		{"a response time below the margin is better", 0.8, 0.9, &unlikely, 0.05, LowerIsBetter, Better},
		{"a throughput below the margin is worse", 0.8, 0.9, &unlikely, 0.05, HigherIsBetter, Worse},
		{"within both margins they are equivalent", 0.97, 1.04, &likely, 0.05, LowerIsBetter, Equivalent},
		{"within both margins, a significant change does not matter", 1.01, 1.04, &unlikely, 0.05, LowerIsBetter, Equivalent},
		{"across a margin nothing is known", 1.01, 1.2, &unlikely, 0.05, LowerIsBetter, Inconclusive},
		{"across both margins nothing is known", 0.8, 1.2, &likely, 0.05, LowerIsBetter, Inconclusive},
		{"the lower margin is 1/(1+m), not 1-m", 0.945, 0.951, &unlikely, 0.05, LowerIsBetter, Better},
		{"without a margin, a change is worse", 1.01, 1.2, &unlikely, 0, LowerIsBetter, Worse},
		{"without a margin, nothing is equivalent", 0.999, 1.001, &likely, 0, LowerIsBetter, Inconclusive},
		{"without a margin, no change at all is not equivalent either", 1, 1, &likely, 0, LowerIsBetter, Inconclusive},
		{"an adjusted p value has the last word", 1.01, 1.2, &likely, 0, LowerIsBetter, Inconclusive},
		{"where there is no p value, the interval decides", 1.01, 1.2, nil, 0, LowerIsBetter, Worse},
		{"a margin that makes no sense decides nothing", 1.01, 1.2, nil, -1, LowerIsBetter, Inconclusive},
		{"nor does one that is not a number", 1.01, 1.2, nil, math.NaN(), LowerIsBetter, Inconclusive},
	} {
		t.Run(row.name, func(t *testing.T) {
			c := Comparison{Lo: &row.lo, Hi: &row.hi, P: row.p}
			if got := c.Verdict(row.margin, row.direction); got != row.want {
				t.Errorf("the verdict is %s, not %s", got, row.want)
			}
		})
	}
	if got := (Comparison{}).Verdict(0.05, LowerIsBetter); got != Inconclusive {
		t.Errorf("without an interval the verdict is %s", got)
	}
}

// As many blocks as are said to be needed should decide about four times in five.
func TestTheBlocksNeededDecide(t *testing.T) {
	for _, row := range []struct {
		ratio, margin float64
		want          Verdict
	}{{1.05, 0, Worse}, {1.03, 0, Worse}, {1.15, 0.05, Worse}, {1.02, 0.08, Equivalent}} {
		const experiments = 200
		w := world{noise: 0.05, ratio: row.ratio}
		// A pilot that found exactly the truth: two ratios, of this mean and deviation.
		up, down := row.ratio*math.Exp(0.05), row.ratio*math.Exp(-0.05)
		blocks, known := Paired([]float64{1, 1}, []float64{up, down}).BlocksNeeded(row.margin)
		decided := share(experiments, func(r *rand.Rand) bool {
			base, head := w.experiment(r, blocks)
			return Paired(base, head).Verdict(row.margin, LowerIsBetter) == row.want
		})
		t.Logf("a ratio of %v, a margin of %v: %d blocks, %.0f %% %s", row.ratio, row.margin, blocks, 100*decided, row.want)
		if !known || decided < 0.7 || decided > 0.92 {
			t.Errorf("a ratio of %v, a margin of %v: %d blocks decide in %.0f %%", row.ratio, row.margin, blocks, 100*decided)
		}
	}
}

func TestBlocksNeededAreNotKnown(t *testing.T) {
	for name, c := range map[string]Comparison{
		"without blocks":              Paired(nil, nil),
		"with one block":              Paired([]float64{1}, []float64{2}),
		"without a spread":            Paired(times(8, 1), times(8, 1)),
		"without a ratio":             Paired(times(8, 0), times(8, 1)),
		"with the ratio on no effect": Paired([]float64{1, 2}, []float64{2, 1}),
	} {
		if blocks, known := c.BlocksNeeded(0); known {
			t.Errorf("%s, %d blocks are said to be needed", name, blocks)
		}
	}
	if blocks, known := Unpaired([]float64{9, 10, 11, 12, 10, 9}, []float64{10, 11, 12, 13, 9, 10}).BlocksNeeded(0); !known || blocks < 7 {
		t.Errorf("unpaired: %d, %v", blocks, known)
	}
}
