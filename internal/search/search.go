// Package search looks for a load line: the largest load at which all is well.
// It is pure: it says what to try next, and is told how that went.
package search

import (
	"math"
	"strconv"
)

// Search raises a load by a factor until it breaks something, and then halves
// the gap between the largest value that held and the smallest that did not.
// All of that on a logarithmic scale, as loads are judged by their ratios.
type Search struct {
	// From and To are the first value and the largest that is tried; 0 < From < To.
	From, To float64
	// Factor is above 1.
	Factor float64
	// Within, as a fraction, is how close what held and what broke must come.
	Within float64
	// Whole says that values are whole numbers.
	Whole bool

	held, broke float64 // 0: none yet
}

// Next gives the value to try; false says that there is nothing left to try.
func (s *Search) Next() (float64, bool) {
	switch {
	case s.held == 0 && s.broke == 0:
		return s.From, true
	case s.broke == 0:
		if s.held >= s.To {
			return 0, false
		}
		if next := s.round(s.held * s.Factor); next > s.held && next < s.To {
			return next, true
		}
		return s.To, true
	case s.held == 0: // the first value broke
		return 0, false
	case s.broke <= s.held*(1+s.Within):
		return 0, false
	}
	middle := s.round(math.Sqrt(s.held * s.broke))
	return middle, middle > s.held && middle < s.broke
}

// round keeps four digits, which are more than a load line ever has.
func (s *Search) round(v float64) float64 {
	if s.Whole {
		return math.Round(v)
	}
	rounded, err := strconv.ParseFloat(strconv.FormatFloat(v, 'g', 4, 64), 64)
	if err != nil {
		return v
	}
	return rounded
}

// Tried says how a value went. One that breaks below what held before, which
// noise can do, is believed: the load line is no higher than what breaks.
func (s *Search) Tried(value float64, held bool) {
	switch {
	case held:
		s.held = max(s.held, value)
	case s.broke == 0 || value < s.broke:
		s.broke = value
	}
	if s.broke != 0 && s.held >= s.broke {
		s.held = 0
	}
}

// Line is the largest value that held and the smallest that broke; 0 where there is none.
func (s *Search) Line() (held, broke float64) { return s.held, s.broke }

// Text writes a value as a document would, with the unit of the first one.
func Text(value float64, unit string) string {
	return strconv.FormatFloat(value, 'f', -1, 64) + unit
}
