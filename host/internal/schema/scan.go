package schema

import "strings"

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

// syntax reports that something else was expected at s.pos.
func (s *scanner) syntax(expected string) {
	line, column := position(s.text, s.pos)
	s.err = &SyntaxError{Offset: s.pos, Line: line, Column: column, Expected: expected, Got: describe(s.text, s.pos)}
}

func (s *scanner) limit(what string, limit int) {
	line, column := position(s.text, s.pos)
	s.err = &LimitError{What: what, Max: limit, Path: s.trail.pointer(), Offset: s.pos, Line: line, Column: column}
}
