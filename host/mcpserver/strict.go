package mcpserver

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
)

// rootRules are what some model APIs refuse at the root of a schema.
var rootRules = []string{"anyOf", "oneOf", "allOf", "not", "enum", "const", "if", "then", "else", "$ref", "$dynamicRef"}

// rootRule returns the first of rootRules that a schema has; "" if it has none.
func rootRule(o object) string {
	for _, m := range o {
		if slices.Contains(rootRules, m.name) {
			return m.name
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
	o, ok := readObject(schema)
	if !ok {
		return schema, ""
	}
	draft, _ := draftOf(schema)
	f := flattener{root: schema, old: draft < draft2019}
	if rootRule(o) != "" {
		o = f.flatten(o, 0)
		o.drop(rootRules...)
		if o.has("unevaluatedProperties") {
			o.drop("unevaluatedProperties")
			f.say("No other properties are allowed.")
		}
		if onlyDefs(o.raw()) {
			o.set("type", quote("object"))
		} else {
			o = object{{"type", quote("object")}, {"properties", json.RawMessage("{}")}}
		}
	}
	if draft == draft2020 {
		o.drop("$schema")
	}
	return o.raw(), f.told()
}

// flattener collects what is taken out of a root.
type flattener struct {
	root  json.RawMessage
	old   bool // $ref hides its siblings
	words []string
}

func (f *flattener) told() string {
	text := strings.Join(f.words, "\n")
	if len(text) > maxWords {
		text = strings.ToValidUTF8(text[:maxWords], "") + " …"
	}
	return text
}

func (f *flattener) say(format string, args ...any) {
	f.words = append(f.words, fmt.Sprintf(format, args...))
}

// flatten moves what can be moved out of the rules of a root. The rules themselves stay for the caller to drop.
func (f *flattener) flatten(o object, depth int) object {
	o = f.deref(o, depth)
	if list, ok := readArray(o.get("allOf")); ok {
		var rest []string
		for _, raw := range list {
			branch, ok := readObject(raw)
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
		list, ok := readArray(o.get(name))
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
func (f *flattener) tellRest(o object) {
	if v := o.get("not"); v != nil {
		f.say("This must not hold: %s.", f.rule(v))
	}
	if v := o.get("enum"); v != nil {
		f.say("The whole must be one of: %s.", compact(v))
	}
	if v := o.get("const"); v != nil {
		f.say("The whole must be: %s.", compact(v))
	}
	if v := o.get("if"); v != nil {
		if then := o.get("then"); then != nil {
			f.say("If this holds: %s, then: %s.", f.rule(v), f.rule(then))
		}
		if other := o.get("else"); other != nil {
			f.say("Unless this holds: %s, the following does: %s.", f.rule(v), f.rule(other))
		}
	}
}

// deref puts in the place of a root $ref what it refers to.
func (f *flattener) deref(o object, depth int) object {
	for n := 0; n < 16; n++ {
		ref, ok := o.text("$ref")
		if !ok {
			return o
		}
		rest := o.clone()
		rest.drop("$ref")
		if f.old { // the other keywords do not count
			rest = slices.DeleteFunc(rest, func(m member) bool { return !annotates(m.name) })
		}
		target, ok := readObject(resolve(f.root, ref))
		if !ok {
			if depth == 0 {
				f.say("The whole must be a %s.", ref)
			}
			return rest
		}
		target = target.clone()
		target.drop("$defs", "definitions", "$schema", "$id", "$anchor")
		if all(rest, func(m member) bool { return annotates(m.name) }) {
			o = rest
			for _, m := range target {
				if !o.has(m.name) {
					o = append(o, m)
				}
			}
			continue
		}
		o = joinAll(rest, target)
		for _, name := range rootRules {
			if v := target.get(name); v != nil && !rest.has(name) {
				o.set(name, v)
			} else if v != nil { // both have it: both count
				list, _ := readArray(o.get("allOf"))
				o.set("allOf", array(append(list, object{{name, v}}.raw())))
			}
		}
	}
	rest := o.clone()
	rest.drop("$ref")
	return rest
}

// annotates reports whether a keyword beside a root $ref says nothing about the value.
func annotates(keyword string) bool {
	return slices.Contains([]string{"$schema", "$id", "$comment", "$defs", "definitions", "title", "description"}, keyword)
}

// simple reports whether joining a branch of allOf to a root moved all that it says.
func simple(branch object) bool {
	return all(branch, func(m member) bool {
		return slices.Contains([]string{"type", "properties", "required", "title", "description", "$comment"}, m.name)
	})
}

// joinAll adds to a root what holds whenever a branch does that every value must fit.
func joinAll(o, branch object) object {
	o = o.clone()
	props, _ := readObject(o.get("properties"))
	more, _ := readObject(branch.get("properties"))
	for _, p := range more {
		if had := props.get(p.name); had != nil && !bytes.Equal(had, p.value) {
			props.set(p.name, object{{"allOf", array([]json.RawMessage{had, p.value})}}.raw())
			continue
		}
		props.set(p.name, p.value)
	}
	if len(props) > 0 {
		o.set("properties", props.raw())
	}
	if list := union(required(o), required(branch)); len(list) > 0 {
		o.set("required", encode(list))
	}
	for _, name := range []string{"description", "title", "type", "patternProperties", "additionalProperties", "propertyNames", "minProperties", "maxProperties", "dependentRequired", "dependentSchemas"} {
		v := branch.get(name)
		if v == nil || o.has(name) {
			continue
		}
		// It speaks of what the branch's own patterns leave over.
		if name == "additionalProperties" && branch.has("patternProperties") && !bytes.Equal(o.get("patternProperties"), branch.get("patternProperties")) {
			continue
		}
		o.set(name, v)
	}
	return o
}

// joinAny adds to a root what holds whenever one of the branches does.
func (f *flattener) joinAny(o object, list []json.RawMessage, depth int) object {
	var branches []object
	var names, needed []string
	for i, raw := range list {
		b, ok := readObject(raw)
		if !ok && kind(raw) == 'f' {
			continue
		}
		if ok && depth < 8 {
			b = f.flatten(b, depth+1)
		}
		branches = append(branches, b)
		props, _ := readObject(b.get("properties"))
		for _, p := range props {
			names = union(names, []string{p.name})
		}
		if i == 0 || len(branches) == 1 {
			needed = required(b)
		} else {
			needed = slices.DeleteFunc(needed, func(n string) bool { return !slices.Contains(required(b), n) })
		}
	}
	o = o.clone()
	props, _ := readObject(o.get("properties"))
	for _, name := range names {
		if !props.has(name) {
			props.set(name, anyOfProperty(branches, name))
		}
	}
	if len(props) > 0 {
		o.set("properties", props.raw())
	}
	if needed = union(required(o), needed); len(needed) > 0 {
		o.set("required", encode(needed))
	}
	return o
}

// anyOfProperty is what a property may be in any of the branches: open if one of them does not declare it and takes others.
func anyOfProperty(branches []object, name string) json.RawMessage {
	var forms []json.RawMessage
	for _, b := range branches {
		props, _ := readObject(b.get("properties"))
		v := props.get(name)
		if v == nil {
			if kind(b.get("additionalProperties")) == 'f' && !b.has("patternProperties") {
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
	return object{{"anyOf", array(forms)}}.raw()
}

// openProperty takes everything, and keeps a description.
func openProperty(branches []object, name string) json.RawMessage {
	for _, b := range branches {
		props, _ := readObject(b.get("properties"))
		if p, ok := readObject(props.get(name)); ok && p.has("description") {
			return object{{"description", p.get("description")}}.raw()
		}
	}
	return json.RawMessage("{}")
}

func required(o object) (list []string) {
	_ = json.Unmarshal(o.get("required"), &list)
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

// rule is a schema in words where that is easy, else as it is.
func (f *flattener) rule(raw json.RawMessage) string {
	o, ok := readObject(raw)
	if ref, isRef := o.text("$ref"); isRef && len(o) == 1 {
		if to := resolve(f.root, ref); to != nil {
			o, ok = readObject(to)
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
	return string(compact(raw))
}

// onlyDefs reports whether all references of a schema lead into its definitions, which stay when its root changes.
func onlyDefs(schema json.RawMessage) bool {
	only := true
	rewrite(schema, "", func(o *object, _ string) bool {
		for _, name := range []string{"$ref", "$dynamicRef", "$recursiveRef"} {
			if ref, ok := o.text(name); ok && !strings.HasPrefix(ref, "#/$defs/") && !strings.HasPrefix(ref, "#/definitions/") {
				only = false
			}
		}
		return false
	})
	return only
}
