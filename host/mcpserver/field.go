package mcpserver

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/toolhost/toolhost/internal/rawjson"
)

// field is one property as a form may have it.
func field(s fields) (json.RawMessage, error) {
	typ, many := s.typ()
	switch {
	case many:
		return nil, errors.New("a form cannot ask for one of several types")
	case typ == "":
		typ = s.choiceType()
	}
	for _, k := range []string{"allOf", "not", "if"} {
		if s[k] != nil {
			return nil, fmt.Errorf("a form cannot ask for %s", k)
		}
	}
	out := builder{from: s}
	out.put("type", rawjson.Quote(typ))
	out.text("title")
	switch typ {
	case "string":
		return out.done(out.string())
	case "number", "integer":
		if s["enum"] != nil || s["const"] != nil || s["oneOf"] != nil || s["anyOf"] != nil {
			return nil, errors.New("a form cannot ask for a choice of numbers")
		}
		out.number("minimum", "maximum", "default")
		out.remark("exclusiveMinimum", "exclusiveMaximum", "multipleOf")
	case "boolean":
		if s["enum"] != nil || s["const"] != nil {
			return nil, errors.New("a form cannot ask for one boolean")
		}
		if d := string(s["default"]); d == "true" || d == "false" {
			out.put("default", s["default"])
		}
	case "array":
		return out.done(out.array())
	case "object":
		return nil, errors.New("a form cannot ask for an object within it")
	case "":
		return nil, errors.New("a form cannot ask for something without a type")
	default:
		return nil, fmt.Errorf("a form cannot ask for the type %s", typ)
	}
	return out.done(nil)
}

// choiceType is string for a choice of strings that does not say so.
func (s fields) choiceType() string {
	if _, ok := texts(s["enum"]); ok {
		return "string"
	}
	var one string
	if s["const"] != nil && json.Unmarshal(s["const"], &one) == nil {
		return "string"
	}
	for _, k := range []string{"oneOf", "anyOf"} {
		if _, ok := choices(s[k]); ok {
			return "string"
		}
	}
	return ""
}

// builder writes the members of a field.
type builder struct {
	from    fields
	out     bytes.Buffer
	remarks []string // what no member can say, for the description
}

func (b *builder) put(key string, value json.RawMessage) {
	if b.out.Len() > 0 {
		b.out.WriteByte(',')
	}
	b.out.Write(rawjson.Quote(key))
	b.out.WriteByte(':')
	b.out.Write(value)
}

func (b *builder) text(key string) {
	if t := b.from.text(key); t != "" {
		b.put(key, rawjson.Quote(plainText(t, maxFieldText)))
	}
}

const maxFieldText = 2 << 10

// number copies members that are numbers.
func (b *builder) number(keys ...string) {
	for _, k := range keys {
		var n json.Number
		if raw := b.from[k]; raw != nil && raw[0] != '"' && json.Unmarshal(raw, &n) == nil && n != "" {
			b.put(k, raw)
		}
	}
}

func (b *builder) remark(keys ...string) {
	for _, k := range keys {
		if raw := b.from[k]; raw != nil {
			b.remarks = append(b.remarks, k+" "+plainText(string(raw), maxFieldText))
		}
	}
}

func (b *builder) done(err error) (json.RawMessage, error) {
	if err != nil {
		return nil, err
	}
	text := plainText(b.from.text("description"), maxFieldText)
	if len(b.remarks) > 0 {
		text = strings.TrimSpace(text + " (" + strings.Join(b.remarks, ", ") + ")")
	}
	if text != "" {
		b.put("description", rawjson.Quote(text))
	}
	return json.RawMessage("{" + b.out.String() + "}"), nil
}

// string is a text or a choice of texts.
func (b *builder) string() error {
	s := b.from
	var one string
	switch {
	case s["enum"] != nil:
		list, ok := texts(s["enum"])
		if !ok {
			return errors.New("a form cannot ask for a choice of what are not all strings")
		}
		b.put("enum", s["enum"])
		if names, ok := texts(s["enumNames"]); ok && len(names) == len(list) {
			b.put("enumNames", s["enumNames"])
		}
	case s["const"] != nil:
		if json.Unmarshal(s["const"], &one) != nil {
			return errors.New("a form cannot ask for a constant that is no string")
		}
		b.put("enum", json.RawMessage("["+string(rawjson.Quote(one))+"]"))
	case s["oneOf"] != nil || s["anyOf"] != nil:
		of := s["oneOf"]
		if of == nil {
			of = s["anyOf"]
		}
		list, ok := choices(of)
		if !ok {
			return errors.New("a form cannot ask for a choice of what are not all constants")
		}
		b.put("oneOf", list)
	default:
		b.number("minLength", "maxLength")
		if f := s.text("format"); slices.Contains([]string{"email", "uri", "date", "date-time"}, f) {
			b.put("format", rawjson.Quote(f))
		}
		b.remark("pattern")
	}
	if s["default"] != nil && json.Unmarshal(s["default"], &one) == nil {
		b.put("default", s["default"])
	}
	return nil
}

// array is a choice of several texts.
func (b *builder) array() error {
	var items fields
	if json.Unmarshal(b.from["items"], &items) != nil {
		return errors.New("a form cannot ask for a list of anything")
	}
	list, isEnum := texts(items["enum"])
	of := items["anyOf"]
	if of == nil {
		of = items["oneOf"]
	}
	consts, isChoice := choices(of)
	switch {
	case isEnum && len(list) > 0:
		b.put("items", json.RawMessage(`{"type":"string","enum":`+string(items["enum"])+"}"))
	case isChoice:
		b.put("items", json.RawMessage(`{"anyOf":`+string(consts)+"}"))
	default:
		return errors.New("a form cannot ask for a list of anything but choices of strings")
	}
	b.number("minItems", "maxItems")
	if _, ok := texts(b.from["default"]); ok {
		b.put("default", b.from["default"])
	}
	return nil
}

// texts are the strings of a list of strings.
func texts(raw json.RawMessage) ([]string, bool) {
	var list []*string
	if raw == nil || json.Unmarshal(raw, &list) != nil || list == nil {
		return nil, false
	}
	out := make([]string, 0, len(list))
	for _, t := range list {
		if t == nil {
			return nil, false
		}
		out = append(out, *t)
	}
	return out, true
}

// choices is a list of constants with their titles.
func choices(raw json.RawMessage) (json.RawMessage, bool) {
	var list []struct {
		Const *string `json:"const"`
		Title string  `json:"title"`
	}
	if raw == nil || json.Unmarshal(raw, &list) != nil || len(list) == 0 {
		return nil, false
	}
	out := []byte{'['}
	for i, c := range list {
		if c.Const == nil {
			return nil, false
		}
		if c.Title == "" {
			c.Title = *c.Const
		}
		if i > 0 {
			out = append(out, ',')
		}
		out = fmt.Appendf(out, `{"const":%s,"title":%s}`, rawjson.Quote(*c.Const), rawjson.Quote(plainText(c.Title, maxFieldText)))
	}
	return append(out, ']'), true
}
