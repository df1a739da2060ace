package schema

import (
	"encoding/json"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/toolhost/toolhost/internal/plain"
)

// number reads a number and keeps its spelling.
func (s *scanner) number() any {
	if n := s.digits(); s.err == nil {
		return n
	}
	return nil
}

// digits is number for a caller that knows what it gets.
func (s *scanner) digits() json.Number {
	text, start := s.text, s.pos
	i := start
	if text[i] == '-' {
		i++
	}
	first := i
	for i < len(text) && text[i]-'0' <= 9 {
		i++
	}
	digits := i - first
	switch {
	case digits == 0:
		s.pos = i
		s.syntax("a digit")
		return ""
	case digits > 1 && text[first] == '0':
		s.pos = first + 1
		s.syntax("no digit after a leading 0")
		return ""
	}
	if i < len(text) && text[i] == '.' {
		i++
		for first = i; i < len(text) && text[i]-'0' <= 9; i++ {
			digits++
		}
		if i == first {
			s.pos = i
			s.syntax("a digit")
			return ""
		}
	}
	if digits > s.lim.Digits {
		s.limit("digits in a number", s.lim.Digits)
		return ""
	}
	if i < len(text) && text[i]|0x20 == 'e' {
		if i = s.exponent(i + 1); s.err != nil {
			return ""
		}
	}
	s.pos = i
	return json.Number(text[start:i])
}

// exponent reads what follows the letter e at i and returns where it ends.
func (s *scanner) exponent(i int) int {
	if i < len(s.text) && (s.text[i] == '+' || s.text[i] == '-') {
		i++
	}
	first, size := i, 0
	for i < len(s.text) && s.text[i]-'0' <= 9 {
		size = min(size*10+int(s.text[i]-'0'), 1<<30)
		i++
	}
	if i == first {
		s.pos = i
		s.syntax("a digit")
		return i
	}
	if size > s.lim.Exponent {
		s.limit("in an exponent", s.lim.Exponent)
	}
	return i
}

// str reads a string; s.pos is at its first quote.
func (s *scanner) str() string {
	text, start := s.text, s.pos+1
	i := s.plainEnd(start)
	switch {
	case i == len(text):
		s.pos = i
		s.syntax("'\"' at the end of a string")
		return ""
	case text[i] == '"':
		s.pos = i + 1
		return text[start:i]
	case text[i] == '\\':
		return s.escaped(start, i)
	}
	s.pos = i
	s.syntax("an escaped control character")
	return ""
}

// plainEnd is where a quote, a backslash or a control character is from i on, or the end of the text.
func (s *scanner) plainEnd(i int) int {
	end, ascii := plain.End(bytesOf(s.text), i)
	if !ascii {
		s.wide = true
	}
	return end
}

// escaped reads the rest of a string from its first backslash at i.
func (s *scanner) escaped(start, i int) string {
	text := s.text
	buf := make([]byte, 0, i-start+16)
	for {
		if len(buf)+i-start > cap(buf) && cap(buf) > 1<<10 { // what is long is to grow once
			end, _ := plain.Skip(bytesOf(text), start)
			buf = slices.Grow(buf, end-start)
		}
		buf = append(buf, text[start:i]...)
		if i >= len(text) {
			s.pos = len(text)
			s.syntax("'\"' at the end of a string")
			return ""
		}
		switch c := text[i]; {
		case c == '"':
			s.pos = i + 1
			return viewOf(buf)
		case c < ' ':
			s.pos = i
			s.syntax("an escaped control character")
			return ""
		}
		if buf, i = s.escape(buf, i); s.err != nil {
			return ""
		}
		start = i
		i = s.plainEnd(i)
	}
}

// escape decodes the escape sequence at i and returns where it ends.
func (s *scanner) escape(buf []byte, i int) ([]byte, int) {
	if i+1 >= len(s.text) {
		s.pos = len(s.text)
		s.syntax("an escape sequence")
		return buf, i
	}
	if at := strings.IndexByte(`"\/bfnrt`, s.text[i+1]); at >= 0 {
		return append(buf, "\"\\/\b\f\n\r\t"[at]), i + 2
	}
	if s.text[i+1] != 'u' {
		s.pos = i + 1
		s.syntax("an escape sequence")
		return buf, i
	}
	s.named = true
	r, ok := hex4(s.text, i+2)
	if !ok {
		s.pos = min(i+2, len(s.text))
		s.syntax("four hexadecimal digits")
		return buf, i
	}
	if r < 0xD800 || r > 0xDFFF {
		return utf8.AppendRune(buf, r), i + 6
	}
	low, ok := rune(0), false
	if r < 0xDC00 && strings.HasPrefix(s.text[i+6:], `\u`) {
		low, ok = hex4(s.text, i+8)
	}
	if !ok || low < 0xDC00 || low > 0xDFFF {
		s.pos = i
		s.syntax("both halves of a surrogate pair")
		return buf, i
	}
	return utf8.AppendRune(buf, 0x10000+(r-0xD800)<<10+(low-0xDC00)), i + 12
}

func hex4(text string, i int) (rune, bool) {
	if i+4 > len(text) {
		return 0, false
	}
	var r rune
	for _, c := range []byte(text[i : i+4]) {
		switch {
		case c-'0' <= 9:
			r = r<<4 | rune(c-'0')
		case c|0x20 >= 'a' && c|0x20 <= 'f':
			r = r<<4 | rune(c|0x20-'a'+10)
		default:
			return 0, false
		}
	}
	return r, true
}
