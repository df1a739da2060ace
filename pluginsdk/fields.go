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
)

// field is one member of a struct's JSON form.
type field struct {
	name        string
	typ         reflect.Type
	omits       bool // omitempty or omitzero
	required    bool // the jsonschema tag says so
	maybeAbsent bool // it belongs to an embedded pointer
}

// fieldsOf lists the members of struct type t as encoding/json names them.
func fieldsOf(t reflect.Type) []field {
	var fields []field
	for f := range t.Fields() {
		tag := strings.Split(f.Tag.Get("json"), ",")
		schema := strings.Split(f.Tag.Get("jsonschema"), ",")
		if tag[0] == "-" && len(tag) == 1 || schema[0] == "-" {
			continue
		}
		if f.Anonymous && tag[0] == "" && deref(f.Type).Kind() == reflect.Struct {
			for _, e := range fieldsOf(deref(f.Type)) {
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
		})
	}
	return fields
}

// checkType says where in t something has no JSON form; the reflector would panic or guess.
func checkType(t reflect.Type) error { return checkTypeAt(t, "", map[reflect.Type]bool{}) }

func checkTypeAt(t reflect.Type, path string, seen map[reflect.Type]bool) error {
	bad := func(why string) error { return fmt.Errorf("at %s: type %s %s", orElse(path, "/"), t, why) }
	t = deref(t)
	if seen[t] || hasOwnJSON(t) {
		return nil
	}
	seen[t] = true
	switch t.Kind() {
	case reflect.Func, reflect.Chan, reflect.Complex64, reflect.Complex128, reflect.UnsafePointer:
		return bad("has no JSON form")
	case reflect.Pointer:
		return bad("is a pointer to a pointer")
	case reflect.Slice, reflect.Array:
		return checkTypeAt(t.Elem(), path+"/*", seen)
	case reflect.Map:
		switch kind := t.Key().Kind(); {
		case kind == reflect.String, kind >= reflect.Int && kind <= reflect.Uintptr:
		case implements[encoding.TextMarshaler](t.Key()):
		default:
			return bad("has keys that are no strings")
		}
		return checkTypeAt(t.Elem(), path+"/*", seen)
	case reflect.Struct:
		if t == reflect.TypeFor[url.URL]() {
			return bad("is written by encoding/json as its parts; use a string with the tag jsonschema:\"format=uri\"")
		}
		for _, f := range fieldsOf(t) {
			if err := checkTypeAt(f.typ, path+"/"+escape(f.name), seen); err != nil {
				return err
			}
		}
	}
	return nil
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

// escape makes name one step of a JSON Pointer.
func escape(name string) string {
	return strings.NewReplacer("~", "~0", "/", "~1").Replace(name)
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
