package mcpserver

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"

	"github.com/toolhost/toolhost/host"
)

// listedTool is the entry of tools/list for a tool under the name that exportNames gave it, for clients of an era. Its
// members are those of the plugin byte for byte but for white space (R20), with what a client of the era would choke on
// changed; warnings say what and why, one line each. A nil entry means that the tool cannot be exported, and the last
// warning says why. It is pure: it may be called concurrently.
func listedTool(t host.Tool, name string, e era, p Profile) (entry json.RawMessage, warnings []string) {
	entry, notes := project(t, name, e, p)
	for _, n := range notes {
		warnings = append(warnings, n.String())
	}
	return entry, warnings
}

// remark is something about a tool's definition that a person should know.
type remark struct {
	rule, path, text string
}

func (r remark) String() string { return at(r.path, "%s", r.text) }

// project is listedTool.
func project(t host.Tool, name string, e era, p Profile) (json.RawMessage, []remark) {
	var list []remark
	o := object{{"name", quote(name)}}
	if t.Title != "" {
		o.set("title", quote(t.Title))
	}
	input, words, notes := listedInput(t.InputSchema, p)
	list = append(list, notes...)
	if input == nil {
		return nil, list
	}
	description := t.Description
	if words != "" {
		description = strings.TrimSpace(description + "\n\n" + words)
	}
	o.set("description", quote(description))
	o.set("inputSchema", compact(input))
	output, notes := outputOf(t, e)
	list = append(list, notes...)
	if output.schema != nil {
		schema := output.schema
		if p == ProfileStrictModel {
			schema, _ = strictRoot(schema)
		}
		o.set("outputSchema", compact(schema))
	}
	if a := listedAnnotations(t.Annotations); len(a) > 0 {
		o.set("annotations", a.raw())
	}
	if icons, notes := listedIcons(t.Icons); icons != nil {
		list = append(list, notes...)
		o.set("icons", compact(icons))
	} else {
		list = append(list, notes...)
	}
	if kind(t.Meta) == '{' {
		o.set("_meta", compact(t.Meta))
	}
	list = append(list, o.addExtra(t.Extra)...)
	return o.raw(), list
}

// listedInput is the input schema as clients get it: an object at the root, with properties (R3). It is nil if the root admits
// no objects. words are rules that the profile took out of it.
func listedInput(schema json.RawMessage, p Profile) (out json.RawMessage, words string, notes []remark) {
	note := func(rule, path, text string) { notes = append(notes, remark{rule, "/inputSchema" + path, text}) }
	o, ok := readObject(schema)
	if !ok && kind(schema) != 't' {
		note("root", "", "the root is no object: the tool is not exported")
		return nil, "", notes
	}
	if !admits(schema, "object") {
		note("root", "", "the root admits no object, and MCP takes nothing else for arguments: the tool is not exported")
		return nil, "", notes
	}
	out = schema
	if ok {
		var why string
		if out, why = modernize(schema); why != "" {
			note("dialect", "", why)
		}
		o, _ = readObject(out)
	}
	if rule := rootRule(o); rule != "" {
		if p == ProfileStrictModel {
			out, words = strictRoot(out)
			o, _ = readObject(out)
		} else {
			note("root_rule", "/"+rule, "some model APIs refuse a request over "+rule+" at the root, and some clients leave the tool out: move it below a property, or serve with the profile "+string(ProfileStrictModel))
		}
	} else if p == ProfileStrictModel {
		out, _ = strictRoot(out)
		o, _ = readObject(out)
	}
	if typ, ok := o.text("type"); !ok || typ != "object" {
		o.set("type", quote("object"))
		out = nil
	}
	if kind(o.get("properties")) != '{' {
		o.set("properties", json.RawMessage("{}"))
		out = nil
	}
	if booleans(&o) {
		out = nil
	}
	if out == nil {
		out = o.raw()
	}
	return out, words, append(notes, patternNotes(out, "/inputSchema")...)
}

// booleans writes the properties of a root that are true or false as objects: TypeScript clients refuse a whole list over one
// of them. It returns whether there were any.
func booleans(o *object) bool {
	props, ok := readObject(o.get("properties"))
	changed := false
	for i, p := range props {
		switch kind(p.value) {
		case 't':
			props[i].value, changed = json.RawMessage("{}"), true
		case 'f':
			props[i].value, changed = json.RawMessage(`{"not":{}}`), true
		}
	}
	if ok && changed {
		o.set("properties", props.raw())
	}
	return ok && changed
}

