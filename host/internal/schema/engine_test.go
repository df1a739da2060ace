package schema

import (
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
)

// generator makes random schemas and inputs that have something to do with each other.
type generator struct{ rng *rand.Rand }

func (g generator) pick(of ...string) string { return of[g.rng.IntN(len(of))] }

func (g generator) value(depth int) string {
	if depth > 0 && g.rng.IntN(2) == 0 {
		n := g.rng.IntN(4)
		if g.rng.IntN(2) == 0 {
			return "[" + repeat(n, ",", func(int) string { return g.value(depth - 1) }) + "]"
		}
		names := g.rng.Perm(4)[:n]
		return "{" + repeat(n, ",", func(i int) string { return fmt.Sprintf(`"%c":%s`, 'a'+rune(names[i]), g.value(depth-1)) }) + "}"
	}
	return g.pick("0", "1", "1.0", "-2", "3.5", "10e-1", "12345678901234567890", "100", `"a"`, `"ab"`, `"2026-01-01"`, `""`, "true", "false", "null", `"ü"`)
}

func (g generator) schema(depth int) string {
	sub := func() string { return g.schema(depth - 1) }
	if depth == 0 || g.rng.IntN(12) == 0 {
		return g.pick("true", "false", `{"type":"string"}`, `{"type":"integer"}`, `{"type":["object","array"]}`, `{"const":1}`, "{}", `{"$ref":"#/$defs/a"}`, `{"$ref":"#/$defs/b"}`)
	}
	list := func() string { return "[" + repeat(1+g.rng.IntN(3), ",", func(int) string { return sub() }) + "]" }
	props := func() string {
		return "{" + repeat(1+g.rng.IntN(3), ",", func(i int) string { return fmt.Sprintf(`"%c":%s`, 'a'+rune(i), sub()) }) + "}"
	}
	keywords := []func() string{
		func() string {
			return `"type":` + g.pick(`"string"`, `"number"`, `"integer"`, `"object"`, `"array"`, `["null","boolean"]`)
		},
		func() string { return `"enum":[` + g.value(1) + `,` + g.value(1) + `]` },
		func() string { return `"const":` + g.value(1) },
		func() string {
			return g.pick(`"minimum":1`, `"maximum":1.5`, `"exclusiveMinimum":1.0`, `"exclusiveMaximum":3.5`, `"multipleOf":0.5`, `"multipleOf":2`)
		},
		func() string {
			return g.pick(`"minLength":1`, `"maxLength":1`, `"pattern":"^a"`, `"pattern":"^(?!a)"`, `"format":"date"`)
		},
		func() string {
			return g.pick(`"minItems":1`, `"maxItems":2`, `"uniqueItems":true`, `"minProperties":1`, `"maxProperties":2`)
		},
		func() string { return `"properties":` + props() },
		func() string { return `"patternProperties":{"^[ab]$":` + sub() + `}` },
		func() string { return `"additionalProperties":` + sub() },
		func() string { return `"propertyNames":` + g.pick(`{"enum":["a","b"]}`, `{"maxLength":1}`, `true`) },
		func() string { return `"required":[` + g.pick(`"a"`, `"a","b"`, `"c"`) + `]` },
		func() string { return `"dependentRequired":{"a":["b"]}` },
		func() string { return `"dependentSchemas":{"a":` + sub() + `}` },
		func() string { return `"items":` + sub() },
		func() string { return `"prefixItems":` + list() },
		func() string {
			return `"contains":` + sub() + g.pick(``, `,"minContains":2`, `,"minContains":0,"maxContains":1`)
		},
		func() string { return `"unevaluatedProperties":` + sub() },
		func() string { return `"unevaluatedItems":` + sub() },
		func() string { return `"allOf":` + list() },
		func() string { return `"anyOf":` + list() },
		func() string { return `"oneOf":` + list() },
		func() string { return `"not":` + sub() },
		func() string { return `"if":` + sub() + `,"then":` + sub() + `,"else":` + sub() },
		func() string { return `"$ref":"#/$defs/` + g.pick("a", "b") + `"` },
	}
	chosen := g.rng.Perm(len(keywords))[:1+g.rng.IntN(4)]
	return "{" + repeat(len(chosen), ",", func(i int) string { return keywords[chosen[i]]() }) + "}"
}

