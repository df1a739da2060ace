package pluginsdk

import (
	"encoding"
	"encoding/json"
	"fmt"
	"net/url"
	"reflect"
	"slices"
	"strings"

	"github.com/invopop/jsonschema"

	"github.com/toolhost/toolhost/internal/jsonpointer"
)

// field is one member of a struct's JSON form.
type field struct {
	name        string
	typ         reflect.Type
	omits       bool   // omitempty or omitzero
	required    bool   // the jsonschema tag says so
	maybeAbsent bool   // it belongs to an embedded pointer
	tag         string // jsonschema
}

// fieldsOf lists the members of struct type t as encoding/json names them.
func fieldsOf(t reflect.Type) []field { return fieldsWithin(t, nil) }

// fieldsWithin lists them for a t that is embedded in outer; a type that embeds itself adds nothing.
func fieldsWithin(t reflect.Type, outer []reflect.Type) []field {
	var fields []field
	if slices.Contains(outer, t) {
		return nil
	}
	outer = append(outer[:len(outer):len(outer)], t)
	for f := range t.Fields() {
		tag := strings.Split(f.Tag.Get("json"), ",")
		schema := strings.Split(f.Tag.Get("jsonschema"), ",")
		if tag[0] == "-" && len(tag) == 1 || schema[0] == "-" {
			continue
		}
		if f.Anonymous && tag[0] == "" && deref(f.Type).Kind() == reflect.Struct {
			for _, e := range fieldsWithin(deref(f.Type), outer) {
				e.maybeAbsent = e.maybeAbsent || f.Type.Kind() == reflect.Pointer
				fields = append(fields, e)
			}
			continue
		}
		if !f.IsExported() {
			continue
		}
		fields = append(fields, field{
			name:     orElse(tag[0], f.Name),
			typ:      f.Type,
			omits:    slices.Contains(tag[1:], "omitempty") || slices.Contains(tag[1:], "omitzero"),
			required: slices.Contains(schema, "required"),
			tag:      f.Tag.Get("jsonschema"),
		})
	}
	return fields
}

// checkType says where in t something has no JSON form; the reflector would panic or guess.
func checkType(t reflect.Type, dir direction) error {
	return (&typeCheck{dir, map[reflect.Type]bool{}}).check(t, "")
}

type typeCheck struct {
	dir  direction
	seen map[reflect.Type]bool
}

func (c *typeCheck) check(t reflect.Type, path string) error {
	t = deref(t)
	if c.seen[t] || hasOwnJSON(t) {
		return nil
	}
	c.seen[t] = true
	if why := c.fault(t); why != "" {
		return fmt.Errorf("at %s: type %s %s", orElse(path, "/"), t, why)
	}
	switch t.Kind() {
	case reflect.Slice, reflect.Array, reflect.Map:
		return c.check(t.Elem(), path+"/*")
	case reflect.Struct:
		for _, f := range fieldsOf(t) {
			if why := tagFault(f.tag); why != "" {
				return fmt.Errorf("at %s/%s: tag jsonschema: %s", path, jsonpointer.Escape(f.name), why)
			}
			if err := c.check(f.typ, path+"/"+jsonpointer.Escape(f.name)); err != nil {
				return err
			}
		}
	}
	return nil
}

// tagWords are what the tag jsonschema of a field knows, and whether a value follows.
var tagWords = map[string]bool{
	"title": true, "description": true, "type": true, "format": true, "anchor": true, "default": true, "example": true, "enum": true,
	"minLength": true, "maxLength": true, "pattern": true, "readOnly": true, "writeOnly": true, "multipleOf": true, "minimum": true, "maximum": true,
	"exclusiveMinimum": true, "exclusiveMaximum": true, "minItems": true, "maxItems": true, "uniqueItems": true, "oneof_required": true,
	"anyof_required": true, "oneof_ref": true, "oneof_type": true, "anyof_ref": true, "anyof_type": true,
	"required": false, "nullable": false, "omitempty": false, "omitzero": false,
}

// tagFault says what of a tag the reflector would drop without a word, or "": a keyword that is none, or the rest of a text behind a comma.
func tagFault(tag string) string {
	escaped := false // the comma before
	for part := range strings.SplitSeq(tag, ",") {
		rest := escaped
		escaped = strings.HasSuffix(part, "\\")
		name, _, hasValue := strings.Cut(part, "=")
		if wants, known := tagWords[name]; rest || part == "" || known && (hasValue || !wants) {
			continue
		} else if known {
			return fmt.Sprintf("%q wants a value: %s=...", name, name)
		}
		return fmt.Sprintf("%q is no keyword; a comma within a value is written \\\\, and a description has a tag of its own, jsonschema_description", part)
	}
	return ""
}

// fault says why t itself has no JSON form, or "".
func (c *typeCheck) fault(t reflect.Type) string {
	switch t.Kind() {
	case reflect.Func, reflect.Chan, reflect.Complex64, reflect.Complex128, reflect.UnsafePointer:
		return "has no JSON form"
	case reflect.Pointer:
		return "is a pointer to a pointer"
	case reflect.Interface:
		if c.dir == reads && t.NumMethod() > 0 {
			return "is an interface with methods, which nothing can be decoded into"
		}
	case reflect.Map:
		kind := t.Key().Kind()
		if kind != reflect.String && (kind < reflect.Int || kind > reflect.Uintptr) && !implements[encoding.TextMarshaler](t.Key()) {
			return "has keys that are no strings"
		}
	case reflect.Struct:
		if t == reflect.TypeFor[url.URL]() {
			return "is written by encoding/json as its parts; use a string with the tag jsonschema:\"format=uri\""
		}
		if embeds(t, t, nil) {
			return "embeds itself"
		}
	}
	return ""
}

// embeds reports whether inner is embedded in t.
func embeds(t, inner reflect.Type, seen []reflect.Type) bool {
	for f := range t.Fields() {
		e := deref(f.Type)
		named := f.Tag.Get("json") != "" && !strings.HasPrefix(f.Tag.Get("json"), ",")
		if !f.Anonymous || named || e.Kind() != reflect.Struct || slices.Contains(seen, e) {
			continue
		}
		if e == inner || embeds(e, inner, append(seen, e)) {
			return true
		}
	}
	return false
}

// hasOwnJSON reports whether t's methods decide its JSON form or its schema.
func hasOwnJSON(t reflect.Type) bool {
	return implements[json.Marshaler](t) || implements[json.Unmarshaler](t) ||
		implements[encoding.TextMarshaler](t) || implements[encoding.TextUnmarshaler](t) ||
		implements[interface{ JSONSchema() *jsonschema.Schema }](t) || implements[interface{ JSONSchemaAlias() any }](t)
}

// nilIsNull reports whether the zero value of t is written as null.
func nilIsNull(t reflect.Type) bool {
	switch t.Kind() {
	case reflect.Pointer:
		return true
	case reflect.Slice, reflect.Map:
		return !hasOwnJSON(t)
	}
	return false
}

// implements reports whether t or a pointer to it has the methods of I.
func implements[I any](t reflect.Type) bool {
	i := reflect.TypeFor[I]()
	return t.Implements(i) || t.Kind() != reflect.Interface && reflect.PointerTo(t).Implements(i)
}

func deref(t reflect.Type) reflect.Type {
	if t.Kind() == reflect.Pointer {
		return t.Elem()
	}
	return t
}

func orElse(s, other string) string {
	if s == "" {
		return other
	}
	return s
}

func remove(list []string, s string) []string {
	return slices.DeleteFunc(list, func(e string) bool { return e == s })
}
