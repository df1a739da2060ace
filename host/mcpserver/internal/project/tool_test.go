package project

import (
	"encoding/json"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/toolhost/toolhost/host"
	"github.com/toolhost/toolhost/internal/rawjson"
)

func raw(s string) json.RawMessage { return json.RawMessage(s) }

// memberOf is a member of a listed tool.
func memberOf(t *testing.T, tool host.Tool, e Era, name string) string {
	t.Helper()
	entry, warnings := listedWith(tool, "t", e, false)
	o, ok := rawjson.ParseObject(entry)
	if !ok {
		t.Fatalf("no entry: %q", warnings)
	}
	return string(o.Get(name))
}

func TestT9_R20_MC1_AToolIsListedAsThePluginGaveIt(t *testing.T) {
	yes := true
	tool := host.Tool{
		Name: "search", Plugin: "notes", ID: "search", Title: "Search <notes>", Description: "Finds & shows.",
		InputSchema: raw("{\n \"type\": \"object\", \"properties\": {\"n\": {\"maximum\": 9007199254740993, \"default\": 1.0}}, \"x-z\": 1, \"x-a\": \"<\"}"), OutputSchema: raw(`{"type":"object","$comment":"c"}`),
		Annotations: host.Annotations{Title: "Search", ReadOnly: &yes, OpenWorld: new(bool)},
		Meta:        raw(`{"com.example/b":9007199254740993,"com.example/a":{"ui":[1.50]}}`), Icons: raw(`[{"src":"https://example.com/i.png","sizes":["48x48"],"theme":"dark","x":1}]`),
		Extra: raw(`{"execution":{"taskSupport":"optional","x":1},"annotations":{"com.example/priority":0,"readOnlyHint":"no"},"com.example":{"b":1,"a":2},"name":"other","_meta":{"com.example/c":null,"com.example/b":1}}`),
	}
	want := `{"name":"search","title":"Search <notes>","description":"Finds & shows.",` +
		`"inputSchema":{"type":"object","properties":{"n":{"maximum":9007199254740993,"default":1.0}},"x-z":1,"x-a":"<"},"outputSchema":{"type":"object","$comment":"c"},` +
		`"annotations":{"title":"Search","readOnlyHint":true,"openWorldHint":false,"com.example/priority":0},` +
		`"icons":[{"src":"https://example.com/i.png","sizes":["48x48"],"theme":"dark","x":1}],` +
		`"_meta":{"com.example/b":9007199254740993,"com.example/a":{"ui":[1.50]},"com.example/c":null},"execution":{"taskSupport":"optional","x":1},"com.example":{"b":1,"a":2}}`
	for _, e := range []Era{Legacy, Modern} {
		entry, warnings := listedWith(tool, "search", e, false)
		if diff := cmp.Diff(want, string(entry)); diff != "" || len(warnings) > 0 {
			t.Errorf("era %v: %q %s", e, warnings, diff)
		}
	}
	// What a plugin does not say is not there, hints least of all (T-9).
	entry, warnings := listedWith(host.Tool{ID: "t", Description: "Does.", InputSchema: raw(`{"type":"object"}`), OutputSchema: raw("null")}, "t", Legacy, false)
	if want := `{"name":"t","description":"Does.","inputSchema":{"type":"object","properties":{}}}`; string(entry) != want || len(warnings) > 0 {
		t.Errorf("%s %q, want %s", entry, warnings, want)
	}
}

