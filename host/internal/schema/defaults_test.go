package schema

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestDefaults(t *testing.T) {
	for _, c := range []struct{ name, schema, input, want string }{
		{"properties, in the schema's order", `{"properties":{"z":{"default":1},"a":{"default":"x"},"m":{"default":null}}}`, `{}`, `{"z":1,"a":"x","m":null}`},
		{"present ones stay", `{"properties":{"a":{"default":1},"b":{"default":2}}}`, `{"b":null}`, `{"b":null,"a":1}`},
		{"spelling is kept", `{"properties":{"a":{"default":1.50},"b":{"default": { "y" : 9007199254740993 , "x":[ ] } }}}`, `{ "k" : 1e2 }`, `{ "k" : 1e2,"a":1.50,"b":{ "y" : 9007199254740993 , "x":[ ] } }`},
		{"white space", `{"properties":{"a":{"default":1}}}`, "{\n  \"k\": 0\n}\n", "{\n  \"k\": 0,\"a\":1\n}\n"},
		{"empty with white space", `{"properties":{"a":{"default":1}}}`, "{ }", `{"a":1 }`},
		{"names are escaped", `{"properties":{"a\"\n<é":{"default":1}}}`, `{}`, `{"a\"\n<é":1}`},
		{"no parent is invented", `{"properties":{"p":{"properties":{"a":{"default":1}}}}}`, `{}`, `{}`},
		{"nested", `{"properties":{"p":{"properties":{"a":{"default":1}}}}}`, `{"p":{}}`, `{"p":{"a":1}}`},
		{"items", `{"items":{"properties":{"a":{"default":1}}}}`, `[{},{"a":2}, {"b":0}]`, `[{"a":1},{"a":2}, {"b":0,"a":1}]`},
		{"prefix items", `{"prefixItems":[{},{"properties":{"a":{"default":1}}}],"items":{"properties":{"b":{"default":2}}}}`, `[{},{},{}]`, `[{},{"a":1},{"b":2}]`},
		{"map values", `{"properties":{"k":{}},"additionalProperties":{"properties":{"a":{"default":1}}}}`, `{"k":{},"x":{},"y":{"a":0}}`, `{"k":{},"x":{"a":1},"y":{"a":0}}`},
		{"pattern values", `{"patternProperties":{"^x":{"properties":{"a":{"default":1}}}}}`, `{"x":{},"y":{}}`, `{"x":{"a":1},"y":{}}`},
		{"$ref", `{"$defs":{"o":{"properties":{"a":{"default":1}}},"v":{"default":7}},"$ref":"#/$defs/o","properties":{"b":{"$ref":"#/$defs/v"},"c":{"$ref":"#/$defs/v","default":8}}}`, `{}`, `{"b":7,"c":8,"a":1}`},
		{"$ref with its default beside it in draft-07", `{"definitions":{"v":{"type":"integer"}},"properties":{"c":{"$ref":"#/definitions/v","default":8}}}`, `{}`, `{"c":8}`},
		{"allOf", `{"allOf":[{"properties":{"a":{"default":1}}},{"properties":{"a":{"default":2},"b":{"allOf":[{"default":3}]}}}]}`, `{}`, `{"a":1,"b":3}`},
		{"recursive", `{"properties":{"v":{"default":1},"next":{"$ref":"#"}}}`, `{"next":{"next":{}}}`, `{"next":{"next":{"v":1},"v":1},"v":1}`},
		{"a default that is filled itself", `{"properties":{"o":{"default":{"k":1},"properties":{"a":{"default":2}},"required":["a"]}}}`, `{}`, `{"o":{"k":1,"a":2}}`},
		{"two schemas fill one default", `{"allOf":[{"properties":{"o":{"default":{}}}},{"properties":{"o":{"properties":{"a":{"default":2}}}}}]}`, `{}`, `{"o":{"a":2}}`},
		{"a property called default", `{"properties":{"default":{"type":"string"}}}`, `{}`, `{}`},
		{"none in anyOf", `{"anyOf":[{"properties":{"a":{"default":1}}}]}`, `{}`, `{}`},
		{"none in oneOf", `{"oneOf":[{"properties":{"a":{"default":1}}}]}`, `{}`, `{}`},
		{"none in not", `{"not":{"required":["z"],"properties":{"a":{"default":1}}}}`, `{}`, `{}`},
		{"none in if, then, else", `{"if":{"properties":{"a":{"default":1}}},"then":{"properties":{"b":{"default":1}}},"else":{"properties":{"c":{"default":1}}}}`, `{}`, `{}`},
		{"after repeated names", `{"properties":{"a":{"default":1}}}`, `{"b":1,"b":2}`, `{"b":2,"a":1}`},
		{"nothing to fill in", `{"properties":{"a":{"default":1}}}`, `[1]`, `[1]`},
	} {
		t.Run(c.name, func(t *testing.T) {
			s, d := mustCompile(t, c.schema), mustParse(t, c.input)
			s.FillDefaults(d)
			if got := string(d.Bytes()); got != c.want {
				t.Errorf("bytes %s, want %s", got, c.want)
			}
			if diff := cmp.Diff(mustParse(t, c.want).Value(), d.Value()); diff != "" {
				t.Errorf("the value is not that of the bytes (-bytes +value)\n%s", diff)
			}
			if err := s.Validate(d); err != nil {
				t.Errorf("Validate: %v", err)
			}
			s.FillDefaults(d)
			if got := string(d.Bytes()); got != c.want {
				t.Errorf("filled twice: %s", got)
			}
		})
	}
}

func TestDefaults_ValidationSeesThem(t *testing.T) {
	s := mustCompile(t, `{"properties":{"a":{"default":1},"b":{}},"required":["a","b"]}`)
	d := mustParse(t, `{}`)
	s.FillDefaults(d)
	err := s.Validate(d)
	if err == nil || err.Error() != "/b: missing required property" {
		t.Errorf("got %v", err)
	}
}

// A document never shares a default with the schema or with another document.
func TestDefaults_AreNotShared(t *testing.T) {
	s := mustCompile(t, `{"properties":{"o":{"default":{"k":[1]}}}}`)
	one, two := mustParse(t, `{}`), mustParse(t, `{}`)
	s.FillDefaults(one)
	one.Value().(map[string]any)["o"].(map[string]any)["k"].([]any)[0] = "changed"
	s.FillDefaults(two)
	if diff := cmp.Diff(mustParse(t, `{"o":{"k":[1]}}`).Value(), two.Value()); diff != "" {
		t.Error(diff)
	}
}

func TestBytes_KeptWhenNothingChanges(t *testing.T) {
	s := mustCompile(t, `{"properties":{"n":{"type":"array"}}}`)
	const text = "\t{ \"z\":1.0 ,\"a\" : [9007199254740993,1e2,-0.0, 1E+2],\"\\u0061b\":\"\\/\\u00e9\" }\n"
	d := mustParse(t, text)
	s.FillDefaults(d)
	if string(d.Bytes()) != text {
		t.Errorf("got %s", d.Bytes())
	}
}

func BenchmarkDefaults(b *testing.B) {
	s := mustCompile(b, `{"type":"object","properties":{"location":{"type":"string"},"units":{"default":"celsius"},"days":{"default":3}}}`)
	text := []byte(`{"location":"Berlin"}`)
	b.ReportAllocs()
	for b.Loop() {
		d, err := Parse(text, Limits{})
		if err != nil {
			b.Fatal(err)
		}
		s.FillDefaults(d)
		d.Bytes()
	}
}
