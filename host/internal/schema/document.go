package schema

import (
	"math"
	"slices"
	"unicode/utf8"
	"unsafe"
)

// expectUTF8 is what a text is expected to be that is not UTF-8.
const expectUTF8 = "UTF-8"

// Document is a JSON text that was read once: its bytes, its value and the edits made to both since.
// It is used by one goroutine at a time.
type Document struct {
	text   []byte
	value  any
	values int   // how many values the text holds
	edits  *edit // nil if the text is unchanged
	bytes  []byte
	dups   bool
	spent  bool // filling the defaults ran out of steps

	undecoded bool // value is still to be made of text
}

// Parse reads exactly one JSON value of RFC 8259: no comments, nothing after it, no lone surrogates, only
// UTF-8. Of members with the same name the last wins, and Bytes holds that one only; Duplicates names them.
// The text is kept: the caller must not change it afterwards. Errors: *SyntaxError, *LimitError; both with
// offset, line and column.
func Parse(text []byte, lim Limits) (*Document, error) {
	return parse(text, lim, nil)
}

// parse is Parse that also takes notes of a schema's text.
func parse(text []byte, lim Limits, n *notes) (*Document, error) {
	lim = lim.withDefaults()
	if len(text) > lim.Bytes {
		return nil, &LimitError{What: "bytes of text", Max: lim.Bytes, Offset: lim.Bytes}
	}
	k := skimmers.Get().(*skimmer)
	defer k.release()
	if n == nil {
		k.begin(viewOf(text), lim)
	} else { // the values of a schema outlive their text
		k.begin(string(text), lim)
		k.notes = n
	}
	s := &k.scanner
	if !utf8.ValidString(s.text) {
		for s.pos = range s.text {
			if r, size := utf8.DecodeRuneInString(s.text[s.pos:]); r == utf8.RuneError && size == 1 {
				break
			}
		}
		s.syntax(expectUTF8)
		return nil, s.err
	}
	v := s.document()
	if s.err != nil {
		return nil, s.err
	}
	return &Document{text: text, value: v, values: s.values, edits: s.root, dups: s.root != nil}, nil
}

// viewOf is the text as a string, without a copy: whoever hands a text over does not change it any more, and nothing of a
// document outlives its text.
func viewOf(text []byte) string { return unsafe.String(unsafe.SliceData(text), len(text)) }

// bytesOf is viewOf the other way.
func bytesOf(text string) []byte { return unsafe.Slice(unsafe.StringData(text), len(text)) }

// Bytes are the text with the changes made since (defaults, repairs, dropped duplicates); everything else
// byte for byte, so number spelling, key order and white space are the author's. Not to be changed.
func (d *Document) Bytes() []byte {
	if d.edits == nil {
		return d.text
	}
	if d.bytes == nil {
		d.bytes = d.edits.apply(d.text)
	}
	return d.bytes
}

// Value is the decoded value, changes included: map[string]any, []any, string, json.Number, bool, nil. Not to
// be changed.
func (d *Document) Value() any {
	if d.undecoded {
		k := skimmers.Get().(*skimmer)
		defer k.release()
		k.begin(viewOf(d.text), unlimited)
		d.value, d.undecoded = k.document(), false
	}
	return d.value
}

// IsObject reports whether the document is an object.
func (d *Document) IsObject() bool {
	if d.undecoded {
		for _, c := range d.text {
			if c > ' ' {
				return c == '{'
			}
		}
	}
	_, ok := d.value.(map[string]any)
	return ok
}

// unlimited is for a text that was held against its limits before.
var unlimited = Limits{
	Bytes: math.MaxInt, Depth: math.MaxInt, Values: math.MaxInt, Key: math.MaxInt, Members: math.MaxInt, Digits: math.MaxInt, Exponent: math.MaxInt,
}

// Duplicates are the JSON Pointers of members whose name came more than once, sorted, at most 100 of
// at most 512 bytes each.
// A strict tool refuses a document that has any (T5).
func (d *Document) Duplicates() []string {
	if !d.dups {
		return nil
	}
	var found []string
	d.edits.duplicates(nil, nil, &found)
	slices.Sort(found)
	return slices.Compact(found)
}

// edit returns the edits of the place the trail leads to; Bytes is made anew after it.
func (d *Document) edit(t trail) *edit {
	if d.edits == nil {
		d.edits = &edit{}
	}
	d.bytes = nil
	return t.edits(d.edits)
}
