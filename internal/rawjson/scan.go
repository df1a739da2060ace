package rawjson

import (
	"encoding/json"

	"github.com/toolhost/toolhost/internal/plain"
)

// maxDepth is how deep a value may be, as encoding/json has it.
const maxDepth = 10000

// Valid is json.Valid, some times as fast.
func Valid(raw json.RawMessage) bool {
	s := scan{text: raw}
	s.space()
	return s.value() && s.end()
}

// scan reads JSON as encoding/json does, without decoding it. Its methods move on and report whether what they read is JSON.
type scan struct {
	text  []byte
	at    int
	depth int
	loose bool // there was white space between tokens
}

// end reports whether nothing but white space is left.
func (s *scan) end() bool {
	s.space()
	return s.at == len(s.text)
}

// peek is the next byte, which is no white space; 0 at the end.
func (s *scan) peek() byte {
	s.space()
	if s.at == len(s.text) {
		return 0
	}
	return s.text[s.at]
}

// take moves over a byte, if it is next.
func (s *scan) take(c byte) bool {
	if s.at == len(s.text) || s.text[s.at] != c {
		return false
	}
	s.at++
	return true
}

func (s *scan) space() {
	for s.at < len(s.text) {
		switch s.text[s.at] {
		case ' ', '\t', '\r', '\n':
			s.at++
			s.loose = true
		default:
			return
		}
	}
}

// value moves over a value, which begins here.
func (s *scan) value() bool {
	if s.at == len(s.text) {
		return false
	}
	switch c := s.text[s.at]; c {
	case '"':
		return s.quoted()
	case '{', '[':
		s.depth++
		ok := s.depth <= maxDepth && s.inside(c == '{')
		s.depth--
		return ok
	case 't':
		return s.word("true")
	case 'f':
		return s.word("false")
	case 'n':
		return s.word("null")
	}
	return s.number()
}

// inside moves over an object or an array.
func (s *scan) inside(object bool) bool {
	closing := byte(']')
	if object {
		closing = '}'
	}
	s.at++
	if s.peek() == closing {
		s.at++
		return true
	}
	for {
		if object && !s.name() {
			return false
		}
		s.space()
		if !s.value() {
			return false
		}
		switch s.peek() {
		case ',':
			s.at++
			s.space()
		case closing:
			s.at++
			return true
		default:
			return false
		}
	}
}

// name moves over a member's name and its colon.
func (s *scan) name() bool {
	if s.at == len(s.text) || s.text[s.at] != '"' || !s.quoted() {
		return false
	}
	s.space()
	return s.take(':')
}

// quoted moves over a string: over a short one byte by byte, which takes less than many at a time.
func (s *scan) quoted() bool {
	s.at++
	for short := s.at + 24; s.at < len(s.text); {
		switch c := s.text[s.at]; {
		case c == '"':
			s.at++
			return true
		case c == '\\':
			if !s.escape() {
				return false
			}
		case c < ' ':
			return false
		case s.at < short:
			s.at++
		default:
			s.at, _ = plain.Skip(s.text, s.at)
		}
	}
	return false
}

func (s *scan) escape() bool {
	s.at++
	if s.at == len(s.text) {
		return false
	}
	c := s.text[s.at]
	s.at++
	switch c {
	case '"', '\\', '/', 'b', 'f', 'n', 'r', 't':
		return true
	case 'u':
		for range 4 {
			if s.at == len(s.text) || !hex(s.text[s.at]) {
				return false
			}
			s.at++
		}
		return true
	}
	return false
}

func hex(c byte) bool { return c >= '0' && c <= '9' || c >= 'a' && c <= 'f' || c >= 'A' && c <= 'F' }

func (s *scan) word(w string) bool {
	if len(s.text)-s.at < len(w) || string(s.text[s.at:s.at+len(w)]) != w {
		return false
	}
	s.at += len(w)
	return true
}

func (s *scan) number() bool {
	s.take('-')
	if !s.take('0') && !s.digits() {
		return false
	}
	if s.take('.') && !s.digits() {
		return false
	}
	if s.take('e') || s.take('E') {
		if !s.take('-') {
			s.take('+')
		}
		return s.digits()
	}
	return true
}

func (s *scan) digits() bool {
	start := s.at
	for s.at < len(s.text) && s.text[s.at] >= '0' && s.text[s.at] <= '9' {
		s.at++
	}
	return s.at > start
}
