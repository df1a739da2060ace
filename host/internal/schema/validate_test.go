package schema

import (
	"errors"
	"fmt"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// messages are the lines of a validation error; none if the input is valid.
func messages(t *testing.T, s *Schema, input string) []string {
	t.Helper()
	err := s.Validate(mustParse(t, input))
	if err == nil {
		return nil
	}
	var invalid *Error
	if !errors.As(err, &invalid) {
		t.Fatalf("Validate: %v", err)
	}
	var lines []string
	for _, v := range invalid.Violations {
		if v.Keyword == "" || v.Expected == "" || v.Got == "" || !strings.HasPrefix(v.Message, v.Path) {
			t.Errorf("incomplete violation %+v", v)
		}
		lines = append(lines, v.Message)
	}
	return lines
}

func TestV3_Messages(t *testing.T) {
	for _, c := range []struct {
		schema, input string
		want          []string
	}{
		{smallSchema, `{}`, []string{`/location: missing required property`}},
		{smallSchema, `{"location":"","days":99,"units":"kelvin","z":1,"a/b":2}`, []string{
			`/location: expected string of at least 1 character, got "" of 0 characters`,
			`/units: expected one of "celsius", "fahrenheit", got "kelvin"`,
			`/days: expected integer <= 16, got 99`,
			`/a~1b: unexpected property, expected one of location, units, days`,
			`/z: unexpected property, expected one of location, units, days`}},
		{`{"type":"object"}`, `[]`, []string{`the value: expected object, got array`}},
		{`{"type":["string","null"]}`, `1.50`, []string{`the value: expected string or null, got number 1.50`}},
		{`{"type":"integer"}`, `1.5`, []string{`the value: expected integer, got number 1.5`}},
		{`{"type":"integer"}`, `{"a":1}`, []string{`the value: expected integer, got object`}},
		{`{"const":{"a":1}}`, `2`, []string{`the value: expected {"a":1}, got 2`}},
		{`{"minimum":1.5,"exclusiveMaximum":2}`, `2.0`, []string{`the value: expected number < 2, got 2.0`}},
		{`{"maximum":1,"exclusiveMinimum":0}`, `-1e3`, []string{`the value: expected number > 0, got -1e3`}},
		{`{"multipleOf":0.01}`, `0.015`, []string{`the value: expected multiple of 1/100, got 0.015`}},
		{`{"maxLength":2}`, `"äöü"`, []string{`the value: expected string of at most 2 characters, got "äöü" of 3 characters`}},
		{`{"pattern":"^[a-z]+$"}`, `"A"`, []string{`the value: expected string matching ^[a-z]+$, got "A"`}},
		{`{"format":"date"}`, `"x"`, []string{`the value: expected string in format date, got "x"`}},
		{`{"minItems":1}`, `[]`, []string{`the value: expected array of at least 1 item, got array of 0 items`}},
		{`{"maxItems":1,"uniqueItems":true}`, `[1,2,1.0]`, []string{`the value: expected array of at most 1 item, got array of 3 items`, `the value: expected array of different items, got the same at 0 and 2`}},
		{`{"contains":{"type":"string"},"minContains":2}`, `["a",1]`, []string{`the value: expected array with at least 2 items that match its contains schema, got 1`}},
		{`{"contains":{"type":"string"},"maxContains":1}`, `["a","b"]`, []string{`the value: expected array with at most 1 item that match its contains schema, got 2`}},
		{`{"minProperties":1}`, `{}`, []string{`the value: expected object with at least 1 properties, got object with 0 properties`}},
		{`{"maxProperties":0}`, `{"a":1}`, []string{`the value: expected object with at most 0 properties, got object with 1 property`}},
		{`{"propertyNames":{"maxLength":1}}`, `{"ab":1}`, []string{`/ab: expected a property name that is string of at most 1 character, got "ab"`}},
		{`{"dependentRequired":{"a":["b"]}}`, `{"a":1}`, []string{`/b: missing required property, as "a" is there`}},
		{`{"properties":{"a":false}}`, `{"a":1}`, []string{`/a: expected nothing here, got 1`}},
		{`{"not":{"type":"string"}}`, `"x"`, []string{`the value: expected a value that the schema does not exclude, got "x"`}},
		{`{"properties":{"a":{}},"unevaluatedProperties":false}`, `{"a":1,"b":2}`, []string{`/b: unexpected property, expected one of a`}},
		{`{"items":{"properties":{"a":{"type":"string"}}}}`, `[{},{"a":1}]`, []string{`/1/a: expected string, got number 1`}},
		{`{"if":{"required":["a"]},"then":{"required":["b"]}}`, `{"a":1}`, []string{`/b: missing required property`}},
		{`{"allOf":[{"required":["a"]},{"required":["b"]}]}`, `{}`, []string{`/a: missing required property`, `/b: missing required property`}},
	} {
		if diff := cmp.Diff(c.want, messages(t, mustCompile(t, c.schema), c.input)); diff != "" {
			t.Errorf("%s against %s (-want +got)\n%s", c.input, c.schema, diff)
		}
	}
}

func TestViolation_Fields(t *testing.T) {
	s := mustCompile(t, smallSchema)
	var invalid *Error
	if !errors.As(s.Validate(mustParse(t, `{"days":99}`)), &invalid) {
		t.Fatal("valid")
	}
	want := &Error{Violations: []Violation{
		{Path: "/location", Keyword: "required", Expected: "string", Got: "nothing", Message: "/location: missing required property"},
		{Path: "/days", Keyword: "maximum", Expected: "integer <= 16", Got: "99", Message: "/days: expected integer <= 16, got 99"},
	}}
	if diff := cmp.Diff(want, invalid); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
}

func TestV13_Unions(t *testing.T) {
	const shapes = `{"oneOf":[
		{"type":"object","properties":{"kind":{"const":"circle"},"r":{"type":"number"}},"required":["kind","r"]},
		{"type":"object","properties":{"kind":{"enum":["square","box"]},"side":{"type":"number"}},"required":["kind","side"]},
		{"type":"null"}]}`
	const loose = `{"anyOf":[{"type":"object","required":["a","b","c"]},{"type":"object","required":["a"],"properties":{"a":{"type":"string"}}}]}`
	for _, c := range []struct {
		schema, input string
		want          []string
	}{
		{shapes, `{"kind":"circle"}`, []string{`/r: missing required property`}},
		{shapes, `{"kind":"box","side":"x"}`, []string{`/side: expected number, got string "x"`}},
		{shapes, `{"kind":"line"}`, []string{`/kind: expected one of "circle", "square", "box", got "line"`}},
		{shapes, `{"r":1}`, []string{`/kind: missing required property, expected one of "circle", "square", "box"`}},
		{shapes, `5`, []string{`the value: expected object or null, got number 5`}},
		{`{"$defs":{"s":` + shapes + `},"items":{"$ref":"#/$defs/s"}}`, `[null,{"kind":"circle"}]`, []string{`/1/r: missing required property`}},
		{`{"$defs":{"a":{"properties":{"t":{"const":1},"x":{"type":"string"}}},"b":{"allOf":[{"properties":{"t":{"const":2}}}],"required":["y"]}},"anyOf":[{"$ref":"#/$defs/a"},{"$ref":"#/$defs/b"}]}`,
			`{"t":2.0}`, []string{`/y: missing required property`}},
		{`{"anyOf":[{"type":"string"},{"type":"null"}]}`, `5`, []string{`the value: expected string or null, got number 5`}},
		{`{"anyOf":[{"type":"string","maxLength":1},{"type":"null"}]}`, `"ab"`, []string{`the value: expected string of at most 1 character, got "ab" of 2 characters`}},
		{loose, `{"a":1}`, []string{`the value: matches none of 2 alternatives`, `/a: expected string, got number 1`}},
		{`{"oneOf":[{"type":"integer"},{"minimum":1}]}`, `2`, []string{`the value: matches alternatives 1 and 2, exactly one`}},
		{shapes, `{"kind":"circle","r":1}`, nil},
	} {
		if diff := cmp.Diff(c.want, messages(t, mustCompile(t, c.schema), c.input)); diff != "" {
			t.Errorf("%s against %.60s (-want +got)\n%s", c.input, c.schema, diff)
		}
	}
}

func TestT6_ErrorVolume(t *testing.T) {
	for _, c := range []struct{ name, schema, input string }{
		{"a million items", `{"items":{"type":"string"}}`, `[` + repeat(999_990, ",", func(int) string { return "0" }) + `]`},
		{"many extra properties with long names", `{"additionalProperties":false}`, `{` + repeat(1000, ",", func(i int) string { return fmt.Sprintf(`"%s%d":1`, strings.Repeat("n", 900), i) }) + `}`},
		{"many required", `{"required":[` + repeat(900, ",", func(i int) string { return fmt.Sprintf(`"r%d"`, i) }) + `]}`, `{}`},
		{"long values", `{"items":{"maxLength":1}}`, `[` + repeat(1000, ",", func(i int) string { return `"` + strings.Repeat("v", 900) + `"` }) + `]`},
		{"unions of unions", `{"$defs":{"u":{"anyOf":[{"type":"string"},{"items":{"$ref":"#/$defs/u"},"type":"array","maxItems":1},{"items":{"$ref":"#/$defs/u"},"type":"array","minItems":9}]}},"$ref":"#/$defs/u"}`, strings.Repeat("[[1],", 15) + "1" + strings.Repeat("]", 15)},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := mustCompile(t, c.schema)
			d, err := Parse([]byte(c.input), Limits{Bytes: 32 << 20})
			if err != nil {
				t.Fatal(err)
			}
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			err = s.Validate(d)
			runtime.ReadMemStats(&after)
			var invalid *Error
			if !errors.As(err, &invalid) {
				t.Fatalf("got %v", err)
			}
			if n := len(invalid.Violations); n == 0 || n > 100 {
				t.Errorf("%d violations", n)
			}
			if c.name != "unions of unions" && invalid.More == 0 {
				t.Error("does not say that there are more")
			}
			if n := len(err.Error()); n > 17<<10 {
				t.Errorf("%d bytes of text", n)
			}
			if kib := (after.TotalAlloc - before.TotalAlloc) >> 10; kib > 16<<10 {
				t.Errorf("%d KiB allocated", kib)
			}
		})
	}
}

