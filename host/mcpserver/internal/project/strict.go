package project

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/toolhost/toolhost/internal/rawjson"
)

// rootRules are what some model APIs refuse at the root of a schema.
var rootRules = []string{"anyOf", "oneOf", "allOf", "not", "enum", "const", "if", "then", "else", "$ref", "$dynamicRef"}

// rootRule returns the first of rootRules that a schema has; "" if it has none.
func rootRule(o rawjson.Object) string {
	for _, m := range o {
		if slices.Contains(rootRules, m.Name) {
			return m.Name
		}
	}
	return ""
}

// maxWords bounds what is said in words of rules that were taken out, in bytes.
const maxWords = 2000

// strictRoot takes the rules out of a schema's root that model APIs refuse, and says them in words. What the schema
// admitted it still admits: properties that branches declare are moved to the root where that holds, and the host goes on
// checking calls by the schema of the plugin (R1). $schema goes where it says what is so anyway.
func strictRoot(schema json.RawMessage) (out json.RawMessage, words string) {
	o, ok := rawjson.ParseObject(schema)
	if !ok {
		return schema, ""
	}
	draft, _ := draftOf(schema)
	f := flattener{root: schema, old: draft < draft2019}
	if rootRule(o) != "" {
		o = f.flatten(o, 0)
		o.Drop(rootRules...)
		if o.Has("unevaluatedProperties") {
			o.Drop("unevaluatedProperties")
			f.say("No other properties are allowed.")
		}
		if onlyDefs(o.Raw()) {
			o.Set("type", rawjson.Quote("object"))
		} else {
			o = rawjson.Object{{"type", rawjson.Quote("object")}, {"properties", json.RawMessage("{}")}}
		}
	}
	if draft == draft2020 {
		o.Drop("$schema")
	}
	return o.Raw(), f.told()
}

// flattener collects what is taken out of a root.
type flattener struct {
	root  json.RawMessage
	old   bool // $ref hides its siblings
	words []string
}

func (f *flattener) told() string {
	return Clip(strings.Join(f.words, "\n"), maxWords)
}

func (f *flattener) say(format string, args ...any) {
	f.words = append(f.words, fmt.Sprintf(format, args...))
}

// flatten moves what can be moved out of the rules of a root. The rules themselves stay for the caller to drop.
func (f *flattener) flatten(o rawjson.Object, depth int) rawjson.Object {
	o = f.deref(o, depth)
	if list, ok := rawjson.ParseArray(o.Get("allOf")); ok {
		var rest []string
		for _, raw := range list {
			branch, ok := rawjson.ParseObject(raw)
			if !ok {
				continue
			}
			if depth < 8 {
				branch = f.flatten(branch, depth+1)
			}
			o = joinAll(o, branch)
			if depth == 0 && !simple(branch) {
				rest = append(rest, f.rule(raw))
			}
		}
		if len(rest) > 0 {
			f.say("All of these must hold: %s.", strings.Join(rest, "; "))
		}
	}
	for _, name := range []string{"anyOf", "oneOf"} {
		list, ok := rawjson.ParseArray(o.Get(name))
		if !ok {
			continue
		}
		o = f.joinAny(o, list, depth)
		if depth == 0 {
			f.say("%s of these must hold: %s.", map[string]string{"anyOf": "At least one", "oneOf": "Exactly one"}[name], f.rules(list))
		}
	}
	if depth == 0 {
		f.tellRest(o)
	}
	return o
}

// tellRest says the rules that have no branches to move.
func (f *flattener) tellRest(o rawjson.Object) {
	if v := o.Get("not"); v != nil {
		f.say("This must not hold: %s.", f.rule(v))
	}
	if v := o.Get("enum"); v != nil {
		f.say("The whole must be one of: %s.", rawjson.Compact(v))
	}
	if v := o.Get("const"); v != nil {
		f.say("The whole must be: %s.", rawjson.Compact(v))
	}
	if v := o.Get("if"); v != nil {
		if then := o.Get("then"); then != nil {
			f.say("If this holds: %s, then: %s.", f.rule(v), f.rule(then))
		}
		if other := o.Get("else"); other != nil {
			f.say("Unless this holds: %s, the following does: %s.", f.rule(v), f.rule(other))
		}
	}
}

