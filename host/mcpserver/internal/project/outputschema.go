package project

import (
	"encoding/json"
	"slices"
	"strings"

	"github.com/toolhost/toolhost/host"
	"github.com/toolhost/toolhost/internal/rawjson"
)

// output says how the clients of an era get what a tool returns.
type output struct {
	schema  json.RawMessage // that is listed; nil: none
	wrapped bool            // structuredContent is {"result": OUTPUT} (R16)
}

// outputOf says how a tool's output is shown. A schema is listed only if the host holds the tool to it (OutputReject): clients
// refuse results that break a listed one. The modern era takes any root, the legacy one an object (R16, R17).
func outputOf(t host.Tool, e Era) (out output, notes []Note) {
	note := func(rule, path, text string) { notes = append(notes, Note{rule, "/outputSchema" + path, text}) }
	schema := t.OutputSchema
	if len(schema) == 0 || rawjson.Kind(schema) == 'n' {
		return out, nil
	}
	if t.OutputMode != host.OutputReject {
		note("output_mode", "", "it is not listed: with output mode "+t.OutputMode.String()+" a result may break it, and clients refuse such results")
		return out, notes
	}
	switch rawjson.Kind(schema) {
	case 't':
		schema = json.RawMessage("{}")
	case 'f':
		schema = json.RawMessage(`{"not":{}}`)
	}
	draft, _ := draftOf(schema)
	if draft == draft4 {
		note("dialect", "/$schema", "clients do not read draft-04, and some refuse the whole list over it: it is not listed")
		return out, notes
	}
	if ref := endless(schema); ref != "" {
		note("ref", "", "the reference "+ref+" leads to itself: clients cannot follow it, and it is not listed")
		return out, notes
	}
	schema = withoutIgnored(schema, draft)
	schema, why := modernize(schema)
	if why != "" {
		note("dialect", "", why)
	}
	schema, changes := forJavaScript(schema, e)
	notes = append(notes, changes...)
	o, _ := rawjson.ParseObject(schema)
	if e == Modern {
		return output{schema: schema}, notes
	}
	if objectsOnly(schema) {
		changed := booleans(&o)
		if typ, _ := o.Text("type"); typ != "object" {
			o.Set("type", rawjson.Quote("object"))
			changed = true
		}
		if o.Has("properties") && rawjson.Kind(o.Get("properties")) != '{' {
			o.Drop("properties")
			changed = true
		}
		if changed {
			schema = o.Raw()
		}
		return output{schema: schema}, notes
	}
	out = output{wrapped: true}
	if out.schema = wrap(schema, draft); out.schema == nil {
		note("output_root", "", "its references would lead elsewhere once it is wrapped for older clients, which take objects only: they get no schema")
	}
	return out, notes
}

// Wraps reports whether structuredContent is {"result": OUTPUT} for clients of an era (R16). It takes as long as Tool does: know it
// before a call.
func Wraps(t host.Tool, e Era) bool {
	if e == Modern {
		return false
	}
	out, _ := outputOf(t, e)
	return out.wrapped && out.schema != nil
}

// wrap makes a schema of any root one of {"result": value}. Definitions are lifted so that references still lead to them; nil
// if others would lead elsewhere.
func wrap(schema json.RawMessage, draft int) json.RawMessage {
	o, _ := rawjson.ParseObject(schema)
	if o.Has("$id") || !onlyDefs(schema) {
		return nil
	}
	inner := o.Clone()
	inner.Drop("$schema", "$defs", "definitions")
	outer := rawjson.Object{}
	if v := o.Get("$schema"); v != nil {
		outer.Set("$schema", v)
	} else if draft != draft2020 {
		outer.Set("$schema", rawjson.Quote("http://json-schema.org/draft-07/schema#"))
	}
	outer.Set("type", rawjson.Quote("object"))
	outer.Set("properties", rawjson.Object{{"result", inner.Raw()}}.Raw())
	outer.Set("required", json.RawMessage(`["result"]`))
	for _, name := range []string{"$defs", "definitions"} {
		if v := o.Get(name); v != nil {
			outer.Set(name, v)
		}
	}
	return outer.Raw()
}

// forJavaScript loosens an output schema where the validators of TypeScript clients would throw over it, which costs an older
// client the whole list, or would read it as draft-07 and refuse what is valid. The host still checks by the schema of the
// plugin.
func forJavaScript(schema json.RawMessage, e Era) (out json.RawMessage, notes []Note) {
	note := func(rule, path, text string) { notes = append(notes, Note{rule, path, text}) }
	out = rewrite(schema, "/outputSchema", func(o *rawjson.Object, path string) bool {
		before := len(*o)
		if pattern, ok := o.Text("pattern"); ok && !portable(pattern) {
			o.Drop("pattern")
			note("pattern", path+"/pattern", "it is not valid in JavaScript with the u flag, and clients refuse the schema over it: left out of what is listed")
		}
		changed := dropPatterns(o, path, note)
		if _, ok := o.Text("id"); ok {
			o.Drop("id")
		}
		changed = nullable(o) || changed
		if e == Legacy && o.Has("prefixItems") && o.Has("items") {
			o.Drop("items")
			note("dialect", path+"/items", "older clients read it as draft-07, where it is about all items: left out of what they get")
		}
		if e == Legacy && o.Has("minContains") && o.Has("contains") {
			o.Drop("contains")
			note("dialect", path+"/contains", "older clients read it as draft-07, without minContains: left out of what they get")
		}
		return changed || len(*o) != before
	})
	if len(notes) > 0 || e == Legacy && usesNewer(out) {
		out = positive(out)
	}
	return out, notes
}

