package stats

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
)

// worlds are machines that no test may be fooled by.
var worlds = map[string]world{
	"a quiet machine":                           {noise: 0.05},
	"a machine that drifts by 10 %":             {noise: 0.05, drift: 0.1},
	"drift, and runs that resemble the last":    {noise: 0.05, drift: 0.1, memory: 0.6},
	"drift, and runs that hardly differ":        {noise: 0.05, drift: 0.1, memory: 0.95},
	"drift, and now and then a mad run":         {noise: 0.05, drift: 0.1, shape: heavyTailed},
	"drift, memory and a long tail to one side": {noise: 0.05, drift: 0.1, memory: 0.6, shape: skewed},
}

func TestFalseAlarmsAreAtMostOneInTwenty(t *testing.T) {
	const experiments = 1000
	for name, w := range worlds {
		for _, blocks := range []int{4, 6, 10, 16} {
			t.Run(fmt.Sprintf("%s, %d blocks", name, blocks), func(t *testing.T) {
				w.ratio = 1
				alarms := share(experiments, func(r *rand.Rand) bool {
					base, head := w.experiment(r, blocks)
					return Paired(base, head).Verdict(0, LowerIsBetter) != Inconclusive
				})
				if limit := alpha + tolerance(experiments); alarms > limit {
					t.Errorf("%.1f %% of the experiments without a difference found one, more than %.1f %%", 100*alarms, 100*limit)
				}
			})
		}
	}
}

func TestTheIntervalHoldsTheTruth(t *testing.T) {
	const experiments, truth = 400, 1.3
	for name, w := range worlds {
		for _, blocks := range []int{4, 8, 12} {
			t.Run(fmt.Sprintf("%s, %d blocks", name, blocks), func(t *testing.T) {
				w.ratio = truth
				holds := share(experiments, func(r *rand.Rand) bool {
					c := Paired(w.experiment(r, blocks))
					return *c.Lo <= truth && truth <= *c.Hi
				})
				if limit := Level - tolerance(experiments); holds < limit {
					t.Errorf("%.1f %% of the intervals hold the true ratio, less than %.1f %%", 100*holds, 100*limit)
				}
			})
		}
	}
}

func TestPowerAgainstRealChanges(t *testing.T) {
	const experiments = 500
	for _, row := range []struct {
		world  string
		ratio  float64
		blocks int
		least  float64
	}{
		{"a machine that drifts by 10 %", 1.10, 10, 0.90},
		{"a quiet machine", 1.10, 10, 0.90},
		{"drift, and now and then a mad run", 1.10, 10, 0.90},
		{"a machine that drifts by 10 %", 1.20, 6, 0.90},
		{"a machine that drifts by 10 %", 1.05, 20, 0.80},
	} {
		t.Run(fmt.Sprintf("a ratio of %.2f, %d blocks, %s", row.ratio, row.blocks, row.world), func(t *testing.T) {
			w := worlds[row.world]
			w.ratio = row.ratio
			found := share(experiments, func(r *rand.Rand) bool {
				base, head := w.experiment(r, row.blocks)
				return Paired(base, head).Verdict(0, LowerIsBetter) == Worse
			})
			if found < row.least {
				t.Errorf("%.1f %% of the changes were found, less than %.0f %%", 100*found, 100*row.least)
			}
		})
	}
}

// A change right on the margin is the worst case for every verdict.
func TestOnTheMarginAVerdictIsRare(t *testing.T) {
	const experiments, margin = 1000, 0.05
	for _, blocks := range []int{6, 10} {
		w := worlds["drift, and runs that resemble the last"]
		w.ratio = 1 + margin
		given := share(experiments, func(r *rand.Rand) bool {
			base, head := w.experiment(r, blocks)
			return Paired(base, head).Verdict(margin, LowerIsBetter) != Inconclusive
		})
		if limit := alpha + tolerance(experiments); given > limit {
			t.Errorf("with %d blocks, %.1f %% of verdicts were about a change on the margin", blocks, 100*given)
		}
	}
}