// deref puts in the place of a root $ref what it refers to.
func (f *flattener) deref(o rawjson.Object, depth int) rawjson.Object {
	for n := 0; n < 16; n++ {
		ref, ok := o.Text("$ref")
		if !ok {
			return o
		}
		rest := o.Clone()
		rest.Drop("$ref")
		if f.old { // the other keywords do not count
			rest = slices.DeleteFunc(rest, func(m rawjson.Member) bool { return !annotates(m.Name) })
		}
		target, ok := rawjson.ParseObject(rawjson.Resolve(f.root, ref))
		if !ok {
			if depth == 0 {
				f.say("The whole must be a %s.", ref)
			}
			return rest
		}
		target = target.Clone()
		target.Drop("$defs", "definitions", "$schema", "$id", "$anchor")
		if all(rest, func(m rawjson.Member) bool { return annotates(m.Name) }) {
			o = rest
			for _, m := range target {
				if !o.Has(m.Name) {
					o = append(o, m)
				}
			}
			continue
		}
		o = joinAll(rest, target)
		for _, name := range rootRules {
			if v := target.Get(name); v != nil && !rest.Has(name) {
				o.Set(name, v)
			} else if v != nil { // both have it: both count
				list, _ := rawjson.ParseArray(o.Get("allOf"))
				o.Set("allOf", rawjson.Array(append(list, rawjson.Object{{name, v}}.Raw())))
			}
		}
	}
	rest := o.Clone()
	rest.Drop("$ref")
	return rest
}

// annotates reports whether a keyword beside a root $ref says nothing about the value.
func annotates(keyword string) bool {
	return slices.Contains([]string{"$schema", "$id", "$comment", "$defs", "definitions", "title", "description"}, keyword)
}

// simple reports whether joining a branch of allOf to a root moved all that it says.
func simple(branch rawjson.Object) bool {
	return all(branch, func(m rawjson.Member) bool {
		return slices.Contains([]string{"type", "properties", "required", "title", "description", "$comment"}, m.Name)
	})
}

// joinAll adds to a root what holds whenever a branch does that every value must fit.
func joinAll(o, branch rawjson.Object) rawjson.Object {
	o = o.Clone()
	props, _ := rawjson.ParseObject(o.Get("properties"))
	more, _ := rawjson.ParseObject(branch.Get("properties"))
	for _, p := range more {
		if had := props.Get(p.Name); had != nil && !bytes.Equal(had, p.Value) {
			props.Set(p.Name, rawjson.Object{{"allOf", rawjson.Array([]json.RawMessage{had, p.Value})}}.Raw())
			continue
		}
		props.Set(p.Name, p.Value)
	}
	if len(props) > 0 {
		o.Set("properties", props.Raw())
	}
	if list := union(required(o), required(branch)); len(list) > 0 {
		o.Set("required", rawjson.Encode(list))
	}
	for _, name := range []string{"description", "title", "type", "patternProperties", "additionalProperties", "propertyNames", "minProperties", "maxProperties", "dependentRequired", "dependentSchemas"} {
		v := branch.Get(name)
		if v == nil || o.Has(name) {
			continue
		}
		// It speaks of what the branch's own patterns leave over.
		if name == "additionalProperties" && branch.Has("patternProperties") && !bytes.Equal(o.Get("patternProperties"), branch.Get("patternProperties")) {
			continue
		}
		o.Set(name, v)
	}
	return o
}

