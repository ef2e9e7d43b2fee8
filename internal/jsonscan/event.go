package jsonscan

import (
	"bytes"
	"encoding/json"
	"io"
)

// InitialEventsEnd annotates the bookmark behind the objects that there were
// when a watch of an API server began.
const InitialEventsEnd = "k8s.io/initial-events-end"

// Event is what is read of an event of a watch.
type Event struct {
	Kind                     string // such as ADDED
	Name, Namespace, Version string // of the object
	Reason                   string // of a Status, in an event of kind ERROR
	InitialEnd               bool   // a bookmark behind the initial events
}

// EventShape says under which keys an event keeps what is looked for.
type EventShape struct {
	Kind   string // outermost
	Object string // outermost
	Reason string // in the object
}

// KubernetesEvent is the shape of the events of an API server.
var KubernetesEvent = EventShape{"type", "object", "reason"}

// ErrEvents is a body that is no stream of events.
var ErrEvents error = &fault{"the answer is not a stream of whole events", "not-events"}

// field is a key that is looked for.
type field uint8

const (
	otherField field = iota
	inArray          // no key, but an array
	typeField
	objectField
	metadataField
	annotationsField
	nameField
	namespaceField
	versionField
	reasonField
	endField
)

// fieldOf knows the keys in the metadata of an object.
func fieldOf(key []byte) field {
	switch string(key) {
	case "annotations":
		return annotationsField
	case "name":
		return nameField
	case "namespace":
		return namespaceField
	case "resourceVersion":
		return versionField
	}
	return otherField
}

// fieldAt knows the keys at a depth.
func (s *EventScanner) fieldAt(depth int, key []byte) field {
	switch {
	case depth == 1 && string(key) == s.Kind:
		return typeField
	case depth == 1 && string(key) == s.Object:
		return objectField
	case depth == 2 && string(key) == "metadata":
		return metadataField
	case depth == 2 && string(key) == s.Reason:
		return reasonField
	case depth == 3:
		return fieldOf(key)
	case depth == 4 && string(key) == InitialEventsEnd:
		return endField
	}
	return otherField
}

// deepest is how deep the strings lie that are looked for:
// object.metadata.annotations.X.
const deepest = 4

// EventScanner reads the JSON of events as it streams by. Like ListScanner, it
// follows braces and strings and decodes nothing but what it looks for.
type EventScanner struct {
	EventShape
	event    Event
	depth    int
	path     [deepest]field // last key of each object that is open, outermost first
	inString bool
	escaped  bool // the next byte of the string is escaped
	isValue  bool // a colon was met: the next string is a value
	broken   bool
	text     []byte // the string under way, where it matters, without its quotes
}

// Read scans a body, through buffer, and hands each event to take: until its
// end, or until take says that it has enough. It counts the bytes.
func (s *EventScanner) Read(body io.Reader, buffer []byte, take func(Event) bool) (int64, error) {
	var total int64
	for {
		n, err := body.Read(buffer)
		total += int64(n)
		enough := s.scan(buffer[:n], take)
		switch {
		case enough:
			return total, nil
		case s.broken, err == io.EOF && s.depth > 0:
			return total, ErrEvents
		case err == io.EOF:
			return total, nil
		case err != nil:
			return total, err
		}
	}
}

// scan says whether take has enough.
func (s *EventScanner) scan(data []byte, take func(Event) bool) bool {
	for len(data) > 0 && !s.broken {
		if s.inString {
			data = s.scanString(data)
			continue
		}
		c := data[0]
		data = data[1:]
		switch c {
		case '{', '[':
			s.open(c)
		case '}', ']':
			s.depth--
			s.isValue = false
			if s.depth > 0 {
				continue
			}
			whole := s.event
			s.event = Event{}
			s.broken = s.depth < 0
			if !s.broken && !take(whole) {
				return true
			}
		case '"':
			s.inString = true
			s.text = s.text[:0]
			s.broken = s.depth == 0
		case ':':
			s.isValue = true
		case ',':
			s.isValue = false
		case ' ', '\t', '\r', '\n':
		default: // a number, true, false or null: never outermost
			s.broken = s.depth == 0
		}
	}
	return false
}

func (s *EventScanner) open(c byte) {
	if s.depth < deepest {
		s.path[s.depth] = otherField
		if c == '[' {
			s.path[s.depth] = inArray
		}
	}
	s.broken = s.depth == 0 && c == '['
	s.depth++
	s.isValue = false
}

// scanString follows a string to its closing quote and gives what is behind it.
func (s *EventScanner) scanString(data []byte) []byte {
	quote := closingQuote(data, &s.escaped)
	if quote < 0 {
		s.keep(data)
		return nil
	}
	s.keep(data[:quote])
	s.inString = false
	if s.matters() {
		s.endString()
	}
	return data[quote+1:]
}

// matters says whether strings of the innermost object are keys or values on
// the way to what is looked for.
func (s *EventScanner) matters() bool {
	if s.depth > deepest || s.depth > 0 && s.path[s.depth-1] == inArray {
		return false
	}
	for i, want := range [...]field{objectField, metadataField, annotationsField} {
		if i+1 < s.depth && s.path[i] != want {
			return false
		}
	}
	return true
}

func (s *EventScanner) keep(data []byte) {
	if !s.matters() {
		return
	}
	if len(s.text)+len(data) > MaxText {
		data = nil // an annotation, longer than anything that is looked for
	}
	s.text = append(s.text, data...)
}

func (s *EventScanner) endString() {
	text := s.text
	if bytes.IndexByte(text, '\\') >= 0 {
		var plain string
		if json.Unmarshal(append(append([]byte{'"'}, text...), '"'), &plain) != nil {
			s.broken = len(text) < MaxText/2 // what is longer may be a torso
			return
		}
		text = []byte(plain)
	}
	if !s.isValue {
		s.path[s.depth-1] = s.fieldAt(s.depth, text)
		return
	}
	switch key := s.path[s.depth-1]; {
	case s.depth == 1 && key == typeField:
		s.event.Kind = kindOf(text)
	case s.depth == 2 && key == reasonField:
		s.event.Reason = string(text)
	case s.depth == 3 && key == nameField:
		s.event.Name = string(text)
	case s.depth == 3 && key == namespaceField:
		s.event.Namespace = string(text)
	case s.depth == 3 && key == versionField:
		s.event.Version = string(text)
	case s.depth == 4 && key == endField:
		s.event.InitialEnd = string(text) == "true"
	}
}

// kindOf gives the kind of an event; those that there are cost no memory.
func kindOf(text []byte) string {
	for _, kind := range [...]string{"ADDED", "MODIFIED", "DELETED", "BOOKMARK", "ERROR", "resource.create", "resource.change", "resource.remove"} {
		if string(text) == kind {
			return kind
		}
	}
	return string(text)
}

// ReadVersion reads an object to its end and gives its resourceVersion, or
// nothing if the body is not an object that has one.
func ReadVersion(body io.Reader) (version string, n int64, err error) {
	s := EventScanner{EventShape: KubernetesEvent}
	take := func(Event) bool { return true }
	s.scan([]byte(`{"object":`), take)
	buffer := make([]byte, 4<<10)
	for {
		read, err := body.Read(buffer)
		n += int64(read)
		s.scan(buffer[:read], take)
		if err == io.EOF {
			break
		}
		if err != nil {
			return "", n, err
		}
	}
	if s.broken || s.depth != 1 {
		return "", n, nil
	}
	return s.event.Version, n, nil
}