// patternNotes says which patterns clients may not take (R7).
func patternNotes(schema json.RawMessage, base string) (notes []remark) {
	rewrite(schema, base, func(o *object, path string) bool {
		check := func(path, pattern string) {
			switch {
			case !portable(pattern):
				notes = append(notes, remark{"pattern", path, "the host enforces the pattern, clients may refuse it: it is not valid in JavaScript with the u flag"})
			case lookAround(pattern):
				notes = append(notes, remark{"pattern", path, "the host enforces the pattern, clients whose engine has no look-around or back references do not or refuse it"})
			}
		}
		if pattern, ok := o.text("pattern"); ok {
			check(path+"/pattern", pattern)
		}
		patterns, _ := readObject(o.get("patternProperties"))
		for _, m := range patterns {
			check(path+"/patternProperties/"+pointerToken(m.name), m.name)
		}
		return false
	})
	return notes
}

// listedAnnotations are the hints that the plugin gave, and no others (T-9).
func listedAnnotations(a host.Annotations) (o object) {
	if a.Title != "" {
		o.set("title", quote(a.Title))
	}
	for _, h := range []struct {
		name string
		hint *bool
	}{
		{"readOnlyHint", a.ReadOnly}, {"destructiveHint", a.Destructive}, {"idempotentHint", a.Idempotent}, {"openWorldHint", a.OpenWorld},
	} {
		if h.hint != nil {
			o.set(h.name, encode(*h.hint))
		}
	}
	return o
}

// listedIcons are the icons that clients can read: one that they cannot would cost them the whole list.
func listedIcons(raw json.RawMessage) (json.RawMessage, []remark) {
	list, ok := readArray(raw)
	if !ok || len(list) == 0 {
		return nil, nil
	}
	good := slices.DeleteFunc(slices.Clone(list), func(x json.RawMessage) bool { return !validIcon(x) })
	if len(good) == len(list) {
		return raw, nil
	}
	notes := []remark{{"icons", "/icons", "not all of them are objects with src, mimeType, sizes and theme as MCP has them: the others are left out"}}
	if len(good) == 0 {
		return nil, notes
	}
	return array(good), notes
}

func validIcon(raw json.RawMessage) bool {
	o, ok := readObject(raw)
	if !ok || kind(o.get("src")) != '"' || !optional(o, '"', "mimeType") {
		return false
	}
	if theme, isText := o.text("theme"); o.has("theme") && (!isText || theme != "light" && theme != "dark") {
		return false
	}
	sizes, isList := readArray(o.get("sizes"))
	return !o.has("sizes") || isList && all(sizes, func(s json.RawMessage) bool { return kind(s) == '"' })
}

// optional reports whether members are absent or of a kind.
func optional(o object, k byte, names ...string) bool {
	return all(names, func(name string) bool { return !o.has(name) || kind(o.get(name)) == k })
}

// addExtra lays the further members of a tool over its entry; members that are there win. What would make a client refuse the
// entry is left out.
func (o *object) addExtra(raw json.RawMessage) (notes []remark) {
	extra, ok := readObject(raw)
	if !ok {
		return nil
	}
	for _, m := range extra {
		value := compact(m.value)
		switch m.name {
		case "name", "title", "description", "inputSchema", "outputSchema", "icons":
			continue
		case "annotations", "_meta":
			if ok := o.merge(m.name, value); !ok {
				notes = append(notes, remark{"extra", "/" + m.name, "it is no object: left out"})
			}
			continue
		case "execution":
			if !validExecution(value) {
				notes = append(notes, remark{"extra", "/execution", "it is not as MCP has it: left out"})
				continue
			}
		}
		if !o.has(m.name) {
			o.set(m.name, value)
		}
	}
	return notes
}

// merge adds the members of an object to a member of o.
func (o *object) merge(name string, value json.RawMessage) bool {
	more, ok := readObject(value)
	if !ok {
		return false
	}
	had, _ := readObject(o.get(name))
	if had == nil {
		had = object{}
	}
	for _, m := range more {
		known := name == "annotations" && slices.Contains([]string{"title", "readOnlyHint", "destructiveHint", "idempotentHint", "openWorldHint"}, m.name)
		if !known && !had.has(m.name) {
			had = append(had, m)
		}
	}
	o.set(name, had.raw())
	return true
}

func validExecution(raw json.RawMessage) bool {
	o, ok := readObject(raw)
	support, isText := o.text("taskSupport")
	return ok && (!o.has("taskSupport") || isText && slices.Contains([]string{"required", "optional", "forbidden"}, support))
}

// equalJSON reports whether two texts are the same but for white space between tokens.
func equalJSON(a, b json.RawMessage) bool { return bytes.Equal(compact(a), compact(b)) }
