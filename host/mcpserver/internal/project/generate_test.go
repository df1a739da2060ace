package project

import (
	"encoding/json"
	"errors"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/toolhost/toolhost/host/internal/schema"
)

// generator makes schemas with rules at their root and in branches, and values that often fit them.
type generator struct{ *rand.Rand }

type m = map[string]any

var propertyNames = []string{"a", "b", "c", "d"}

func (g generator) name() string { return propertyNames[g.IntN(len(propertyNames))] }

func (g generator) one(list ...any) any { return list[g.IntN(len(list))] }

// root makes a schema that often admits objects.
func (g generator) root() json.RawMessage {
	s := g.object(2)
	defs := m{"one": g.object(1), "two": g.leaf(), "three": g.schema(1), "four": m{"$ref": "#/$defs/one"}}
	where := "$defs"
	if g.IntN(4) == 0 {
		s["$schema"] = g.one("http://json-schema.org/draft-07/schema#", "https://json-schema.org/draft/2020-12/schema", "http://json-schema.org/draft-06/schema#", "https://json-schema.org/draft/2019-09/schema")
	}
	if g.IntN(5) == 0 {
		where = "definitions"
	}
	s[where] = defs
	raw, err := json.Marshal(s)
	if err != nil {
		panic(err)
	}
	if where == "definitions" {
		raw = json.RawMessage(strings.ReplaceAll(string(raw), "#/$defs/", "#/definitions/"))
	}
	return raw
}

// Object makes a schema about objects with rules.
func (g generator) object(depth int) m {
	s := m{}
	if g.IntN(3) > 0 {
		s["type"] = g.one("object", "object", "object", []string{"object", "null"})
	}
	if g.IntN(3) > 0 {
		props := m{}
		for range g.IntN(4) {
			props[g.name()] = g.schema(depth - 1)
		}
		s["properties"] = props
	}
	if g.IntN(3) == 0 {
		s["required"] = []string{g.name()}
	}
	switch g.IntN(8) {
	case 0:
		s["additionalProperties"] = false
	case 1:
		s["additionalProperties"] = g.leaf()
	case 2:
		s["patternProperties"] = m{g.one("^[ab]", "^(?!a)", "c$").(string): g.leaf()}
	case 3:
		s["unevaluatedProperties"] = false
	}
	if depth <= 0 {
		return s
	}
	for range g.IntN(3) {
		switch g.IntN(8) {
		case 0, 1, 2:
			var list []any
			for range 1 + g.IntN(3) {
				list = append(list, g.branch(depth-1))
			}
			s[g.one("anyOf", "oneOf", "allOf").(string)] = list
		case 3:
			s["not"] = g.branch(depth - 1)
		case 4:
			s["enum"] = []any{m{"a": 1}, m{}, m{"b": "x"}, m{"a": 1, "b": true}}
		case 5:
			s["if"], s["then"], s["else"] = g.branch(depth-1), g.branch(depth-1), g.branch(depth-1)
		case 6:
			s["$ref"] = "#/$defs/" + g.one("one", "four", "three").(string)
		case 7:
			s["dependentRequired"] = m{g.name(): []string{g.name()}}
		}
	}
	return s
}

func (g generator) branch(depth int) any {
	switch g.IntN(6) {
	case 0:
		return m{"required": []string{g.name()}}
	case 1:
		return m{"$ref": "#/$defs/" + g.one("one", "two", "three", "four").(string)}
	case 2:
		return g.IntN(3) > 0
	}
	return g.object(depth)
}

func (g generator) schema(depth int) any {
	if depth > 0 && g.IntN(3) == 0 {
		return g.branch(depth - 1)
	}
	return g.leaf()
}

func (g generator) leaf() any {
	switch g.IntN(9) {
	case 0:
		return true
	case 1:
		return m{"type": "integer", "minimum": g.IntN(3)}
	case 2:
		return m{"type": "string", "pattern": g.one("^x", "(?<!y)x", `\Ax`, `^[\w-.]+$`)}
	case 3:
		return m{"enum": []any{1, "x", nil}}
	case 4:
		return m{"type": "array", "items": m{"type": "integer"}, "minItems": 1}
	case 5:
		return m{"type": "string", "nullable": true}
	case 6:
		return m{"$ref": "#/$defs/two", "description": "words"}
	case 7:
		return m{"type": "array", "prefixItems": []any{m{"type": "integer"}}, "items": false}
	}
	return m{"type": g.one("string", "boolean", "number", "object")}
}

// Value makes an object.
func (g generator) value() json.RawMessage {
	v := m{}
	for range g.IntN(4) {
		v[g.name()] = g.member(2)
	}
	raw, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	return raw
}

func (g generator) member(depth int) any {
	if depth > 0 && g.IntN(4) == 0 {
		return m{g.name(): g.member(depth - 1)}
	}
	return g.one(0, 1, 2, "x", "xy", true, nil, []any{}, []any{1}, []any{1, 2}, 1.5, m{})
}

// compiled is a schema as the host compiles it; nil if it is none.
func compiled(text json.RawMessage) *schema.Schema {
	s, err := schema.Compile(text)
	if err != nil {
		return nil
	}
	return s
}

// fits reports whether a value fits a schema.
func fits(t *testing.T, s *schema.Schema, value json.RawMessage) bool {
	t.Helper()
	doc, err := schema.Parse(value, schema.Limits{})
	if err != nil {
		t.Fatalf("%s: %v", value, err)
	}
	err = s.Validate(doc)
	if _, ok := errors.AsType[*schema.Error](err); err != nil && !ok {
		t.Fatalf("%s: %v", value, err)
	}
	return err == nil
}