func TestR3_InputRoots(t *testing.T) {
	for given, want := range map[string]string{
		`{"type":"object"}`: `{"type":"object","properties":{}}`,
		`{}`:                `{"type":"object","properties":{}}`,
		`true`:              `{"type":"object","properties":{}}`,
		`{"type":"object","additionalProperties":false}`:       `{"type":"object","additionalProperties":false,"properties":{}}`,
		`{"properties":{"a":{"type":"string"}}}`:               `{"properties":{"a":{"type":"string"}},"type":"object"}`,
		`{"type":["object","null"],"properties":{}}`:           `{"type":"object","properties":{}}`,
		`{"type":"object","properties":{"a":true,"b":false}}`:  `{"type":"object","properties":{"a":{},"b":{"not":{}}}}`,
		`{"$ref":"#/$defs/a","$defs":{"a":{"type":"object"}}}`: `{"$ref":"#/$defs/a","$defs":{"a":{"type":"object"}},"type":"object","properties":{}}`,
		`{"type":"array"}`:           "",
		`{"type":["string","null"]}`: "",
		`false`:                      "",
		`{"enum":["a","b"]}`:         "",
		`{"const":1}`:                "",
		`{"anyOf":[{"type":"string"},{"$ref":"#/$defs/n"}],"$defs":{"n":{"type":"integer"}}}`: "",
		`{"allOf":[{"type":"object"},{"type":"array"}]}`:                                      "",
		`"object"`: "",
	} {
		entry, warnings := listedWith(host.Tool{InputSchema: raw(given)}, "t", Legacy, false)
		if want == "" {
			if entry != nil || len(warnings) != 1 || !strings.HasSuffix(warnings[0], "the tool is not exported") {
				t.Errorf("%s: %s %q", given, entry, warnings)
			}
			continue
		}
		o, _ := rawjson.ParseObject(entry)
		if got := string(o.Get("inputSchema")); got != want {
			t.Errorf("%s became %s, want %s", given, got, want)
		}
	}
}

func TestR6_OlderDrafts(t *testing.T) {
	const d7, d20 = `"$schema":"http://json-schema.org/draft-07/schema#"`, `"$schema":"https://json-schema.org/draft/2020-12/schema"`
	for _, c := range []struct{ given, warning string }{
		{`{` + d7 + `,"type":"object","properties":{"items":{"type":"array","items":{"$ref":"#/definitions/a"}},"dependencies":{"type":"string"}},"definitions":{"a":{"const":1}},"if":{},"then":{}}`, ""},
		{`{"$schema":"https://json-schema.org/draft-06/schema","type":"object","properties":{"a":{"const":1}}}`, ""},
		{`{"$schema":"https://json-schema.org/draft/2019-09/schema","type":"object","properties":{"a":{"$ref":"#/$defs/a","minimum":1}},"$defs":{"a":{}}}`, ""},
		{`{"$schema":"http://json-schema.org/draft-04/schema#","type":"object","properties":{"a":{"minimum":1}}}`, ""},
		{`{` + d7 + `,"type":"object","properties":{"a":{"items":[{}]}}}`, "/properties/a/items"},
		{`{` + d7 + `,"type":"object","properties":{"a~/":{"items":{},"additionalItems":false}}}`, "/properties/a~0~1/additionalItems"},
		{`{` + d7 + `,"type":"object","dependencies":{"a":["b"]}}`, "/dependencies"},
		{`{` + d7 + `,"type":"object","properties":{"a":{"$ref":"#/definitions/a","minimum":1}},"definitions":{"a":{}}}`, "/properties/a/$ref"},
		{`{` + d7 + `,"type":"object","allOf":[{"unevaluatedProperties":false}]}`, "/allOf/0/unevaluatedProperties"},
		{`{` + d7 + `,"type":"object","properties":{"a":{"$id":"#a"}}}`, "/properties/a/$id"},
		{`{"$schema":"http://json-schema.org/draft-06/schema#","type":"object","if":{}}`, "/if"},
		{`{"$schema":"http://json-schema.org/draft-04/schema#","type":"object","properties":{"a":{"minimum":1,"exclusiveMinimum":true}}}`, "/properties/a/exclusiveMinimum"},
		{`{"type":"object","properties":{"a":{"items":[{}]}}}`, "/properties/a/items"},
		{`{"$schema":"https://json-schema.org/draft/2019-09/schema","type":"object","properties":{"a":{"prefixItems":[{}]}}}`, "/properties/a/prefixItems"},
	} {
		_, warnings := listedWith(host.Tool{InputSchema: raw(c.given)}, "t", Legacy, false)
		warnings = slices.DeleteFunc(warnings, func(w string) bool { return strings.Contains(w, "at the root") })
		o, _ := rawjson.ParseObject(raw(memberOf(t, host.Tool{InputSchema: raw(c.given)}, Modern, "inputSchema")))
		before, _ := rawjson.ParseObject(raw(c.given))
		got, was := string(o.Get("$schema")), string(before.Get("$schema"))
		switch {
		case c.warning == "" && (`"$schema":`+got != d20 || len(warnings) > 0):
			t.Errorf("%s: $schema %s %q", c.given, got, warnings)
		case c.warning != "" && (got != was || len(warnings) != 1 || !strings.Contains(warnings[0], c.warning)):
			t.Errorf("%s: $schema %s %q, want a warning of %s", c.given, got, warnings, c.warning)
		}
	}
}

