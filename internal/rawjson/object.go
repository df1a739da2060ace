// Package rawjson reads and writes JSON without changing what it need not: objects keep the order and the bytes of their members.
package rawjson

import (
	"bytes"
	"encoding/json"
	"math"
	"slices"
	"unicode/utf8"

	"github.com/toolhost/toolhost/internal/plain"
)

// Object is a JSON object whose members keep their order and their bytes (R20, R21).
type Object []Member

// Member is one member of an object.
type Member = struct {
	Name  string
	Value json.RawMessage // as it was written
}

// ParseObject reads an object; of members with the same name the last one wins, in the place of the first. The values are parts of raw,
// which must stay as it is. ok is false, and the object nil, if raw is anything else.
func ParseObject(raw json.RawMessage) (o Object, ok bool) { return ParseObjectUpTo(raw, math.MaxInt) }

// ParseObjectUpTo is ParseObject for an object that may have so many members, counting each time that a name is there. Of one that has
// more, ok is false.
func ParseObjectUpTo(raw json.RawMessage, most int) (o Object, ok bool) {
	s := scan{text: raw, depth: 1}
	if s.peek() != '{' {
		return nil, false
	}
	s.at++
	if s.peek() == '}' {
		s.at++
		if !s.end() {
			return nil, false
		}
		return Object{}, true
	}
	o = make(Object, 0, fewMembers)
	var at map[string]int // of more than a few
	for n := 0; ; n++ {
		start := s.at
		if n == most || !s.name() {
			return nil, false
		}
		name, ok := unquote(raw[start:s.at])
		s.space()
		start = s.at
		if !ok || !s.value() {
			return nil, false
		}
		o, at = o.with(at, Member{name, raw[start:s.at:s.at]})
		switch s.peek() {
		case ',':
			s.at++
			s.space()
		case '}':
			s.at++
			if !s.end() {
				return nil, false
			}
			return o, true
		default:
			return nil, false
		}
	}
}

// fewMembers is up to how many members are looked through for a name. Of more there is an index, so that a hostile object costs no
// more for each of its members.
const fewMembers = 8

// with adds a member, or replaces that of its name.
func (o Object) with(at map[string]int, m Member) (Object, map[string]int) {
	i, twice := at[m.Name]
	if at == nil {
		i = o.index(m.Name)
		twice = i >= 0
	}
	if twice {
		o[i].Value = m.Value
		return o, at
	}
	o = append(o, m)
	if at != nil {
		at[m.Name] = len(o) - 1
	} else if len(o) == fewMembers {
		at = make(map[string]int, 2*fewMembers)
		for i, m := range o {
			at[m.Name] = i
		}
	}
	return o, at
}

// unquote is the text of a member's name with its colon, which a scan has read.
func unquote(raw []byte) (name string, ok bool) {
	raw = raw[:bytes.LastIndexByte(raw, '"')+1]
	text := raw[1 : len(raw)-1]
	if !isPlain(text) {
		return decode(raw)
	}
	switch string(text) { // the names that every call has take no memory
	case "jsonrpc":
		return "jsonrpc", true
	case "id":
		return "id", true
	case "method":
		return "method", true
	case "params":
		return "params", true
	case "result":
		return "result", true
	case "name":
		return "name", true
	case "arguments":
		return "arguments", true
	case "_meta":
		return "_meta", true
	case "content":
		return "content", true
	case "structuredContent":
		return "structuredContent", true
	}
	return string(text), true
}

// decode is the text of a string.
func decode(raw []byte) (s string, ok bool) {
	err := json.Unmarshal(raw, &s)
	return s, err == nil
}

// ParseArray reads an array.
func ParseArray(raw json.RawMessage) (list []json.RawMessage, ok bool) {
	return list, Kind(raw) == '[' && json.Unmarshal(raw, &list) == nil
}

func (o Object) index(name string) int {
	return slices.IndexFunc(o, func(m Member) bool { return m.Name == name })
}

// Get returns a member's value; nil: there is none.
func (o Object) Get(name string) json.RawMessage {
	if i := o.index(name); i >= 0 {
		return o[i].Value
	}
	return nil
}

// Has reports whether there is a member of that name.
func (o Object) Has(name string) bool { return o.index(name) >= 0 }

// Text returns a member that is a string.
func (o Object) Text(name string) (s string, ok bool) { return Text(o.Get(name)) }

