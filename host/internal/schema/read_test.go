package schema

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"
)

// readCase is one input. Without fault, it is accepted as want; repairs lists "kind path" joined by commas.
type readCase struct {
	rule, schema, text string
	want, repairs      string
	fault              string // a part of the error
	opt                ReadOptions
}

func off(kinds ...string) ReadOptions { return ReadOptions{Off: kinds} }

func runReadCases(t *testing.T, cases []readCase) {
	t.Helper()
	for _, c := range cases {
		t.Run(c.rule, func(t *testing.T) {
			var s *Schema
			if c.schema != "" {
				s = mustCompile(t, c.schema)
			}
			d, repairs, err := s.Read([]byte(c.text), Limits{}, c.opt)
			var made []string
			for _, r := range repairs {
				made = append(made, strings.TrimSpace(r.Kind+" "+r.Path))
			}
			if got := strings.Join(made, ", "); got != c.repairs {
				t.Errorf("%s\nrepairs %q, want %q", c.text, got, c.repairs)
			}
			if c.fault != "" {
				if err == nil || !strings.Contains(err.Error(), c.fault) {
					t.Fatalf("%s\ngot error %v, want %q", c.text, err, c.fault)
				}
				if c.want == "" {
					return
				}
			} else if err != nil {
				t.Fatalf("%s\nrefused: %v", c.text, err)
			}
			if got := string(d.Bytes()); got != c.want {
				t.Errorf("%s\ngot  %s\nwant %s", c.text, got, c.want)
			}
			checkDocument(t, s, d, err == nil, c.opt)
		})
	}
}

// checkDocument holds what is true of every document: its bytes hold its value, an accepted one is valid, and reading it
// again changes nothing.
func checkDocument(t *testing.T, s *Schema, d *Document, accepted bool, opt ReadOptions) {
	t.Helper()
	again, err := Parse(d.Bytes(), Limits{Bytes: 32 << 20})
	if err != nil || !equal(again.Value(), d.Value()) {
		t.Fatalf("bytes %s do not hold the value %v: %v", d.Bytes(), d.Value(), err)
	}
	if !accepted {
		return
	}
	if err := s.Validate(again); err != nil {
		t.Fatalf("accepted %s, which is invalid: %v", d.Bytes(), err)
	}
	twice, repairs, err := s.Read(d.Bytes(), Limits{Bytes: 32 << 20}, opt)
	if err != nil || len(repairs) > 0 || string(twice.Bytes()) != string(d.Bytes()) {
		t.Fatalf("read again: %v, %v, %s, was %s", repairs, err, twice.Bytes(), d.Bytes())
	}
}

const (
	intProp  = `{"type":"object","properties":{"a":{"type":"integer"}}}`
	textProp = `{"type":"object","properties":{"a":{"type":"string"}}}`
	boolProp = `{"type":"object","properties":{"a":{"type":"boolean"}}}`
	objProp  = `{"type":"object","properties":{"a":{"type":"object","properties":{"b":{"type":"integer"},"c":{"type":"string","default":"d"}},"required":["b"]}}}`
	arrProp  = `{"type":"object","properties":{"a":{"type":"array","items":{"type":"integer"}}}}`
	reqProp  = `{"type":"object","properties":{"a":{"type":"string"},"b":{"type":"integer","default":7}},"required":["a"],"additionalProperties":false}`
)

