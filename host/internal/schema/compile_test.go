package schema

import (
	"errors"
	"strings"
	"testing"
)

// accepts reports whether the schema accepts the input; any error but *Error fails the test.
func accepts(t *testing.T, s *Schema, input string) bool {
	t.Helper()
	err := s.Validate(mustParse(t, input))
	var invalid *Error
	if err != nil && !errors.As(err, &invalid) {
		t.Fatalf("Validate(%.100s): %v", input, err)
	}
	return err == nil
}

func TestS2_Dialects(t *testing.T) {
	for _, c := range []struct{ name, schema, valid, invalid string }{
		{"2020-12 by default", `{"prefixItems":[{"type":"string"}],"items":false}`, `["a"]`, `["a",1]`},
		{"draft-07 by array items", `{"items":[{"type":"string"}],"additionalItems":false}`, `["a"]`, `["a",1]`},
		{"draft-07 by definitions", `{"definitions":{"a":{"type":"string"}},"$ref":"#/definitions/a","type":"number"}`, `"x"`, `1`},
		{"draft-07 by dependencies", `{"dependencies":{"a":["b"],"c":{"required":["d"]}}}`, `{"a":1,"b":2}`, `{"a":1}`},
		{"a property called definitions shows nothing", `{"properties":{"definitions":{"type":"object"}},"prefixItems":[{"type":"string"}]}`, `["a"]`, `[1]`},
		{"named 2020-12", `{"$schema":"https://json-schema.org/draft/2020-12/schema","definitions":{},"prefixItems":[{"type":"string"}]}`, `["a"]`, `[1]`},
		{"named 2019-09", `{"$schema":"https://json-schema.org/draft/2019-09/schema","items":[{"type":"string"}]}`, `["a"]`, `[1]`},
		{"named draft-07", `{"$schema":"http://json-schema.org/draft-07/schema#","prefixItems":[{"type":"string"}],"const":[1]}`, `[1]`, `[2]`},
		{"named draft-07 by https", `{"$schema":"https://json-schema.org/draft-07/schema","const":1}`, `1`, `2`},
		{"named draft-04", `{"$schema":"http://json-schema.org/draft-04/schema#","minimum":3,"exclusiveMinimum":true,"const":9}`, `4`, `3`},
		{"true", `true`, `1`, ``},
		{"false", `false`, ``, `1`},
		{"nullable", `{"type":"string","nullable":true,"enum":["a"]}`, `null`, `"b"`},
		{"nullable beside $ref", `{"$defs":{"a":{"type":"string"}},"$ref":"#/$defs/a","nullable":true}`, `null`, `1`},
		{"nullable beside $ref in draft-07", `{"definitions":{"a":{"type":"string"}},"$ref":"#/definitions/a","nullable":true}`, `null`, `1`},
		{"format in 2020-12", `{"format":"date"}`, `"2026-02-28"`, `"2026-02-30"`},
		{"format in draft-07", `{"definitions":{},"format":"email"}`, `"a@example.com"`, `"a"`},
		{"format regex", `{"format":"regex"}`, `"^(?=a)b"`, `"(["`},
		{"unknown format", `{"format":"no-such"}`, `"x"`, ``},
		{"reference by anchor", `{"$defs":{"a":{"$anchor":"here","type":"string"}},"$ref":"#here"}`, `"x"`, `1`},
		{"reference by id", `{"$id":"https://example.com/a","$defs":{"b":{"$id":"b","type":"string"}},"$ref":"b"}`, `"x"`, `1`},
		{"reference to no keyword", `{"components":{"schemas":{"a b/c":{"type":"string"}}},"$ref":"#/components/schemas/a%20b~1c"}`, `"x"`, `1`},
		{"dynamic reference", `{"$dynamicAnchor":"n","type":"object","additionalProperties":{"$dynamicRef":"#n"}}`, `{"a":{"b":{}}}`, `{"a":{"b":1}}`},
		{"recursive reference", `{"$schema":"https://json-schema.org/draft/2019-09/schema","$recursiveAnchor":true,"type":"object","additionalProperties":{"$recursiveRef":"#"}}`, `{"a":{}}`, `{"a":1}`},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := mustCompile(t, c.schema)
			if c.valid != "" && !accepts(t, s, c.valid) {
				t.Errorf("refuses %s", c.valid)
			}
			if c.invalid != "" && accepts(t, s, c.invalid) {
				t.Errorf("accepts %s", c.invalid)
			}
		})
	}
}