// withDefs puts a schema under two definitions that lead into parts, never back to the same place.
func (g generator) withDefs(schema string) string {
	return `{"$defs":{"a":{"type":["object","array","string"],"items":{"$ref":"#/$defs/b"},"properties":{"a":` + g.schemaWithoutRef() + `}},"b":{"maxLength":1,"additionalProperties":{"$ref":"#/$defs/a"}}},"allOf":[` + schema + `]}`
}

func (g generator) schemaWithoutRef() string {
	return strings.ReplaceAll(g.schema(1), `"$ref"`, `"$comment"`)
}

// agree fails the test where our verdict is not the engine's, and where a refusal says nothing.
func agree(t *testing.T, schema string, inputs ...string) {
	t.Helper()
	s, engine := mustCompile(t, schema), mustEngine(t, schema)
	for _, input := range inputs {
		d := mustParse(t, input)
		own, theirs := s.Validate(d), engine.Validate(d.Value())
		if (own == nil) != (theirs == nil) {
			t.Fatalf("%s against %s\nours: %v\nengine: %v", input, schema, own, theirs)
		}
		var invalid *Error
		if own != nil && (!errors.As(own, &invalid) || len(invalid.Violations) == 0 || invalid.Error() == "") {
			t.Fatalf("%s against %s: %#v", input, schema, own)
		}
	}
}

func TestValidate_AgreesWithTheEngine(t *testing.T) {
	rounds := 1500
	if raceEnabled || testing.Short() {
		rounds = 300
	}
	g := generator{rand.New(rand.NewPCG(7, 11))}
	for range rounds {
		agree(t, g.withDefs(g.schema(3)), g.value(3), g.value(3), g.value(2), g.value(1))
	}
}

func FuzzValidateAgrees(f *testing.F) {
	f.Add(uint64(1), uint64(2))
	f.Fuzz(func(t *testing.T, a, b uint64) {
		g := generator{rand.New(rand.NewPCG(a, b))}
		agree(t, g.withDefs(g.schema(4)), g.value(4))
	})
}

// FuzzCompileValidate has no expectation but that nothing panics, no budget is passed and the bytes always
// hold the value.
func FuzzCompileValidate(f *testing.F) {
	for _, c := range []struct{ schema, input string }{
		{smallSchema, smallInput}, {largeSchema, largeInput}, {`{"$ref":"#"}`, `1`}, {`{"multipleOf":1e-400}`, `[1e400]`},
		{`{"properties":{"a":{"$ref":"#/properties/b","default":1},"b":{"x-sensitive":true}}}`, `{"b":{"a":1,"a":2}}`},
		{`{"items":[{"pattern":"(?=a)b"}],"definitions":{"a":{"$id":"x"}}}`, `["ab"]`},
		{`{"$dynamicAnchor":"n","anyOf":[{"items":{"$dynamicRef":"#n"}},{"const":1}]}`, `[[1],2]`},
		{`{"patternProperties":{"^a":{"default":{}}},"unevaluatedProperties":{"nullable":true,"format":"regex"}}`, `{"b":null,"c":"(["}`},
	} {
		f.Add([]byte(c.schema), []byte(c.input))
	}
	f.Fuzz(func(t *testing.T, schema, input []byte) {
		s, err := Compile(schema)
		var p *PanicError
		if errors.As(err, &p) {
			t.Fatalf("%v\n%s", p, p.Stack)
		}
		if err != nil && len(err.Error()) > 4<<10 {
			t.Fatalf("an error of %d bytes", len(err.Error()))
		}
		d, perr := Parse(input, Limits{})
		if err != nil || perr != nil {
			return
		}
		s.FillDefaults(d)
		if err := s.Validate(d); errors.As(err, &p) {
			t.Fatalf("%v\n%s", p, p.Stack)
		} else if err != nil && len(err.Error()) > 20<<10 {
			t.Fatalf("an error of %d bytes", len(err.Error()))
		}
		again, err := Parse(d.Bytes(), Limits{Bytes: 32 << 20})
		if err != nil || !equal(again.Value(), d.Value()) {
			t.Fatalf("bytes %s do not hold the value: %v", d.Bytes(), err)
		}
		if !json.Valid(s.Mask(d)) {
			t.Fatalf("masked %s", s.Mask(d))
		}
	})
}
