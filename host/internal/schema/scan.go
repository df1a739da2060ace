package schema

import (
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/toolhost/toolhost/internal/plain"
)

// scanner decodes one JSON text in one pass. Its recursion is bounded by Limits.Depth.
//
// Members and items are gathered on two stacks that all levels share, so every map and slice is made once, at
// its size. Strings without escapes, and all numbers, are parts of the text and cost no copy.
type scanner struct {
	text   string
	pos    int
	lim    Limits
	depth  int
	values int
	keys   []string
	vals   []any
	trail  trail
	wide   bool   // there may be more than ASCII
	named  bool   // characters are written as \u escapes
	root   *edit  // what was dropped because its name came again
	notes  *notes // if not nil, what a schema's values do not tell is kept
	err    error
}

// notes keep what a schema's decoded value does not tell, by JSON Pointer.
type notes struct {
	order    map[string][]string // member names of every "properties" object, in the order of the text
	defaults map[string]string   // text of "default", by the pointer of the object that holds it
	size     int                 // bytes of the pointers
}

// room counts a pointer; beyond the budget nothing more is noted, and checkSchema refuses the schema.
func (n *notes) room(pointer string) bool {
	n.size += len(pointer)
	return n.size <= maxPointerBytes
}

// document reads the whole text: one value with nothing but white space around it.
func (s *scanner) document() any {
	v := s.value()
	if s.err != nil {
		return nil
	}
	if s.space(); s.pos < len(s.text) {
		s.syntax("the end of the text")
		return nil
	}
	return v
}

func (s *scanner) space() {
	for s.pos < len(s.text) {
		switch s.text[s.pos] {
		case ' ', '\t', '\n', '\r':
			s.pos++
		default:
			return
		}
	}
}

// value reads one value. After an error s.err is set and the result means nothing.
func (s *scanner) value() any {
	s.space()
	if s.pos >= len(s.text) {
		s.syntax("a value")
		return nil
	}
	if s.values++; s.values > s.lim.Values {
		s.limit("values", s.lim.Values)
		return nil
	}
	switch c := s.text[s.pos]; {
	case c == '"':
		return s.str()
	case c == '{':
		return s.object()
	case c == '[':
		return s.array()
	case c == '-' || c-'0' <= 9:
		return s.number()
	case c == 't':
		return s.word("true", true)
	case c == 'f':
		return s.word("false", false)
	case c == 'n':
		return s.word("null", nil)
	}
	s.syntax("a value")
	return nil
}

func (s *scanner) word(w string, v any) any {
	if !strings.HasPrefix(s.text[s.pos:], w) {
		s.syntax("a value")
		return nil
	}
	s.pos += len(w)
	return v
}

// enter counts one more level; leave must follow if it returns true.
func (s *scanner) enter(st step) bool {
	if s.depth++; s.depth > s.lim.Depth {
		s.limit("levels of nesting", s.lim.Depth)
		return false
	}
	s.pos++
	s.trail = append(s.trail, frame{step: st})
	return true
}

func (s *scanner) leave() {
	s.pos++
	s.depth--
	s.trail = s.trail[:len(s.trail)-1]
}

func (s *scanner) object() any {
	if !s.enter(step{}) {
		return nil
	}
	keyBase, valBase, level := len(s.keys), len(s.vals), len(s.trail)-1
	for s.space(); !s.at('}'); s.space() {
		if len(s.keys) > keyBase {
			if !s.at(',') {
				s.syntax("',' or '}'")
				return nil
			}
			s.pos++
			s.space()
		}
		if !s.at('"') {
			s.syntax("a member name in double quotes")
			return nil
		}
		at := s.pos
		key := s.str()
		if s.err != nil {
			return nil
		}
		if len(key) > s.lim.Key || len(s.keys)-keyBase >= s.lim.Members {
			s.memberLimit(at, key)
			return nil
		}
		if s.space(); !s.at(':') {
			s.syntax("':'")
			return nil
		}
		s.pos++
		s.trail[level] = frame{step: step{key: key, index: len(s.keys) - keyBase}}
		start := s.pos
		v := s.value()
		if s.err != nil {
			return nil
		}
		if s.notes != nil && key == "default" {
			if p := s.trail[:level].whole(); s.notes.room(p) {
				s.notes.defaults[p] = strings.TrimSpace(s.text[start:s.pos])
			}
		}
		s.keys = append(s.keys, key)
		s.vals = append(s.vals, v)
	}
	m := s.makeMap(s.keys[keyBase:], s.vals[valBase:], level)
	s.keys, s.vals = s.keys[:keyBase], s.vals[:valBase]
	s.leave()
	return m
}

