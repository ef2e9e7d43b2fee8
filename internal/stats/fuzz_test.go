package stats

import (
	"encoding/binary"
	"encoding/json"
	"math"
	"testing"
)

// FuzzAnyValues feeds every function with any float64: nothing panics, and
// everything can be written as JSON, which has neither NaN nor infinity.
func FuzzAnyValues(f *testing.F) {
	odd := []float64{0, math.Copysign(0, -1), 1, -1, math.NaN(), math.Inf(1), math.Inf(-1), math.MaxFloat64, -math.MaxFloat64, 5e-324, 1e300, 1e-300, 1 + 1e-16}
	f.Add(bytesOf(odd), uint8(6), 0.05)
	f.Add(bytesOf(append(odd, odd...)), uint8(13), math.NaN())
	f.Add(bytesOf(times(20, 1)), uint8(10), 0.)
	f.Add(bytesOf([]float64{1e308, 1e-308, 1e308, 1e-308, 1e308, 1e-308, 1e-308, 1e308, 1e-308, 1e308, 1e-308, 1e308}), uint8(6), -1.)
	f.Add(bytesOf([]float64{5e-324, 1e-323, 5e-324, 1e-323, 1e-323, 5e-324, 5e-324, 5e-324}), uint8(3), math.Inf(1))
	f.Add([]byte{}, uint8(0), 1.)
	f.Fuzz(func(t *testing.T, data []byte, split uint8, margin float64) {
		values := floatsOf(data)
		at := min(int(split), len(values))
		base, head := values[:at], values[at:]
		paired, unpaired := Paired(base, head), Unpaired(base, head)
		even := min(len(base), len(head))
		if even < len(base) || even < len(head) {
			paired = Paired(base[:even], head[:even])
		}
		for _, c := range []Comparison{paired, unpaired} {
			sound(t, c)
			c.Verdict(margin, LowerIsBetter)
			c.BlocksNeeded(margin)
		}
		growth := LogLog(pointsOf(values))
		growth.Words("n", len(values))
		FirstPast(base, head, margin, HigherIsBetter)
		Outliers(values)
		Holm(values)
		writable(t, growth, Summarise(values), Steadiness(values, margin))
	})
}

func sound(t *testing.T, c Comparison) {
	t.Helper()
	writable(t, c)
	if c.Lo != nil && !(*c.Lo <= *c.Ratio && *c.Ratio <= *c.Hi && c.Confidence >= Level-1e-12 && c.Confidence <= 1) {
		t.Errorf("the ratio %v is not within %v and %v at %v", *c.Ratio, *c.Lo, *c.Hi, c.Confidence)
	}
	if c.P != nil && (*c.P < 0 || *c.P > 1) {
		t.Errorf("p is %v", *c.P)
	}
	if c.Lo == nil && len(c.Warnings) == 0 {
		t.Error("there is no interval, and no warning says why")
	}
}

func writable(t *testing.T, values ...any) {
	t.Helper()
	for _, v := range values {
		if _, err := json.Marshal(v); err != nil {
			t.Errorf("%+v: %v", v, err)
		}
	}
}

func pointsOf(values []float64) []Point {
	var points []Point
	for i := 0; i+1 < len(values); i += 2 {
		points = append(points, Point{values[i], values[i+1], i % 3})
	}
	return points
}

func bytesOf(values []float64) []byte {
	var data []byte
	for _, x := range values {
		data = binary.LittleEndian.AppendUint64(data, math.Float64bits(x))
	}
	return data
}

// floatsOf takes 60 values at most, as the tests of more are slow to no end.
func floatsOf(data []byte) []float64 {
	var values []float64
	for ; len(data) >= 8 && len(values) < 60; data = data[8:] {
		values = append(values, math.Float64frombits(binary.LittleEndian.Uint64(data)))
	}
	return values
}
