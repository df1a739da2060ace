package schema

import (
	"sync"
	"unicode/utf8"

	"github.com/toolhost/toolhost/internal/plain"
)

// Budgets of one skim, for each byte of the text and in all. A text that needs more is decoded, and has the budgets of a check.
const (
	baseSkimSteps = 50_000
	stepsPerByte  = 4
)

// Valid reports whether a text is one JSON value within the limits that satisfies the schema, without decoding it as far as that
// is possible: false may also mean that it is not known. Parse and Validate tell, and why. If the schema is nil, the text only
// has to be JSON.
func (s *Schema) Valid(text []byte, lim Limits) bool {
	valid, _ := s.ValidPlain(text, lim)
	return valid
}

// ValidPlain is Valid that also reports whether the text is plain: ASCII, no character of which is written as a \u escape. So
// nothing is in it that nobody sees. It may say no if it is.
func (s *Schema) ValidPlain(text []byte, lim Limits) (valid, plain bool) {
	found := s.skim(text, lim, false)
	return found.valid, found.plain
}

// skimmed is what a skim found.
type skimmed struct {
	valid, plain bool
	values       int
}

// skim looks whether a text is one JSON value that satisfies the schema, and counts its values. Of an input it also
// wants that reading changes nothing: no default is filled, and no name comes twice in an object.
func (s *Schema) skim(text []byte, lim Limits, input bool) (found skimmed) {
	lim = lim.withDefaults()
	if len(text) > lim.Bytes {
		return skimmed{}
	}
	k := skimmers.Get().(*skimmer)
	defer k.release()
	defer func() {
		if recover() != nil { // Parse and Validate meet the same, and say so
			found = skimmed{}
		}
	}()
	k.begin(viewOf(text), lim)
	k.input = input
	k.w = walker{steps: baseSkimSteps + stepsPerByte*len(text), patternSteps: patternPerByte * len(text) * stepsPerByte}
	k.w.patternSteps += basePatternSteps / 100
	root := anything
	if s != nil {
		root = s.root
	}
	if !k.node(root) {
		return skimmed{}
	}
	k.space()
	if k.pos < len(k.text) || k.wide && !utf8.ValidString(k.text) { // outside of strings there is ASCII only
		return skimmed{}
	}
	return skimmed{true, !k.wide && !k.named, k.scanner.values}
}

var anything = &node{always: true}

// skimmer checks a text while it reads it. It is for valid texts: whatever is wrong, or cannot be told from the text alone, ends
// it.
type skimmer struct {
	scanner
	w     walker
	input bool
	buf   []byte
}

// skimmers keep what a text was read with.
var skimmers = sync.Pool{New: func() any {
	k := new(skimmer)
	k.keys, k.vals, k.trail, k.buf = make([]string, 0, 16), make([]any, 0, 16), make(trail, 0, 8), make([]byte, 0, 64)
	return k
}}

// maxKept is how long the stacks of a skimmer are that is used again.
const maxKept = 1 << 10

// begin makes the skimmer ready for a text.
func (k *skimmer) begin(text string, lim Limits) {
	k.scanner = scanner{text: text, lim: lim, keys: k.keys[:0], vals: k.vals[:0], trail: k.trail[:0]}
}

// release hands the skimmer back. Nothing of the text stays with it.
func (k *skimmer) release() {
	if cap(k.keys) > maxKept || cap(k.vals) > maxKept || cap(k.trail) > maxKept || cap(k.buf) > maxKept {
		return
	}
	keys, vals, trail := k.keys[:cap(k.keys)], k.vals[:cap(k.vals)], k.trail[:cap(k.trail)]
	clear(keys)
	clear(vals)
	clear(trail)
	k.scanner = scanner{keys: keys[:0], vals: vals[:0], trail: trail[:0]}
	k.w = walker{}
	skimmers.Put(k)
}

// node reads one value that the node must admit.
func (k *skimmer) node(n *node) bool {
	for n.follow != nil {
		n = n.follow
	}
	switch {
	case n.always:
		return k.any()
	case n.never || !k.w.spend(1):
		return false
	case n.whole:
		return k.whole(n)
	}
	if k.space(); k.pos >= len(k.text) {
		return false
	}
	if k.scanner.values++; k.scanner.values > k.lim.Values {
		return false
	}
	switch c := k.text[k.pos]; {
	case c == '"' && n.anyText:
		return n.mayBe(typeString) && k.anyString()
	case c == '"':
		v := k.scanner.str()
		return k.err == nil && n.mayBe(typeString) && n.konst.hasString(v) && n.enum.hasString(v) && k.w.str(n, v)
	case c == '{':
		return n.mayBe(typeObject) && n.konst == nil && n.enum == nil && k.members(n)
	case c == '[':
		return n.mayBe(typeArray) && n.konst == nil && n.enum == nil && k.items(n)
	case c == '-' || c-'0' <= 9:
		return k.num(n)
	case c == 't':
		return k.is("true") && n.mayBe(typeBoolean) && k.listed(n, true)
	case c == 'f':
		return k.is("false") && n.mayBe(typeBoolean) && k.listed(n, false)
	case c == 'n':
		return k.is("null") && (n.nullable || n.mayBe(typeNull) && k.listed(n, nil))
	}
	return false
}

// whole decodes a value that its node cannot judge as it is read.
func (k *skimmer) whole(n *node) bool {
	if k.input && n.hasDefault {
		return false
	}
	v := k.scanner.value()
	return k.err == nil && k.root == nil && k.w.check(n, v, nil) && k.w.stop == nil
}

