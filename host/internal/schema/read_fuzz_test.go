package schema

import (
	"encoding/json"
	"errors"
	"math/rand/v2"
	"slices"
	"testing"
)

// checkRead reads a text and holds what is true of whatever comes of it.
func checkRead(t *testing.T, s *Schema, text []byte, opt ReadOptions) (accepted, repaired bool) {
	t.Helper()
	lim := Limits{Bytes: 1 << 20}
	d, repairs, err := s.Read(slices.Clone(text), lim, opt)
	var p *PanicError
	if errors.As(err, &p) {
		t.Fatalf("%v\n%s", p, p.Stack)
	}
	if err != nil && len(err.Error()) > 20<<10 {
		t.Fatalf("an error of %d bytes", len(err.Error()))
	}
	if d == nil {
		return false, false
	}
	if !json.Valid(d.Bytes()) {
		t.Fatalf("not JSON: %s", d.Bytes())
	}
	checkDocument(t, s, d, err == nil, opt)
	if err != nil || len(repairs) > 0 {
		return err == nil, len(repairs) > 0
	}
	plain, perr := Parse(text, lim)
	if perr != nil {
		if len(text) < 8 && (string(d.Bytes()) == "{}" || string(d.Bytes()) == "[]" || s != nil) { // an empty text
			return true, false
		}
		t.Fatalf("%s became %s without a repair", text, d.Bytes())
	}
	s.FillDefaults(plain)
	if string(plain.Bytes()) != string(d.Bytes()) {
		t.Fatalf("%s became %s without a repair, its defaults make it %s", text, d.Bytes(), plain.Bytes())
	}
	return true, false
}

// spoil makes a value into what a model might write in its place.
func (g generator) spoil(v any) any {
	switch v := v.(type) {
	case map[string]any:
		for k, item := range v {
			v[k] = g.spoil(item)
			if g.rng.IntN(8) == 0 {
				v[k] = nil
			}
		}
	case []any:
		for i, item := range v {
			v[i] = g.spoil(item)
		}
	}
	if _, ok := v.(string); ok || g.rng.IntN(2) == 0 {
		return v
	}
	text, err := json.Marshal(v)
	if err != nil {
		return v
	}
	return string(text)
}

// Random schemas with random inputs, which are spoiled: all that is accepted is valid, and many are repaired.
func TestRead_RandomSchemas(t *testing.T) {
	rounds := 4000
	if raceEnabled || testing.Short() {
		rounds = 600
	}
	g := generator{rand.New(rand.NewPCG(5, 23))}
	mended := 0
	for range rounds {
		s := mustCompile(t, g.withDefs(g.schema(3)))
		for range 4 {
			text, err := json.Marshal(g.spoil(mustParse(t, g.value(3)).Value()))
			if err != nil {
				t.Fatal(err)
			}
			if accepted, repaired := checkRead(t, s, text, ReadOptions{}); accepted && repaired {
				mended++
			}
		}
	}
	if mended < rounds/50 {
		t.Errorf("only %d of %d were repaired: the test tests little", mended, 4*rounds)
	}
}

func FuzzRead(f *testing.F) {
	for _, c := range []struct{ schema, input string }{
		{smallSchema, smallInput}, {smallSchema, `{location:'x',"days":"3",}`}, {smallSchema, `"{\"location\":\"x\"}"`}, {largeSchema, largeInput},
		{`{"properties":{"a":{"type":"object","properties":{"b":{"default":1}}}}}`, "\uFEFF```json\n{'a':'\"{}\"','c':2026-01-02,}\n```"},
		{`{"items":{"oneOf":[{"type":"integer"},{"type":"array"},{"type":"object","properties":{"k":{"x-sensitive":true,"type":"boolean"}}}]}}`, `["1","[1]","{\"k\":\"true\"}",null]`},
		{`{"properties":{"prompt":{"type":"string"}},"required":["prompt"],"additionalProperties":{"type":"integer"}}`, `{"query":"<|x|>","prompt":null,"b":null}`},
		{`{"$ref":"#/$defs/n","$defs":{"n":{"type":"array","items":{"$ref":"#/$defs/n"},"unevaluatedItems":false}}}`, `"[[],'[]']"`},
		{`{"if":{"required":["a"]},"then":{"properties":{"b":{"type":"integer"}}},"patternProperties":{"^c":{"type":"null"}}}`, `{"a":1,"a":2,"b":"3","c":null}`},
	} {
		f.Add([]byte(c.schema), []byte(c.input), byte(0))
		f.Add([]byte(c.schema), []byte(c.input), byte(3))
	}
	f.Fuzz(func(t *testing.T, schema, input []byte, opts byte) {
		s, err := Compile(schema)
		if err != nil {
			return
		}
		checkRead(t, s, input, ReadOptions{Strict: opts&1 != 0, Alias: opts&2 != 0})
	})
}

// FuzzMend: what the text repair returns is JSON, and mending it again changes nothing.
func FuzzMend(f *testing.F) {
	for _, text := range []string{`{a:1,'b':"c",}`, "\uFEFF```json\n[2026-01-02T10:20Z,]```", `<|x|>{a":'it\'s "x"',b:[tru]}`, `["\ud83d\ude00\n"]`, `{"a":"` + "\n" + `"}`} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		got, err := mend(text, Limits{})
		if err != nil {
			return
		}
		if _, err := Parse(got, Limits{Bytes: 32 << 20}); err != nil {
			var limit *LimitError
			if errors.As(err, &limit) {
				return
			}
			if _, perr := Parse([]byte(text), Limits{}); perr == nil || perr.(*SyntaxError).Expected != expectUTF8 {
				t.Fatalf("%q became %q: %v", text, got, err)
			}
			return
		}
		again, err := mend(string(got), Limits{})
		if err != nil || string(again) != string(got) {
			t.Fatalf("%q became %q, then %q %v", text, got, again, err)
		}
	})
}
