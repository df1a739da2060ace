package mcpserver

import (
	"bytes"
	"encoding/json"
	"slices"
)

// object is a JSON object whose members keep their order and their bytes (R20, R21).
type object []member

type member struct {
	name  string
	value json.RawMessage
}

// readObject reads an object; of members with the same name the last one wins, in the place of the first. ok is false if raw
// is no JSON object.
func readObject(raw json.RawMessage) (o object, ok bool) {
	dec := json.NewDecoder(bytes.NewReader(raw))
	if t, err := dec.Token(); err != nil || t != json.Delim('{') {
		return nil, false
	}
	o = object{}
	seen := map[string]bool{}
	for dec.More() {
		t, err := dec.Token()
		name, isName := t.(string)
		var value json.RawMessage
		if err != nil || !isName || dec.Decode(&value) != nil {
			return nil, false
		}
		if seen[name] {
			o.set(name, value)
			continue
		}
		seen[name] = true
		o = append(o, member{name, value})
	}
	_, err := dec.Token()
	return o, err == nil
}

// readArray reads an array.
func readArray(raw json.RawMessage) (list []json.RawMessage, ok bool) {
	return list, kind(raw) == '[' && json.Unmarshal(raw, &list) == nil
}

func (o object) index(name string) int {
	return slices.IndexFunc(o, func(m member) bool { return m.name == name })
}

// get returns a member's value; nil: there is none.
func (o object) get(name string) json.RawMessage {
	if i := o.index(name); i >= 0 {
		return o[i].value
	}
	return nil
}

// has reports whether there is a member of that name.
func (o object) has(name string) bool { return o.index(name) >= 0 }

// text returns a member that is a string.
func (o object) text(name string) (s string, ok bool) {
	raw := o.get(name)
	return s, kind(raw) == '"' && json.Unmarshal(raw, &s) == nil
}

// set replaces a member where it stands, or appends it.
func (o *object) set(name string, value json.RawMessage) {
	if i := o.index(name); i >= 0 {
		(*o)[i].value = value
		return
	}
	*o = append(*o, member{name, value})
}

// drop removes members.
func (o *object) drop(names ...string) {
	*o = slices.DeleteFunc(*o, func(m member) bool { return slices.Contains(names, m.name) })
}

// clone copies the list of members.
func (o object) clone() object { return slices.Clone(o) }

// raw is the object as JSON, its values byte for byte.
func (o object) raw() json.RawMessage {
	var b bytes.Buffer
	b.WriteByte('{')
	for i, m := range o {
		if i > 0 {
			b.WriteByte(',')
		}
		b.Write(quote(m.name))
		b.WriteByte(':')
		b.Write(m.value)
	}
	b.WriteByte('}')
	return b.Bytes()
}

// array is a list as JSON.
func array(list []json.RawMessage) json.RawMessage {
	return slices.Concat(json.RawMessage("["), bytes.Join(toBytes(list), []byte(",")), json.RawMessage("]"))
}

func toBytes(list []json.RawMessage) [][]byte {
	out := make([][]byte, len(list))
	for i, x := range list {
		out[i] = x
	}
	return out
}

// compact takes the white space between tokens out, so that no line break is in a message. What is no JSON comes back as
// null.
func compact(raw json.RawMessage) json.RawMessage {
	var b bytes.Buffer
	b.Grow(len(raw))
	if json.Compact(&b, raw) != nil {
		return json.RawMessage("null")
	}
	return b.Bytes()
}

// quote is a string as JSON, with < > & as they are.
func quote(s string) json.RawMessage { return encode(s) }

// encode is a value as JSON, with < > & as they are; null if it has none.
func encode(v any) json.RawMessage {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if enc.Encode(v) != nil {
		return json.RawMessage("null")
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n"))
}

// kind is the first byte of a JSON value: { [ " t f n or of a number; 0 if there is none.
func kind(raw json.RawMessage) byte {
	raw = bytes.TrimLeft(raw, " \t\r\n")
	if len(raw) == 0 {
		return 0
	}
	return raw[0]
}
