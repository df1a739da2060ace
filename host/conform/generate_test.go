package conform

import (
	"encoding/json"
	"strings"
	"testing"
)

// TestPlain holds what is made of schemas.
func TestPlain(t *testing.T) {
	for _, tt := range []struct{ name, schema, want string }{
		{"anything", `true`, `{}`},
		{"no properties", `{"type":"object"}`, `{}`},
		{"required only", `{"type":"object","properties":{"a":{"type":"string"},"b":{"type":"string"}},"required":["b"]}`, `{"b":"text"}`},
		{"of no type", `{"properties":{"a":{"type":"integer","minimum":5}},"required":["a"]}`, `{"a":5}`},
		{"default", `{"type":"object","properties":{"a":{"type":"string","default":"d"}},"required":["a"]}`, `{"a":"d"}`},
		{"constant", `{"type":"object","properties":{"a":{"const":[1]}},"required":["a"]}`, `{"a":[1]}`},
		{"choice", `{"type":"object","properties":{"a":{"enum":["x","y"]}},"required":["a"]}`, `{"a":"x"}`},
		{"nullable", `{"type":"object","properties":{"a":{"type":["null","boolean"]}},"required":["a"]}`, `{"a":true}`},
		{"lengths", `{"type":"object","properties":{"a":{"type":"string","minLength":6},"b":{"type":"string","maxLength":2}},"required":["a","b"]}`, `{"a":"textxx","b":"te"}`},
		{"format", `{"type":"object","properties":{"a":{"type":"string","format":"uri"}},"required":["a"]}`, `{"a":"https://example.com/"}`},
		{"list", `{"type":"object","properties":{"a":{"type":"array","minItems":2,"items":{"type":"number","maximum":0}}},"required":["a"]}`, `{"a":[0,0]}`},
		{"exclusive", `{"type":"object","properties":{"a":{"type":"integer","exclusiveMinimum":3}},"required":["a"]}`, `{"a":4}`},
		{"reference", `{"$defs":{"n":{"type":"integer"}},"type":"object","properties":{"a":{"$ref":"#/$defs/n"}},"required":["a"]}`, `{"a":1}`},
		{"alternatives", `{"type":"object","properties":{"a":{"anyOf":[{"type":"integer"},{"type":"string"}]}},"required":["a"]}`, `{"a":1}`},
		{"no schema", `{"type":7`, `{}`},
	} {
		if got := string(plain([]byte(tt.schema))); got != tt.want {
			t.Errorf("%s: %s, want %s", tt.name, got, tt.want)
		}
	}
}

// TestSchemasThatContainThemselves holds that making an input ends.
func TestSchemasThatContainThemselves(t *testing.T) {
	for _, schema := range []string{
		`{"$ref":"#"}`,
		`{"$defs":{"n":{"$ref":"#/$defs/n"}},"type":"object","properties":{"a":{"$ref":"#/$defs/n"}},"required":["a"]}`,
		`{"type":"object","properties":{"a":{"$ref":"#"},"b":{"$ref":"#"}},"required":["a","b"]}`,
		`{"type":"object","properties":{"a":{"type":"array","minItems":3,"items":{"$ref":"#"}}},"required":["a"]}`,
		`{"anyOf":[{"$ref":"#"}]}`,
	} {
		for _, in := range append(edges([]byte(schema)), plain([]byte(schema))) {
			if !json.Valid(in) || len(in) > 16<<20 {
				t.Errorf("%s: %d bytes", schema, len(in))
			}
		}
	}
}

// TestLong holds that one text is long, and only where a text may be long.
func TestLong(t *testing.T) {
	in := long([]byte(`{"type":"object","properties":{"a":{"type":"string","maxLength":5},"b":{"type":"string"},"c":{"type":"string"}}}`), 1000)
	if in == nil || len(in) > 1100 || !strings.Contains(string(in), `"b":"xxx`) {
		t.Errorf("%.200s", in)
	}
	if in := long([]byte(`{"type":"object","properties":{"a":{"type":"string","maxLength":5},"b":{"type":"integer"}}}`), 1000); in != nil {
		t.Errorf("%.200s", in)
	}
}
