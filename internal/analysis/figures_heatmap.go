package analysis

import (
	"cmp"
	"math"
	"slices"
	"time"

	"plimsoll.dev/plimsoll/internal/record"
	"plimsoll.dev/plimsoll/internal/store"
)

// A heatmap's rows begin at a microsecond, and each is a fifth longer than the last.
const (
	heatFloor  = time.Microsecond
	heatFactor = 1.2
)

// heatRow is the row that a time falls into.
func heatRow(t time.Duration) int {
	if t <= heatFloor {
		return 0
	}
	return int(math.Log(float64(t)/float64(heatFloor)) / math.Log(heatFactor))
}

// heatEdge is the time in seconds at which a row begins.
func heatEdge(row int) float64 { return heatFloor.Seconds() * math.Pow(heatFactor, float64(row)) }

// warm counts the times of one second.
func (s *series) warm(second int, times store.Second) {
	if s.heat[second] == nil {
		s.heat[second] = map[int]int64{}
	}
	times.Each(func(t time.Duration, n int64) { s.heat[second][heatRow(t)] += n })
}

// addHeatmaps draws how long the measured operations that succeeded took, second by second.
func (r *Run) addHeatmaps(g gathered) {
	for key, s := range g {
		phase := r.phase(key.phase)
		if phase == nil || !phase.Measured || key.outcome != record.OK || key.timing == record.Dispatch || len(s.heat) == 0 {
			continue
		}
		clock := store.Service
		if key.timing == record.Open {
			clock = store.Response
		}
		r.Figures.Heatmaps = append(r.Figures.Heatmaps, s.heatmap(key, string(clock)))
	}
	slices.SortFunc(r.Figures.Heatmaps, func(a, b Heatmap) int {
		return cmp.Or(cmp.Compare(a.Phase, b.Phase), cmp.Compare(a.Operation, b.Operation), cmp.Compare(a.Clock, b.Clock))
	})
}

func (s *series) heatmap(key seriesKey, clock string) Heatmap {
	lowest, highest := math.MaxInt, 0
	first, last := math.MaxInt, 0
	for second, rows := range s.heat {
		first, last = min(first, second), max(last, second)
		for row := range rows {
			lowest, highest = min(lowest, row), max(highest, row)
		}
	}
	h := Heatmap{Phase: key.phase, Operation: key.op, Clock: clock, Start: float64(first), Width: 1}
	for row := lowest; row <= highest+1; row++ {
		h.Edges = append(h.Edges, heatEdge(row))
	}
	for second := first; second <= last; second++ {
		column := make([]int64, highest-lowest+1)
		for row, n := range s.heat[second] {
			column[row-lowest] = n
		}
		h.Counts = append(h.Counts, column)
	}
	return h
}
