package analysis

import (
	"cmp"
	"math"
	"slices"
	"strings"

	"plimsoll.dev/plimsoll/internal/store"
)

// Of the logs around a moment, so much is shown.
const (
	logSeconds = 5.0
	logLines   = 10
	logWidth   = 130 // letters of a line; with its component and time it then fits into 160
)

// logAround is what the components wrote while a load was measured: what tells of
// overload before other warnings and worse, these before others, and what is near
// a moment before what is far. Of a moment
// that is known, what is farther than a few seconds has nothing to do with it.
func (r *Run) logAround(at float64, within span, known bool) []LogLine {
	if r.stored == nil {
		return nil
	}
	var near []store.LogLine
	r.stored.LogLines(func(l store.LogLine) {
		if within.start <= l.At && l.At <= within.end && (!known || math.Abs(l.At-at) <= logSeconds) {
			near = append(near, l)
		}
	})
	slices.SortStableFunc(near, func(a, b store.LogLine) int {
		return cmp.Or(cmp.Compare(rankOfLine(a), rankOfLine(b)), cmp.Compare(math.Abs(a.At-at), math.Abs(b.At-at)))
	})
	near = near[:min(len(near), logLines)]
	slices.SortStableFunc(near, func(a, b store.LogLine) int { return cmp.Compare(a.At, b.At) })
	var lines []LogLine
	for _, l := range near {
		lines = append(lines, LogLine{l.Component, &l.At, l.Brief(logWidth)})
	}
	return lines
}

func rankOfLine(l store.LogLine) int {
	switch {
	case overloadIn(l.Text) != "":
		return 0
	case l.Grave:
		return 1
	}
	return 2
}

// Complaint is what a component's log says of overload, and how often.
type Complaint struct {
	Component string `json:"component"`
	Text      string `json:"text"`
	Count     int    `json:"count"`
	// First is when it said so first, in seconds from the run's start, and Objects how many there were then.
	First   float64  `json:"firstSeconds"`
	Objects *float64 `json:"objects,omitempty"`
}

// telling are the words with which etcd and the API server say that they are overloaded.
func telling() []string {
	return []string{
		"apply request took too long", "failed to send out heartbeat on time", "slow fdatasync", "waiting for ReadIndex response took too long",
		"buffer is full", "lost leader", "request timed out", "database space exceeded",
		"apply entries took too long", "server is likely overloaded", // as older ones say
	}
}

// overloadIn is the word of overload that a line has; empty if it has none.
func overloadIn(line string) string {
	for _, words := range telling() {
		if strings.Contains(line, words) {
			return words
		}
	}
	return ""
}

// complaints counts the lines that told of overload while it was measured.
func (r *Run) complaints() []Complaint {
	found := map[[2]string]*Complaint{}
	measured := r.measuredSeconds()
	r.stored.LogLines(func(l store.LogLine) {
		words := overloadIn(l.Text)
		if words == "" || !within(l.At, measured) {
			return
		}
		key := [2]string{l.Component, words}
		if found[key] == nil {
			found[key] = &Complaint{Component: l.Component, Text: words, First: l.At}
		}
		found[key].Count++
		found[key].First = min(found[key].First, l.At)
	})
	var all []Complaint
	for _, c := range found {
		if n, known := r.Objects.countAt(c.First); known {
			c.Objects = &n
		}
		all = append(all, *c)
	}
	slices.SortFunc(all, func(a, b Complaint) int {
		return cmp.Or(cmp.Compare(a.First, b.First), cmp.Compare(a.Component, b.Component), cmp.Compare(a.Text, b.Text))
	})
	return all
}
