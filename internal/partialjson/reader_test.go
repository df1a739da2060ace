package partialjson

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"
)

func TestValue_Rules(t *testing.T) {
	for _, c := range []struct{ name, text, want, held string }{
		{"nothing", ``, `null`, ``},
		{"white space", " \n", `null`, ``},
		{"an open object", ` {`, ` {}`, ``},
		{"in a name", `{"a":1,"b`, `{"a":1}`, ``},
		{"in the first name", `{"a`, `{}`, ``},
		{"after a name", `{"a":1,"b"`, `{"a":1}`, ``},
		{"after a colon", `{"a":1,"b": `, `{"a":1}`, ``},
		{"after a comma", `{"a":1 , `, `{"a":1}`, ``},
		{"after a comma in an array", `[1,`, `[1]`, ``},
		{"an open string", `{"a":"x`, `{"a":"x"}`, ``},
		{"an empty open string", `{"a":"`, `{"a":""}`, ``},
		{"half an escape", `["x\`, `["x"]`, ``},
		{"a whole escape", `["x\n`, `["x\n"]`, ``},
		{"half a \\u", `["x\u00e`, `["x"]`, ``},
		{"a whole \\u", `["x\u00e9`, `["x\u00e9"]`, ``},
		{"half a surrogate pair", `["x\ud83d`, `["x"]`, ``},
		{"half a surrogate pair and a bit", `["x\ud83d\ude0`, `["x"]`, ``},
		{"a whole surrogate pair", `["x\ud83d\ude00`, `["x\ud83d\ude00"]`, ``},
		{"half a rune", "[\"x\xf0\x9f\x98", `["x"]`, ``},
		{"a whole rune", "[\"x\U0001F600", "[\"x\U0001F600\"]", ``},
		{"words", `[true,fal`, `[true,false]`, ``},
		{"the first letter of a word", `{"a":n`, `{"a":null}`, ``},
		{"an open number", `{"a":12`, `{"a":12}`, `{}`},
		{"a number that ended", `{"a":12 `, `{"a":12}`, `{"a":12}`},
		{"a minus", `[1,-`, `[1]`, `[1]`},
		{"a point", `[1.`, `[1]`, `[]`},
		{"a fraction", `[1.5`, `[1.5]`, `[]`},
		{"an exponent without digits", `[-1.5e+`, `[-1.5]`, `[]`},
		{"an exponent", `[-1.5E-07`, `[-1.5E-07]`, `[]`},
		{"a number alone", `12`, `12`, `null`},
		{"a minus alone", `-`, `null`, `null`},
		{"a string alone", `"a`, `"a"`, ``},
		{"closed ones stay closed", `{"a":[{"b":{}},[`, `{"a":[{"b":{}},[]]}`, ``},
		{"complete", `{"a":[1,{}]} `, `{"a":[1,{}]}`, ``},
		{"white space stays inside", "{ \"a\" :\t[ 1 , 2", "{ \"a\" :\t[ 1 , 2]}", "{ \"a\" :\t[ 1]}"},
	} {
		t.Run(c.name, func(t *testing.T) {
			if c.held == "" {
				c.held = c.want
			}
			for hold, want := range map[bool]string{false: c.want, true: c.held} {
				for size := 1; size <= max(1, len(c.text)); size++ {
					r := Reader{HoldNumbers: hold}
					feed(t, &r, c.text, size)
					if got := string(r.Value()); got != want {
						t.Fatalf("%q in pieces of %d, hold %v: got %s, want %s", c.text, size, hold, got, want)
					}
					if got := string(r.Append([]byte("x"))); got != "x"+want {
						t.Fatalf("Append: %s", got)
					}
				}
			}
		})
	}
}

func feed(t *testing.T, r *Reader, text string, size int) {
	t.Helper()
	for len(text) > 0 {
		n := min(size, len(text))
		if err := r.Feed([]byte(text[:n])); err != nil {
			t.Fatalf("Feed: %v", err)
		}
		text = text[n:]
	}
}

func TestFeed_Errors(t *testing.T) {
	for _, c := range []struct{ text, want, value string }{
		{`{a:1}`, `not JSON at offset 1: expected a member name in double quotes`, `{}`},
		{`{"a" 1}`, `not JSON at offset 5: expected ':'`, `{}`},
		{`{"a":1 2}`, `not JSON at offset 7: expected ',' or '}'`, `{"a":1}`},
		{`[1}`, `not JSON at offset 2: expected ',' or ']'`, `[1]`},
		{`[1,]`, `not JSON at offset 3: expected a value`, `[1]`},
		{`{"a":1,}`, `not JSON at offset 7: expected a member name in double quotes`, `{"a":1}`},
		{`{"a":True}`, `not JSON at offset 5: expected a value`, `{}`},
		{`[trux`, `not JSON at offset 4: expected true`, `[true]`},
		{`[01]`, `not JSON at offset 2: expected ',' or ']'`, `[0]`},
		{`[-x]`, `not JSON at offset 2: expected a digit`, `[]`},
		{`[1.e]`, `not JSON at offset 3: expected a digit`, `[1]`},
		{`[+1]`, `not JSON at offset 1: expected a value`, `[]`},
		{`{} x`, `not JSON at offset 3: expected the end of the text`, `{}`},
		{`{}{`, `not JSON at offset 2: expected the end of the text`, `{}`},
		{`["\x"]`, `not JSON at offset 3: expected an escape sequence`, `[""]`},
		{`["a\u00g0"]`, `not JSON at offset 7: expected four hexadecimal digits`, `["a"]`},
		{`["a\ud83dx"]`, `not JSON at offset 3: expected both halves of a surrogate pair`, `["a"]`},
		{`["a\ude00"]`, `not JSON at offset 3: expected both halves of a surrogate pair`, `["a"]`},
		{`["a\ud83d\u0041"]`, `not JSON at offset 3: expected both halves of a surrogate pair`, `["a"]`},
		{"[\"a\n\"]", `not JSON at offset 3: expected an escaped control character`, `["a"]`},
		{"[\"a\xff\"]", `not JSON at offset 3: expected UTF-8`, `["a"]`},
		{"\uFEFF{}", `not JSON at offset 0: expected a value`, `null`},
		{`'a'`, `not JSON at offset 0: expected a value`, `null`},
		{strings.Repeat("[", 201), `at offset 200: more than 200 levels of nesting`, strings.Repeat("[", 200) + strings.Repeat("]", 200)},
	} {
		for size := 1; size <= len(c.text); size++ {
			var r Reader
			var err error
			for i := 0; i < len(c.text) && err == nil; i += size {
				err = r.Feed([]byte(c.text[i:min(i+size, len(c.text))]))
			}
			if err == nil || err.Error() != c.want {
				t.Fatalf("%q in pieces of %d: got %v, want %s", c.text, size, err, c.want)
			}
			if again := r.Feed([]byte(`]`)); !errors.Is(again, err) {
				t.Fatalf("%q: then %v", c.text, again)
			}
			if got := string(r.Value()); got != c.value {
				t.Fatalf("%q in pieces of %d: value %s, want %s", c.text, size, got, c.value)
			}
		}
	}
}

func TestFeed_Limits(t *testing.T) {
	r := Reader{Bytes: 4, Depth: 1}
	if err := r.Feed([]byte(`{"a"`)); err != nil {
		t.Fatal(err)
	}
	var limit *LimitError
	if err := r.Feed([]byte(`:`)); !errors.As(err, &limit) || *limit != (LimitError{"bytes of text", 4, 4}) {
		t.Errorf("got %v", err)
	}
	r = Reader{Depth: 1}
	if err := r.Feed([]byte(`[[`)); !errors.As(err, &limit) || *limit != (LimitError{"levels of nesting", 1, 1}) {
		t.Errorf("got %v", err)
	}
	var deep Reader
	if err := deep.Feed([]byte(strings.Repeat("[", 200) + strings.Repeat("]", 200))); err != nil || !deep.Complete() {
		t.Errorf("200 levels: %v", err)
	}
}

func TestComplete(t *testing.T) {
	for text, want := range map[string]bool{`{}`: true, `{"a":1}`: true, `"x"`: true, `true`: true, `{} `: true, `12`: false, `12 `: true, `{`: false, `tru`: false, ``: false} {
		var r Reader
		feed(t, &r, text, 1)
		if r.Complete() != want {
			t.Errorf("%q: %v", text, !want)
		}
	}
}

// Asking for the value only when it is due takes few values, misses not the last one, and all are valid.
func TestDue(t *testing.T) {
	var r Reader
	if r.Due() {
		t.Error("due before the first byte")
	}
	text := `{"a":"` + strings.Repeat("x", 100_000) + `"}`
	asked, last := 0, ""
	for i := range len(text) {
		feed(t, &r, text[i:i+1], 1)
		if r.Due() {
			asked++
			if last = string(r.Value()); !json.Valid([]byte(last)) {
				t.Fatalf("%.100s", last)
			}
		}
	}
	if asked > 60 || last != text || r.Due() {
		t.Errorf("asked %d times, the last of %d bytes", asked, len(last))
	}
}