func TestRead_Rules(t *testing.T) {
	runReadCases(t, []readCase{
		{rule: "V-6 no schema, unchanged", text: ` {"b":null, "a":"1"} `, want: ` {"b":null, "a":"1"} `},
		{rule: "V-6 no schema, any value", text: `[1]`, want: `[1]`},
		{rule: "V-6 no schema, text repair", text: `{a:1}`, want: `{"a":1}`, repairs: "text"},
		{rule: "V-6 no schema, a string stays", text: `"{}"`, want: `"{}"`},
		{rule: "b21 no schema, empty", text: ``, want: `{}`},
		{rule: "b21 empty is an empty object", schema: textProp, text: ``, want: `{}`},
		{rule: "b21 white space too", schema: textProp, text: " \n\t", want: `{}`},
		{rule: "b21 defaults are filled", schema: `{"type":"object","properties":{"a":{"default":1}}}`, text: ``, want: `{"a":1}`},
		{rule: "b21 required is missing", schema: reqProp, text: ``, fault: "/a: missing required property"},
		{rule: "V-7 empty for an array", schema: `{"type":"array"}`, text: ``, want: `[]`},
		{rule: "b21 empty for a string", schema: `{"type":"string"}`, text: ``, fault: "expected a value, got the end of the text"},
		{rule: "V-7 null root", schema: textProp, text: `null`, want: `{}`, repairs: "null"},
		{rule: "V-7 null root with defaults", schema: `{"type":"object","properties":{"a":{"default":1}}}`, text: ` null`, want: ` {"a":1}`, repairs: "null"},
		{rule: "V-7 null root for an array", schema: `{"type":"array"}`, text: `null`, want: `[]`, repairs: "null"},
		{rule: "V-7 null root that is allowed", schema: `{"type":["object","null"]}`, text: `null`, want: `null`},
		{rule: "V-7 null root, off", schema: textProp, text: `null`, opt: off(RepairNull), fault: "expected object, got null"},
		{rule: "V-7 null root of a string", schema: `{"type":"string"}`, text: `null`, fault: "expected string, got null"},
		{rule: "section 30 an array is no object", schema: textProp, text: `[]`, fault: "expected object, got array"},
		{rule: "V-9 null of a nullable", schema: `{"properties":{"a":{"type":["string","null"]}}}`, text: `{"a":null}`, want: `{"a":null}`},
		{rule: "V-9 nullable beside a repair", schema: `{"properties":{"a":{"type":["string","null"]},"b":{"type":"integer"}}}`, text: `{"a":null,"b":"1"}`, want: `{"a":null,"b":1}`, repairs: "number /b"},
		{rule: "V-9 OpenAPI nullable", schema: `{"properties":{"a":{"type":"string","nullable":true}}}`, text: `{"a":null}`, want: `{"a":null}`},
		{rule: "V-9 null where anything goes", schema: `{"properties":{"b":{"type":"integer"}}}`, text: `{"a":null,"b":"1"}`, want: `{"a":null,"b":1}`, repairs: "number /b"},
		{rule: "V-14 b20 a value is converted once", schema: intProp, text: `{"a":"1"}`, want: `{"a":1}`, repairs: "number /a"},
		{rule: "b22 V-18 reserved names are data", schema: `{"properties":{"resumeData":{"type":"object"},"_background":{}}}`, text: `{"resumeData":{"x":1},"suspendedToolCallId":"c","_background":2}`, want: `{"resumeData":{"x":1},"suspendedToolCallId":"c","_background":2}`},
		{rule: "bytes are kept", schema: intProp, text: ` { "z" : 12345678901234567890 , "a":1.0, "f":1e2 } `, want: ` { "z" : 12345678901234567890 , "a":1.0, "f":1e2 } `},
		{rule: "bytes are kept beside a repair", schema: intProp, text: ` { "z" : 12345678901234567890 , "a": "1", "f":1e2 } `, want: ` { "z" : 12345678901234567890 , "a": 1, "f":1e2 } `, repairs: "number /a"},
		{rule: "defaults in schema order", schema: `{"properties":{"z":{"default":1},"a":{"default":2},"n":{"type":"integer"}}}`, text: `{"n":"3"}`, want: `{"n":3,"z":1,"a":2}`, repairs: "number /n"},
		{rule: "T5 the last name wins", schema: intProp, text: `{"a":1,"a":"2"}`, want: `{"a":2}`, repairs: "number /a"},
		{rule: "T5 strict refuses", schema: intProp, text: `{"a":1,"a":2}`, opt: ReadOptions{Strict: true}, fault: "/a: the name comes more than once", want: `{"a":2}`},
		{rule: "T5 strict refuses within a string", schema: objProp, text: `{"a":"{\"b\":1,\"b\":2}"}`, opt: ReadOptions{Strict: true}, repairs: "stringified /a", fault: "/a/b: the name comes more than once"},
		{rule: "T5 within a string the last wins", schema: objProp, text: `{"a":"{\"b\":1,\"b\":2}"}`, want: `{"a":{"b":2,"c":"d"}}`, repairs: "stringified /a"},
	})
}

