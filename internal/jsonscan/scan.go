// Package jsonscan reads the JSON of lists and of watches as it streams by, and
// keeps the little that a load generator looks for. Objects are never decoded:
// only their braces and strings are followed, the latter by searching for the
// closing quote, so a payload costs next to nothing.
//
// It agrees with a decoder about every list, but is no validator: it tells a
// whole list from a body that was cut short or is something else, not from
// every body that is not quite JSON.
package jsonscan

import (
	"bytes"
	"encoding/json"
	"io"
)

// List is what is read of a list, or of a page of one.
type List struct {
	Items   int64
	Token   string // of the next page; empty if there is none
	Version string // of the collection
}

// Shape says under which keys a list keeps what is looked for.
type Shape struct {
	Items   string // outermost key of the array of objects
	Meta    string // outermost key of the object with Token and Version; empty if they are outermost themselves
	Token   string
	Version string
}

// Kubernetes is the shape of the lists of an API server.
var Kubernetes = Shape{"items", "metadata", "continue", "resourceVersion"}

// ListScanner reads one list.
type ListScanner struct {
	Shape
	// Named, if set, is given the metadata.namespace and metadata.name of each
	// item, in order. The texts are valid until it returns.
	Named func(namespace, name []byte)

	found List

	depth    int
	opened   bool // the outermost object was met
	isList   bool // it has the key of the items
	broken   bool // no decoder would take this
	inString bool
	escaped  bool   // the next byte of the string is escaped
	inItems  bool   // within the array of the items
	inMeta   bool   // within the object of the outermost key Meta
	isValue  bool   // a colon was met: the next string is a value
	key      string // last key at depth 1, or in Meta at depth 2
	text     []byte // the string under way, where it matters, with its quotes

	item item // under way
}

// item is what is read of an item, if Named asks for it.
type item struct {
	atMeta          bool // its last key is metadata
	inMeta          bool // within the object of that key
	key             field
	namespace, name []byte
}

// Found is what was read.
func (s *ListScanner) Found() List { return s.found }

// ErrList is a body that is not the list of a whole answer.
var ErrList error = &fault{"the answer is not a whole list", "not-a-list"}

// fault is an error that has a reason, for tallies.
type fault struct{ text, reason string }

func (f *fault) Error() string  { return f.text }
func (f *fault) Reason() string { return f.reason }

// MaxText bounds a string that is kept; continue tokens have some hundred bytes.
const MaxText = 64 << 10

// Read scans a body to its end, through buffer, and counts its bytes.
func (s *ListScanner) Read(body io.Reader, buffer []byte) (int64, error) {
	var total int64
	for {
		n, err := body.Read(buffer)
		total += int64(n)
		s.scan(buffer[:n])
		switch {
		case err == io.EOF && (s.depth > 0 || !s.isList || s.broken):
			return total, ErrList
		case err == io.EOF:
			return total, nil
		case err != nil:
			return total, err
		}
	}
}

func (s *ListScanner) scan(data []byte) {
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

func (s *ListScanner) open(c byte) {
	switch {
	case s.depth == 0:
		s.broken = s.broken || s.opened || c != '{'
		s.opened = true
	case s.depth == 1 && s.key == s.Items && c == '[':
		s.inItems = true
	case s.depth == 1 && s.key == s.Meta && c == '{':
		s.inMeta = true
	case s.depth == 2 && s.inItems:
		s.found.Items++
		s.item = item{namespace: s.item.namespace[:0], name: s.item.name[:0]}
	case s.depth == 3 && s.inItems:
		s.item.inMeta = s.item.atMeta && c == '{'
	}
	s.depth++
	s.isValue = false
}

func (s *ListScanner) close() {
	if s.depth == 0 {
		s.broken = true
		return
	}
	s.depth--
	switch s.depth {
	case 1:
		s.inItems, s.inMeta = false, false
	case 2:
		if s.inItems && s.Named != nil {
			s.Named(s.item.namespace, s.item.name)
		}
	case 3:
		s.item.inMeta = false
	}
	s.isValue = false
}

// scanString follows a string to its closing quote and gives what is behind it.
func (s *ListScanner) scanString(data []byte) []byte {
	quote := closingQuote(data, &s.escaped)
	if quote < 0 {
		s.keep(data)
		return nil
	}
	s.keep(data[:quote+1])
	s.endString()
	return data[quote+1:]
}

// closingQuote gives the place of the quote that ends the string which data goes
// on with, or -1. escaped says, before and after, whether the next byte is escaped.
func closingQuote(data []byte, escaped *bool) int {
	from := 0
	if *escaped {
		*escaped, from = false, 1
	}
	for {
		i := bytes.IndexByte(data[from:], '"')
		if i < 0 {
			*escaped = endsInEscape(data[from:])
			return -1
		}
		quote := from + i
		if !endsInEscape(data[from:quote]) {
			return quote
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
func (s *ListScanner) keep(data []byte) {
	if s.depth != 1 && !(s.depth == 2 && s.inMeta) && !s.inName() {
		return
	}
	if len(s.text)+len(data) > MaxText {
		s.broken = true // a token of which a part is missing would lead anywhere
		return
	}
	s.text = append(s.text, data...)
}

// inName says whether the string under way is one on the way to the name of an item.
func (s *ListScanner) inName() bool {
	return s.Named != nil && s.inItems && (s.depth == 3 && !s.isValue || s.depth == 4 && s.item.inMeta)
}

// endString takes in a finished key, or a value that is looked for. Of keys
// that occur twice the last counts, as it does for decoders.
func (s *ListScanner) endString() {
	s.inString = false
	inMeta := s.inMeta && s.depth == 2
	if s.Meta == "" {
		inMeta = s.depth == 1
	}
	switch {
	case s.depth == 0:
		s.broken = true
	case s.inName():
		s.endName()
	case s.isValue && inMeta && s.key == s.Token:
		s.found.Token = s.unquote()
	case s.isValue && inMeta && s.key == s.Version:
		s.found.Version = s.unquote()
	case s.isValue:
	case s.depth == 1 || inMeta:
		s.endKey(inMeta)
	}
}

func (s *ListScanner) endKey(inMeta bool) {
	s.key = s.unquote()
	switch {
	case s.depth == 1 && s.key == s.Items:
		s.isList, s.found.Items = true, 0
	case s.depth == 1 && s.Meta != "" && s.key == s.Meta:
		s.found.Token, s.found.Version = "", ""
	case inMeta && s.key == s.Token:
		s.found.Token = ""
	case inMeta && s.key == s.Version:
		s.found.Version = ""
	}
}

// endName takes in a key or a value on the way to the name of an item.
func (s *ListScanner) endName() {
	text := s.text[1 : len(s.text)-1]
	if bytes.IndexByte(text, '\\') >= 0 {
		text = []byte(s.unquote())
	}
	switch {
	case s.depth == 3:
		s.item.atMeta = string(text) == "metadata"
	case !s.isValue:
		s.item.key = fieldOf(text)
	case s.item.key == nameField:
		s.item.name = append(s.item.name[:0], text...)
	case s.item.key == namespaceField:
		s.item.namespace = append(s.item.namespace[:0], text...)
	}
}

// unquote gives what the kept string says.
func (s *ListScanner) unquote() string {
	var text string
	if json.Unmarshal(s.text, &text) != nil {
		s.broken = true
	}
	return text
}