func TestT1_NumbersAtTheLimit(t *testing.T) {
	s := mustCompile(t, `{"items":{"minimum":-1e400,"maximum":1e399,"multipleOf":1e-400}}`)
	if !accepts(t, s, `[0,1e399,-1E400,1e-400,0e400,0.0,`+strings.Repeat("9", 399)+`]`) {
		t.Error("refused")
	}
	for _, input := range []string{`[1e400]`, `[1.000001e399]`, `[1.5e-400]`} {
		if accepts(t, s, input) {
			t.Errorf("accepts %s", input)
		}
	}
	start := time.Now()
	_ = s.Validate(mustParse(t, `[`+repeat(150_000, ",", func(int) string { return "1e399" })+`]`))
	if took := time.Since(start); took > 2*time.Minute {
		t.Errorf("took %v", took)
	}
}

func TestT1_PanicIsCaught(t *testing.T) {
	s := &Schema{root: &node{types: typeString, ref: nil, s: nil}} // no engine schema: reading a keyword panics
	err := s.Validate(mustParse(t, `"x"`))
	var p *PanicError
	if !errors.As(err, &p) || p.Op != "validate" || len(p.Stack) == 0 || !strings.HasPrefix(err.Error(), "validate: panic: ") {
		t.Errorf("got %v", err)
	}
}

