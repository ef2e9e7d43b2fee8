package kube

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
)

// scanner reads the JSON of a list as it streams by and keeps
// metadata.continue, metadata.resourceVersion and the number of items. Items
// are never decoded: only their braces and strings are followed, the latter by
// searching for the closing quote, so a payload costs next to nothing.
//
// It agrees with a decoder about every list, but is no validator: it tells a
// whole list from a body that was cut short or is something else, not from
// every body that is not quite JSON.
type scanner struct {
	items   int64
	token   string // metadata.continue
	version string // metadata.resourceVersion

	depth    int
	opened   bool // the outermost object was met
	isList   bool // it has the key items
	broken   bool // no decoder would take this
	inString bool
	escaped  bool   // the next byte of the string is escaped
	inItems  bool   // within the array of the outermost key items
	inMeta   bool   // within the object of the outermost key metadata
	isValue  bool   // a colon was met: the next string is a value
	key      string // last key at depth 1, or in metadata at depth 2
	text     []byte // the string under way, where it matters, with its quotes
}

// errList is a body that is not the JSON of a list.
var errList = errors.New("the answer is not a whole JSON list")

// maxText bounds a string that is kept; continue tokens have some hundred bytes.
const maxText = 64 << 10

// read scans a body to its end, through buffer, and counts its bytes.
func (s *scanner) read(body io.Reader, buffer []byte) (int64, error) {
	var total int64
	for {
		n, err := body.Read(buffer)
		total += int64(n)
		s.scan(buffer[:n])
		switch {
		case err == io.EOF && (s.depth > 0 || !s.isList || s.broken):
			return total, errList
		case err == io.EOF:
			return total, nil
		case err != nil:
			return total, err
		}
	}
}

func (s *scanner) scan(data []byte) {
	for len(data) > 0 {
		if s.inString {
			data = s.scanString(data)
			continue
		}
		c := data[0]
		data = data[1:]
		switch c {
		case '"':
			s.inString = true
			s.text = append(s.text[:0], '"')
		case '{', '[':
			s.open(c)
		case '}', ']':
			s.close()
		case ':':
			s.isValue = true
		case ',':
			s.isValue = false
		}
	}
}

func (s *scanner) open(c byte) {
	switch {
	case s.depth == 0:
		s.broken = s.broken || s.opened || c != '{'
		s.opened = true
	case s.depth == 1 && s.key == "items" && c == '[':
		s.inItems = true
	case s.depth == 1 && s.key == "metadata" && c == '{':
		s.inMeta = true
	case s.depth == 2 && s.inItems:
		s.items++
	}
	s.depth++
	s.isValue = false
}

func (s *scanner) close() {
	if s.depth == 0 {
		s.broken = true
		return
	}
	s.depth--
	if s.depth == 1 {
		s.inItems, s.inMeta = false, false
	}
	s.isValue = false
}

// scanString follows a string to its closing quote and gives what is behind it.
func (s *scanner) scanString(data []byte) []byte {
	from := 0
	if s.escaped {
		s.escaped, from = false, 1
	}
	for {
		i := bytes.IndexByte(data[from:], '"')
		if i < 0 {
			s.escaped = endsInEscape(data[from:])
			s.keep(data)
			return nil
		}
		quote := from + i
		if !endsInEscape(data[from:quote]) {
			s.keep(data[:quote+1])
			s.endString()
			return data[quote+1:]
		}
		from = quote + 1
	}
}

// endsInEscape says whether data ends in a backslash that is not itself
// escaped. Looking back from each quote, rather than forward for each
// backslash, keeps strings full of escapes as fast as others.
func endsInEscape(data []byte) bool {
	backslashes := 0
	for i := len(data) - 1; i >= 0 && data[i] == '\\'; i-- {
		backslashes++
	}
	return backslashes%2 == 1
}

// keep keeps a piece of a string that may be a key or a value that is looked for.
func (s *scanner) keep(data []byte) {
	if s.depth != 1 && !(s.depth == 2 && s.inMeta) {
		return
	}
	if len(s.text)+len(data) > maxText {
		s.broken = true // a token of which a part is missing would lead anywhere
		return
	}
	s.text = append(s.text, data...)
}

// endString takes in a finished key, or a value that is looked for. Of keys
// that occur twice the last counts, as it does for decoders.
func (s *scanner) endString() {
	s.inString = false
	inMeta := s.inMeta && s.depth == 2
	switch {
	case s.depth == 0:
		s.broken = true
	case s.isValue && inMeta && s.key == "continue":
		s.token = s.unquote()
	case s.isValue && inMeta && s.key == "resourceVersion":
		s.version = s.unquote()
	case s.isValue:
	case s.depth == 1:
		s.key = s.unquote()
		switch s.key {
		case "items":
			s.isList, s.items = true, 0
		case "metadata":
			s.token, s.version = "", ""
		}
	case inMeta:
		s.key = s.unquote()
		switch s.key {
		case "continue":
			s.token = ""
		case "resourceVersion":
			s.version = ""
		}
	}
}

// unquote gives what the kept string says.
func (s *scanner) unquote() string {
	var text string
	if json.Unmarshal(s.text, &text) != nil {
		s.broken = true
	}
	return text
}
