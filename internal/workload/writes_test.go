package workload

import "testing"

func TestWritesAreBounded(t *testing.T) {
	var w Writes[int]
	w.Watch()
	for i := range maxWrites + 10 {
		w.Note(i)
	}
	_, first := w.at(9)
	_, next := w.at(10)
	if len(w.answered) != maxWrites || first || !next {
		t.Errorf("%d writes are remembered, the 10th oldest %t, the next %t; want the last %d", len(w.answered), first, next, maxWrites)
	}
	w.Unwatch()
	if w.answered != nil {
		t.Error("writes are remembered that nobody watches")
	}
}
