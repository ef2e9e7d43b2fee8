package analysis

import (
	"strconv"

	v1 "plimsoll.dev/plimsoll/api/v1alpha1"
	"plimsoll.dev/plimsoll/internal/measure"
	"plimsoll.dev/plimsoll/internal/store"
)

// numbersOf reads quantities as they are written, in base units; false says
// that they are not all numbers of one kind, such as sizes or rates.
func numbersOf(texts []string) ([]float64, bool) {
	var numbers []float64
	var unit measure.Unit
	for i, text := range texts {
		bound, err := v1.ParseBound(text)
		if err != nil {
			n, err := strconv.ParseFloat(text, 64) // below zero, or 1e6
			if err != nil || number(n) == nil {
				return nil, false
			}
			bound = v1.Bound{Value: n, Unit: measure.Count}
		}
		if i > 0 && bound.Unit != unit {
			return nil, false
		}
		unit = bound.Unit
		numbers = append(numbers, bound.Value)
	}
	return numbers, len(texts) > 0
}

// place is where a point lies on its sweep: 10KiB is above 1000B, although it
// begins with the smaller number.
func place(p store.Point) float64 {
	if numbers, ok := numbersOf([]string{p.Text}); ok {
		return numbers[0]
	}
	return p.Value
}

// beside is what stands beside a number to say how it is written: nothing, if
// that is the number alone.
func beside(text string) string {
	if _, err := strconv.ParseFloat(text, 64); err == nil {
		return ""
	}
	return text
}