// withoutIgnored takes out what an older draft ignores and the validators of clients do not: keywords that came later, and what
// stands beside a $ref.
func withoutIgnored(schema json.RawMessage, draft int) json.RawMessage {
	var later []string
	if draft < draft7 {
		later = append(later, "if", "then", "else")
	}
	if draft < draft2019 {
		later = append(later, "dependentRequired", "dependentSchemas", "unevaluatedProperties", "unevaluatedItems", "minContains", "maxContains")
	}
	if draft < draft2020 {
		later = append(later, "prefixItems")
	}
	return rewrite(schema, "", func(o *rawjson.Object, _ string) bool {
		before := len(*o)
		o.Drop(later...)
		if draft < draft2019 && o.Has("$ref") && !o.Has("nullable") && refHasRules(*o) {
			*o = slices.DeleteFunc(*o, func(m rawjson.Member) bool { return m.Name != "$ref" && !annotates(m.Name) })
		}
		return len(*o) != before
	})
}

// usesNewer reports whether a schema has keywords that validators of draft-07 pass over.
func usesNewer(schema json.RawMessage) bool {
	found := false
	rewrite(schema, "", func(o *rawjson.Object, _ string) bool {
		for _, m := range *o {
			switch m.Name {
			case "unevaluatedProperties", "unevaluatedItems", "dependentRequired", "dependentSchemas", "prefixItems", "minContains", "maxContains", "$dynamicRef", "$recursiveRef":
				found = true
			}
		}
		return false
	})
	return found
}

// positive takes out of a schema what would turn a looser part of it into a stricter whole, if there is any.
func positive(schema json.RawMessage) json.RawMessage {
	return rewrite(schema, "", func(o *rawjson.Object, _ string) bool {
		before := len(*o)
		o.Drop("not", "if", "then", "else", "unevaluatedProperties", "unevaluatedItems")
		if o.Has("maxContains") {
			o.Drop("contains", "maxContains", "minContains")
		}
		branches := o.Get("oneOf")
		if o.Drop("oneOf"); branches != nil && !o.Has("anyOf") {
			o.Set("anyOf", branches)
			return true
		}
		return len(*o) != before
	})
}

// dropPatterns takes out the members of patternProperties whose pattern is not portable. What they were about is then open:
// additionalProperties must not close it.
func dropPatterns(o *rawjson.Object, path string, note func(rule, path, text string)) bool {
	patterns, ok := rawjson.ParseObject(o.Get("patternProperties"))
	if !ok {
		return false
	}
	kept := slices.DeleteFunc(patterns.Clone(), func(m rawjson.Member) bool { return !portable(m.Name) })
	if len(kept) == len(patterns) {
		return false
	}
	o.Set("patternProperties", kept.Raw())
	o.Drop("additionalProperties", "unevaluatedProperties")
	note("pattern", path+"/patternProperties", "a pattern is not valid in JavaScript with the u flag, and clients refuse the schema over it: left out of what is listed")
	return true
}

// nullable turns OpenAPI's keyword, over which validators throw where no type stands beside it, into JSON Schema.
func nullable(o *rawjson.Object) bool {
	v := strings.TrimSpace(string(o.Get("nullable")))
	if v == "" {
		return false
	}
	o.Drop("nullable")
	if v != "true" {
		return true
	}
	if types, ok := nullableTypes(o.Get("type")); ok && !o.Has("enum") && !o.Has("const") {
		o.Set("type", types)
		return true
	}
	inner := o.Clone()
	inner.Drop("$schema", "$id", "$defs", "definitions", "title", "description")
	outer := slices.DeleteFunc(o.Clone(), func(m rawjson.Member) bool { return inner.Has(m.Name) })
	outer.Set("anyOf", rawjson.Array([]json.RawMessage{inner.Raw(), json.RawMessage(`{"type":"null"}`)}))
	*o = outer
	return true
}

// nullableTypes is type with null beside it; ok is false where null is there or no type is.
func nullableTypes(raw json.RawMessage) (json.RawMessage, bool) {
	switch rawjson.Kind(raw) {
	case '"':
		return rawjson.Array([]json.RawMessage{raw, rawjson.Quote("null")}), true
	case '[':
		list, _ := rawjson.ParseArray(raw)
		if slices.ContainsFunc(list, func(x json.RawMessage) bool { return rawjson.Equal(x, rawjson.Quote("null")) }) {
			return raw, true
		}
		return rawjson.Array(append(list, rawjson.Quote("null"))), true
	}
	return nil, false
}
