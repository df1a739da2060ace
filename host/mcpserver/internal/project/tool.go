package project

import (
	"encoding/json"
	"slices"
	"strings"

	"github.com/toolhost/toolhost/host"
	"github.com/toolhost/toolhost/internal/jsonpointer"
	"github.com/toolhost/toolhost/internal/rawjson"
)

// Note is something about a tool's definition that a person should know.
type Note struct {
	Rule string // a word for what is odd, such as root_rule
	Path string // JSON Pointer into the tool as it is listed
	Text string // what is so, and what follows
}

// String is the note on one line.
func (r Note) String() string { return "at " + r.Path + ": " + r.Text }

// Tool is the entry of tools/list for a tool under the name that Names gave it, for clients of an era. Its
// members are those of the plugin byte for byte but for white space (R20), with what a client of the era would choke on
// changed; notes say what and why. If strict, no rule that a model API refuses is at the root of a schema (R1). A nil
// entry means that the tool cannot be exported, and the last note says why.
func Tool(t host.Tool, name string, e Era, strict bool) (json.RawMessage, []Note) {
	var list []Note
	o := rawjson.Object{{"name", rawjson.Quote(name)}}
	if t.Title != "" {
		o.Set("title", rawjson.Quote(t.Title))
	}
	input, words, notes := listedInput(t.InputSchema, strict)
	list = append(list, notes...)
	if input == nil {
		return nil, list
	}
	description := t.Description
	if words != "" {
		description = strings.TrimSpace(description + "\n\n" + words)
	}
	o.Set("description", rawjson.Quote(description))
	o.Set("inputSchema", rawjson.Compact(input))
	output, notes := outputOf(t, e)
	list = append(list, notes...)
	if output.schema != nil {
		schema := output.schema
		if strict {
			schema, _ = strictRoot(schema)
		}
		o.Set("outputSchema", rawjson.Compact(schema))
	}
	if a := listedAnnotations(t.Annotations); len(a) > 0 {
		o.Set("annotations", a.Raw())
	}
	icons, notes := listedIcons(t.Icons)
	list = append(list, notes...)
	if icons != nil {
		o.Set("icons", rawjson.Compact(icons))
	}
	if rawjson.Kind(t.Meta) == '{' {
		o.Set("_meta", rawjson.Compact(t.Meta))
	}
	list = append(list, addExtra(&o, t.Extra)...)
	return o.Raw(), list
}

// listedInput is the input schema as clients get it: an object at the root, with properties (R3). It is nil if the root admits
// no objects. words are rules that strict took out of it.
func listedInput(schema json.RawMessage, strict bool) (out json.RawMessage, words string, notes []Note) {
	note := func(rule, path, text string) { notes = append(notes, Note{rule, "/inputSchema" + path, text}) }
	o, ok := rawjson.ParseObject(schema)
	if !ok && rawjson.Kind(schema) != 't' {
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
		o, _ = rawjson.ParseObject(out)
	}
	if strict {
		out, words = strictRoot(out)
		o, _ = rawjson.ParseObject(out)
	} else if rule := rootRule(o); rule != "" {
		note("root_rule", "/"+rule, "some model APIs refuse a request over "+rule+" at the root, and some clients leave the tool out: move it below a property, or serve with the profile strict-model")
	}
	if typ, ok := o.Text("type"); !ok || typ != "object" {
		o.Set("type", rawjson.Quote("object"))
		out = nil
	}
	if rawjson.Kind(o.Get("properties")) != '{' {
		o.Set("properties", json.RawMessage("{}"))
		out = nil
	}
	if booleans(&o) {
		out = nil
	}
	if out == nil {
		out = o.Raw()
	}
	return out, words, append(notes, patternNotes(out, "/inputSchema")...)
}

// booleans writes the properties of a root that are true or false as objects: TypeScript clients refuse a whole list over one
// of them. It returns whether there were any.
func booleans(o *rawjson.Object) bool {
	props, ok := rawjson.ParseObject(o.Get("properties"))
	changed := false
	for i, p := range props {
		switch rawjson.Kind(p.Value) {
		case 't':
			props[i].Value, changed = json.RawMessage("{}"), true
		case 'f':
			props[i].Value, changed = json.RawMessage(`{"not":{}}`), true
		}
	}
	if ok && changed {
		o.Set("properties", props.Raw())
	}
	return ok && changed
}

