package stats

import (
	"math"
	"strings"
	"testing"
)

// NIST's Norris data set of the Statistical Reference Datasets, whose certified
// slope is 1.00211681802045, with a standard deviation of 0.000429796848199937.
func TestTheLineAgreesWithNIST(t *testing.T) {
	xs := []float64{0.2, 337.4, 118.2, 884.6, 10.1, 226.5, 666.3, 996.3, 448.6, 777.0, 558.2, 0.4, 0.6, 775.5, 666.9, 338.0, 447.5, 11.6,
		556.0, 228.1, 995.8, 887.6, 120.2, 0.3, 0.3, 556.8, 339.1, 887.2, 999.0, 779.0, 11.1, 118.3, 229.2, 669.1, 448.9, 0.5}
	ys := []float64{0.1, 338.8, 118.1, 888.0, 9.2, 228.1, 668.5, 998.5, 449.1, 778.9, 559.2, 0.3, 0.1, 778.1, 668.8, 339.3, 448.9, 10.8,
		557.7, 228.3, 998.0, 888.8, 119.6, 0.3, 0.6, 557.6, 339.3, 888.0, 998.5, 778.9, 10.2, 117.6, 228.9, 668.4, 449.2, 0.2}
	line, ok := fitLine(xs, ys)
	if !ok || line.degreesOfFreedom != 34 {
		t.Fatalf("the fit is %+v", line)
	}
	about(t, "the slope", line.coefficient, 1.00211681802045, 1e-12)
	about(t, "its error", line.standardError, 0.429796848199937e-03, 1e-14)
}

// Anscombe's second data set (Graphs in Statistical Analysis, 1973), which is a
// parabola: R gives -0.1267133 with a standard error of 0.0000571.
func TestTheBendAgreesWithAnscombe(t *testing.T) {
	xs := []float64{10, 8, 13, 9, 11, 14, 6, 4, 12, 7, 5}
	ys := []float64{9.14, 8.14, 8.74, 8.77, 9.26, 8.10, 6.13, 3.10, 9.13, 7.26, 4.74}
	bend, _ := fitBend(xs, ys)
	about(t, "the coefficient", bend.coefficient, -0.1267133, 5e-8)
	about(t, "its error", bend.standardError, 0.0000571, 5e-8)
}

func TestLogLog(t *testing.T) {
	sizes := []float64{100, 200, 500, 1000, 2000, 5000, 10000}
	for _, row := range []struct {
		name     string
		xs       []float64
		y        func(x float64) float64
		exponent any
		bends    Bend
		words    string
		warning  string
	}{
		{"a linear cost", sizes, func(x float64) float64 { return 3 * x }, 1., Straight, "grows linearly with n (exponent 1.00, 95 % 1.00 … 1.00)", "of one run"},
		{"a quadratic cost", sizes, func(x float64) float64 { return x * x }, 2., Straight, "grows faster than linearly with n (exponent 2.00", "of one run"},
		{"a square root", sizes, math.Sqrt, 0.5, Straight, "grows more slowly than linearly with n (exponent 0.50", "of one run"},
		{"a constant cost", sizes, func(float64) float64 { return 7 }, 0., Straight, "does not grow with n (exponent 0.00", "of one run"},
		{"a cost that falls", sizes, func(x float64) float64 { return 1 / x }, -1., Straight, "shrinks with n (exponent -1.00", "of one run"},
		{"a fixed cost that hides a quadratic one", sizes, func(x float64) float64 { return 1e6 + x*x }, "any", Upwards, "changes ever more steeply with n", "no single one"},
		{"a cost that saturates", sizes, func(x float64) float64 { return x / (1 + x/1000) }, "any", Downwards, "changes ever more slowly with n", "no single one"},
		{"three points", sizes[:3], func(x float64) float64 { return x }, 1., Straight, "too few points to tell how it grows with n (exponent 1.00)", "too few points"},
		{"two points", sizes[:2], func(x float64) float64 { return x * x }, 2., Straight, "too few points to tell how it grows with n (exponent 2.00)", "two different x only"},
		{"one point", sizes[:1], func(x float64) float64 { return x }, "none", Straight, "is not known to grow with n or not", "at least two different x"},
		{"zeros", sizes, func(float64) float64 { return 0 }, "none", Straight, "is not known to grow with n or not", "7 of 7 points"},
	} {
		t.Run(row.name, func(t *testing.T) {
			var points []Point
			for _, x := range row.xs {
				points = append(points, Point{X: x, Y: row.y(x)})
			}
			g := LogLog(points)
			if row.exponent != "any" {
				maybe(t, "the exponent", g.Exponent.Value, row.exponent)
			}
			if g.Bends != row.bends {
				t.Errorf("it bends %q, not %q; p is %v", g.Bends, row.bends, g.BendP)
			}
			if words := g.Words("n", len(row.xs)); !strings.HasPrefix(words, row.words) {
				t.Errorf("the words are %q", words)
			}
			warned(t, g.Warnings, row.warning)
		})
	}
}

func TestAFixedCostDoesNotHideGrowthFromTheUpperHalf(t *testing.T) {
	var points []Point
	for x := 10.; x <= 1e5; x *= 10 {
		points = append(points, Point{X: x, Y: 1e4 + x*x})
	}
	g := LogLog(points)
	if *g.Low.Value > 1.1 || *g.Exponent.Value > 1.7 || *g.High.Value < 1.95 {
		t.Errorf("the exponents are %.2f below, %.2f overall, %.2f above", *g.Low.Value, *g.Exponent.Value, *g.High.Value)
	}
}

func TestRunsAreTheSampleIfThereAreSeveral(t *testing.T) {
	var points []Point
	for run, k := range []float64{0.9, 1.0, 1.1} {
		for _, x := range []float64{1, 10, 100, 1000} {
			points = append(points, Point{x, math.Pow(10, float64(run)) * math.Pow(x, k), run})
		}
	}
	e := LogLog(points).Exponent
	maybe(t, "the exponent", e.Value, 1.)
	about(t, "the upper bound", *e.Hi, 1+4.30265*0.1/math.Sqrt(3), 1e-5) // Student's interval of 0.9, 1.0, 1.1
	if words := LogLog(points).Words("n", 4); words != "grows in step with n, as far as these points can tell (exponent 1.00, 95 % 0.75 … 1.25)" {
		t.Errorf("the words are %q", words)
	}
}

func TestFirstPast(t *testing.T) {
	xs, ys := []float64{400, 100, 200, 200, 200, 300}, []float64{9, 1, 2, 2, 90, 6}
	for _, row := range []struct {
		name      string
		bound     float64
		direction Direction
		x         float64
		past      bool
	}{
		{"a response time rises above its bound", 5, LowerIsBetter, 300, true},
		{"at the bound it is not past it", 6, LowerIsBetter, 400, true},
		{"it never does", 10, LowerIsBetter, 0, false},
		{"a throughput is below its bound from the start", 5, HigherIsBetter, 100, true},
	} {
		if x, past := FirstPast(xs, ys, row.bound, row.direction); x != row.x || past != row.past {
			t.Errorf("%s: %v, %v", row.name, x, past)
		}
	}
}