func TestCompile_Refusals(t *testing.T) {
	for _, c := range []struct{ name, schema, message string }{
		{"keyword of the wrong type", `{"properties":{"a":{"type":5}}}`, `at /properties/a/type: not valid JSON Schema: `},
		{"unknown dialect", `{"$schema":"https://example.com/x"}`, `at /$schema: unknown dialect "https://example.com/x"; known are draft-04, -06, -07, 2019-09 and 2020-12`},
		{"two values", `{} {}`, `line 1, column 4: expected the end of the text, got '{'`},
		{"default", `{"properties":{"a":{"type":"integer","default":"x"}}}`, `at /properties/a/default: the default breaks its own schema: the value: expected integer, got string "x"`},
		{"default through $ref", `{"$defs":{"u":{"enum":["c"]}},"properties":{"a":{"$ref":"#/$defs/u","default":"x"}}}`, `at /properties/a/default: `},
		{"default within a default", `{"properties":{"a":{"type":"object","default":{},"properties":{"b":{"type":"string","default":1}}}}}`, `/b/default: `},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := Compile([]byte(c.schema))
			if err == nil || !strings.Contains(err.Error(), c.message) {
				t.Errorf("got %v, want %s", err, c.message)
			}
		})
	}
}

func TestCompile_LenientWarns(t *testing.T) {
	s, err := CompileWith([]byte(`{"properties":{"a":{"type":"integer","default":"x"},"b":{"default":1},"b":{"default":2}}}`), Options{Lenient: true})
	if err != nil {
		t.Fatal(err)
	}
	all := strings.Join(s.Warnings(), "\n")
	if len(s.Warnings()) != 2 || !strings.Contains(all, "/properties/a/default: the default breaks its own schema") || !strings.Contains(all, "/properties/b: the name comes more than once") {
		t.Errorf("warnings:\n%s", all)
	}
	d := mustParse(t, `{}`)
	if s.FillDefaults(d); string(d.Bytes()) != `{"b":2}` {
		t.Errorf("filled %s", d.Bytes())
	}
}

func TestNilSchema(t *testing.T) {
	s, err := Compile(nil)
	if s != nil || err != nil {
		t.Fatalf("got %v, %v", s, err)
	}
	d := mustParse(t, `[1]`)
	s.FillDefaults(d)
	if s.Validate(d) != nil || string(s.Mask(d)) != `[1]` || s.Sensitive() || s.IsObject() || s.Warnings() != nil || s.SensitivePaths(d) != nil {
		t.Error("a nil schema says something")
	}
}

func TestIsObject(t *testing.T) {
	for schema, want := range map[string]bool{
		`{"type":"object"}`:                 true,
		`{}`:                                false,
		`true`:                              false,
		`false`:                             false,
		`{"type":["object","null"]}`:        false,
		`{"type":"object","nullable":true}`: false,
		`{"$defs":{"a":{"type":"object"}},"$ref":"#/$defs/a"}`: true,
		`{"allOf":[{},{"type":"object"}]}`:                     true,
		`{"anyOf":[{"type":"object"},{"const":{}}]}`:           true,
		`{"oneOf":[{"type":"object"},{"type":"array"}]}`:       false,
		`{"properties":{"a":{}}}`:                              false,
	} {
		if got := mustCompile(t, schema).IsObject(); got != want {
			t.Errorf("%s: %v", schema, got)
		}
	}
}