// patternNotes says which patterns clients may not take (R7).
func patternNotes(schema json.RawMessage, base string) (notes []Note) {
	rewrite(schema, base, func(o *rawjson.Object, path string) bool {
		check := func(path, pattern string) {
			switch {
			case !portable(pattern):
				notes = append(notes, Note{"pattern", path, "the host enforces the pattern, clients may refuse it: it is not valid in JavaScript with the u flag"})
			case lookAround(pattern):
				notes = append(notes, Note{"pattern", path, "the host enforces the pattern, clients whose engine has no look-around or back references do not or refuse it"})
			}
		}
		if pattern, ok := o.Text("pattern"); ok {
			check(path+"/pattern", pattern)
		}
		patterns, _ := rawjson.ParseObject(o.Get("patternProperties"))
		for _, m := range patterns {
			check(path+"/patternProperties/"+jsonpointer.Escape(m.Name), m.Name)
		}
		return false
	})
	return notes
}

// listedAnnotations are the hints that the plugin gave, and no others (T-9).
func listedAnnotations(a host.Annotations) (o rawjson.Object) {
	if a.Title != "" {
		o.Set("title", rawjson.Quote(a.Title))
	}
	for _, h := range []struct {
		name string
		hint *bool
	}{
		{"readOnlyHint", a.ReadOnly}, {"destructiveHint", a.Destructive}, {"idempotentHint", a.Idempotent}, {"openWorldHint", a.OpenWorld},
	} {
		if h.hint != nil {
			o.Set(h.name, rawjson.Encode(*h.hint))
		}
	}
	return o
}

// listedIcons are the icons that clients can read: one that they cannot would cost them the whole list.
func listedIcons(raw json.RawMessage) (json.RawMessage, []Note) {
	list, ok := rawjson.ParseArray(raw)
	if !ok || len(list) == 0 {
		return nil, nil
	}
	good := slices.DeleteFunc(slices.Clone(list), func(x json.RawMessage) bool { return !validIcon(x) })
	if len(good) == len(list) {
		return raw, nil
	}
	notes := []Note{{"icons", "/icons", "not all of them are objects with src, mimeType, sizes and theme as MCP has them: the others are left out"}}
	if len(good) == 0 {
		return nil, notes
	}
	return rawjson.Array(good), notes
}

func validIcon(raw json.RawMessage) bool {
	o, ok := rawjson.ParseObject(raw)
	if !ok || rawjson.Kind(o.Get("src")) != '"' || !optional(o, '"', "mimeType") {
		return false
	}
	if theme, isText := o.Text("theme"); o.Has("theme") && (!isText || theme != "light" && theme != "dark") {
		return false
	}
	sizes, isList := rawjson.ParseArray(o.Get("sizes"))
	return !o.Has("sizes") || isList && all(sizes, func(s json.RawMessage) bool { return rawjson.Kind(s) == '"' })
}

// optional reports whether members are absent or of a kind.
func optional(o rawjson.Object, k byte, names ...string) bool {
	return all(names, func(name string) bool { return !o.Has(name) || rawjson.Kind(o.Get(name)) == k })
}

// addExtra lays the further members of a tool over its entry; members that are there win. What would make a client refuse the
// entry is left out.
func addExtra(o *rawjson.Object, raw json.RawMessage) (notes []Note) {
	extra, ok := rawjson.ParseObject(raw)
	if !ok {
		return nil
	}
	for _, m := range extra {
		value := rawjson.Compact(m.Value)
		switch m.Name {
		case "name", "title", "description", "inputSchema", "outputSchema", "icons":
			continue
		case "annotations", "_meta":
			if ok := merge(o, m.Name, value); !ok {
				notes = append(notes, Note{"extra", "/" + m.Name, "it is no object: left out"})
			}
			continue
		case "execution":
			if !validExecution(value) {
				notes = append(notes, Note{"extra", "/execution", "it is not as MCP has it: left out"})
				continue
			}
		}
		if !o.Has(m.Name) {
			o.Set(m.Name, value)
		}
	}
	return notes
}

// merge adds the members of an object to a member of o.
func merge(o *rawjson.Object, name string, value json.RawMessage) bool {
	more, ok := rawjson.ParseObject(value)
	if !ok {
		return false
	}
	had, _ := rawjson.ParseObject(o.Get(name))
	if had == nil {
		had = rawjson.Object{}
	}
	for _, m := range more {
		known := name == "annotations" && slices.Contains([]string{"title", "readOnlyHint", "destructiveHint", "idempotentHint", "openWorldHint"}, m.Name)
		if !known && !had.Has(m.Name) {
			had = append(had, m)
		}
	}
	o.Set(name, had.Raw())
	return true
}

func validExecution(raw json.RawMessage) bool {
	o, ok := rawjson.ParseObject(raw)
	support, isText := o.Text("taskSupport")
	return ok && (!o.Has("taskSupport") || isText && slices.Contains([]string{"required", "optional", "forbidden"}, support))
}
