package view

import (
	"bytes"
	"encoding/json"
	"fmt"
)

// scanner reads one JSON text. Its recursion is bounded by MaxDepth. Its errors say where, and
// quote nothing.
type scanner struct {
	text  []byte
	pos   int
	depth int // containers around pos
}

func (s *scanner) at(c byte) bool { return s.pos < len(s.text) && s.text[s.pos] == c }

func (s *scanner) space() {
	for s.at(' ') || s.at('\t') || s.at('\n') || s.at('\r') {
		s.pos++
	}
}

// end checks that nothing follows the value.
func (s *scanner) end() error {
	if s.space(); s.pos < len(s.text) {
		return errorAt(s.pos, "more than one value")
	}
	return nil
}

// members reads an object; member gets each name as it is written and reads the value.
func (s *scanner) members(member func(name []byte) error) error {
	return s.container('}', func(int) error {
		s.space()
		start := s.pos
		if err := s.str(); err != nil {
			return err
		}
		name := s.text[start:s.pos]
		if s.space(); !s.at(':') {
			return errorAt(s.pos, "no colon after a member name")
		}
		s.pos++
		return member(name)
	})
}

// elements reads an array; element reads each element.
func (s *scanner) elements(element func(i int) error) error { return s.container(']', element) }

// container reads what is between the brackets; s is at the first one.
func (s *scanner) container(last byte, item func(i int) error) error {
	if s.depth++; s.depth > MaxDepth {
		return fmt.Errorf("more than %d levels", MaxDepth)
	}
	s.pos++
	if s.space(); s.at(last) {
		s.pos++
		s.depth--
		return nil
	}
	for i := 0; ; i++ {
		if err := item(i); err != nil {
			return err
		}
		s.space()
		switch {
		case s.at(','):
			s.pos++
		case s.at(last):
			s.pos++
			s.depth--
			return nil
		default:
			return errorAt(s.pos, "no comma and no end of a container")
		}
	}
}

// skip reads one value of any kind.
func (s *scanner) skip() error {
	s.space()
	if s.pos >= len(s.text) {
		return errorAt(s.pos, "no value")
	}
	switch c := s.text[s.pos]; c {
	case '{':
		return s.members(func([]byte) error { return s.skip() })
	case '[':
		return s.elements(func(int) error { return s.skip() })
	case '"':
		return s.str()
	case 't':
		return s.word("true")
	case 'f':
		return s.word("false")
	case 'n':
		return s.word("null")
	}
	return s.number()
}

func (s *scanner) word(w string) error {
	if !bytes.HasPrefix(s.text[s.pos:], []byte(w)) {
		return errorAt(s.pos, "no value")
	}
	s.pos += len(w)
	return nil
}

func (s *scanner) number() error {
	start := s.pos
	if s.at('-') {
		s.pos++
	}
	first := s.pos
	if n := s.digits(); n == 0 || n > 1 && s.text[first] == '0' {
		return errorAt(start, "no value")
	}
	if s.at('.') {
		if s.pos++; s.digits() == 0 {
			return errorAt(start, "no number")
		}
	}
	if s.at('e') || s.at('E') {
		if s.pos++; s.at('+') || s.at('-') {
			s.pos++
		}
		if s.digits() == 0 {
			return errorAt(start, "no number")
		}
	}
	return nil
}

func (s *scanner) digits() int {
	start := s.pos
	for s.pos < len(s.text) && s.text[s.pos]-'0' <= 9 {
		s.pos++
	}
	return s.pos - start
}

// str reads a string with its quotes.
func (s *scanner) str() error {
	start := s.pos
	if !s.at('"') {
		return errorAt(start, "no string")
	}
	for s.pos++; s.pos < len(s.text); s.pos++ {
		switch c := s.text[s.pos]; {
		case c == '"':
			s.pos++
			return nil
		case c < ' ':
			return errorAt(s.pos, "a control character in a string")
		case c == '\\':
			if s.pos++; !s.escape() {
				return errorAt(s.pos, "no escape")
			}
		}
	}
	return errorAt(start, "a string without an end")
}

// escape reads what follows a backslash, up to its last byte.
func (s *scanner) escape() bool {
	if s.pos >= len(s.text) {
		return false
	}
	if s.text[s.pos] != 'u' {
		return bytes.IndexByte([]byte(`"\/bfnrt`), s.text[s.pos]) >= 0
	}
	for range 4 {
		if s.pos++; s.pos >= len(s.text) || !isHex(s.text[s.pos]) {
			return false
		}
	}
	return true
}

func isHex(c byte) bool {
	return c-'0' <= 9 || c|0x20 >= 'a' && c|0x20 <= 'f'
}

// nameOf decodes a member's name; one without escapes is not copied.
func nameOf(raw []byte) []byte {
	if bytes.IndexByte(raw, '\\') < 0 {
		return raw[1 : len(raw)-1]
	}
	var name string
	if json.Unmarshal(raw, &name) != nil { // cannot be: str has read it
		return nil
	}
	return []byte(name)
}
