package stats

import (
	"math"
	"math/rand/v2"
	"testing"
)

func TestALineHasASlopeAndWhatIsThereWithoutIt(t *testing.T) {
	var exact []Point
	for x := 0.0; x <= 1000; x += 100 {
		exact = append(exact, Point{X: x, Y: 5000 + 3*x})
	}
	l := Linear(append(exact, Point{X: math.NaN(), Y: 1}, Point{X: 1, Y: math.Inf(1)}))
	if l.Points != 11 || math.Abs(*l.Slope.Value-3) > 1e-9 || math.Abs(*l.Intercept-5000) > 1e-6 || *l.R2 < 1-1e-9 || len(l.Warnings) != 1 {
		t.Errorf("line = %+v, want 5000 + 3 x through 11 points, and a warning that they are of one run", l)
	}
	if l := Linear(exact[:1]); l.Slope.Value != nil || len(l.Warnings) != 1 {
		t.Errorf("line through one point = %+v, want none, and why", l)
	}
}

func TestTheIntervalOfASlopeOverRunsHoldsTheTruth(t *testing.T) {
	chance := rand.New(rand.NewPCG(3, 9))
	const trials = 400
	held := 0
	for range trials {
		var points []Point
		for run := range 5 {
			own := 2000 * (1 + 0.1*chance.NormFloat64()) // runs differ more than points of one do
			for x := 1000.0; x <= 20000; x += 1000 {
				points = append(points, Point{X: x, Y: 1e7 + own*x + 1e5*chance.NormFloat64(), Run: run})
			}
		}
		if slope := Linear(points).Slope; *slope.Lo <= 2000 && 2000 <= *slope.Hi {
			held++
		}
	}
	if share := float64(held) / trials; share < 0.92 || share > 0.98 {
		t.Errorf("the interval held the truth in %.0f %% of %d trials, want 95 %%", 100*share, trials)
	}
}
