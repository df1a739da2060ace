package mcpserver

import (
	"encoding/json"
	"slices"
	"strings"

	"github.com/toolhost/toolhost/host"
)

// output says how the clients of an era get what a tool returns.
type output struct {
	schema  json.RawMessage // that is listed; nil: none
	wrapped bool            // structuredContent is {"result": OUTPUT} (R16)
}

// outputOf says how a tool's output is shown. A schema is listed only if the host holds the tool to it (OutputReject): clients
// refuse results that break a listed one. The modern era takes any root, the legacy one an object (R16, R17).
func outputOf(t host.Tool, e era) (out output, notes []remark) {
	note := func(rule, path, text string) { notes = append(notes, remark{rule, "/outputSchema" + path, text}) }
	schema := t.OutputSchema
	if len(schema) == 0 || kind(schema) == 'n' {
		return out, nil
	}
	if t.OutputMode != host.OutputReject {
		note("output_mode", "", "it is not listed: with output mode "+t.OutputMode.String()+" a result may break it, and clients refuse such results")
		return out, notes
	}
	switch kind(schema) {
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
	o, _ := readObject(schema)
	if e == modern {
		return output{schema: schema}, notes
	}
	if objectsOnly(schema) {
		changed := booleans(&o)
		if typ, _ := o.text("type"); typ != "object" {
			o.set("type", quote("object"))
			changed = true
		}
		if o.has("properties") && kind(o.get("properties")) != '{' {
			o.drop("properties")
			changed = true
		}
		if changed {
			schema = o.raw()
		}
		return output{schema: schema}, notes
	}
	out = output{wrapped: true}
	if out.schema = wrap(schema, draft); out.schema == nil {
		note("output_root", "", "its references would lead elsewhere once it is wrapped for older clients, which take objects only: they get no schema")
	}
	return out, notes
}

// wrap makes a schema of any root one of {"result": value}. Definitions are lifted so that references still lead to them; nil
// if others would lead elsewhere.
func wrap(schema json.RawMessage, draft int) json.RawMessage {
	o, _ := readObject(schema)
	if o.has("$id") || !onlyDefs(schema) {
		return nil
	}
	inner := o.clone()
	inner.drop("$schema", "$defs", "definitions")
	outer := object{}
	if v := o.get("$schema"); v != nil {
		outer.set("$schema", v)
	} else if draft != draft2020 {
		outer.set("$schema", quote("http://json-schema.org/draft-07/schema#"))
	}
	outer.set("type", quote("object"))
	outer.set("properties", object{{"result", inner.raw()}}.raw())
	outer.set("required", json.RawMessage(`["result"]`))
	for _, name := range []string{"$defs", "definitions"} {
		if v := o.get(name); v != nil {
			outer.set(name, v)
		}
	}
	return outer.raw()
}

// forJavaScript loosens an output schema where the validators of TypeScript clients would throw over it, which costs an older
// client the whole list, or would read it as draft-07 and refuse what is valid. The host still checks by the schema of the
// plugin.
func forJavaScript(schema json.RawMessage, e era) (out json.RawMessage, notes []remark) {
	note := func(rule, path, text string) { notes = append(notes, remark{rule, path, text}) }
	out = rewrite(schema, "/outputSchema", func(o *object, path string) bool {
		before := len(*o)
		if pattern, ok := o.text("pattern"); ok && !portable(pattern) {
			o.drop("pattern")
			note("pattern", path+"/pattern", "it is not valid in JavaScript with the u flag, and clients refuse the schema over it: left out of what is listed")
		}
		changed := dropPatterns(o, path, note)
		if _, ok := o.text("id"); ok {
			o.drop("id")
		}
		changed = nullable(o) || changed
		if e == legacy && o.has("prefixItems") && o.has("items") {
			o.drop("items")
			note("dialect", path+"/items", "older clients read it as draft-07, where it is about all items: left out of what they get")
		}
		if e == legacy && o.has("minContains") && o.has("contains") {
			o.drop("contains")
			note("dialect", path+"/contains", "older clients read it as draft-07, without minContains: left out of what they get")
		}
		return changed || len(*o) != before
	})
	if len(notes) > 0 || e == legacy && usesNewer(out) {
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
	return rewrite(schema, "", func(o *object, _ string) bool {
		before := len(*o)
		o.drop(later...)
		if draft < draft2019 && o.has("$ref") && !o.has("nullable") && refHasRules(*o) {
			*o = slices.DeleteFunc(*o, func(m member) bool { return m.name != "$ref" && !annotates(m.name) })
		}
		return len(*o) != before
	})
}

// usesNewer reports whether a schema has keywords that validators of draft-07 pass over.
func usesNewer(schema json.RawMessage) bool {
	found := false
	rewrite(schema, "", func(o *object, _ string) bool {
		for _, m := range *o {
			switch m.name {
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
	return rewrite(schema, "", func(o *object, _ string) bool {
		before := len(*o)
		o.drop("not", "if", "then", "else", "unevaluatedProperties", "unevaluatedItems")
		if o.has("maxContains") {
			o.drop("contains", "maxContains", "minContains")
		}
		branches := o.get("oneOf")
		if o.drop("oneOf"); branches != nil && !o.has("anyOf") {
			o.set("anyOf", branches)
			return true
		}
		return len(*o) != before
	})
}

// dropPatterns takes out the members of patternProperties whose pattern is not portable. What they were about is then open:
// additionalProperties must not close it.
func dropPatterns(o *object, path string, note func(rule, path, text string)) bool {
	patterns, ok := readObject(o.get("patternProperties"))
	if !ok {
		return false
	}
	kept := slices.DeleteFunc(patterns.clone(), func(m member) bool { return !portable(m.name) })
	if len(kept) == len(patterns) {
		return false
	}
	o.set("patternProperties", kept.raw())
	o.drop("additionalProperties", "unevaluatedProperties")
	note("pattern", path+"/patternProperties", "a pattern is not valid in JavaScript with the u flag, and clients refuse the schema over it: left out of what is listed")
	return true
}

// nullable turns OpenAPI's keyword, over which validators throw where no type stands beside it, into JSON Schema.
func nullable(o *object) bool {
	v := strings.TrimSpace(string(o.get("nullable")))
	if v == "" {
		return false
	}
	o.drop("nullable")
	if v != "true" {
		return true
	}
	if types, ok := nullableTypes(o.get("type")); ok && !o.has("enum") && !o.has("const") {
		o.set("type", types)
		return true
	}
	inner := o.clone()
	inner.drop("$schema", "$id", "$defs", "definitions", "title", "description")
	outer := slices.DeleteFunc(o.clone(), func(m member) bool { return inner.has(m.name) })
	outer.set("anyOf", array([]json.RawMessage{inner.raw(), json.RawMessage(`{"type":"null"}`)}))
	*o = outer
	return true
}

// nullableTypes is type with null beside it; ok is false where null is there or no type is.
func nullableTypes(raw json.RawMessage) (json.RawMessage, bool) {
	switch kind(raw) {
	case '"':
		return array([]json.RawMessage{raw, quote("null")}), true
	case '[':
		list, _ := readArray(raw)
		if slices.ContainsFunc(list, func(x json.RawMessage) bool { return equalJSON(x, quote("null")) }) {
			return raw, true
		}
		return array(append(list, quote("null"))), true
	}
	return nil, false
}
