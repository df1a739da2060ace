// Package rawjson reads and writes JSON without changing what it need not: objects keep the order and the bytes of their members.
package rawjson

import (
	"bytes"
	"encoding/json"
	"io"
	"math"
	"slices"
)

// Object is a JSON object whose members keep their order and their bytes (R20, R21).
type Object []Member

// Member is one member of an object.
type Member = struct {
	Name  string
	Value json.RawMessage // as it was written
}

// ParseObject reads an object; of members with the same name the last one wins, in the place of the first. ok is false, and the
// object nil, if raw is anything else.
func ParseObject(raw json.RawMessage) (o Object, ok bool) { return ParseObjectUpTo(raw, math.MaxInt) }

// ParseObjectUpTo is ParseObject for an object that may have so many members, counting each time that a name is there. Of one that has
// more, ok is false.
func ParseObjectUpTo(raw json.RawMessage, most int) (o Object, ok bool) {
	dec := json.NewDecoder(bytes.NewReader(raw))
	if t, err := dec.Token(); err != nil || t != json.Delim('{') {
		return nil, false
	}
	o = Object{}
	at := map[string]int{}
	for n := 0; dec.More(); n++ {
		if n == most {
			return nil, false
		}
		t, err := dec.Token()
		name, isName := t.(string)
		var value json.RawMessage
		if err != nil || !isName || dec.Decode(&value) != nil {
			return nil, false
		}
		if i, twice := at[name]; twice {
			o[i].Value = value
			continue
		}
		at[name] = len(o)
		o = append(o, Member{name, value})
	}
	if _, err := dec.Token(); err != nil {
		return nil, false
	}
	_, err := dec.Token()
	if err != io.EOF {
		return nil, false
	}
	return o, true
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
func (o Object) Text(name string) (s string, ok bool) {
	raw := o.Get(name)
	return s, Kind(raw) == '"' && json.Unmarshal(raw, &s) == nil
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
	var b bytes.Buffer
	b.WriteByte('{')
	for i, m := range o {
		if i > 0 {
			b.WriteByte(',')
		}
		b.Write(Quote(m.Name))
		b.WriteByte(':')
		b.Write(m.Value)
	}
	b.WriteByte('}')
	return b.Bytes()
}

// Array is a list as JSON.
func Array(list []json.RawMessage) json.RawMessage {
	out := json.RawMessage{'['}
	for i, x := range list {
		if i > 0 {
			out = append(out, ',')
		}
		out = append(out, x...)
	}
	return append(out, ']')
}

// Compact takes the white space between tokens out, so that no line break is in a message. What is no JSON comes back as
// null.
func Compact(raw json.RawMessage) json.RawMessage {
	var b bytes.Buffer
	b.Grow(len(raw))
	if json.Compact(&b, raw) != nil {
		return json.RawMessage("null")
	}
	return b.Bytes()
}

// Quote is a string as JSON, with < > & as they are.
func Quote(s string) json.RawMessage { return Encode(s) }

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
func Equal(a, b json.RawMessage) bool { return bytes.Equal(Compact(a), Compact(b)) }

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