func TestRead_Strings(t *testing.T) {
	runReadCases(t, []readCase{
		{rule: "whole argument", schema: intProp, text: `"{\"a\":1}"`, want: `{"a":1}`, repairs: "whole-argument"},
		{rule: "whole argument, white space", schema: intProp, text: ` " {\"a\":1}\n" `, want: ` {"a":1} `, repairs: "whole-argument"},
		{rule: "whole argument, off", schema: intProp, text: `"{\"a\":1}"`, opt: off(RepairWholeArgument), fault: "expected object, got string"},
		{rule: "whole argument, empty", schema: intProp, text: `""`, fault: `expected object, got string ""`},
		{rule: "whole argument, an array", schema: intProp, text: `"[]"`, fault: "expected object, got string"},
		{rule: "whole argument, twice", schema: intProp, text: `"\"{}\""`, fault: "expected object, got string"},
		{rule: "whole argument, null", schema: intProp, text: `"null"`, fault: "expected object, got string"},
		{rule: "whole argument, broken text", schema: intProp, text: `"{a:'x}',}"`, fault: `/a: expected integer, got string "x}"`, repairs: "whole-argument, text"},
		{rule: "whole argument, cut off", schema: intProp, text: `"{\"a\":1"`, fault: "expected object, got string"},
		{rule: "whole argument where strings are fine", schema: `{"type":["object","string"]}`, text: `"{}"`, want: `"{}"`},
		{rule: "V-10 stringified root array", schema: `{"type":"array","items":{"type":"integer"}}`, text: `"[1,\"2\"]"`, want: `[1,2]`, repairs: "stringified, number /1"},
		{rule: "V-10 stringified object", schema: objProp, text: `{"a":"{\"b\":1}"}`, want: `{"a":{"b":1,"c":"d"}}`, repairs: "stringified /a"},
		{rule: "V-10 stringified array", schema: arrProp, text: `{"a":" [1,2] "}`, want: `{"a":[1,2]}`, repairs: "stringified /a"},
		{rule: "V-10 wrong kind", schema: arrProp, text: `{"a":"{}"}`, fault: `/a: expected array, got string "{}"`},
		{rule: "V-10 not JSON", schema: arrProp, text: `{"a":"one, two"}`, fault: `/a: expected array, got string "one, two"`},
		{rule: "V-10 cut off", schema: arrProp, text: `{"a":"[1,2"}`, fault: `/a: expected array, got string "[1,2"`},
		{rule: "V-10 text within", schema: arrProp, text: `{"a":"[1,2,]"}`, want: `{"a":[1,2]}`, repairs: "stringified /a, text /a"},
		{rule: "V-10 a code fence within", schema: arrProp, text: "{\"a\":\"```json\\n[1]\\n```\"}", want: `{"a":[1]}`, repairs: "stringified /a, text /a"},
		{rule: "V-10 text within, off", schema: arrProp, text: `{"a":"[1,2,]"}`, opt: off(RepairText), fault: "/a: expected array"},
		{rule: "V-10 off", schema: arrProp, text: `{"a":"[1]"}`, opt: off(RepairStringified), fault: "/a: expected array"},
		{rule: "V-10 a string is fine", schema: textProp, text: `{"a":"[1]"}`, want: `{"a":"[1]"}`},
		{rule: "V-10 or a string", schema: `{"properties":{"a":{"type":["array","string"]},"b":{"type":"integer"}}}`, text: `{"a":"[1]","b":"1"}`, want: `{"a":"[1]","b":1}`, repairs: "number /b"},
		{rule: "V-10 where nothing is said", schema: intProp, text: `{"x":"[1]","a":"1"}`, want: `{"x":"[1]","a":1}`, repairs: "number /a"},
		{rule: "two levels around one value", schema: arrProp, text: `{"a":"\"[1]\""}`, want: `{"a":[1]}`, repairs: "stringified /a"},
		{rule: "three levels around one value", schema: arrProp, text: `{"a":"\"\\\"[1]\\\"\""}`, fault: "/a: expected array, got string"},
		{rule: "two levels, one in the other", schema: `{"properties":{"a":{"type":"object","properties":{"b":{"type":"array"}}}}}`, text: `{"a":"{\"b\":\"[1]\"}"}`, want: `{"a":{"b":[1]}}`, repairs: "stringified /a, stringified /a/b"},
		{rule: "three levels, one in the other", schema: `{"$ref":"#/$defs/n","$defs":{"n":{"type":"object","properties":{"a":{"$ref":"#/$defs/n"}}}}}`, text: `{"a":"{\"a\":\"{\\\"a\\\":\\\"{}\\\"}\"}"}`,
			repairs: "stringified /a, stringified /a/a", fault: "/a/a/a: expected object", want: `{"a":{"a":{"a":"{}"}}}`},
		{rule: "whole argument and two levels", schema: `{"$ref":"#/$defs/n","$defs":{"n":{"type":"object","properties":{"a":{"$ref":"#/$defs/n"}}}}}`, text: `"{\"a\":\"{\\\"a\\\":{}}\"}"`, want: `{"a":{"a":{}}}`, repairs: "whole-argument, stringified /a"},
		{rule: "stringified by const", schema: `{"properties":{"a":{"const":{"b":1}}}}`, text: `{"a":"{\"b\":1}"}`, want: `{"a":{"b":1}}`, repairs: "stringified /a"},
		{rule: "numbers keep their spelling within", schema: objProp, text: `{"a":"{\"b\": 12345678901234567890}"}`, want: `{"a":{"b": 12345678901234567890,"c":"d"}}`, repairs: "stringified /a"},

		{rule: "number", schema: `{"properties":{"a":{"type":"number"}}}`, text: `{"a":"-1.50e+2"}`, want: `{"a":-1.50e+2}`, repairs: "number /a"},
		{rule: "integer", schema: intProp, text: `{"a":"12345678901234567890"}`, want: `{"a":12345678901234567890}`, repairs: "number /a"},
		{rule: "integral counts for integer", schema: intProp, text: `{"a":"5.0"}`, want: `{"a":5.0}`, repairs: "number /a"},
		{rule: "fraction for integer", schema: intProp, text: `{"a":"5.5"}`, fault: `/a: expected integer, got string "5.5"`},
		{rule: "number, trimming", schema: intProp, text: `{"a":" 5"}`, fault: "/a: expected integer"},
		{rule: "number, trailing", schema: intProp, text: `{"a":"5 "}`, fault: "/a: expected integer"},
		{rule: "number, plus", schema: intProp, text: `{"a":"+5"}`, fault: "/a: expected integer"},
		{rule: "number, leading zero", schema: intProp, text: `{"a":"05"}`, fault: "/a: expected integer"},
		{rule: "number, hexadecimal", schema: intProp, text: `{"a":"0x5"}`, fault: "/a: expected integer"},
		{rule: "number, separator", schema: intProp, text: `{"a":"1,000"}`, fault: "/a: expected integer"},
		{rule: "number, empty", schema: intProp, text: `{"a":""}`, fault: "/a: expected integer"},
		{rule: "number, minus", schema: intProp, text: `{"a":"-"}`, fault: "/a: expected integer"},
		{rule: "number, NaN", schema: `{"properties":{"a":{"type":"number"}}}`, text: `{"a":"NaN"}`, fault: "/a: expected number"},
		{rule: "T1 number, exponent", schema: `{"properties":{"a":{"type":"number"}}}`, text: `{"a":"1e1000001"}`, fault: "/a: expected number"},
		{rule: "number or string", schema: `{"properties":{"a":{"type":["number","string"]},"b":{"type":"integer"}}}`, text: `{"a":"5","b":"5"}`, want: `{"a":"5","b":5}`, repairs: "number /b"},
		{rule: "number or null", schema: `{"properties":{"a":{"type":["number","null"]}}}`, text: `{"a":"5"}`, want: `{"a":5}`, repairs: "number /a"},
		{rule: "number by enum only", schema: `{"properties":{"a":{"enum":[1,2]}}}`, text: `{"a":"1"}`, fault: `/a: expected one of 1, 2, got "1"`},
		{rule: "number by type and enum", schema: `{"properties":{"a":{"type":"integer","enum":[1,2]}}}`, text: `{"a":"1"}`, want: `{"a":1}`, repairs: "number /a"},
		{rule: "number, off", schema: intProp, text: `{"a":"5"}`, opt: off(RepairNumber), fault: "/a: expected integer"},
		{rule: "boolean true", schema: boolProp, text: `{"a":"true"}`, want: `{"a":true}`, repairs: "boolean /a"},
		{rule: "boolean false", schema: boolProp, text: `{"a":"false"}`, want: `{"a":false}`, repairs: "boolean /a"},
		{rule: "boolean, case", schema: boolProp, text: `{"a":"True"}`, fault: "/a: expected boolean"},
		{rule: "boolean, yes", schema: boolProp, text: `{"a":"yes"}`, fault: "/a: expected boolean"},
		{rule: "boolean, 1", schema: boolProp, text: `{"a":1}`, fault: "/a: expected boolean"},
		{rule: "boolean or string", schema: `{"properties":{"a":{"type":["boolean","string"]}}}`, text: `{"a":"true"}`, want: `{"a":"true"}`},
		{rule: "boolean, off", schema: boolProp, text: `{"a":"true"}`, opt: off(RepairBoolean), fault: "/a: expected boolean"},
		{rule: "boolean or number, by spelling", schema: `{"items":{"type":["boolean","number"]}}`, text: `["true","1"]`, want: `[true,1]`, repairs: "boolean /0, number /1"},
		{rule: "V-15 null as a string", schema: `{"properties":{"a":{"type":["integer","null"]}}}`, text: `{"a":"null"}`, fault: "/a: expected integer or null"},
		{rule: "V-15 number for a string", schema: textProp, text: `{"a":5}`, fault: "/a: expected string, got number 5"},
		{rule: "V-15 one value for an array", schema: arrProp, text: `{"a":1}`, fault: "/a: expected array"},
		{rule: "V-15 case of an enum", schema: `{"properties":{"a":{"enum":["x"]}}}`, text: `{"a":"X"}`, fault: `/a: expected "x", got "X"`},
		{rule: "V-15 spelling of a name", schema: reqProp, text: `{"A":"x"}`, fault: "/a: missing required property"},
	})
}

