package steve

import (
	"bytes"
	"fmt"
	"math/bits"

	v1 "plimsoll.dev/plimsoll/api/v1alpha1"
	"plimsoll.dev/plimsoll/internal/object"
)

// Reasons of whole walks that are not what they should be.
const (
	missing             = "missing"
	duplicate           = "duplicate"
	missingAndDuplicate = "missing-and-duplicate"
)

// made is what a fill has made.
type made struct {
	count      int
	namespaces []string // that the objects are in by turns; one that is empty for objects that are in none
	wanted     int      // how many of them a list should show
}

// expected is what a list should show of what fills have made.
func (s *steve) expected(list v1.SteveList) ([]made, error) {
	var all []made
	for objects, count := range s.Filled {
		template, err := object.New(objects, s.RunID, s.Seed)
		if err != nil {
			return nil, err
		}
		if template.Info().Resource != list.Resource {
			continue
		}
		m := made{count: count, namespaces: template.Namespaces()}
		if len(m.namespaces) == 0 {
			m.namespaces = []string{""}
		}
		for i := range count {
			if list.Namespace == "" || m.namespaces[i%len(m.namespaces)] == string(list.Namespace) {
				m.wanted++
			}
		}
		if m.wanted > 0 {
			all = append(all, m)
		}
	}
	if len(all) == 0 {
		return nil, fmt.Errorf("walks cannot be checked: no fill has made any %s that they would list", list.Resource)
	}
	return all, nil
}

// census counts which of the objects that fills have made a walk has shown. It
// allocates nothing per walk.
type census struct {
	made      []made
	seen      [][]uint64 // a bit for each object
	duplicate bool
}

func newCensus(all []made) *census {
	c := &census{made: all}
	for _, m := range all {
		c.seen = append(c.seen, make([]uint64, (m.count+63)/64))
	}
	return c
}

func (c *census) begin() {
	if c == nil {
		return
	}
	c.duplicate = false
	for _, seen := range c.seen {
		clear(seen)
	}
}

// see takes in an object of the list.
func (c *census) see(namespace, name []byte) {
	index, ok := indexOf(name)
	if !ok {
		return
	}
	for i, m := range c.made {
		if index >= m.count || m.namespaces[index%len(m.namespaces)] != string(namespace) {
			continue
		}
		word, bit := &c.seen[i][index/64], uint64(1)<<(index%64)
		c.duplicate = c.duplicate || *word&bit != 0
		*word |= bit
	}
}

// verdict is the reason of a walk; empty if each object was shown exactly once.
func (c *census) verdict() string {
	lacks := false
	for i, m := range c.made {
		shown := 0
		for _, word := range c.seen[i] {
			shown += bits.OnesCount64(word)
		}
		lacks = lacks || shown < m.wanted
	}
	switch {
	case lacks && c.duplicate:
		return missingAndDuplicate
	case lacks:
		return missing
	case c.duplicate:
		return duplicate
	}
	return ""
}

var prefix = []byte("plimsoll-")

// indexOf is the index of the object that a fill has given a name; see object.Name.
func indexOf(name []byte) (int, bool) {
	digits, ok := bytes.CutPrefix(name, prefix)
	if !ok || len(digits) < 6 || len(digits) > 12 {
		return 0, false
	}
	index := 0
	for _, c := range digits {
		if c < '0' || c > '9' {
			return 0, false
		}
		index = 10*index + int(c-'0')
	}
	return index, true
}