// Whatever a plugin's output schema is: older clients get an object or none, and what is valid by the plugin's is by the listed
// one.
func TestR16_R17_OutputsOfAnyShape(t *testing.T) {
	g := generator{rand.New(rand.NewPCG(1, 1))}
	tried := map[Era]int{}
	for range 70 {
		text := g.root()
		if g.IntN(3) == 0 {
			root, _ := rawjson.ParseObject(text)
			defs := root.Get("$defs")
			root = rawjson.Object{{"anyOf", rawjson.Encode([]any{g.schema(2), g.branch(1)})}}
			if defs != nil {
				root.Set("$defs", defs)
			}
			text = root.Raw()
		}
		given := compiled(text)
		if given == nil {
			continue
		}
		tool := host.Tool{ID: "t", InputSchema: raw(`{}`), OutputSchema: text}
		for _, e := range []Era{Legacy, Modern} {
			entry, warnings := listedWith(tool, "t", e, false)
			o, _ := rawjson.ParseObject(entry)
			out := o.Get("outputSchema")
			if out == nil {
				if len(warnings) == 0 {
					t.Fatalf("no schema and no word: %s", text)
				}
				continue
			}
			if root, _ := rawjson.ParseObject(out); e == Legacy && string(root.Get("type")) != `"object"` {
				t.Fatalf("%s, made of %s", out, text)
			}
			listed := compiled(out)
			if listed == nil {
				t.Fatalf("no schema any more: %s, made of %s", out, text)
			}
			for range 10 {
				v := rawjson.Encode(g.member(2))
				if !fits(t, given, v) {
					continue
				}
				tried[e]++
				shown := structured(tool, Wraps(tool, e), v, e)
				if e == Legacy && rawjson.Kind(shown) != '{' {
					t.Fatalf("structuredContent of %s is %s: %s, made of %s", v, shown, out, text)
				}
				if !fits(t, listed, shown) {
					t.Fatalf("%s is shown as %s, which breaks %s, made of %s", v, shown, out, text)
				}
			}
		}
	}
	if tried[Legacy] < 20 || tried[Modern] < 20 {
		t.Errorf("too little was tried: %v", tried)
	}
}