func TestRead_NullAndAlias(t *testing.T) {
	const agent = `{"type":"object","properties":{"prompt":{"type":"string"},"n":{"type":"integer","default":1}},"required":["prompt"]}`
	alias := ReadOptions{Alias: true}
	runReadCases(t, []readCase{
		{rule: "V-11 optional", schema: textProp, text: `{"a":null,"b":1}`, want: `{"b":1}`, repairs: "null /a"},
		{rule: "V-11 the only member", schema: textProp, text: `{ "a": null }`, want: `{ }`, repairs: "null /a"},
		{rule: "V-11 with a default", schema: reqProp, text: `{"b":null,"a":"x"}`, want: `{"b":7,"a":"x"}`, repairs: "null /b"},
		{rule: "V-11 required with a default", schema: `{"properties":{"a":{"type":"integer","default":1}},"required":["a"]}`, text: `{"a":null}`, want: `{"a":1}`, repairs: "null /a"},
		{rule: "V-11 a default behind $ref", schema: `{"$defs":{"d":{"type":"object","default":{},"properties":{"x":{"default":1}}}},"properties":{"a":{"$ref":"#/$defs/d"}}}`, text: `{"a":null}`, want: `{"a":{"x":1}}`, repairs: "null /a"},
		{rule: "V-11 required", schema: reqProp, text: `{"a":null}`, fault: "/a: expected string, got null"},
		{rule: "V-11 a forbidden name", schema: reqProp, text: `{"a":"x","zz":null}`, want: `{"a":"x","b":7}`, repairs: "null /zz"},
		{rule: "V-11 a forbidden name with a value", schema: reqProp, text: `{"a":"x","zz":1}`, fault: "/zz: unexpected property"},
		{rule: "V-11 a map entry", schema: `{"additionalProperties":{"type":"string"}}`, text: `{"x":null,"y":"z"}`, want: `{"y":"z"}`, repairs: "null /x"},
		{rule: "V-11 a pattern entry", schema: `{"patternProperties":{"^x":{"type":"string"}}}`, text: `{"x":null,"y":null}`, want: `{"y":null}`, repairs: "null /x"},
		{rule: "V-11 an unevaluated one", schema: `{"properties":{"a":{}},"unevaluatedProperties":false}`, text: `{"a":null,"b":null}`, want: `{"a":null}`, repairs: "null /b"},
		{rule: "V-11 a name that is refused", schema: `{"propertyNames":{"maxLength":1}}`, text: `{"ab":null}`, want: `{}`, repairs: "null /ab"},
		{rule: "V-11 never in arrays", schema: arrProp, text: `{"a":[1,null]}`, fault: "/a/1: expected integer, got null"},
		{rule: "V-11 in an object in an array", schema: `{"items":{"properties":{"a":{"type":"string"}}}}`, text: `[{"a":null}]`, want: `[{}]`, repairs: "null /0/a"},
		{rule: "V-11 only failing paths", schema: `{"properties":{"a":{"type":"string"},"b":{"type":["string","null"]}}}`, text: `{"a":null,"b":null}`, want: `{"b":null}`, repairs: "null /a"},
		{rule: "V-11 another rule fails", schema: `{"minProperties":1,"properties":{"a":{"type":"string"}}}`, text: `{"a":null}`, repairs: "null /a", fault: "expected object with at least 1 properties", want: `{}`},
		{rule: "V-11 a dependency fails", schema: `{"properties":{"a":{"type":"string"}},"dependentRequired":{"b":["a"]}}`, text: `{"a":null,"b":1}`, repairs: "null /a", fault: "/a: missing required property"},
		{rule: "V-11 const null stays", schema: `{"properties":{"a":{"const":null},"b":{"type":"integer"}}}`, text: `{"a":null,"b":null}`, want: `{"a":null}`, repairs: "null /b"},
		{rule: "V-11 off", schema: textProp, text: `{"a":null}`, opt: off(RepairNull), fault: "/a: expected string, got null"},
		{rule: "V-11 repeated names", schema: textProp, text: `{"a":"x","a":null,"b":1}`, want: `{"b":1}`, repairs: "null /a"},

		{rule: "V-12 query", schema: agent, text: `{"query":"q"}`, opt: alias, want: `{"query":"q","n":1,"prompt":"q"}`, repairs: "alias /prompt"},
		{rule: "V-12 message", schema: agent, text: `{"message":"m","input":"i"}`, opt: alias, want: `{"message":"m","input":"i","n":1,"prompt":"m"}`, repairs: "alias /prompt"},
		{rule: "V-12 the first string", schema: agent, text: `{"query":1,"input":"i"}`, opt: alias, want: `{"query":1,"input":"i","n":1,"prompt":"i"}`, repairs: "alias /prompt"},
		{rule: "V-12 null prompt", schema: agent, text: `{"prompt":null,"query":"q\n"}`, opt: alias, want: `{"prompt":"q\n","query":"q\n","n":1}`, repairs: "alias /prompt"},
		{rule: "V-12 prompt wins", schema: agent, text: `{"prompt":"p","query":"q"}`, opt: alias, want: `{"prompt":"p","query":"q","n":1}`},
		{rule: "V-12 only for agents", schema: agent, text: `{"query":"q"}`, fault: "/prompt: missing required property"},
		{rule: "V-12 off", schema: agent, text: `{"query":"q"}`, opt: ReadOptions{Alias: true, Off: []string{RepairAlias}}, fault: "/prompt: missing required property"},
		{rule: "V-12 nothing to copy", schema: agent, text: `{"question":"q"}`, opt: alias, fault: "/prompt: missing required property"},
		{rule: "V-12 not from a declared one", schema: `{"properties":{"prompt":{"type":"string"},"query":{"type":"string"}},"required":["prompt"]}`, text: `{"query":"q"}`, opt: alias, fault: "/prompt: missing required property"},
		{rule: "V-12 prompt is not declared", schema: `{"required":["prompt"]}`, text: `{"query":"q"}`, opt: alias, fault: "/prompt: missing required property"},
		{rule: "V-12 prompt of another type", schema: `{"properties":{"prompt":{"type":"integer"}},"required":["prompt"]}`, text: `{"query":"5"}`, opt: alias, want: `{"query":"5","prompt":5}`, repairs: "alias /prompt, number /prompt"},
		{rule: "V-12 after other repairs", schema: agent, text: `"{query:'q',n:'2'}"`, opt: alias, want: `{"query":"q","n":2,"prompt":"q"}`, repairs: "whole-argument, text, number /n, alias /prompt"},
	})
}

