package conform

import (
	"bytes"
	"encoding/json"
	"maps"
	"math"
	"slices"
	"strings"

	"github.com/toolhost/toolhost/internal/jsonpointer"
)

// plain makes a small input that fits most schemas: what is required, and no more. Whether it fits is for the host to
// say.
func plain(schema json.RawMessage) json.RawMessage { return makeInput(schema, maker{}) }

// edges makes inputs at the edges of a schema: everything optional, long and odd texts, extreme numbers, deep and
// empty lists. Whether they fit is for the host to say.
func edges(schema json.RawMessage) (list []json.RawMessage) {
	for _, m := range []maker{
		{all: true},
		{all: true, text: "\x00\u202e\u2028\U0001F469\u200d\U0001F467 \"'\\;`$(x) </script> %s%n ../../etc"},
		{all: true, text: strings.Repeat("é", 40_000)},
		{all: true, text: "-", number: math.MaxInt64},
		{all: true, text: " ", number: math.MinInt64},
		{all: true, items: 2000},
		{all: true, null: true},
	} {
		in := makeInput(schema, m)
		if !slices.ContainsFunc(list, func(x json.RawMessage) bool { return bytes.Equal(x, in) }) {
			list = append(list, in)
		}
	}
	return list
}

// long makes an input with a text of n bytes in the first place that takes one; nil: no place does.
func long(schema json.RawMessage, n int) json.RawMessage {
	in := makeInput(schema, maker{all: true, once: true, text: strings.Repeat("x", n)})
	if len(in) < n {
		return nil
	}
	return in
}

// maker makes values that fit a schema.
type maker struct {
	all    bool    // optional properties too
	text   string  // of strings that may be anything; if empty, a word
	once   bool    // only in the first that may be so long
	number float64 // of numbers that may be anything; if zero, the least
	items  int     // of lists that may be of any length
	null   bool    // where null is allowed
	used   bool
	values int // made so far
	root   node
}

// node is a schema that is read.
type node map[string]json.RawMessage

// maxNesting and maxValues end schemas that contain themselves.
const (
	maxNesting = 12
	maxValues  = 20_000
)

func makeInput(schema json.RawMessage, m maker) json.RawMessage {
	if json.Unmarshal(schema, &m.root) != nil {
		return json.RawMessage("{}")
	}
	raw, err := json.Marshal(m.value(m.root, 0))
	if err != nil {
		return json.RawMessage("{}")
	}
	return raw
}

func (m *maker) value(s node, depth int) any {
	if m.values++; m.values > maxValues {
		return nil
	}
	s = m.resolve(s)
	var list []json.RawMessage
	for _, key := range []string{"const", "default"} {
		if v, ok := s[key]; ok && (key == "const" || m.text == "" && m.number == 0) {
			return v
		}
	}
	for _, key := range []string{"enum", "examples"} {
		if json.Unmarshal(s[key], &list) == nil && len(list) > 0 && (key == "enum" || m.text == "" && m.number == 0) {
			return list[0]
		}
	}
	kinds := types(s)
	if m.null && slices.Contains(kinds, "null") {
		return nil
	}
	switch kind := first(kinds); {
	case kind == "object", kind == "" && s["properties"] != nil:
		return m.object(s, depth)
	case kind == "array", kind == "" && s["items"] != nil:
		return m.array(s, depth)
	case kind == "number", kind == "integer":
		return m.num(s, kind)
	case kind == "boolean":
		return true
	case kind == "null":
		return nil
	}
	return m.str(s)
}

// resolve follows local references and takes the first alternative.
func (m *maker) resolve(s node) node {
	for range maxNesting {
		var ref string
		var list []node
		switch {
		case json.Unmarshal(s["$ref"], &ref) == nil && strings.HasPrefix(ref, "#/"):
			s = m.lookup(ref)
		case json.Unmarshal(s["anyOf"], &list) == nil && len(list) > 0, json.Unmarshal(s["oneOf"], &list) == nil && len(list) > 0,
			json.Unmarshal(s["allOf"], &list) == nil && len(list) > 0:
			outer := maps.Clone(s)
			delete(outer, "anyOf")
			delete(outer, "oneOf")
			delete(outer, "allOf")
			s = maps.Clone(list[0])
			if s == nil {
				s = node{}
			}
			for k, v := range outer {
				if _, has := s[k]; !has {
					s[k] = v
				}
			}
		default:
			return s
		}
	}
	return node{}
}