func TestR16_R17_OutputSchemas(t *testing.T) {
	for _, c := range []struct{ given, old, now, warning string }{
		{`{"type":"object","properties":{"a":true}}`, `{"type":"object","properties":{"a":{}}}`, `{"type":"object","properties":{"a":true}}`, ""},
		{`{"type":"array","items":{"type":"integer"}}`, `{"type":"object","properties":{"result":{"type":"array","items":{"type":"integer"}}},"required":["result"]}`, `{"type":"array","items":{"type":"integer"}}`, ""},
		{
			`{"type":"array","items":{"$ref":"#/$defs/a"},"$defs":{"a":{"type":"string"}}}`,
			`{"type":"object","properties":{"result":{"type":"array","items":{"$ref":"#/$defs/a"}}},"required":["result"],"$defs":{"a":{"type":"string"}}}`,
			`{"type":"array","items":{"$ref":"#/$defs/a"},"$defs":{"a":{"type":"string"}}}`, "",
		},
		{`{"$ref":"#/$defs/a","$defs":{"a":{"type":"object"}}}`, `{"$ref":"#/$defs/a","$defs":{"a":{"type":"object"}},"type":"object"}`, `{"$ref":"#/$defs/a","$defs":{"a":{"type":"object"}}}`, ""},
		{`{"type":"array","items":{"$ref":"#"}}`, "", `{"type":"array","items":{"$ref":"#"}}`, "would lead elsewhere"},
		{`true`, `{"type":"object","properties":{"result":{}},"required":["result"]}`, `{}`, ""},
		{`{"$schema":"http://json-schema.org/draft-04/schema#","type":"object"}`, "", "", "draft-04"},
		{`{"type":"object","properties":{"s":{"type":"string","pattern":"\\Ax"}}}`, `{"type":"object","properties":{"s":{"type":"string"}}}`, `{"type":"object","properties":{"s":{"type":"string"}}}`, "at /outputSchema/properties/s/pattern: it is not valid in JavaScript"},
		{`{"type":"object","patternProperties":{"\\Ax":{}},"additionalProperties":false}`, `{"type":"object","patternProperties":{}}`, `{"type":"object","patternProperties":{}}`, "patternProperties"},
		{`{"type":"object","properties":{"s":{"$ref":"#/$defs/a","nullable":true}},"$defs":{"a":{}}}`, `{"type":"object","properties":{"s":{"anyOf":[{"$ref":"#/$defs/a"},{"type":"null"}]}},"$defs":{"a":{}}}`, `{"type":"object","properties":{"s":{"anyOf":[{"$ref":"#/$defs/a"},{"type":"null"}]}},"$defs":{"a":{}}}`, ""},
		{`{"type":"object","properties":{"s":{"prefixItems":[{}],"items":false}}}`, `{"type":"object","properties":{"s":{"prefixItems":[{}]}}}`, `{"type":"object","properties":{"s":{"prefixItems":[{}],"items":false}}}`, "draft-07"},
	} {
		tool := host.Tool{InputSchema: raw("{}"), OutputSchema: raw(c.given)}
		if got := memberOf(t, tool, Legacy, "outputSchema"); got != c.old {
			t.Errorf("%s: legacy %s, want %s", c.given, got, c.old)
		}
		if got := memberOf(t, tool, Modern, "outputSchema"); got != c.now {
			t.Errorf("%s: modern %s, want %s", c.given, got, c.now)
		}
		if _, warnings := listedWith(tool, "t", Legacy, false); len(warnings) > 1 || !strings.Contains(strings.Join(warnings, ""), c.warning) || (c.warning == "") != (len(warnings) == 0) {
			t.Errorf("%s: %q, want %q", c.given, warnings, c.warning)
		}
	}
	for _, mode := range []host.OutputMode{host.OutputWarn, host.OutputOff} {
		tool := host.Tool{InputSchema: raw("{}"), OutputSchema: raw(`{"type":"object"}`), OutputMode: mode}
		if got := memberOf(t, tool, Modern, "outputSchema"); got != "" {
			t.Errorf("R19: with mode %v the schema is listed, though nothing holds the tool to it: %s", mode, got)
		}
	}
}

// What would cost a TypeScript client the whole list is left out.
func TestR5_NoMemberBreaksAList(t *testing.T) {
	tool := host.Tool{
		InputSchema: raw(`{}`), Icons: raw(`[{"src":1},{"src":"a","sizes":"1x1"},{"src":"a","theme":"blue"},7,{"src":"good","mimeType":"image/png"}]`),
		Extra: raw(`{"execution":{"taskSupport":"sometimes"},"annotations":[1],"outputSchema":{"type":"string"},"icons":[3]}`),
	}
	entry, warnings := listedWith(tool, "t", Legacy, false)
	if want := `{"name":"t","description":"","inputSchema":{"type":"object","properties":{}},"icons":[{"src":"good","mimeType":"image/png"}]}`; string(entry) != want || len(warnings) != 3 {
		t.Errorf("%s %q", entry, warnings)
	}
}

// listedWith is Tool with its notes as lines.
func listedWith(t host.Tool, name string, e Era, strict bool) (entry json.RawMessage, warnings []string) {
	entry, notes := Tool(t, name, e, strict)
	for _, n := range notes {
		warnings = append(warnings, n.String())
	}
	return entry, warnings
}