func (k *skimmer) is(word string) bool {
	k.word(word, nil)
	return k.err == nil
}

func (k *skimmer) num(n *node) bool {
	v := k.digits()
	return k.err == nil && n.mayBeNumber(v) && (n.konst == nil && n.enum == nil || k.listed(n, v)) && k.w.number(n, v)
}

// listed reports whether a value that is no string is one of the constants of the node, if it has any.
func (k *skimmer) listed(n *node, v any) bool {
	return (n.konst == nil || k.w.listed(n.konst, v)) && (n.enum == nil || k.w.listed(n.enum, v))
}

// down enters an object or an array; up must follow if it returns true.
func (k *skimmer) down() bool {
	k.depth++
	k.pos++
	return k.depth <= k.lim.Depth
}

func (k *skimmer) up() {
	k.depth--
	k.pos++
}

// next reads what is before another member or item, and reports whether there is one.
func (k *skimmer) next(count int, end byte) (more, ok bool) {
	if k.space(); k.at(end) {
		return false, true
	}
	if count == 0 {
		return true, true
	}
	if !k.at(',') {
		return false, false
	}
	k.pos++
	k.space()
	return true, true
}

// name reads a member's name and the colon.
func (k *skimmer) name() (string, bool) {
	if !k.at('"') {
		return "", false
	}
	name := k.scanner.str()
	if k.err != nil || len(name) > k.lim.Key {
		return "", false
	}
	if k.space(); !k.at(':') {
		return "", false
	}
	k.pos++
	return name, true
}

func (k *skimmer) members(n *node) bool {
	if !k.down() {
		return false
	}
	base, count, expected := len(k.keys), 0, 0
	var seen uint64
	for {
		more, ok := k.next(count, '}')
		if !ok {
			return false
		}
		if !more {
			break
		}
		if count++; count > k.lim.Members {
			return false
		}
		name, ok := k.name()
		if !ok {
			return false
		}
		if i := n.find(name, expected); i >= 0 {
			if seen&(1<<i) != 0 || !k.node(n.fields[i]) {
				return false
			}
			seen |= 1 << i
			expected = i + 1
			continue
		}
		k.keys = append(k.keys, name)
		extra := n.extra
		if extra == nil {
			extra = anything
		}
		if !k.node(extra) {
			return false
		}
	}
	if seen&n.required != n.required || k.input && n.fills&^seen != 0 || !n.counts(count) || k.twice(base) {
		return false
	}
	k.up()
	return true
}

// twice reports whether one of the names from base on comes twice, and takes them off.
func (k *skimmer) twice(base int) bool {
	names := k.keys[base:]
	k.keys = k.keys[:base]
	if len(names) > 16 {
		seen := make(map[string]struct{}, len(names))
		for _, name := range names {
			seen[name] = struct{}{}
		}
		return len(seen) < len(names)
	}
	for i, name := range names {
		for _, other := range names[:i] {
			if name == other {
				return true
			}
		}
	}
	return false
}

func (k *skimmer) items(n *node) bool {
	if !k.down() {
		return false
	}
	count := 0
	for ; ; count++ {
		more, ok := k.next(count, ']')
		if !ok {
			return false
		}
		if !more {
			break
		}
		c := n.rest
		if count < len(n.prefix) {
			c = n.prefix[count]
		}
		if c == nil {
			c = anything
		}
		if !k.node(c) {
			return false
		}
	}
	s := n.s
	if s.MinItems != nil && count < *s.MinItems || s.MaxItems != nil && count > *s.MaxItems {
		return false
	}
	k.up()
	return true
}

// any reads one value whatever it is.
func (k *skimmer) any() bool {
	if k.space(); k.pos >= len(k.text) {
		return false
	}
	if k.scanner.values++; k.scanner.values > k.lim.Values {
		return false
	}
	switch c := k.text[k.pos]; {
	case c == '"':
		return k.anyString()
	case c == '{':
		return k.anyObject()
	case c == '[':
		return k.anyArray()
	case c == '-' || c-'0' <= 9:
		k.digits()
		return k.err == nil
	case c == 't':
		return k.is("true")
	case c == 'f':
		return k.is("false")
	case c == 'n':
		return k.is("null")
	}
	return false
}

func (k *skimmer) anyObject() bool {
	if !k.down() {
		return false
	}
	base := len(k.keys)
	for count := 0; ; count++ {
		more, ok := k.next(count, '}')
		if !ok {
			return false
		}
		if !more {
			break
		}
		if count >= k.lim.Members {
			return false
		}
		name, ok := k.name()
		if !ok {
			return false
		}
		if k.input {
			k.keys = append(k.keys, name)
		}
		if !k.any() {
			return false
		}
	}
	if k.twice(base) {
		return false
	}
	k.up()
	return true
}

func (k *skimmer) anyArray() bool {
	if !k.down() {
		return false
	}
	for count := 0; ; count++ {
		more, ok := k.next(count, ']')
		if !ok {
			return false
		}
		if !more {
			break
		}
		if !k.any() {
			return false
		}
	}
	k.up()
	return true
}

// anyString reads a string that nobody looks at.
func (k *skimmer) anyString() bool {
	text, i := bytesOf(k.text), k.pos+1
	for {
		end, ascii := plain.Skip(text, i)
		if i = end; !ascii {
			k.wide = true
		}
		switch {
		case i >= len(text) || text[i] < ' ':
			return false
		case text[i] == '"':
			k.pos = i + 1
			return true
		}
		if k.buf, i = k.escape(k.buf[:0], i); k.err != nil {
			return false
		}
	}
}