func TestRead_ComposesEverywhere(t *testing.T) {
	runReadCases(t, []readCase{
		{rule: "b18 all at once", schema: `{"type":"object","properties":{"o":{"type":"object","properties":{"n":{"type":"number"},"b":{"type":"boolean"},"s":{"type":"string"},"d":{"default":1}},"additionalProperties":false}}}`,
			text: `"{o: '{\"n\":\"1.5\",\"b\":\"true\",\"s\":null,}',}"`, want: `{"o": {"n":1.5,"b":true,"d":1}}`, repairs: "whole-argument, text, stringified /o, text /o, boolean /o/b, number /o/n, null /o/s"},
		{rule: "b19 $ref", schema: `{"$ref":"#/$defs/x","$defs":{"x":{"properties":{"a":{"$ref":"#/$defs/i"}}},"i":{"type":"integer"}}}`, text: `{"a":"1"}`, want: `{"a":1}`, repairs: "number /a"},
		{rule: "b19 allOf", schema: `{"allOf":[{"properties":{"a":{"minimum":1}}},{"properties":{"a":{"type":"integer"}}}]}`, text: `{"a":"1"}`, want: `{"a":1}`, repairs: "number /a"},
		{rule: "b19 allOf, one part admits a string", schema: `{"allOf":[{"properties":{"a":{"type":["string","integer"]}}},{"properties":{"a":{"type":"integer"}}}]}`, text: `{"a":"1"}`, want: `{"a":1}`, repairs: "number /a"},
		{rule: "b19 allOf, required by the other part", schema: `{"allOf":[{"properties":{"a":{"type":"integer"}}},{"required":["a"]}]}`, text: `{"a":null}`, fault: "/a: expected integer, got null"},
		{rule: "b19 items and prefix", schema: `{"prefixItems":[{"type":"boolean"}],"items":{"type":"integer"}}`, text: `["true","1",2,"3"]`, want: `[true,1,2,3]`, repairs: "boolean /0, number /1, number /3"},
		{rule: "b19 draft-07 items", schema: `{"items":[{"type":"boolean"}],"additionalItems":{"type":"integer"}}`, text: `["true","1"]`, want: `[true,1]`, repairs: "boolean /0, number /1"},
		{rule: "b19 unevaluated items", schema: `{"prefixItems":[{}],"unevaluatedItems":{"type":"integer"}}`, text: `["a","1"]`, want: `["a",1]`, repairs: "number /1"},
		{rule: "b19 map values", schema: `{"additionalProperties":{"type":"object","properties":{"n":{"type":"integer"}}}}`, text: `{"x":"{\"n\":\"1\"}"}`, want: `{"x":{"n":1}}`, repairs: "stringified /x, number /x/n"},
		{rule: "b19 pattern values", schema: `{"patternProperties":{"^n_":{"type":"integer"}},"additionalProperties":{"type":"boolean"}}`, text: `{"n_a":"1","b":"true"}`, want: `{"n_a":1,"b":true}`, repairs: "boolean /b, number /n_a"},
		{rule: "b19 unevaluated values", schema: `{"allOf":[{"properties":{"s":{"type":"string"}}}],"unevaluatedProperties":{"type":"integer"}}`, text: `{"s":"1","n":"1"}`, want: `{"s":"1","n":1}`, repairs: "number /n"},
		{rule: "b19 then", schema: `{"properties":{"k":{}},"if":{"properties":{"k":{"const":1}}},"then":{"properties":{"v":{"type":"integer"}}},"else":{"properties":{"v":{"type":"string"}}}}`, text: `{"k":1,"v":"1"}`, want: `{"k":1,"v":1}`, repairs: "number /v"},
		{rule: "b19 else", schema: `{"if":{"properties":{"k":{"const":1}}},"else":{"properties":{"v":{"type":"boolean"}}}}`, text: `{"k":2,"v":"true"}`, want: `{"k":2,"v":true}`, repairs: "boolean /v"},
		{rule: "b19 then, after another repair", schema: `{"properties":{"k":{"type":"integer"}},"if":{"properties":{"k":{"const":1}}},"then":{"properties":{"v":{"type":"integer"}}}}`, text: `{"k":"1","v":"1"}`, want: `{"k":1,"v":1}`, repairs: "number /k, number /v"},
		{rule: "b19 dependent schema", schema: `{"dependentSchemas":{"k":{"properties":{"v":{"type":"integer"}}}}}`, text: `{"k":0,"v":"1"}`, want: `{"k":0,"v":1}`, repairs: "number /v"},
		{rule: "b19 recursive", schema: `{"type":"object","properties":{"v":{"type":"integer"},"next":{"$ref":"#"}}}`, text: `{"next":{"next":{"next":{"v":"1"}},"v":null}}`, want: `{"next":{"next":{"next":{"v":1}}}}`, repairs: "number /next/next/next/v, null /next/v"},
		{rule: "b19 names are escaped", schema: `{"additionalProperties":{"type":"integer"}}`, text: `{"a/b~c":"1"}`, want: `{"a/b~c":1}`, repairs: "number /a~1b~0c"},
		{rule: "b19 in a filled default", schema: `{"properties":{"o":{"type":"object","default":{"x":"1"}}},"allOf":[{"properties":{"o":{"properties":{"x":{"type":"integer"}}}}}]}`, text: `{}`, want: `{"o":{"x":1}}`, repairs: "number /o/x"},
		{rule: "b19 a default of null that a sibling forbids", schema: `{"properties":{"o":{"default":null}},"allOf":[{"properties":{"o":{"type":"integer"}}}]}`, text: `{"a":1}`, fault: "/o: expected integer, got null"},
		{rule: "b17 the error is of the furthest attempt", schema: smallSchema, text: `{"location":null,"days":"99","units":null}`, repairs: "number /days, null /units", fault: "/location: expected string, got null\n/days: expected integer <= 16, got 99", want: `{"location":null,"days":99}`},
		{rule: "b17 in a string", schema: objProp, text: `{"a":"{\"b\":true}"}`, repairs: "stringified /a", fault: "/a/b: expected integer, got boolean true"},
		{rule: "b17 after the text", schema: intProp, text: `{a:true}`, repairs: "text", fault: "/a: expected integer, got boolean true"},
	})
}

