package project

import (
	"encoding/json"
	"slices"
	"strconv"

	"github.com/toolhost/toolhost/internal/jsonpointer"
	"github.com/toolhost/toolhost/internal/rawjson"
)

// place says what the value of a keyword of JSON Schema is made of.
type place int

const (
	data      place = iota // no schema
	single                 // a schema
	listed                 // an array of schemas
	named                  // an object of schemas
	oneOrMany              // a schema, or an array of them
)

func placeOf(keyword string) place {
	switch keyword {
	case "additionalProperties", "additionalItems", "not", "if", "then", "else", "contains", "propertyNames",
		"unevaluatedProperties", "unevaluatedItems", "contentSchema":
		return single
	case "allOf", "anyOf", "oneOf", "prefixItems":
		return listed
	case "properties", "patternProperties", "$defs", "definitions", "dependentSchemas", "dependencies":
		return named
	case "items":
		return oneOrMany
	}
	return data
}

// rewrite applies f to a schema and to every schema in it, from the root down, and returns the schema with what f
// changed; what it did not stays byte for byte. f gets the JSON Pointer of the schema and may change the object; it
// returns whether it did. Schemas that are booleans are not given to f. Nothing below maxDepth is looked at.
func rewrite(raw json.RawMessage, path string, f func(o *rawjson.Object, path string) bool) json.RawMessage {
	out, _ := rewriteBelow(raw, path, 0, f)
	return out
}

const maxDepth = 400

func rewriteBelow(raw json.RawMessage, path string, depth int, f func(*rawjson.Object, string) bool) (json.RawMessage, bool) {
	o, ok := rawjson.ParseObject(raw)
	if !ok || depth > maxDepth {
		return raw, false
	}
	changed := f(&o, path)
	for i, m := range o {
		p := placeOf(m.Name)
		if p == data {
			continue
		}
		if v, did := rewriteMember(m.Value, p, path+"/"+jsonpointer.Escape(m.Name), depth+1, f); did {
			o[i].Value, changed = v, true
		}
	}
	if !changed {
		return raw, false
	}
	return o.Raw(), true
}

func rewriteMember(raw json.RawMessage, p place, path string, depth int, f func(*rawjson.Object, string) bool) (json.RawMessage, bool) {
	if p == oneOrMany {
		p = single
		if rawjson.Kind(raw) == '[' {
			p = listed
		}
	}
	changed := false
	switch p {
	case single:
		return rewriteBelow(raw, path, depth, f)
	case listed:
		list, _ := rawjson.ParseArray(raw)
		for i := range list {
			v, did := rewriteBelow(list[i], path+"/"+strconv.Itoa(i), depth, f)
			list[i], changed = v, changed || did
		}
		if changed {
			return rawjson.Array(list), true
		}
	case named:
		o, _ := rawjson.ParseObject(raw)
		for i, m := range o {
			v, did := rewriteBelow(m.Value, path+"/"+jsonpointer.Escape(m.Name), depth, f)
			o[i].Value, changed = v, changed || did
		}
		if changed {
			return o.Raw(), true
		}
	}
	return raw, false
}

// admits reports whether a schema may admit a value of this type, as far as type, const, enum, references and
// combinators of the root say.
func admits(schema json.RawMessage, typ string) bool {
	draft, _ := draftOf(schema)
	return admitting{schema, typ, draft < draft2019}.at(schema, 0)
}

type admitting struct {
	root json.RawMessage
	typ  string
	old  bool // $ref hides its siblings
}

func (a admitting) at(schema json.RawMessage, depth int) bool {
	if rawjson.Kind(schema) == 'f' {
		return false
	}
	o, ok := rawjson.ParseObject(schema)
	if !ok || depth > 16 {
		return true
	}
	below := func(s json.RawMessage) bool { return a.at(s, depth+1) }
	if ref, ok := o.Text("$ref"); ok {
		if to := rawjson.Resolve(a.root, ref); to != nil && !below(to) {
			return false
		}
		if a.old {
			return true
		}
	}
	if t := o.Get("type"); t != nil && !hasType(t, a.typ) {
		return false
	}
	if c := o.Get("const"); c != nil && rawjson.Type(c) != a.typ {
		return false
	}
	if list, ok := rawjson.ParseArray(o.Get("enum")); ok && !slices.ContainsFunc(list, func(v json.RawMessage) bool { return rawjson.Type(v) == a.typ }) {
		return false
	}
	if list, ok := rawjson.ParseArray(o.Get("allOf")); ok && !all(list, below) {
		return false
	}
	for _, name := range []string{"anyOf", "oneOf"} {
		if list, ok := rawjson.ParseArray(o.Get(name)); ok && len(list) > 0 && !slices.ContainsFunc(list, below) {
			return false
		}
	}
	return true
}

func all[T any](list []T, is func(T) bool) bool {
	return !slices.ContainsFunc(list, func(x T) bool { return !is(x) })
}

// endless returns a reference that leads to itself without taking a step into the value; "" if there is none.
func endless(schema json.RawMessage) (ref string) {
	e := endlessRefs{root: schema, state: map[string]int{}}
	rewrite(schema, "", func(o *rawjson.Object, _ string) bool {
		if r, ok := o.Text("$ref"); ok && ref == "" && e.follow(r) {
			ref = r
		}
		return false
	})
	return ref
}

type endlessRefs struct {
	root  json.RawMessage
	state map[string]int // of a reference: 1 is being followed, 2 ends
}

func (e endlessRefs) follow(ref string) bool {
	switch e.state[ref] {
	case 1:
		return true
	case 2:
		return false
	}
	e.state[ref] = 1
	defer func() { e.state[ref] = 2 }()
	return e.in(rawjson.Resolve(e.root, ref), 0)
}

// in looks at what a schema applies to the same value.
func (e endlessRefs) in(schema json.RawMessage, depth int) bool {
	o, ok := rawjson.ParseObject(schema)
	if !ok || depth > maxDepth {
		return false
	}
	if ref, ok := o.Text("$ref"); ok && e.follow(ref) {
		return true
	}
	for _, name := range []string{"allOf", "anyOf", "oneOf"} {
		list, _ := rawjson.ParseArray(o.Get(name))
		if slices.ContainsFunc(list, func(s json.RawMessage) bool { return e.in(s, depth+1) }) {
			return true
		}
	}
	return slices.ContainsFunc([]string{"not", "if", "then", "else"}, func(name string) bool { return e.in(o.Get(name), depth+1) })
}

// objectsOnly reports whether a schema's root surely admits objects only.
func objectsOnly(schema json.RawMessage) bool {
	return all([]string{"array", "string", "number", "boolean", "null"}, func(typ string) bool {
		return !admits(schema, typ)
	})
}

// hasType reports whether the value of type, a string or an array, names the type.
func hasType(raw json.RawMessage, typ string) bool {
	var one string
	var many []string
	switch rawjson.Kind(raw) {
	case '"':
		_ = json.Unmarshal(raw, &one)
		many = []string{one}
	case '[':
		_ = json.Unmarshal(raw, &many)
	default:
		return true
	}
	return slices.Contains(many, typ) || typ == "number" && slices.Contains(many, "integer")
}
