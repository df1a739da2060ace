package project

import (
	"encoding/json"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/toolhost/toolhost/host"
	"github.com/toolhost/toolhost/internal/rawjson"
)

// In the strict profile no exported schema has a rule at its root, and what the plugin's schema admits the exported one does.
func TestR1_NoRuleAtTheRootAndNothingValidIsLost(t *testing.T) {
	g := generator{rand.New(rand.NewPCG(1, 1))}
	schemas, valid, invalid := 0, 0, 0
	for range 70 {
		text := g.root()
		given := compiled(text)
		if given == nil {
			continue
		}
		tool := host.Tool{ID: "t", Plugin: "p", Description: "Does.", InputSchema: text, OutputSchema: text}
		entry, _ := listedWith(tool, "t", Modern, true)
		if entry == nil {
			for range 10 {
				if v := g.value(); fits(t, given, v) {
					t.Fatalf("not exported, though it admits %s: %s", v, text)
				}
			}
			continue
		}
		schemas++
		o, _ := rawjson.ParseObject(entry)
		in := o.Get("inputSchema")
		for _, name := range []string{"inputSchema", "outputSchema"} {
			s, _ := rawjson.ParseObject(o.Get(name))
			for _, rule := range rootRules {
				if s.Has(rule) {
					t.Fatalf("%s at the root of %s, made of %s", rule, s.Raw(), text)
				}
			}
		}
		root, _ := rawjson.ParseObject(in)
		if typ, _ := root.Text("type"); typ != "object" || rawjson.Kind(root.Get("properties")) != '{' {
			t.Fatalf("R3: %s, made of %s", in, text)
		}
		listed := compiled(in)
		if listed == nil {
			t.Fatalf("no schema any more: %s, made of %s", in, text)
		}
		for range 20 {
			v := g.value()
			if !fits(t, given, v) {
				invalid++
				continue
			}
			valid++
			if !fits(t, listed, v) {
				t.Fatalf("%s was valid, made of %s, and is not of %s", v, text, in)
			}
		}
	}
	if schemas < 20 || valid < 100 || invalid < 100 {
		t.Errorf("too little was tried: %d schemas, %d valid and %d invalid values", schemas, valid, invalid)
	}
}

// Without a profile the exported schema says exactly what the plugin's does.
func TestR3_R6_AnExportedSchemaMeansTheSame(t *testing.T) {
	g := generator{rand.New(rand.NewPCG(1, 1))}
	same := 0
	for range 70 {
		text := g.root()
		given := compiled(text)
		if given == nil {
			continue
		}
		entry, _ := listedWith(host.Tool{ID: "t", InputSchema: text}, "t", Legacy, false)
		if entry == nil {
			continue
		}
		o, _ := rawjson.ParseObject(entry)
		in := o.Get("inputSchema")
		if root, _ := rawjson.ParseObject(in); rawjson.Kind(root.Get("properties")) != '{' || string(root.Get("type")) != `"object"` {
			t.Fatalf("%s, made of %s", in, text)
		}
		listed := compiled(in)
		if listed == nil {
			t.Fatalf("no schema any more: %s, made of %s", in, text)
		}
		for range 10 {
			v := g.value()
			before, after := fits(t, given, v), fits(t, listed, v)
			if before != after {
				t.Fatalf("%s: valid %v before, %v after: %s became %s", v, before, after, text, in)
			}
			same++
		}
	}
	if same < 100 {
		t.Errorf("only %d values were tried", same)
	}
}

func TestR1_RulesAreToldInWords(t *testing.T) {
	for _, c := range []struct{ about, schema, want, words string }{
		{
			"one of two must be given", `{"type":"object","properties":{"id":{"type":"string"},"name":{"type":"string"}},"anyOf":[{"required":["id"]},{"required":["name"]}]}`,
			`{"type":"object","properties":{"id":{"type":"string"},"name":{"type":"string"}}}`, "At least one of these must hold: id is given; name is given.",
		},
		{
			"forms", `{"oneOf":[{"type":"object","properties":{"kind":{"const":"a"},"n":{"type":"integer","description":"How many."}},"required":["kind"]},{"type":"object","properties":{"kind":{"const":"b"}},"required":["kind"]}]}`,
			`{"properties":{"kind":{"anyOf":[{"const":"a"},{"const":"b"}]},"n":{"description":"How many."}},"required":["kind"],"type":"object"}`,
			`Exactly one of these must hold: {"type":"object","properties":{"kind":{"const":"a"},"n":{"type":"integer","description":"How many."}},"required":["kind"]}; {"type":"object","properties":{"kind":{"const":"b"}},"required":["kind"]}.`,
		},
		{
			"a reference is looked up", `{"$schema":"https://json-schema.org/draft/2020-12/schema","$ref":"#/$defs/In","$defs":{"In":{"type":"object","properties":{"a":{"$ref":"#/$defs/A"}},"required":["a"],"additionalProperties":false},"A":{"type":"string"}}}`,
			`{"$defs":{"In":{"type":"object","properties":{"a":{"$ref":"#/$defs/A"}},"required":["a"],"additionalProperties":false},"A":{"type":"string"}},"type":"object","properties":{"a":{"$ref":"#/$defs/A"}},"required":["a"],"additionalProperties":false}`, "",
		},
		{
			"all of", `{"type":"object","allOf":[{"properties":{"a":{"type":"string"}},"required":["a"]},{"not":{"required":["b"]}}]}`,
			`{"type":"object","properties":{"a":{"type":"string"}},"required":["a"]}`, `All of these must hold: {"not":{"required":["b"]}}.`,
		},
		{
			"conditions", `{"type":"object","properties":{"a":{"type":"string"}},"if":{"required":["a"]},"then":{"required":["b"]},"else":{"required":["c","d"]},"not":{"required":["e"]}}`,
			`{"type":"object","properties":{"a":{"type":"string"}}}`,
			"This must not hold: e is given.\nIf this holds: a is given, then: b is given.\nUnless this holds: a is given, the following does: c and d are given.",
		},
		{
			"references elsewhere", `{"type":"object","properties":{"a":{"$ref":"#/anyOf/0"}},"anyOf":[{"type":"object"}]}`,
			`{"type":"object","properties":{}}`, `At least one of these must hold: {"type":"object"}.`,
		},
	} {
		entry, warnings := listedWith(host.Tool{Description: "Does.", InputSchema: json.RawMessage(c.schema)}, "t", Modern, true)
		o, _ := rawjson.ParseObject(entry)
		if got := string(o.Get("inputSchema")); got != c.want {
			t.Errorf("%s: %s\nwant %s\n%q", c.about, got, c.want, warnings)
		}
		if got, _ := o.Text("description"); got != strings.TrimSpace("Does.\n\n"+c.words) {
			t.Errorf("%s: %q\nwant %q", c.about, got, c.words)
		}
	}
}