func TestRead_Unions(t *testing.T) {
	const tagged = `{"oneOf":[{"type":"object","properties":{"t":{"const":"a"},"n":{"type":"integer"}},"required":["t"]},{"type":"object","properties":{"t":{"const":"b"},"n":{"type":"boolean"}},"required":["t"]}]}`
	prop := func(schema string) string { return `{"properties":{"p":` + schema + `}}` }
	runReadCases(t, []readCase{
		{rule: "discriminator", schema: tagged, text: `{"t":"a","n":"1"}`, want: `{"t":"a","n":1}`, repairs: "number /n"},
		{rule: "discriminator, the other", schema: tagged, text: `{"t":"b","n":"true"}`, want: `{"t":"b","n":true}`, repairs: "boolean /n"},
		{rule: "discriminator, an error in its branch", schema: tagged, text: `{"t":"b","n":"1"}`, fault: `/n: expected boolean, got string "1"`},
		{rule: "discriminator, none picked", schema: tagged, text: `{"t":"c","n":"1"}`, fault: `/t: expected one of "a", "b", got "c"`},
		{rule: "discriminator in a string", schema: prop(tagged), text: `{"p":"{\"t\":\"a\",\"n\":\"1\"}"}`, want: `{"p":{"t":"a","n":1}}`, repairs: "stringified /p, number /p/n"},
		{rule: "discriminator in a string, furthest", schema: prop(tagged), text: `{"p":"{\"t\":\"a\",\"n\":true}"}`, repairs: "stringified /p", fault: "/p/n: expected integer, got boolean true"},
		{rule: "discriminator that needs a repair", schema: `{"properties":{"t":{"type":"integer"}},"oneOf":[{"properties":{"t":{"const":1},"n":{"type":"integer"}}},{"properties":{"t":{"const":2},"n":{"type":"boolean"}}}]}`, text: `{"t":"2","n":"true"}`, want: `{"t":2,"n":true}`, repairs: "number /t, boolean /n"},
		{rule: "the only branch, a number or null", schema: prop(`{"anyOf":[{"type":"integer"},{"type":"null"}]}`), text: `{"p":"5"}`, want: `{"p":5}`, repairs: "number /p"},
		{rule: "the only branch, an error in it", schema: prop(`{"anyOf":[{"type":"integer","maximum":3},{"type":"null"}]}`), text: `{"p":"5"}`, repairs: "number /p", fault: "/p: expected integer <= 3, got 5"},
		{rule: "the only branch, a word or a number", schema: prop(`{"anyOf":[{"const":"auto"},{"type":"integer"}]}`), text: `{"p":"5"}`, want: `{"p":5}`, repairs: "number /p"},
		{rule: "the only branch, array or object", schema: prop(`{"oneOf":[{"type":"array"},{"type":"object"}]}`), text: `{"p":"[]"}`, want: `{"p":[]}`, repairs: "stringified /p"},
		{rule: "the only branch, by what is in it", schema: `{"anyOf":[{"properties":{"a":{"type":"integer"}},"required":["a"]},{"properties":{"b":{"type":"integer"}},"required":["b"]}]}`, text: `{"b":"1"}`, want: `{"b":1}`, repairs: "number /b"},
		{rule: "a branch with null", schema: `{"anyOf":[{"properties":{"a":{"type":"string"},"x":{"type":"string"}},"required":["x"]},{"type":"array"}]}`, text: `{"a":null,"x":"y"}`, want: `{"x":"y"}`, repairs: "null /a"},
		{rule: "no default in a branch", schema: `{"anyOf":[{"properties":{"a":{"type":"string","default":"d"}}},{"type":"array"}]}`, text: `{"a":null}`, want: `{}`, repairs: "null /a"},
		{rule: "two branches, integer and number", schema: prop(`{"anyOf":[{"type":"integer"},{"type":"number"}]}`), text: `{"p":"5"}`, fault: `/p: expected number, got string "5"`},
		{rule: "two branches, of objects", schema: `{"anyOf":[{"properties":{"a":{"type":"integer"}},"required":["a"]},{"properties":{"b":{"type":"integer"}},"required":["b"]}]}`, text: `{"a":"1","b":"2"}`, fault: "matches none of 2 alternatives"},
		{rule: "two branches, a string", schema: prop(`{"anyOf":[{"type":"object"},{"type":"object","minProperties":0}]}`), text: `{"p":"{}"}`, fault: "/p: "},
		{rule: "a valid branch stays", schema: prop(`{"anyOf":[{"type":"string"},{"type":"integer"}]}`), text: `{"p":"5"}`, want: `{"p":"5"}`},
		{rule: "a valid branch stays beside a repair", schema: `{"properties":{"p":{"anyOf":[{"type":"string"},{"type":"integer"}]},"q":{"type":"integer"}}}`, text: `{"p":"5","q":"5"}`, want: `{"p":"5","q":5}`, repairs: "number /q"},
		{rule: "oneOf with two valid ones", schema: prop(`{"oneOf":[{"type":"string"},{"maxLength":9}]}`), text: `{"p":"5"}`, fault: "/p: matches alternatives 1 and 2"},
		{rule: "unions in unions", schema: `{"$ref":"#/$defs/e","$defs":{"e":{"oneOf":[{"type":"object","properties":{"op":{"const":"not"},"arg":{"$ref":"#/$defs/e"}},"required":["op","arg"]},{"type":"object","properties":{"op":{"const":"lit"},"v":{"type":"integer"}},"required":["op","v"]}]}}}`,
			text: `{"op":"not","arg":"{\"op\":\"not\",\"arg\":{\"op\":\"lit\",\"v\":\"1\"}}"}`, want: `{"op":"not","arg":{"op":"not","arg":{"op":"lit","v":1}}}`, repairs: "stringified /arg, number /arg/arg/v"},
		{rule: "not is no reason for a repair", schema: `{"not":{"properties":{"a":{"type":"string"}},"required":["a"]}}`, text: `{"a":"1"}`, fault: "the value: "},
	})
}