// Text is a value that is a string.
func Text(raw json.RawMessage) (s string, ok bool) {
	if n := len(raw); n > 1 && raw[0] == '"' && raw[n-1] == '"' && isPlain(raw[1:n-1]) {
		return string(raw[1 : n-1]), true
	}
	if Kind(raw) != '"' {
		return "", false
	}
	return decode(raw)
}

// isPlain reports whether the inside of a string is its text.
func isPlain(text []byte) bool {
	end, ascii := plain.End(text, 0)
	return ascii && end == len(text)
}

// Set replaces a member where it stands, or appends it.
func (o *Object) Set(name string, value json.RawMessage) {
	if i := o.index(name); i >= 0 {
		(*o)[i].Value = value
		return
	}
	*o = append(*o, Member{name, value})
}

// Drop removes members.
func (o *Object) Drop(names ...string) {
	*o = slices.DeleteFunc(*o, func(m Member) bool { return slices.Contains(names, m.Name) })
}

// Without returns the other members; o stays as it is.
func (o Object) Without(names ...string) Object {
	rest := o.Clone()
	rest.Drop(names...)
	return rest
}

// Clone copies the list of members.
func (o Object) Clone() Object { return slices.Clone(o) }

// Raw is the object as JSON, its values byte for byte.
func (o Object) Raw() json.RawMessage {
	size := 2
	for _, m := range o {
		size += len(m.Name) + len(m.Value) + 4
	}
	b := append(make([]byte, 0, size), '{')
	for i, m := range o {
		if i > 0 {
			b = append(b, ',')
		}
		b = append(AppendQuote(b, m.Name), ':')
		b = append(b, m.Value...)
	}
	return append(b, '}')
}

// Array is a list as JSON.
func Array(list []json.RawMessage) json.RawMessage {
	size := 2
	for _, x := range list {
		size += len(x) + 1
	}
	out := append(make(json.RawMessage, 0, size), '[')
	for i, x := range list {
		if i > 0 {
			out = append(out, ',')
		}
		out = append(out, x...)
	}
	return append(out, ']')
}

// Compact takes the white space between tokens out, so that no line break is in a message. It may be raw itself. What is no JSON comes
// back as null.
func Compact(raw json.RawMessage) json.RawMessage {
	s := scan{text: raw}
	s.space()
	if !s.value() || !s.end() {
		return json.RawMessage("null")
	}
	if !s.loose {
		return raw[:len(raw):len(raw)]
	}
	var b bytes.Buffer
	b.Grow(len(raw))
	if json.Compact(&b, raw) != nil {
		return json.RawMessage("null")
	}
	return b.Bytes()
}

// Quote is a string as JSON, with < > & as they are.
func Quote(s string) json.RawMessage { return AppendQuote(make([]byte, 0, len(s)+2+len(s)/8), s) }

// AppendQuote appends a string as JSON.
func AppendQuote(b []byte, s string) []byte {
	start, from := len(b), 0
	b = append(b, '"')
	for i := 0; i < len(s); i++ {
		c := s[i]
		if c >= ' ' && c < 0x80 && c != '"' && c != '\\' {
			continue
		}
		e := c
		switch c {
		case '"', '\\':
		case '\n':
			e = 'n'
		case '\r':
			e = 'r'
		case '\t':
			e = 't'
		default:
			if r, n := utf8.DecodeRuneInString(s[i:]); c >= 0x80 && (r != utf8.RuneError || n > 1) && r != '\u2028' && r != '\u2029' {
				i += n - 1
				continue
			}
			return append(b[:start], Encode(s)...)
		}
		b = append(append(b, s[from:i]...), '\\', e)
		from = i + 1
	}
	return append(append(b, s[from:]...), '"')
}

// Encode is a value as JSON, with < > & as they are; null if it has none.
func Encode(v any) json.RawMessage {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if enc.Encode(v) != nil {
		return json.RawMessage("null")
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n"))
}

// Kind is the first byte of a JSON value: { [ " t f n or of a number; 0 if there is none.
func Kind(raw json.RawMessage) byte {
	raw = bytes.TrimLeft(raw, " \t\r\n")
	if len(raw) == 0 {
		return 0
	}
	return raw[0]
}

// Equal reports whether two texts are the same but for white space between tokens.
func Equal(a, b json.RawMessage) bool {
	return bytes.Equal(a, b) || bytes.Equal(Compact(a), Compact(b))
}

// Type is the JSON Schema type of a value.
func Type(raw json.RawMessage) string {
	switch Kind(raw) {
	case '{':
		return "object"
	case '[':
		return "array"
	case '"':
		return "string"
	case 't', 'f':
		return "boolean"
	case 'n':
		return "null"
	}
	return "number"
}
