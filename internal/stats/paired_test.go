package stats

import (
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
)

// Depression scores of nine patients before and after a tranquilliser, from
// Hollander and Wolfe, Nonparametric Statistical Methods, 1973, table 3.1; also
// the example of R's wilcox.test. The book gives the estimate -0.46 and the
// 96.1 % interval (-0.786, -0.010); R gives V = 40 and a one-sided p = 0.01953.
var (
	before = []float64{1.83, 0.50, 1.62, 2.48, 1.68, 1.88, 1.55, 3.06, 1.30}
	after  = []float64{0.878, 0.647, 0.598, 2.05, 1.06, 1.29, 1.06, 3.14, 1.29}
)

func TestSignedRanksAgreeWithHollanderAndWolfe(t *testing.T) {
	var d []float64
	for i := range before {
		d = append(d, after[i]-before[i])
	}
	averages := walshAverages(d)
	i := signedRankInterval(averages, len(d))
	about(t, "the estimate", median(averages), -0.46, 0.0005)
	about(t, "the lower bound", i.lo, -0.786, 0.0005)
	about(t, "the upper bound", i.hi, -0.010, 0.0005)
	about(t, "the confidence", i.confidence, 0.961, 0.0005)
	about(t, "the p value", signedRankP(d), 2*0.01953, 0.00001)
}

// The same as signedRankP by its definition: flip the signs in all ways, and
// count the pairs whose average is above zero, half of those at zero.
func TestSignedRanksAgreeWithFlippingAllSigns(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	for range 200 {
		d := make([]float64, 1+r.IntN(9))
		for i := range d {
			d[i] = float64(r.IntN(9)-4) / 2 // many ties and zeros
		}
		about(t, "the p value", signedRankP(d), flipAllSigns(d), 1e-12)
	}
}

func flipAllSigns(d []float64) float64 {
	middle := float64(len(d)*(len(d)+1)) / 4
	observed, extreme := math.Abs(averagesAboveZero(d)-middle), 0
	flipped := make([]float64, len(d))
	for signs := range 1 << len(d) {
		for i := range d {
			flipped[i] = d[i] * float64(1-2*(signs>>i&1))
		}
		if math.Abs(averagesAboveZero(flipped)-middle) >= observed {
			extreme++
		}
	}
	return float64(extreme) / float64(int(1)<<len(d))
}

func averagesAboveZero(d []float64) float64 {
	count := 0.0
	for _, average := range walshAverages(d) {
		count += float64(1+sign(average)) / 2
	}
	return count
}

func TestTheIntervalAndThePValueNeverContradictEachOther(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 6))
	w := world{noise: 0.05, ratio: 1.04}
	for range 500 {
		c := Paired(w.experiment(r, 6+r.IntN(10)))
		if excluded := *c.Lo > 1 || *c.Hi < 1; excluded != (*c.P <= alpha) {
			t.Fatalf("the interval is %v to %v and p is %v", *c.Lo, *c.Hi, *c.P)
		}
	}
}

func TestBeyondTheExactLimitTheNormalDistributionTakesOver(t *testing.T) {
	r := rand.New(rand.NewPCG(7, 8))
	base, head := world{noise: 0.05, ratio: 1.01}.experiment(r, exactLimit)
	exact := Paired(base, head)
	var d []float64
	for i := range base {
		d = append(d, math.Log(head[i]/base[i]))
	}
	ranks, positive := doubledRanks(d)
	about(t, "p", signedRankNormalP(ranks, math.Abs(float64(2*positive-10100))), *exact.P, 0.002)
	larger := Paired(slices.Concat(base, base[:1]), slices.Concat(head, head[:1]))
	about(t, "the lower bound with a block more", *larger.Lo, *exact.Lo, 0.002)
	about(t, "the upper bound with a block more", *larger.Hi, *exact.Hi, 0.002)
}

