package search

import (
	"slices"
	"testing"
)

func TestSearch(t *testing.T) {
	for _, test := range []struct {
		name        string
		search      Search
		breaksAbove float64
		tried       []float64
		held, broke float64
	}{
		{"it doubles, then bisects", Search{From: 100, To: 10_000, Factor: 2, Within: 0.1}, 1000, []float64{100, 200, 400, 800, 1600, 1131, 951.2, 1037}, 951.2, 1037},
		{"the first value breaks", Search{From: 100, To: 10_000, Factor: 2, Within: 0.1}, 50, []float64{100}, 0, 100},
		{"nothing breaks", Search{From: 100, To: 500, Factor: 2, Within: 0.1}, 1e9, []float64{100, 200, 400, 500}, 500, 0},
		{"whole numbers end where none is between", Search{From: 1, To: 64, Factor: 2, Within: 0.01, Whole: true}, 6, []float64{1, 2, 4, 8, 6, 7}, 6, 7},
	} {
		t.Run(test.name, func(t *testing.T) {
			var tried []float64
			for value, more := test.search.Next(); more; value, more = test.search.Next() {
				tried = append(tried, value)
				test.search.Tried(value, value <= test.breaksAbove)
				if len(tried) > 100 {
					t.Fatal("the search has no end")
				}
			}
			if !slices.Equal(tried, test.tried) {
				t.Errorf("tried %v, want %v", tried, test.tried)
			}
			if held, broke := test.search.Line(); held != test.held || broke != test.broke {
				t.Errorf("the line is between %v and %v, want %v and %v", held, broke, test.held, test.broke)
			}
		})
	}
}

func FuzzSearch(f *testing.F) {
	f.Add(100.0, 1000.0, 2.0, 0.1, uint64(5), false)
	f.Fuzz(func(t *testing.T, from, to, factor, within float64, holds uint64, whole bool) {
		if !(from >= 1 && to > from && to < 1e9 && factor >= 1.1 && factor < 100 && within >= 0.001 && within < 1) {
			t.Skip()
		}
		s := Search{From: from, To: to, Factor: factor, Within: within, Whole: whole}
		for i := 0; ; i++ {
			value, more := s.Next()
			if !more {
				break
			}
			if i > 1000 || value <= 0 {
				t.Fatalf("try %d is %v", i, value)
			}
			s.Tried(value, holds>>(i%64)&1 == 0)
		}
		if held, broke := s.Line(); broke != 0 && held >= broke {
			t.Errorf("held at %v, although it breaks at %v", held, broke)
		}
	})
}