// joinAny adds to a root what holds whenever one of the branches does.
func (f *flattener) joinAny(o rawjson.Object, list []json.RawMessage, depth int) rawjson.Object {
	var branches []rawjson.Object
	var names, needed []string
	for i, raw := range list {
		b, ok := rawjson.ParseObject(raw)
		if !ok && rawjson.Kind(raw) == 'f' {
			continue
		}
		if ok && depth < 8 {
			b = f.flatten(b, depth+1)
		}
		branches = append(branches, b)
		props, _ := rawjson.ParseObject(b.Get("properties"))
		for _, p := range props {
			names = union(names, []string{p.Name})
		}
		if i == 0 || len(branches) == 1 {
			needed = required(b)
		} else {
			needed = slices.DeleteFunc(needed, func(n string) bool { return !slices.Contains(required(b), n) })
		}
	}
	o = o.Clone()
	props, _ := rawjson.ParseObject(o.Get("properties"))
	for _, name := range names {
		if !props.Has(name) {
			props.Set(name, anyOfProperty(branches, name))
		}
	}
	if len(props) > 0 {
		o.Set("properties", props.Raw())
	}
	if needed = union(required(o), needed); len(needed) > 0 {
		o.Set("required", rawjson.Encode(needed))
	}
	return o
}

// anyOfProperty is what a property may be in any of the branches: open if one of them does not declare it and takes others.
func anyOfProperty(branches []rawjson.Object, name string) json.RawMessage {
	var forms []json.RawMessage
	for _, b := range branches {
		props, _ := rawjson.ParseObject(b.Get("properties"))
		v := props.Get(name)
		if v == nil {
			if rawjson.Kind(b.Get("additionalProperties")) == 'f' && !b.Has("patternProperties") {
				continue
			}
			return openProperty(branches, name)
		}
		if !slices.ContainsFunc(forms, func(x json.RawMessage) bool { return bytes.Equal(x, v) }) {
			forms = append(forms, v)
		}
	}
	if len(forms) == 1 {
		return forms[0]
	}
	return rawjson.Object{{"anyOf", rawjson.Array(forms)}}.Raw()
}

// openProperty takes everything, and keeps a description.
func openProperty(branches []rawjson.Object, name string) json.RawMessage {
	for _, b := range branches {
		props, _ := rawjson.ParseObject(b.Get("properties"))
		if p, ok := rawjson.ParseObject(props.Get(name)); ok && p.Has("description") {
			return rawjson.Object{{"description", p.Get("description")}}.Raw()
		}
	}
	return json.RawMessage("{}")
}

func required(o rawjson.Object) (list []string) {
	_ = json.Unmarshal(o.Get("required"), &list)
	return list
}

func union(a, b []string) []string {
	out := slices.Clone(a)
	for _, x := range b {
		if !slices.Contains(out, x) {
			out = append(out, x)
		}
	}
	return out
}

func (f *flattener) rules(list []json.RawMessage) string {
	words := make([]string, len(list))
	for i, raw := range list {
		words[i] = f.rule(raw)
	}
	return strings.Join(words, "; ")
}

// Rule is a schema in words where that is easy, else as it is.
func (f *flattener) rule(raw json.RawMessage) string {
	o, ok := rawjson.ParseObject(raw)
	if ref, isRef := o.Text("$ref"); isRef && len(o) == 1 {
		if to := rawjson.Resolve(f.root, ref); to != nil {
			o, ok = rawjson.ParseObject(to)
			raw = to
		}
	}
	if list := required(o); ok && len(o) == 1 && len(list) > 0 {
		verb := " is given"
		if len(list) > 1 {
			verb = " are given"
		}
		return strings.Join(list, " and ") + verb
	}
	return string(rawjson.Compact(raw))
}

// onlyDefs reports whether all references of a schema lead into its definitions, which stay when its root changes.
func onlyDefs(schema json.RawMessage) bool {
	only := true
	rewrite(schema, "", func(o *rawjson.Object, _ string) bool {
		for _, name := range []string{"$ref", "$dynamicRef", "$recursiveRef"} {
			if ref, ok := o.Text(name); ok && !strings.HasPrefix(ref, "#/$defs/") && !strings.HasPrefix(ref, "#/definitions/") {
				only = false
			}
		}
		return false
	})
	return only
}