// A recursive schema can double with every level of the document though it is small at each place: the steps
// run out.
func TestT2_DoublingByDepthOfTheDocument(t *testing.T) {
	s := mustCompile(t, `{"$defs":{"a":{"allOf":[{"properties":{"x":{"$ref":"#/$defs/a"}}},{"properties":{"x":{"$ref":"#/$defs/a"},"d":{"default":1},"s":{"x-sensitive":true}}}]}},"$ref":"#/$defs/a"}`)
	d := mustParse(t, strings.Repeat(`{"x":`, 100)+`{}`+strings.Repeat(`}`, 100))
	start := time.Now()
	s.FillDefaults(d)
	var limit *LimitError
	if err := s.Validate(d); !errors.As(err, &limit) || !strings.Contains(err.Error(), "steps to check a document") {
		t.Errorf("filled: got %v", err)
	}
	if got := string(s.Mask(d)); got != `"***"` {
		t.Errorf("masked: %.80s", got)
	}
	d = mustParse(t, string(d.text))
	if err := s.Validate(d); !errors.As(err, &limit) {
		t.Errorf("got %v", err)
	}
	if took := time.Since(start); took > 2*time.Minute {
		t.Errorf("took %v", took)
	}
}

func TestT4_PatternCost(t *testing.T) {
	long := func(n int) string { return `"` + strings.Repeat("a", n) + `"` }
	for _, c := range []struct {
		name, schema, input string
		costly              bool
		valid               bool
	}{
		{"nested repetition on a long text", `{"pattern":"(a{0,30}){0,30}b"}`, long(1_000_000), true, false},
		{"nested repetition on a short text", `{"pattern":"(a{0,30}){0,30}b"}`, `"aab"`, false, true},
		{"many dots", `{"pattern":"^(.*){100}$"}`, long(1_000_000), true, false},
		{"under not", `{"not":{"pattern":"(a{0,30}){0,30}b"}}`, long(1_000_000), true, false},
		{"in a union", `{"anyOf":[{"pattern":"(a{0,30}){0,30}b"},{"type":"string"}]}`, long(1_000_000), true, false},
		{"in an array", `{"items":{"pattern":"(a{0,30}){0,30}b"}}`, `["b",` + long(1_000_000) + `]`, true, false},
		{"as a property's name", `{"patternProperties":{"(a{0,30}){0,30}b":false}}`, `{` + long(1_000_000) + `:1}`, true, false},
		{"cheap pattern on a long text", `{"pattern":"^a+$"}`, long(1_000_000), false, true},
		{"look-ahead", `{"pattern":"^(?!admin)[a-z]+$"}`, `"user"`, false, true},
		{"look-ahead refuses", `{"pattern":"^(?!admin)[a-z]+$"}`, `"admin1"`, false, false},
		{"look-behind and back reference", `{"pattern":"^(a+)b\\1(?<=a)$"}`, `"aabaa"`, false, true},
		{"ECMAScript escape", `{"pattern":"^\\u0041\\/$"}`, `"A/"`, false, true},
		{"look-ahead on a long text", `{"pattern":"^(?!admin)[a-z]+$"}`, long(1_000_000), true, false},
		{"catastrophic backtracking", `{"pattern":"^(?=a)(a+)+$"}`, `"` + strings.Repeat("a", 60) + `!"`, true, false},
		{"more repetition than RE2 has", `{"pattern":"^.{1,2000}$"}`, long(1500), false, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := mustCompile(t, c.schema)
			start := time.Now()
			err := s.Validate(mustParse(t, c.input))
			if took := time.Since(start); took > 2*time.Minute {
				t.Errorf("took %v", took)
			}
			if (err == nil) != c.valid {
				t.Errorf("got %v, want valid %v", err, c.valid)
			}
			if c.costly != (err != nil && strings.Contains(err.Error(), "too long for a pattern check")) {
				t.Errorf("got %.200v, want too long: %v", err, c.costly)
			}
		})
	}
}

// Many strings that each match slowly share one budget.
func TestT4_BacktrackingIsBoundedForADocument(t *testing.T) {
	s := mustCompile(t, `{"items":{"anyOf":[{"pattern":"^(?=a)(a+)+$"},{"type":"string"}]}}`)
	d := mustParse(t, `[`+repeat(1000, ",", func(int) string { return `"` + strings.Repeat("a", 60) + `!"` })+`]`)
	start := time.Now()
	err := s.Validate(d)
	if err == nil || !strings.Contains(err.Error(), "too long for a pattern check") {
		t.Errorf("got %v", err)
	}
	if took := time.Since(start); took > 2*time.Minute {
		t.Errorf("took %v", took)
	}
}

func TestValidate_Concurrently(t *testing.T) {
	s := mustCompile(t, largeSchema)
	done := make(chan error)
	for range 8 {
		go func() { // ends after one check; its result is awaited below
			d, err := Parse([]byte(largeInput), Limits{})
			if err == nil {
				s.FillDefaults(d)
				err = s.Validate(d)
			}
			done <- err
		}()
	}
	for range 8 {
		if err := <-done; err != nil {
			t.Error(err)
		}
	}
}
