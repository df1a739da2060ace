package form

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/toolhost/toolhost/host/mcpserver/internal/project"
	"github.com/toolhost/toolhost/internal/rawjson"
)

// fieldOf is one property as a form may have it.
func fieldOf(s rawjson.Object) (json.RawMessage, error) {
	typ, many := typeOf(s)
	switch {
	case many:
		return nil, errors.New("a form cannot ask for one of several types")
	case typ == "":
		typ = choiceType(s)
	}
	for _, k := range []string{"allOf", "not", "if"} {
		if s.Has(k) {
			return nil, fmt.Errorf("a form cannot ask for %s", k)
		}
	}
	f := field{from: s}
	f.out.Set("type", rawjson.Quote(typ))
	if title, _ := s.Text("title"); title != "" {
		f.out.Set("title", shown(title))
	}
	var err error
	switch typ {
	case "string":
		err = f.string()
	case "number", "integer":
		if s.Has("enum") || s.Has("const") || s.Has("oneOf") || s.Has("anyOf") {
			return nil, errors.New("a form cannot ask for a choice of numbers")
		}
		f.number("minimum", "maximum", "default")
		f.remark("exclusiveMinimum", "exclusiveMaximum", "multipleOf")
	case "boolean":
		if s.Has("enum") || s.Has("const") {
			return nil, errors.New("a form cannot ask for one boolean")
		}
		if d := s.Get("default"); string(d) == "true" || string(d) == "false" {
			f.out.Set("default", d)
		}
	case "array":
		err = f.array()
	case "object":
		err = errors.New("a form cannot ask for an object within it")
	case "":
		err = errors.New("a form cannot ask for something without a type")
	default:
		err = fmt.Errorf("a form cannot ask for the type %s", typ)
	}
	if err != nil {
		return nil, err
	}
	f.describe()
	return f.out.Raw(), nil
}

// choiceType is string for a choice of strings that does not say so.
func choiceType(s rawjson.Object) string {
	_, isEnum := texts(s.Get("enum"))
	_, isConst := s.Text("const")
	if isEnum || isConst || choices(s.Get("oneOf")) != nil || choices(s.Get("anyOf")) != nil {
		return "string"
	}
	return ""
}

// field writes the members of one field.
type field struct {
	from    rawjson.Object
	out     rawjson.Object
	remarks []string // what no member can say, for the description
}

// shown is a text of the plugin's, for a person.
func shown(s string) json.RawMessage { return rawjson.Quote(project.Plain(s, maxText)) }

// maxText bounds it, in bytes.
const maxText = 2 << 10

// number copies members that are numbers.
func (f *field) number(keys ...string) {
	for _, k := range keys {
		var n json.Number
		if raw := f.from.Get(k); raw != nil && raw[0] != '"' && json.Unmarshal(raw, &n) == nil && n != "" {
			f.out.Set(k, raw)
		}
	}
}

func (f *field) remark(keys ...string) {
	for _, k := range keys {
		if raw := f.from.Get(k); raw != nil {
			f.remarks = append(f.remarks, k+" "+project.Plain(string(raw), maxText))
		}
	}
}

// describe writes the description, with the remarks.
func (f *field) describe() {
	text, _ := f.from.Text("description")
	text = project.Plain(text, maxText)
	if len(f.remarks) > 0 {
		text = strings.TrimSpace(text + " (" + strings.Join(f.remarks, ", ") + ")")
	}
	if text != "" {
		f.out.Set("description", rawjson.Quote(text))
	}
}

// string is a text or a choice of texts.
func (f *field) string() error {
	s := f.from
	switch {
	case s.Has("enum"):
		list, ok := texts(s.Get("enum"))
		if !ok {
			return errors.New("a form cannot ask for a choice of what are not all strings")
		}
		f.out.Set("enum", s.Get("enum"))
		if names, ok := texts(s.Get("enumNames")); ok && len(names) == len(list) {
			f.out.Set("enumNames", s.Get("enumNames"))
		}
	case s.Has("const"):
		if _, ok := s.Text("const"); !ok {
			return errors.New("a form cannot ask for a constant that is no string")
		}
		f.out.Set("enum", rawjson.Array([]json.RawMessage{s.Get("const")}))
	case s.Has("oneOf") || s.Has("anyOf"):
		list := choices(either(s, "oneOf", "anyOf"))
		if list == nil {
			return errors.New("a form cannot ask for a choice of what are not all constants")
		}
		f.out.Set("oneOf", list)
	default:
		f.number("minLength", "maxLength")
		if format, _ := s.Text("format"); slices.Contains([]string{"email", "uri", "date", "date-time"}, format) {
			f.out.Set("format", rawjson.Quote(format))
		}
		f.remark("pattern")
	}
	if _, ok := s.Text("default"); ok {
		f.out.Set("default", s.Get("default"))
	}
	return nil
}

// array is a choice of several texts.
func (f *field) array() error {
	items, ok := rawjson.ParseObject(f.from.Get("items"))
	if !ok {
		return errors.New("a form cannot ask for a list of anything")
	}
	list, _ := texts(items.Get("enum"))
	consts := choices(either(items, "anyOf", "oneOf"))
	switch {
	case len(list) > 0:
		f.out.Set("items", rawjson.Object{{"type", rawjson.Quote("string")}, {"enum", items.Get("enum")}}.Raw())
	case consts != nil:
		f.out.Set("items", rawjson.Object{{"anyOf", consts}}.Raw())
	default:
		return errors.New("a form cannot ask for a list of anything but choices of strings")
	}
	f.number("minItems", "maxItems")
	if _, ok := texts(f.from.Get("default")); ok {
		f.out.Set("default", f.from.Get("default"))
	}
	return nil
}

// either is the first of two members that is there.
func either(s rawjson.Object, one, other string) json.RawMessage {
	if s.Has(one) {
		return s.Get(one)
	}
	return s.Get(other)
}

// texts are the strings of a list of strings.
func texts(raw json.RawMessage) (list []string, ok bool) {
	all, ok := rawjson.ParseArray(raw)
	for _, one := range all {
		var s string
		if rawjson.Kind(one) != '"' || json.Unmarshal(one, &s) != nil {
			return nil, false
		}
		list = append(list, s)
	}
	return list, ok
}

// choices is a list of constants with their titles; nil if it is anything else.
func choices(raw json.RawMessage) json.RawMessage {
	all, _ := rawjson.ParseArray(raw)
	var list []json.RawMessage
	for _, one := range all {
		o, _ := rawjson.ParseObject(one)
		value, ok := o.Text("const")
		if !ok {
			return nil
		}
		title, _ := o.Text("title")
		if title == "" {
			title = value
		}
		list = append(list, rawjson.Object{{"const", rawjson.Quote(value)}, {"title", shown(title)}}.Raw())
	}
	if list == nil {
		return nil
	}
	return rawjson.Array(list)
}
