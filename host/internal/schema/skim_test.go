package schema

import (
	"encoding/json"
	"math/rand/v2"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/toolhost/toolhost/host/internal/scan"
)

// skims fails the test where a skim says another thing than decoding and checking.
func skims(t *testing.T, s *Schema, schema, input string) (valid bool) {
	t.Helper()
	d, err := Parse([]byte(input), Limits{})
	parsed := err == nil
	if err == nil {
		err = s.Validate(d)
	}
	if valid = s.Valid([]byte(input), Limits{}); valid != (err == nil) && (valid || !d.dups) {
		t.Fatalf("%s against %s: a skim says %v, decoding %v", input, schema, valid, err)
	}
	plains(t, s, input)
	found := s.skim([]byte(input), Limits{}, true)
	unchanged, values := found.valid, found.values
	if !parsed {
		if unchanged {
			t.Fatalf("%s is no JSON, and valid", input)
		}
		return false
	}
	s.FillDefaults(d)
	if want := err == nil && string(d.Bytes()) == input; unchanged != want && (unchanged || !s.root.hasDefault) {
		t.Fatalf("%s against %s: a skim says %v, reading makes it %s: %v", input, schema, unchanged, d.Bytes(), err)
	}
	if unchanged && values != d.values {
		t.Fatalf("%s: %d values, want %d", input, values, d.values)
	}
	return valid
}

// plains fails the test where a text is called plain that has more than ASCII or names characters, or where one is not that has neither.
func plains(t *testing.T, s *Schema, input string) {
	t.Helper()
	valid, plain := s.ValidPlain([]byte(input), Limits{})
	_, hidden := scan.StripJSON([]byte(input))
	ascii := strings.IndexFunc(input, func(r rune) bool { return r >= utf8.RuneSelf }) < 0 && !strings.Contains(input, `\u`)
	if plain && (!valid || hidden > 0 || strings.IndexFunc(input, func(r rune) bool { return r >= utf8.RuneSelf }) >= 0) || valid && ascii && !plain {
		t.Fatalf("%q: valid %v, plain %v, with %d hidden characters", input, valid, plain, hidden)
	}
}

func TestValidPlain(t *testing.T) {
	for _, schema := range []string{``, `{"type":["string","object","array"]}`, `{"type":["string","object","array"],"minLength":0,"not":{"type":"null"}}`} {
		s := mustCompile(t, schema)
		for _, input := range []string{
			`"a"`, `"a\n\"b\\u"`, `"\u0061"`, `"é"`, `"a\u200bb"`, `{"\u200b":1}`, `{"é":{}}`, `["a",{"b":"` + strings.Repeat("x\\n", 100) + `\u00e9"}]`,
			`"` + strings.Repeat("x", 100) + "\U000E0041" + `"`, `"\ud83d\ude00"`, "\"\xff\"", "\"" + strings.Repeat("x", 70) + "\xff\"", `"\ud83d"`, `{}`,
		} {
			plains(t, s, input)
		}
	}
}

// Random schemas, most of which need no decoding at their root: a skim says what decoding and checking says.
func TestSkim_RandomSchemas(t *testing.T) {
	rounds := 6000
	if raceEnabled || testing.Short() {
		rounds = 1000
	}
	g := generator{rand.New(rand.NewPCG(3, 29))}
	streamed, valid := 0, 0
	for range rounds {
		text := g.schema(3)
		if rest, ok := strings.CutPrefix(text, "{"); ok && rest != "}" {
			text = `{"$defs":{"a":{"type":["object","string"],"properties":{"a":{"$ref":"#/$defs/b"},"b":{"default":1}}},"b":{"maxLength":1}},` + rest
		} else {
			text = strings.ReplaceAll(text, `"$ref"`, `"$comment"`)
		}
		s := mustCompile(t, text)
		if !s.root.whole {
			streamed++
		}
		for range 6 {
			if skims(t, s, text, g.value(3)) {
				valid++
			}
		}
	}
	if streamed < rounds/6 || valid < rounds/2 {
		t.Errorf("%d of %d need no decoding, %d are valid: the test tests little", streamed, rounds, valid)
	}
}

