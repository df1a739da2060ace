package schema

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"reflect"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
)

func TestV17_SyntaxErrorsNameThePlace(t *testing.T) {
	for _, c := range []struct {
		name, text   string
		line, column int
		expected     string
		got          string
	}{
		{"empty", ``, 1, 1, "a value", "the end of the text"},
		{"white space only", " \n ", 2, 2, "a value", "the end of the text"},
		{"cut off in an object", `{"location":`, 1, 13, "a value", "the end of the text"},
		{"cut off in a string", `{"location":"Ber`, 1, 17, `'"' at the end of a string`, "the end of the text"},
		{"cut off in an escape", `"\`, 1, 3, "an escape sequence", "the end of the text"},
		{"cut off in an array", "[1,\n2", 2, 2, "',' or ']'", "the end of the text"},
		{"second value", `{} {}`, 1, 4, "the end of the text", "'{'"},
		{"prose", `Here: {}`, 1, 1, "a value", "'H'"},
		{"comment", `{/**/}`, 1, 2, "a member name in double quotes", "'/'"},
		{"bare key", `{a:1}`, 1, 2, "a member name in double quotes", "'a'"},
		{"single quotes", `{'a':1}`, 1, 2, "a member name in double quotes", "a single quote"},
		{"trailing comma in an object", `{"a":1,}`, 1, 8, "a member name in double quotes", "'}'"},
		{"trailing comma in an array", `[1,]`, 1, 4, "a value", "']'"},
		{"missing comma", `{"a":1 "b":2}`, 1, 8, "',' or '}'", `'"'`},
		{"missing colon", `{"a" 1}`, 1, 6, "':'", "'1'"},
		{"Python literal", `{"a":True}`, 1, 6, "a value", "'T'"},
		{"half a word", `nul`, 1, 1, "a value", "'n'"},
		{"leading zero", `01`, 1, 2, "no digit after a leading 0", "'1'"},
		{"plus", `+1`, 1, 1, "a value", "'+'"},
		{"minus alone", `-`, 1, 2, "a digit", "the end of the text"},
		{"point alone", `1.`, 1, 3, "a digit", "the end of the text"},
		{"exponent alone", `1e+`, 1, 4, "a digit", "the end of the text"},
		{"control character", "\"a\nb\"", 1, 3, "an escaped control character", `'\n'`},
		{"unknown escape", `"\x"`, 1, 3, "an escape sequence", "'x'"},
		{"short escape", `"\u12"`, 1, 4, "four hexadecimal digits", "'1'"},
		{"lone high surrogate", `"\ud800"`, 1, 2, "both halves of a surrogate pair", `'\\'`},
		{"lone low surrogate", `"\udc00"`, 1, 2, "both halves of a surrogate pair", `'\\'`},
		{"two high surrogates", `"\ud800\ud800"`, 1, 2, "both halves of a surrogate pair", `'\\'`},
		{"not UTF-8", "{\n\"a\":\"\xff\"}", 2, 6, "UTF-8", "the byte 0xff, which is not UTF-8"},
		{"byte order mark", "\uFEFF{}", 1, 1, "a value", "a byte order mark"},
		{"no-break space", "\u00a0{}", 1, 1, "a value", `'\u00a0'`},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := Parse([]byte(c.text), Limits{})
			var syntax *SyntaxError
			if !errors.As(err, &syntax) {
				t.Fatalf("got %v, want a *SyntaxError", err)
			}
			want := SyntaxError{Offset: syntax.Offset, Line: c.line, Column: c.column, Expected: c.expected, Got: c.got}
			if diff := cmp.Diff(want, *syntax); diff != "" {
				t.Errorf("(-want +got)\n%s", diff)
			}
			if line, column := position(c.text, syntax.Offset); line != c.line || column != c.column {
				t.Errorf("offset %d is line %d, column %d", syntax.Offset, line, column)
			}
		})
	}
}

func TestT1T5_ParseBudgets(t *testing.T) {
	nested := func(n int) string { return strings.Repeat("[", n) + strings.Repeat("]", n) }
	for _, c := range []struct {
		name, text, refused, path string
		lim                       Limits
	}{
		{name: "T1 exponent", text: `{"a":[1e1000001]}`, refused: "400 in an exponent", path: "/a/0"},
		{name: "T1 negative exponent", text: `1e-10000000`, refused: "400 in an exponent"},
		{name: "T1 exponent that overflows an int", text: `1e99999999999999999999999999`, refused: "400 in an exponent"},
		{name: "T1 exponent 401", text: `1E+401`, refused: "400 in an exponent"},
		{name: "T1 exponent 400", text: `[1e400,-1E-400,0e0400]`},
		{name: "T1 401 digits", text: strings.Repeat("9", 401), refused: "400 digits in a number"},
		{name: "T1 401 digits with a fraction", text: "-1." + strings.Repeat("9", 400), refused: "400 digits in a number"},
		{name: "T1 400 digits", text: strings.Repeat("9", 400)},
		{name: "depth 200, the root counts as 1", text: nested(200)},
		{name: "depth 201", text: nested(201), refused: "200 levels of nesting"},
		{name: "depth a million", text: strings.Repeat(`[`, 1_000_000), refused: "200 levels of nesting"},
		{name: "T5 a million values", text: `[` + repeat(999_999, ",", func(int) string { return "0" }) + `]`, lim: Limits{Bytes: 32 << 20}},
		{name: "T5 a million and one", text: `[` + repeat(1_000_000, ",", func(int) string { return "0" }) + `]`, lim: Limits{Bytes: 32 << 20}, refused: "1000000 values", path: "/999999"},
		{name: "T5 a long name", text: `{"` + strings.Repeat("k", 1<<20+1) + `":0}`, lim: Limits{Bytes: 32 << 20}, refused: "1048576 bytes in a member name"},
		{name: "T5 many members", text: `{` + repeat(100_001, ",", func(i int) string { return fmt.Sprintf(`"%d":0`, i) }) + `}`, lim: Limits{Bytes: 32 << 20}, refused: "100000 members in an object"},
		{name: "T5 many members of one name", text: `{` + repeat(100_001, ",", func(i int) string { return `"a":0` }) + `}`, lim: Limits{Bytes: 32 << 20}, refused: "100000 members in an object"},
		{name: "bytes", text: `"` + strings.Repeat("x", 1<<20) + `"`, refused: "1048576 bytes of text"},
		{name: "own limits", text: `[[1]]`, lim: Limits{Depth: 1}, refused: "1 levels of nesting", path: "/0"},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := Parse([]byte(c.text), c.lim)
			var limit *LimitError
			switch {
			case c.refused == "" && err != nil:
				t.Errorf("refused: %v", err)
			case c.refused == "":
			case !errors.As(err, &limit) || !strings.Contains(err.Error(), c.refused):
				t.Errorf("got %v, want a *LimitError with %q", err, c.refused)
			case c.path != "" && limit.Path != c.path:
				t.Errorf("path %q, want %q", limit.Path, c.path)
			case len(err.Error()) > 1024:
				t.Errorf("an error of %d bytes", len(err.Error()))
			}
		})
	}
}

func TestParse_ValuesAsTheEngineWantsThem(t *testing.T) {
	d := mustParse(t, ` { "s" : "a\"\\\/\b\f\n\r\t\u00e9\ud83d\ude00é" , "n":[1.0,-0,1e2,9007199254740993], "t":true,"f":false,"z":null,"o":{},"a":[] } `)
	want := map[string]any{
		"s": "a\"\\/\b\f\n\r\té😀é", "n": []any{json.Number("1.0"), json.Number("-0"), json.Number("1e2"), json.Number("9007199254740993")},
		"t": true, "f": false, "z": nil, "o": map[string]any{}, "a": []any{},
	}
	if diff := cmp.Diff(want, d.Value()); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
}

func TestT5_DuplicateNamesLastWins(t *testing.T) {
	for _, c := range []struct {
		name, text, bytes string
		value             string
		pointers          []string
	}{
		{"none", `{"a":1,"b":{"a":2}}`, `{"a":1,"b":{"a":2}}`, "", nil},
		{"two", `{"a":1, "b":2 ,"a":3}`, `{ "b":2 ,"a":3}`, "", []string{"/a"}},
		{"spelled differently", `{"a":1,"\u0061":2}`, `{"\u0061":2}`, "", []string{"/a"}},
		{"three", `{"a":1,"a":2,"a":3}`, `{"a":3}`, "", []string{"/a"}},
		{"last in between", `{"x":0,"a":1,"a":2,"y":3}`, `{"x":0,"a":2,"y":3}`, "", []string{"/a"}},
		{"nested in arrays", `[{"a":1,"a":2},{"a/b":1,"a/b":[]}]`, `[{"a":2},{"a/b":[]}]`, "", []string{"/0/a", "/1/a~1b"}},
		{"within an overwritten one", `{"a":{"x":1,"x":2},"a":{"x":5,"y":6}}`, `{"a":{"x":5,"y":6}}`, "", []string{"/a"}},
		{"within both", `{"a":{"x":1,"x":2},"b":0,"a":{"y":5,"y":6}}`, `{"b":0,"a":{"y":6}}`, "", []string{"/a", "/a/y"}},
		{"deep", `{"a":[{"b":{"c":1,"c":[2]}}]}`, `{"a":[{"b":{"c":[2]}}]}`, "", []string{"/a/0/b/c"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			d := mustParse(t, c.text)
			if got := string(d.Bytes()); got != c.bytes {
				t.Errorf("Bytes %s, want %s", got, c.bytes)
			}
			if diff := cmp.Diff(mustParse(t, c.bytes).Value(), d.Value()); diff != "" {
				t.Errorf("value differs from the bytes' (-bytes +value)\n%s", diff)
			}
			if diff := cmp.Diff(c.pointers, d.Duplicates()); diff != "" {
				t.Errorf("duplicates (-want +got)\n%s", diff)
			}
		})
	}
}

// A document of random shape with repeated names always has bytes that hold its value, and no name twice.
func TestT5_DuplicatesRandom(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	var gen func(depth int) string
	gen = func(depth int) string {
		n := rng.IntN(4)
		switch kind := rng.IntN(4); {
		case depth == 0 || kind == 0:
			return fmt.Sprint(rng.IntN(9))
		case kind == 1:
			return "[ " + repeat(n, " ,", func(int) string { return gen(depth - 1) }) + "]"
		}
		return "{" + repeat(n+1, ", ", func(int) string { return fmt.Sprintf(`"%c" :%s `, 'a'+rune(rng.IntN(3)), gen(depth-1)) }) + "}"
	}
	for range 3000 {
		d := mustParse(t, gen(5))
		again := mustParse(t, string(d.Bytes()))
		if again.Duplicates() != nil {
			t.Fatalf("names repeated in %s", d.Bytes())
		}
		if diff := cmp.Diff(d.Value(), again.Value()); diff != "" {
			t.Fatalf("%s\n%s", d.Bytes(), diff)
		}
	}
}

// Many repeated names below one long name: the way down is not hashed again for each.
func TestT5_DuplicatesBelowALongNameAreLinear(t *testing.T) {
	text := `{"` + strings.Repeat("k", 500_000) + `":[` + repeat(50_000, ",", func(int) string { return `{"":0,"":0}` }) + `]}`
	d, err := Parse([]byte(text), Limits{Bytes: 2 << 20})
	if err != nil {
		t.Fatal(err)
	}
	if got := d.Duplicates(); len(got) != 1 || len(got[0]) != maxPath {
		t.Errorf("%d duplicates, want one: all of them are cut to the same text", len(got))
	}
	if len(d.Bytes()) >= len(text) {
		t.Error("nothing was dropped")
	}
}

// Long strings with escapes are decoded as encoding/json does, wherever the escapes are.
func TestParse_LongStrings(t *testing.T) {
	r := rand.New(rand.NewPCG(7, 7))
	pieces := []string{`\n`, `\"`, `\\`, `\u00e9`, `\ud83d\ude00`, "é", strings.Repeat("x", 100), strings.Repeat("y", 3000), "z"}
	for range 300 {
		var b strings.Builder
		for range r.IntN(200) {
			b.WriteString(pieces[r.IntN(len(pieces))])
		}
		text := `["` + b.String() + `"]`
		var want []any
		if err := json.Unmarshal([]byte(text), &want); err != nil {
			t.Fatal(err)
		}
		if got := mustParse(t, text).Value(); !equal(got, any(want)) {
			t.Fatalf("%.100s...: %d bytes, decoded to something else", text, len(text))
		}
	}
}

func FuzzParse(f *testing.F) {
	for _, s := range []string{`{}`, `[1,2.5e-3,"\ud83d\ude00",null,true]`, `{"a":1,"a":2}`, `"\ud800"`, "\"\xff\"", `01`, ` {"a" : [ ] } `, "[[[", `1e999`, largeInput} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		d, err := Parse(text, Limits{})
		var want any
		dec := json.NewDecoder(bytes.NewReader(text))
		dec.UseNumber()
		theirs := json.Valid(text) && dec.Decode(&want) == nil
		var limit *LimitError
		if err != nil {
			if theirs && !errors.As(err, &limit) && utf8.Valid(text) && !strings.Contains(err.Error(), "surrogate") {
				t.Fatalf("encoding/json accepts it: %v", err)
			}
			return
		}
		if !theirs {
			t.Fatal("encoding/json refuses it")
		}
		if !reflect.DeepEqual(want, d.Value()) {
			t.Fatalf("values differ (-theirs +ours)\n%s", cmp.Diff(want, d.Value()))
		}
		if d.Duplicates() == nil && !bytes.Equal(d.Bytes(), text) {
			t.Fatalf("bytes changed: %q", d.Bytes())
		}
		again, err := Parse(d.Bytes(), Limits{})
		if err != nil || again.Duplicates() != nil || !reflect.DeepEqual(again.Value(), d.Value()) {
			t.Fatalf("bytes %q do not hold the value: %v", d.Bytes(), err)
		}
	})
}