func TestUnpairedRunsOfAQuietMachine(t *testing.T) {
	const experiments = 500
	w := world{noise: 0.05, ratio: 1.1}
	for _, n := range []int{3, 4, 6, 10} {
		holds := share(experiments, func(r *rand.Rand) bool {
			c := Unpaired(w.experiment(r, n))
			return *c.Lo <= w.ratio && w.ratio <= *c.Hi
		})
		if holds < Level-tolerance(experiments) {
			t.Errorf("with %d runs on each side, %.1f %% of the intervals hold the true ratio", n, 100*holds)
		}
	}
}

func TestTheIntervalOfAnExponentHoldsTheTruth(t *testing.T) {
	const experiments, truth = 300, 1.5
	for name, runs := range map[string]int{"one run": 1, "five runs, each with its own level and its own exponent": 5} {
		holds := share(experiments, func(r *rand.Rand) bool {
			e := LogLog(sweeps(r, runs, truth)).Exponent
			return *e.Lo <= truth && truth <= *e.Hi
		})
		if holds < Level-tolerance(experiments) {
			t.Errorf("%s: %.1f %% of the intervals hold the true exponent", name, 100*holds)
		}
	}
}

func TestAStraightCurveIsSeldomCalledBent(t *testing.T) {
	const experiments = 300
	for _, runs := range []int{1, 5} {
		bent := share(experiments, func(r *rand.Rand) bool { return LogLog(sweeps(r, runs, 1.5)).Bends != Straight })
		if bent > alpha+tolerance(experiments) {
			t.Errorf("%d runs: %.1f %% of straight curves were called bent", runs, 100*bent)
		}
	}
}

// sweeps are runs over the same x. If there are several, they differ.
func sweeps(r *rand.Rand, runs int, exponent float64) []Point {
	var points []Point
	for run := range runs {
		level, k := 1.0, exponent
		if runs > 1 {
			level, k = math.Exp(0.2*r.NormFloat64()), exponent+0.05*r.NormFloat64()
		}
		for _, x := range []float64{100, 200, 500, 1000, 2000, 5000} {
			points = append(points, Point{x, level * math.Pow(x, k) * math.Exp(0.05*r.NormFloat64()), run})
		}
	}
	return points
}

// The usual bootstrap, with percentiles of resampled medians, claims 95 %. With
// six blocks it holds the truth in 89 % only; with six unpaired runs it comes near,
// but, other than the exact interval, it may contradict the p value.
func TestWhyTheIntervalsAreNotBootstrapped(t *testing.T) {
	const experiments, truth, n = 400, 1.3, 6
	w := world{noise: 0.05, ratio: truth}
	paired := share(experiments, func(r *rand.Rand) bool {
		base, head := w.experiment(r, n)
		logs := logsOf(head)
		for i, b := range logsOf(base) {
			logs[i] -= b
		}
		return within(math.Log(truth), percentiles(r, func() float64 { return median(walshAverages(resample(r, logs))) }))
	})
	t.Logf("paired, bootstrapped Hodges-Lehmann estimate, %d blocks: %.1f %% hold the truth", n, 100*paired)
	unpaired := share(experiments, func(r *rand.Rand) bool {
		base, head := w.experiment(r, n)
		return within(truth, percentiles(r, func() float64 {
			return median(sorted(resample(r, head))) / median(sorted(resample(r, base)))
		}))
	})
	t.Logf("unpaired, bootstrapped ratio of medians, %d runs: %.1f %% hold the truth", n, 100*unpaired)
	if paired > Level-tolerance(experiments) {
		t.Errorf("the bootstrap over blocks is as honest as the exact interval: reconsider it")
	}
}

func percentiles(r *rand.Rand, statistic func() float64) []float64 {
	resampled := make([]float64, 200)
	for i := range resampled {
		resampled[i] = statistic()
	}
	slices.Sort(resampled)
	return []float64{resampled[4], resampled[195]}
}

func within(x float64, bounds []float64) bool { return bounds[0] <= x && x <= bounds[1] }

func resample(r *rand.Rand, values []float64) []float64 {
	chosen := make([]float64, len(values))
	for i := range chosen {
		chosen[i] = values[r.IntN(len(values))]
	}
	return chosen
}