func (s *scanner) memberLimit(at int, key string) {
	s.pos = at
	if len(key) > s.lim.Key {
		s.limit("bytes in a member name", s.lim.Key)
		return
	}
	s.limit("members in an object", s.lim.Members)
}

// makeMap makes the object of the members; the last of several with one name wins.
func (s *scanner) makeMap(keys []string, vals []any, level int) any {
	m := make(map[string]any, len(keys))
	for i, k := range keys {
		m[k] = vals[i]
	}
	if len(m) < len(keys) {
		s.drop(keys, level)
	}
	if s.root != nil {
		s.settle(level)
	}
	if s.notes != nil && level > 0 && s.trail[level-1].key == "properties" {
		if p := s.trail[:level].whole(); s.notes.room(p) {
			s.notes.order[p] = append([]string(nil), keys...)
		}
	}
	return m
}

// drop notes which members of the object at the level are overwritten by a later one.
func (s *scanner) drop(keys []string, level int) {
	if s.root == nil {
		s.root = &edit{}
	}
	e := s.trail[:level].edits(s.root)
	e.drop = make(map[int]string)
	last := make(map[string]int, len(keys))
	for i, k := range keys {
		if j, again := last[k]; again {
			e.drop[j] = k
		}
		last[k] = i
	}
}

// settle ends the object at the level. While it was read, edits below its members went by name and ordinal,
// so that those of an overwritten member are not taken for the later one's; from here on they go by name.
func (s *scanner) settle(level int) {
	e := s.root
	if level > 0 {
		e = s.trail[level-1].edit
	}
	if e == nil || len(e.below) == 0 {
		return
	}
	below := make(map[step]*edit, len(e.below))
	for st, c := range e.below {
		if _, dropped := e.drop[st.index]; !dropped {
			below[step{key: st.key}] = c
		}
	}
	e.below = below
}

func (s *scanner) array() any {
	if !s.enter(step{array: true}) {
		return nil
	}
	base, level := len(s.vals), len(s.trail)-1
	for s.space(); !s.at(']'); s.space() {
		if n := len(s.vals) - base; n > 0 {
			if !s.at(',') {
				s.syntax("',' or ']'")
				return nil
			}
			s.pos++
			s.trail[level] = frame{step: step{array: true, index: n}}
		}
		v := s.value()
		if s.err != nil {
			return nil
		}
		s.vals = append(s.vals, v)
	}
	a := make([]any, len(s.vals)-base)
	copy(a, s.vals[base:])
	s.vals = s.vals[:base]
	s.leave()
	return a
}

func (s *scanner) at(c byte) bool { return s.pos < len(s.text) && s.text[s.pos] == c }

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

// syntax reports that something else was expected at s.pos.
func (s *scanner) syntax(expected string) {
	line, column := position(s.text, s.pos)
	s.err = &SyntaxError{Offset: s.pos, Line: line, Column: column, Expected: expected, Got: describe(s.text, s.pos)}
}

func (s *scanner) limit(what string, limit int) {
	line, column := position(s.text, s.pos)
	s.err = &LimitError{What: what, Max: limit, Path: s.trail.pointer(), Offset: s.pos, Line: line, Column: column}
}

// gotEnd says that a text ended too early.
const gotEnd = "the end of the text"

// describe names the character at pos.
func describe(text string, pos int) string {
	if pos >= len(text) {
		return gotEnd
	}
	r, size := utf8.DecodeRuneInString(text[pos:])
	switch {
	case r == utf8.RuneError && size < 2:
		return fmt.Sprintf("the byte 0x%02x, which is not UTF-8", text[pos])
	case r == '\uFEFF':
		return "a byte order mark"
	case r == '\'':
		return "a single quote"
	}
	return strconv.QuoteRune(r)
}

// position is the line and the column, both from 1, of a byte offset.
func position(text string, pos int) (line, column int) {
	before := text[:pos]
	return 1 + strings.Count(before, "\n"), pos - strings.LastIndexByte(before, '\n')
}