// What cannot be read is quoted nowhere if the schema has sensitive fields, and neither is a string that should have been an object with
// such fields (b15).
func TestB15_ReadHidesSensitiveValues(t *testing.T) {
	const secret = "hunter2hunter2"
	s := mustCompile(t, `{"type":"object","properties":{"auth":{"type":"object","properties":{"token":{"type":"string","x-sensitive":true}},"additionalProperties":false},"pin":{"type":"integer","x-sensitive":true},"m":{"x-sensitive":true,"additionalProperties":{"type":"integer"}}}}`)
	for _, text := range []string{
		`{"auth":"{\"token\":\"` + secret + `\"` + `"}`, // cut off
		`"{\"auth\":{\"token\":\"` + secret + `\"}"`,
		`{"auth":"{\"token\":\"` + secret + `\",\"other\":1}"}`,
		`{"auth":{"token":["` + secret + `"]}}`,
		`{"pin":"` + secret + `"}`,
		`{"m":{"` + secret + `":"12"},"pin":"x"}`,
		`{"m":{"` + secret + `":1,"` + secret + `":2}}`,
		`{"auth":{"token":` + secret + `}}`,
		`{"auth":{"` + secret + `": @}}`,
		secret, `{"` + secret, `{"token":'` + secret,
		`{"auth":` + strings.Repeat(`{"`+secret+`":`, 300) + `}`,
	} {
		d, repairs, err := s.Read([]byte(text), Limits{}, ReadOptions{Strict: true})
		if err == nil {
			t.Errorf("%s: accepted", text)
			continue
		}
		shown, jerr := json.Marshal(repairs)
		if all := err.Error() + string(shown); jerr != nil || strings.Contains(all, "unter2") || strings.Contains(all, "'h'") || strings.Contains(all, "'@'") {
			t.Errorf("%s: %s", text, all)
		}
		if d != nil && strings.Contains(string(s.Mask(d)), "unter2") {
			t.Errorf("%s: masked %s", text, s.Mask(d))
		}
	}
}