func TestSkim_Cases(t *testing.T) {
	const object = `{"type":"object","properties":{"a":{"type":"integer"},"b":{"default":1},"c":{"$ref":"#/properties/a"}},"required":["a"]}`
	for _, c := range []struct {
		name, schema, input string
		valid, unchanged    bool
	}{
		{"a default is filled", object, `{"a":1}`, true, false},
		{"none is", object, `{"b":2,"a":1.0}`, true, true},
		{"a reference", object, `{"b":2,"a":1,"c":"x"}`, false, false},
		{"missing", object, `{"b":2}`, false, false},
		{"twice", object, `{"a":1,"b":1,"a":1}`, false, false},
		{"twice below what is not declared", object, `{"a":1,"b":1,"d":{"e":1,"e":2}}`, true, false},
		{"not declared, twice", object, `{"a":1,"b":1,"d":1,"d":2}`, false, false},
		{"escaped names", object, `{"\u0061":1,"b":1,"d":"\ud83d\ude00"}`, true, true},
		{"half a surrogate pair", object, `{"a":1,"b":"\ud83d"}`, false, false},
		{"nothing after it", object, `{"a":1,"b":1} x`, false, false},
		{"a comma too many", object, `{"a":1,"b":1,}`, false, false},
		{"a comma too few", object, `{"a":1 "b":1}`, false, false},
		{"an end that is none", object, `{"a":1,"b":1]`, false, false},
		{"no end", object, `{"a":1,"b":1`, false, false},
		{"a control character", object, "{\"a\":1,\"b\":\"12345678\t\"}", false, false},
		{"no UTF-8", object, "{\"a\":1,\"b\":\"\xff\"}", false, false},
		{"no text", object, ``, false, false},
		{"a null", `{"nullable":true,"type":"string"}`, `null`, true, true},
		{"a number of a list", `{"enum":[1,"1"]}`, `1.0`, true, true},
		{"a number like text", `{"enum":["1"]}`, `1`, false, false},
		{"items", `{"prefixItems":[{"type":"string"}],"items":{"type":"boolean"}}`, `["",true,false]`, true, true},
		{"a wrong item", `{"prefixItems":[{"type":"string"}],"items":{"type":"boolean"}}`, `["",true,0]`, false, false},
		{"no more items", `{"prefixItems":[true],"items":false}`, ` [ 1 ] `, true, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := mustCompile(t, c.schema)
			if got := s.Valid([]byte(c.input), Limits{}); got != c.valid {
				t.Errorf("valid is %v", got)
			}
			if got := s.skim([]byte(c.input), Limits{}, true).valid; got != c.unchanged {
				t.Errorf("valid and unchanged is %v", got)
			}
		})
	}
}

// What is over a limit is never valid.
func TestSkim_Limits(t *testing.T) {
	for _, c := range []struct {
		input string
		lim   Limits
	}{
		{`[[1]]`, Limits{Depth: 1}}, {`{"a":{}}`, Limits{Depth: 1}}, {`[1,2]`, Limits{Values: 2}}, {`{"abc":1}`, Limits{Key: 2}},
		{`{"a":1,"b":2}`, Limits{Members: 1}}, {`123`, Limits{Digits: 2}}, {`1e9`, Limits{Exponent: 8}}, {`[1]`, Limits{Bytes: 2}},
	} {
		for _, schema := range []string{``, `{}`, `{"type":["object","array","number"]}`, `{"not":false}`} {
			s := mustCompile(t, schema)
			if s.Valid([]byte(c.input), c.lim) {
				t.Errorf("%s is valid with %+v and the schema %s", c.input, c.lim, schema)
			}
			if !s.Valid([]byte(c.input), Limits{}) {
				t.Errorf("%s is not valid with the schema %s", c.input, schema)
			}
		}
	}
}

// A document that was not decoded is decoded when somebody asks.
func TestSkim_ValueIsMadeLater(t *testing.T) {
	s := mustCompile(t, smallSchema)
	d, _, err := s.Read([]byte(" "+smallInput), Limits{}, ReadOptions{})
	if err != nil || !d.undecoded || !d.IsObject() {
		t.Fatalf("%v, undecoded %v", err, d.undecoded)
	}
	if want := mustParse(t, smallInput).Value(); !equal(d.Value(), want) {
		t.Errorf("got %v, want %v", d.Value(), want)
	}
	if err := s.Validate(d); err != nil || !d.IsObject() {
		t.Error(err)
	}
}

func FuzzSkim(f *testing.F) {
	f.Add(smallSchema, smallInput)
	f.Add(largeSchema, largeInput)
	f.Add(`{"properties":{"a":{"default":1}},"additionalProperties":{"type":"integer"}}`, `{"a":1,"b":1.0,"b":2}`)
	f.Fuzz(func(t *testing.T, schema, input string) {
		s, err := Compile([]byte(schema))
		if err != nil || s == nil {
			return
		}
		d, err := Parse([]byte(input), Limits{})
		if err == nil {
			err = s.Validate(d)
		}
		if s.Valid([]byte(input), Limits{}) && err != nil {
			t.Fatalf("a skim finds it valid: %v", err)
		}
		plains(t, s, input)
		if anything := (*Schema)(nil); anything.Valid([]byte(input), Limits{}) && !json.Valid([]byte(input)) {
			t.Fatalf("no JSON, and valid")
		}
		if s.skim([]byte(input), Limits{}, true).valid {
			if s.FillDefaults(d); err != nil || string(d.Bytes()) != input {
				t.Fatalf("a skim finds it valid and complete; it becomes %s: %v", d.Bytes(), err)
			}
		}
	})
}