func TestPaired(t *testing.T) {
	nan, inf := math.NaN(), math.Inf(1)
	for _, row := range []struct {
		name       string
		base, head []float64
		ratio      any // or "none"
		interval   bool
		p          any
		pairs      int
		warning    string
	}{
		{"six blocks, all 10 % up", times(6, 100), times(6, 110), 1.1, true, 2. / 64, 6, "All 6 blocks have the same ratio"},
		{"six blocks, all equal", times(6, 100), times(6, 100), 1., true, 1., 6, "All 6 blocks have the same ratio"},
		{"drift does not matter", []float64{1, 2, 3, 4, 5, 6}, []float64{2, 4, 6, 8, 10, 12}, 2., true, 2. / 64, 6, "same ratio"},
		{"one mad block of eight", []float64{10, 10, 10, 10, 10, 10, 10, 10}, []float64{11, 11, 11, 11, 11, 11, 11, 5000}, 1.1, true, 2. / 256, 8, ""},
		{"five blocks", []float64{10, 11, 10, 11, 10}, []float64{11, 12.1, 11, 12.1, 11.2}, math.Pow(1.1, 0.8) * math.Pow(1.12, 0.2), true, "none", 5, "With 5 blocks the interval rests on the assumption"},
		{"three equal ratios", times(3, 100), times(3, 110), 1.1, false, "none", 3, "too few"},
		{"one block", []float64{10}, []float64{12}, 1.2, false, "none", 1, "one block only"},
		{"no block", nil, nil, "none", false, "none", 0, "no block"},
		{"a run without a value", []float64{10, nan, 10, 10, 10, 10, 10}, []float64{11, 11, 11, 11, 11, 11, 12}, 1.1, true, 2. / 64, 6, "1 of 7 blocks lack a value"},
		{"infinite values", []float64{10, inf}, []float64{10, 10}, 1., false, "none", 1, "1 of 2 blocks lack"},
		{"no value but missing ones", []float64{nan, 1}, []float64{1, inf}, "none", false, "none", 0, "no block"},
		{"errors that were none before", times(6, 0), times(6, 3), "none", false, 2. / 64, 6, "p value is that of the differences"},
		{"a negative value", []float64{-1, 1, 1, 1, 1, 1}, times(6, 2), "none", false, 2. / 64, 6, "zero or negative"},
		{"zeros in few blocks", times(3, 0), times(3, 1), "none", false, "none", 3, "a p value needs 6"},
		{"zeros on both sides", times(10, 0), times(10, 0), "none", false, "none", 10, "equal in every block"},
		{"sides of different length", times(6, 1), times(7, 1), "none", false, "none", 0, "6 values of the base and 7 of the head"},
		{"ratios beyond float64", times(6, 1e-308), times(6, 1e308), "none", false, "none", 6, "too far apart"},
	} {
		t.Run(row.name, func(t *testing.T) {
			c := Paired(row.base, row.head)
			maybe(t, "the ratio", c.Ratio, row.ratio)
			maybe(t, "the p value", c.P, row.p)
			if (c.Lo != nil) != row.interval || (c.Hi != nil) != row.interval || (c.Confidence > 0) != row.interval {
				t.Errorf("interval: %v to %v at %v", c.Lo, c.Hi, c.Confidence)
			}
			if row.interval && (*c.Lo > *c.Ratio || *c.Hi < *c.Ratio || c.Confidence < Level) {
				t.Errorf("the ratio %v is not within %v and %v at %v", *c.Ratio, *c.Lo, *c.Hi, c.Confidence)
			}
			if c.Pairs != row.pairs {
				t.Errorf("%d pairs, not %d", c.Pairs, row.pairs)
			}
			warned(t, c.Warnings, row.warning)
		})
	}
}

func TestRatiosKeepTheirBlocks(t *testing.T) {
	c := Paired([]float64{10, math.NaN(), 0, 10}, []float64{20, 20, 20, 5})
	if len(c.Ratios) != 4 || c.Ratios[1] != nil || c.Ratios[2] != nil {
		t.Fatalf("the ratios are %v", c.Ratios)
	}
	about(t, "the first", *c.Ratios[0], 2, 1e-12)
	about(t, "the last", *c.Ratios[3], 0.5, 1e-12)
	about(t, "Cliff's delta, up in two blocks of three", *c.CliffsDelta, 1./3, 1e-12)
}

func TestSwappingTheSidesTurnsTheRatioOver(t *testing.T) {
	r := rand.New(rand.NewPCG(9, 10))
	base, head := world{noise: 0.05, ratio: 1.1}.experiment(r, 9)
	one, other := Paired(base, head), Paired(head, base)
	about(t, "the ratio", *one.Ratio, 1 / *other.Ratio, 1e-12)
	about(t, "the bound", *one.Lo, 1 / *other.Hi, 1e-12)
	about(t, "p", *one.P, *other.P, 1e-12)
}

func times(n int, x float64) []float64 { return slices.Repeat([]float64{x}, n) }

func about(t *testing.T, what string, got, want, tolerance float64) {
	t.Helper()
	if !(math.Abs(got-want) <= tolerance) {
		t.Errorf("%s is %v, not %v", what, got, want)
	}
}

// maybe compares a number that may be missing; it is then wanted to be "none".
func maybe(t *testing.T, what string, got *float64, want any) {
	t.Helper()
	number, wanted := want.(float64)
	switch {
	case got == nil && wanted:
		t.Errorf("%s is missing; it should be %v", what, want)
	case got != nil && !wanted:
		t.Errorf("%s is %v; there should be none", what, *got)
	case wanted:
		about(t, what, *got, number, 1e-9)
	}
}

// warned wants a warning that contains some words, or none at all for "".
func warned(t *testing.T, warnings []string, words string) {
	t.Helper()
	all := strings.Join(warnings, "\n")
	if (words == "") != (all == "") || !strings.Contains(all, words) {
		t.Errorf("the warnings are %q; they should be about %q", warnings, words)
	}
}
