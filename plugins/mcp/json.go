package main

import (
	"bytes"
	"encoding/json"
	"errors"
)

// member is one member of a JSON object. Its value is as it was written.
type member struct {
	name  string
	value json.RawMessage
}

// object is a JSON object whose members are in the order in which they were written.
type object []member

var errNoObject = errors.New("no JSON object")

// parseObject reads the members of an object. Of two with the same name the last one counts.
func parseObject(raw []byte) (object, error) {
	if !isObject(raw) {
		return nil, errNoObject
	}
	dec := json.NewDecoder(bytes.NewReader(raw))
	if _, err := dec.Token(); err != nil {
		return nil, err
	}
	var o object
	at := map[string]int{}
	for dec.More() {
		key, err := dec.Token()
		if err != nil {
			return nil, err
		}
		name, _ := key.(string) // the name of a member is nothing else
		var value json.RawMessage
		if err := dec.Decode(&value); err != nil {
			return nil, err
		}
		if i, twice := at[name]; twice {
			o[i].value = value
			continue
		}
		at[name] = len(o)
		o = append(o, member{name, value})
	}
	_, err := dec.Token()
	return o, err
}

// get returns the value of a member, or nil.
func (o object) get(name string) json.RawMessage {
	for _, m := range o {
		if m.name == name {
			return m.value
		}
	}
	return nil
}

// text returns the value of a member that is a string.
func (o object) text(name string) (text string, ok bool) { return asText(o.get(name)) }

// without returns the other members.
func (o object) without(names ...string) object {
	var rest object
next:
	for _, m := range o {
		for _, name := range names {
			if m.name == name {
				continue next
			}
		}
		rest = append(rest, m)
	}
	return rest
}

// raw writes the object.
func (o object) raw() json.RawMessage {
	out := []byte{'{'}
	for i, m := range o {
		if i > 0 {
			out = append(out, ',')
		}
		out = append(append(append(out, encodeText(m.name)...), ':'), m.value...)
	}
	return append(out, '}')
}

// asText reads a JSON string.
func asText(raw json.RawMessage) (text string, ok bool) {
	if !begins(raw, '"') || json.Unmarshal(raw, &text) != nil {
		return "", false
	}
	return text, true
}

// encodeText writes a JSON string without escaping what only HTML needs escaped.
func encodeText(s string) []byte {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	_ = enc.Encode(s) // a string always has a JSON form
	return bytes.TrimSuffix(b.Bytes(), []byte{'\n'})
}

func isObject(raw []byte) bool { return begins(raw, '{') && json.Valid(raw) }

func isNull(raw []byte) bool { return string(bytes.TrimSpace(raw)) == "null" }

func begins(raw []byte, c byte) bool {
	raw = bytes.TrimLeft(raw, " \t\r\n")
	return len(raw) > 0 && raw[0] == c
}