func (m *maker) lookup(ref string) node {
	at := m.root
	for _, token := range strings.Split(ref[2:], "/") {
		token = jsonpointer.Unescape(token)
		var next node
		if json.Unmarshal(at[token], &next) != nil {
			return node{}
		}
		at = next
	}
	return at
}

func (m *maker) object(s node, depth int) any {
	out := map[string]any{}
	var properties map[string]node
	var required []string
	_ = json.Unmarshal(s["properties"], &properties) // none, if they are no objects
	_ = json.Unmarshal(s["required"], &required)
	for _, name := range slices.Sorted(maps.Keys(properties)) {
		if slices.Contains(required, name) || m.all && depth < maxNesting/2 {
			if depth < maxNesting {
				out[name] = m.value(properties[name], depth+1)
			}
		}
	}
	for _, name := range required {
		if _, has := out[name]; !has {
			out[name] = "x"
		}
	}
	return out
}

func (m *maker) array(s node, depth int) any {
	n, most := int(number(s, "minItems", 0)), int(number(s, "maxItems", 10_000))
	if m.all {
		n = max(n, 1)
	}
	n = min(max(n, m.items), most)
	if depth > 2 {
		n = min(n, 4)
	}
	out := make([]any, 0, n)
	var item node
	_ = json.Unmarshal(s["items"], &item) // true or missing: anything
	for range n {
		if depth < maxNesting {
			out = append(out, m.value(item, depth+1))
		}
	}
	return out
}

func (m *maker) num(s node, kind string) any {
	low, high := number(s, "minimum", math.Inf(-1)), number(s, "maximum", math.Inf(1))
	step := number(s, "multipleOf", 1)
	if v, ok := s["exclusiveMinimum"]; ok && v != nil {
		low = max(low, number(s, "exclusiveMinimum", low)+step)
	}
	if v, ok := s["exclusiveMaximum"]; ok && v != nil {
		high = min(high, number(s, "exclusiveMaximum", high)-step)
	}
	v := min(max(m.number, low), high)
	if m.number == 0 && math.IsInf(low, -1) && high >= 1 {
		v = 1
	}
	if kind == "integer" || step != 1 {
		v = math.Round(v/step) * step
	}
	if kind == "integer" && math.Abs(v) >= 1<<63 {
		v = math.Copysign(1<<53, v)
	}
	return v
}

// samples are texts of the formats that are worth one.
var samples = map[string]string{
	"uri": "https://example.com/", "url": "https://example.com/", "uri-reference": "/", "email": "ada@example.com", "date": "2026-01-31",
	"date-time": "2026-01-31T12:00:00Z", "time": "12:00:00Z", "uuid": "123e4567-e89b-42d3-a456-426614174000",
	"hostname": "example.com", "ipv4": "192.0.2.1", "ipv6": "2001:db8::1", "duration": "PT1S",
}

func (m *maker) str(s node) string {
	var format string
	_ = json.Unmarshal(s["format"], &format)
	if v, ok := samples[format]; ok {
		return v
	}
	text := "text"
	least, most := int(number(s, "minLength", 0)), int(number(s, "maxLength", 1<<30))
	if m.text != "" && !(m.once && (m.used || most < len(m.text))) {
		text, m.used = m.text, true
	}
	if n := len([]rune(text)); n < least {
		text += strings.Repeat("x", min(least, 1<<20)-n)
	}
	if r := []rune(text); len(r) > most {
		text = string(r[:most])
	}
	return text
}

// types are the types that a schema allows; none: any.
func types(s node) (list []string) {
	var one string
	if json.Unmarshal(s["type"], &one) == nil && one != "" {
		return []string{one}
	}
	_ = json.Unmarshal(s["type"], &list)
	return list
}

// first is the first type but null.
func first(kinds []string) string {
	for _, k := range kinds {
		if k != "null" {
			return k
		}
	}
	return strings.Join(kinds, "")
}

func number(s node, key string, def float64) float64 {
	var v float64
	if json.Unmarshal(s[key], &v) != nil || s[key] == nil {
		return def
	}
	return v
}
