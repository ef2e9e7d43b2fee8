package analysis

import (
	"testing"

	"plimsoll.dev/plimsoll/internal/design"
)

func TestReferences(t *testing.T) {
	laid := twoVariants(6, "mean(walks.walk.service)")
	f := func(v float64) *float64 { return &v }
	laid.References = []design.Reference{
		{Statement: "walks of 4000 take 0.3 to 0.5 s", Measure: "mean(walks.walk.service)", Variant: "old", When: map[string]string{"objects": "4000"}, Min: f(0.3), Max: f(0.5)},
		{Statement: "they take 2 s at least", Measure: "mean(walks.walk.service)", Variant: "old", When: map[string]string{"objects": "4e3"}, Min: f(2)},
		{Statement: "new is three times as slow", Ratio: "mean(walks.walk.service)", Variant: "new", Versus: "old", When: map[string]string{"objects": "1000"}, Min: f(3), Max: f(3)},
		{Statement: "new is twice as slow, about", Ratio: "mean(walks.walk.service)", Variant: "new", Versus: "old", When: map[string]string{"objects": "1000"}, Min: f(1.9), Max: f(2.2)},
		{Statement: "linear", Growth: "mean(walks.walk.service)", Variant: "old", Min: f(0.9), Max: f(1.1)},
		{Statement: "of a value that was not swept", Measure: "mean(walks.walk.service)", Variant: "old", When: map[string]string{"objects": "5"}, Max: f(1)},
		{Statement: "of a phase that there is not", Measure: "mean(gets.get.response)", Variant: "old", Max: f(1)},
		{Statement: "of another payload", Measure: "mean(walks.walk.service)", Variant: "old", When: map[string]string{"payload": "1KiB"}, Max: f(1)},
		{Statement: "at all points", Measure: "mean(walks.walk.service)", Variant: "old", Max: f(1)},
	}
	w := newWorld(t, laid)
	for block := 1; block <= 6; block++ {
		w.run("old", nil, block, outcome{took: 100 * ms, points: sizes(), slower: 1})
		w.run("new", nil, block, outcome{took: 200*ms + ms*10*(1<<(block%2)-1), points: sizes(), slower: 1})
	}
	result := w.analyze()
	for i, want := range []Agreement{Agrees, Differs, Beside, Agrees, Agrees, NotMeasured, NotMeasured, NotMeasured, Agrees} {
		r := result.References[i]
		if len(r.Findings) == 0 || r.Findings[0].Agreement != want {
			t.Errorf("%s: %+v, want %s", r.Statement, r.Findings, want)
		}
	}
	if n := len(result.References[8].Findings); n != 4 {
		t.Errorf("%d findings, want one for each point", n)
	}
	if v := result.References[2].Findings[0]; v.Value == nil || *v.Value < 2 || v.N != 6 || v.Lo == nil || v.Point.Value != 1000 {
		t.Errorf("the ratio = %+v, want about 2 of six blocks", v)
	}
}

func TestAgreement(t *testing.T) {
	f := func(v float64) *float64 { return &v }
	r := &Reference{Reference: design.Reference{Min: f(1), Max: f(2)}}
	for name, c := range map[string]struct {
		finding Finding
		want    Agreement
	}{
		"inside":                      {Finding{Value: f(1.5), Lo: f(1.2), Hi: f(1.8)}, Agrees},
		"over an end":                 {Finding{Value: f(1.5), Lo: f(0.9), Hi: f(1.8)}, Unclear},
		"around it":                   {Finding{Value: f(1.5), Lo: f(0.9), Hi: f(2.8)}, Unclear},
		"outside":                     {Finding{Value: f(3), Lo: f(2.1), Hi: f(4)}, Differs},
		"inside, without an interval": {Finding{Value: f(1.5)}, Agrees},
		"outside, without":            {Finding{Value: f(0.5)}, Differs},
		"without a value":             {Finding{}, NotMeasured},
	} {
		if got := r.agreement(c.finding); got != c.want {
			t.Errorf("%s: %s, want %s", name, got, c.want)
		}
	}
}
