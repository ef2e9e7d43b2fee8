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
type scanner struct {
	items   int64
	token   string // metadata.continue
	version string // metadata.resourceVersion

	depth    int
	inString bool
	escaped  bool   // the next byte of the string is escaped
	inItems  bool   // within the array of the top-level key items
	inMeta   bool   // within the object of the top-level key metadata
	isValue  bool   // a colon was met: the next string is a value
	key      string // last key at depth 1, or in metadata at depth 2
	text     []byte // the string under way, where it matters
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
		case err == io.EOF && (s.depth != 0 || total == 0):
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
			s.text = s.text[:0]
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
	s.depth--
	if s.depth == 1 {
		s.inItems, s.inMeta = false, false
	}
	s.isValue = false
}

// scanString follows a string to its closing quote and gives what is behind.
func (s *scanner) scanString(data []byte) []byte {
	wanted := s.depth == 1 || s.depth == 2 && s.inMeta
	for i := 0; i < len(data); {
		if s.escaped {
			s.escaped = false
			i++
			continue
		}
		j := indexQuoteOrBackslash(data[i:])
		if j < 0 {
			break
		}
		i += j
		if data[i] == '\\' {
			s.escaped = true
			i++
			continue
		}
		s.inString = false
		if wanted {
			s.keep(data[:i])
			s.endText()
		}
		return data[i+1:]
	}
	if wanted {
		s.keep(data)
	}
	return nil
}

// indexQuoteOrBackslash finds the first of the two with two vectorised
// searches. Backslashes are rare, so the second search, bounded by the first's
// find, costs little.
func indexQuoteOrBackslash(data []byte) int {
	quote := bytes.IndexByte(data, '"')
	before := data
	if quote >= 0 {
		before = data[:quote]
	}
	if backslash := bytes.IndexByte(before, '\\'); backslash >= 0 {
		return backslash
	}
	return quote
}

func (s *scanner) keep(data []byte) {
	if len(s.text)+len(data) <= maxText {
		s.text = append(s.text, data...)
	}
}

// endText takes in a finished key, or a value that is looked for.
func (s *scanner) endText() {
	if !s.isValue {
		s.key = string(s.text)
		return
	}
	if !s.inMeta || s.depth != 2 {
		return
	}
	switch s.key {
	case "continue":
		s.token = unquote(s.text)
	case "resourceVersion":
		s.version = unquote(s.text)
	}
}

// unquote undoes the escapes of a JSON string.
func unquote(text []byte) string {
	if bytes.IndexByte(text, '\\') < 0 {
		return string(text)
	}
	var s string
	if json.Unmarshal([]byte(`"`+string(text)+`"`), &s) != nil {
		return string(text)
	}
	return s
}
