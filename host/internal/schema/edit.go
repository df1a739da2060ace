package schema

import (
	"bytes"
	"encoding/json"
	"strings"
)

// maxDuplicates bounds what Duplicates returns.
const maxDuplicates = 100

// edit is what changes at one place of a text and below it. Places are named by step, so nothing needs to
// know where in the text they are until the new text is made, in one pass.
type edit struct {
	replace []byte         // if not nil, stands in the place of the value
	peeled  int            // how many layers of string were taken off to make replace
	open    bool           // what is below and added concerns replace
	remove  bool           // the member goes, with its name
	drop    map[int]string // ordinals (and names) of members that a later one overwrites
	add     []member       // members put after the last one
	below   map[step]*edit
}

// member is a name and its value as JSON text.
type member struct {
	key string
	raw []byte
}

func (e *edit) child(s step) *edit {
	if e.below == nil {
		e.below = make(map[step]*edit)
	}
	c := e.below[s]
	if c == nil {
		c = &edit{}
		e.below[s] = c
	}
	return c
}

// duplicates finds members whose name came more than once, below the place the trail leads to.
func (e *edit) duplicates(t trail, secrets *edit, found *[]string) {
	for _, key := range e.drop {
		if len(*found) == maxDuplicates {
			return
		}
		p, _ := append(t, frame{step: step{key: key}}).shown(secrets)
		*found = append(*found, p)
	}
	for s, c := range e.below {
		c.duplicates(append(t, frame{step: s}), secrets, found)
	}
}

// apply returns the text with the edits made. The text is valid JSON.
func (e *edit) apply(text []byte) []byte {
	r := rewriter{text: text, out: make([]byte, 0, len(text)+64)}
	r.space()
	r.out = append(r.out, text[:r.pos]...)
	r.value(e)
	return append(r.out, text[r.pos:]...)
}

// rewriter copies a valid text from pos on to out.
type rewriter struct {
	text []byte
	pos  int
	out  []byte
}

func (r *rewriter) space() {
	for r.pos < len(r.text) && r.text[r.pos] <= ' ' {
		r.pos++
	}
}

// value copies one value with its edits; e may be nil.
func (r *rewriter) value(e *edit) {
	start := r.pos
	switch {
	case e == nil || e.replace != nil:
		r.skip()
		switch {
		case e == nil:
			r.out = append(r.out, r.text[start:r.pos]...)
		case e.open && (e.below != nil || e.add != nil):
			within := edit{add: e.add, below: e.below}
			r.out = append(r.out, within.apply(e.replace)...)
		default:
			r.out = append(r.out, e.replace...)
		}
	case r.text[r.pos] == '{':
		r.object(e)
	case r.text[r.pos] == '[':
		r.array(e)
	default:
		r.skip()
		r.out = append(r.out, r.text[start:r.pos]...)
	}
}

func (r *rewriter) object(e *edit) {
	r.pos++
	r.out = append(r.out, '{')
	kept, end := 0, len(r.out) // end: of the last kept value in out
	for n := 0; ; n++ {
		start := r.pos
		if r.space(); r.text[r.pos] == '}' {
			r.out = append(r.out, r.text[start:r.pos]...)
			break
		}
		mark := len(r.out)
		if kept > 0 {
			r.out = append(r.out, ',')
		}
		key := r.name()
		r.space()
		r.pos++ // the colon
		r.space()
		r.out = append(r.out, r.text[start:r.pos]...)
		c := e.below[step{key: key}]
		_, dropped := e.drop[n]
		if dropped {
			c = nil
		}
		r.value(c)
		if dropped || c != nil && c.remove {
			r.out = r.out[:mark]
		} else {
			kept, end = kept+1, len(r.out)
		}
		start = r.pos
		r.space()
		if last := r.text[r.pos] == '}'; last {
			r.out = append(r.out, r.text[start:r.pos]...)
			break
		}
		if len(r.out) > mark {
			r.out = append(r.out, r.text[start:r.pos]...)
		}
		r.pos++ // the comma
	}
	r.added(e, kept, end)
	r.pos++
	r.out = append(r.out, '}')
}

// added puts the new members after the last kept value, before the white space that follows it.
func (r *rewriter) added(e *edit, kept, end int) {
	if len(e.add) == 0 {
		return
	}
	tail := string(r.out[end:])
	r.out = r.out[:end]
	for _, m := range e.add {
		raw := m.raw
		if c := e.below[step{key: m.key}]; c != nil {
			if c.remove {
				continue
			}
			raw = c.apply(raw)
		}
		if kept > 0 {
			r.out = append(r.out, ',')
		}
		kept++
		r.out = appendString(r.out, m.key)
		r.out = append(r.out, ':')
		r.out = append(r.out, raw...)
	}
	r.out = append(r.out, tail...)
}

func (r *rewriter) array(e *edit) {
	r.pos++
	r.out = append(r.out, '[')
	for n := 0; ; n++ {
		start := r.pos
		r.space()
		r.out = append(r.out, r.text[start:r.pos]...)
		if r.text[r.pos] != ']' {
			r.value(e.below[step{array: true, index: n}])
			start = r.pos
			r.space()
			r.out = append(r.out, r.text[start:r.pos]...)
		}
		r.out = append(r.out, r.text[r.pos])
		if r.pos++; r.text[r.pos-1] == ']' {
			return
		}
	}
}

// name passes over a member's name and decodes it.
func (r *rewriter) name() string {
	start := r.pos
	r.skip()
	return unquote(string(r.text[start:r.pos]))
}

// skip passes over one value.
func (r *rewriter) skip() {
	depth := 0
	for {
		switch c := r.text[r.pos]; c {
		case '"':
			r.quoted()
		case '{', '[':
			depth++
			r.pos++
		case '}', ']':
			depth--
			r.pos++
		case ',', ':', ' ', '\t', '\n', '\r':
			r.pos++
			continue
		default:
			for r.pos < len(r.text) && !strings.ContainsRune(",]} \t\n\r", rune(r.text[r.pos])) {
				r.pos++
			}
		}
		if depth == 0 {
			return
		}
	}
}

// quoted passes over a string.
func (r *rewriter) quoted() {
	for r.pos++; r.text[r.pos] != '"'; r.pos++ {
		if r.text[r.pos] == '\\' {
			r.pos++
		}
	}
	r.pos++
}

// unquote decodes a valid JSON string.
func unquote(quoted string) string {
	if strings.IndexByte(quoted, '\\') < 0 {
		return quoted[1 : len(quoted)-1]
	}
	s := scanner{text: quoted}
	return s.str()
}

// appendString appends s as a JSON string.
func appendString(out []byte, s string) []byte {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(s); err != nil {
		return append(out, `""`...) // cannot happen: a string always encodes
	}
	return append(out, bytes.TrimRight(b.Bytes(), "\n")...)
}
