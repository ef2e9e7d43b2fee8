package report

import (
	"bytes"
	"encoding/json"
	"math"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

func TestGapsStayGaps(t *testing.T) {
	got, err := json.Marshal(series{0, 1.23456, math.NaN(), 123456789, 2.0000001e-5, math.Inf(1)})
	if err != nil {
		t.Fatal(err)
	}
	if want := `[0,1.235,null,1.235e+08,2e-05,null]`; string(got) != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

func TestDownsamplingLosesNoPeak(t *testing.T) {
	nan := math.NaN()
	tests := []struct {
		is           string
		values, want []float64
	}{
		{"a peak after a trough keeps their order", []float64{5, 1, 9, 5}, []float64{1, 9}},
		{"a trough after a peak too", []float64{5, 9, 1, 5}, []float64{9, 1}},
		{"a bucket with one value has it twice", []float64{nan, nan, 7, nan}, []float64{7, 7}},
		{"a gap as long as a bucket stays one", []float64{nan, nan, nan, nan, 1, 2, 3, 4}, []float64{nan, nan, 1, 4}},
		{"the last bucket may be short", []float64{1, 2, 3, 4, 8}, []float64{1, 4, 8, 8}},
	}
	for _, test := range tests {
		if diff := cmp.Diff(test.want, extremes(test.values, 4), cmpopts.EquateNaNs()); diff != "" {
			t.Errorf("%s (-want +got):\n%s", test.is, diff)
		}
	}
}

func TestAnHourAtASecondIsSmall(t *testing.T) {
	var page bytes.Buffer
	if err := HTML(&page, long()); err != nil {
		t.Fatal(err)
	}
	if page.Len() > 3<<20 {
		t.Errorf("the page of an hour has %d bytes, more than 3 MiB", page.Len())
	}
	c := newCharts(long().Runs[0], colours{}, maxPoints)
	for _, p := range c.Panels {
		for _, s := range p.Series {
			if len(s.Values) != len(c.Seconds) || len(s.Values) > maxPoints {
				t.Fatalf("%s has %d points on an axis of %d, want as many, and %d at the most", s.Name, len(s.Values), len(c.Seconds), maxPoints)
			}
		}
	}
}

func TestAnExperimentOfHoursIsSmall(t *testing.T) {
	var page bytes.Buffer
	if err := HTML(&page, large()); err != nil {
		t.Fatal(err)
	}
	t.Logf("the page has %d bytes", page.Len())
	if page.Len() > 3<<20 {
		t.Errorf("the page of twenty hours has %d bytes, more than 3 MiB", page.Len())
	}
}

func TestPhasesOfOneKindShareAPanel(t *testing.T) {
	run := quickstart().Runs[0]
	var got []string
	for _, p := range newCharts(run, coloursOf(run), maxPoints).Panels {
		names := p.Title + " ="
		for _, s := range p.Series {
			names += " " + s.Name
		}
		got = append(got, names)
	}
	want := []string{
		"first-walk, walks: operations that succeeded, per second = walk page",
		"churn: operations that succeeded, per second = cycle create delete",
		"gets: operations that succeeded, per second = get",
		"CPU per component, in CPUs = etcd kube-apiserver plimsoll",
		"Resident memory per component = etcd kube-apiserver plimsoll",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("panels (-want +got):\n%s", diff)
	}
}

func TestPhasesThatRunTogetherHaveLinesOfTheirOwn(t *testing.T) {
	p := &panel{Series: []namedLines{{Name: "get", Values: series{1, 1, 1, math.NaN()}}}}
	later := namedLines{Values: series{math.NaN(), math.NaN(), 2, 2}}
	if !p.Series[0].continues(later.Values) {
		t.Error("a phase that begins in the second in which another ends does not continue its line")
	}
	if diff := cmp.Diff(series{1, 1, 3, 2}, p.Series[0].Values); diff != "" {
		t.Errorf("joined (-want +got):\n%s", diff)
	}
	if p.Series[0].continues(series{1, 1, 1, 1}) {
		t.Error("a phase that runs beside another continues its line")
	}
}

func TestCurveLabelsDoNotOverlap(t *testing.T) {
	run := quickstart().Runs[0]
	f := newCurveFigure(run, coloursOf(run), 1160, 420, false)
	for i, a := range f.Curves {
		if end := a.LabelX + float64(len(a.Label))*letter; end > f.Width {
			t.Errorf("%s ends at %.0f, outside the figure", a.Label, end)
		}
		for _, b := range f.Curves[i+1:] {
			apartX := a.LabelX+float64(len(a.Label))*letter <= b.LabelX || b.LabelX+float64(len(b.Label))*letter <= a.LabelX
			if !apartX && math.Abs(a.LabelY-b.LabelY) < 12 {
				t.Errorf("%s and %s stand on each other", a.Label, b.Label)
			}
		}
	}
}