func TestRead_ErrorsAndKinds(t *testing.T) {
	s := mustCompile(t, smallSchema)
	var limit *LimitError
	if _, _, err := s.Read([]byte(`{"location":"x"}`), Limits{Bytes: 5}, ReadOptions{}); !errors.As(err, &limit) || limit.What != "bytes of text" {
		t.Errorf("too long: %v", err)
	}
	var syntax *SyntaxError
	if d, _, err := s.Read([]byte("{\n  location: oops}"), Limits{}, ReadOptions{}); d != nil || !errors.As(err, &syntax) || syntax.Line != 2 || syntax.Column != 13 {
		t.Errorf("syntax: %v", err)
	}
	var invalid *Error
	if d, _, err := s.Read([]byte(`{"days":"0"}`), Limits{}, ReadOptions{}); d == nil || !errors.As(err, &invalid) || len(invalid.Violations) != 2 {
		t.Errorf("invalid: %v", err)
	}
	many := `[` + repeat(maxRepairs+1, ",", func(int) string { return `"1"` }) + `]`
	if _, _, err := mustCompile(t, `{"items":{"type":"integer"}}`).Read([]byte(many), Limits{}, ReadOptions{}); !errors.As(err, &limit) || limit.Max != maxRepairs {
		t.Errorf("too many repairs: %v", err)
	}
	values := Limits{Values: 6}
	if _, _, err := mustCompile(t, arrProp).Read([]byte(`{"a":"[1,2,3,4]"}`), values, ReadOptions{}); err == nil {
		t.Error("a string holds more values than there may be")
	}
	depth := Limits{Depth: 3}
	if _, _, err := mustCompile(t, `{"properties":{"a":{"type":"array"}}}`).Read([]byte(`{"a":"[[[1]]]"}`), depth, ReadOptions{}); err == nil {
		t.Error("a string nests deeper than it may")
	}
	shown, err := json.Marshal(Repair{Path: "/a", Kind: RepairNull})
	if err != nil || string(shown) != `{"path":"/a","kind":"null"}` {
		t.Errorf("%s %v", shown, err)
	}
}
