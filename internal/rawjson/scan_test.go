package rawjson

import (
	"bytes"
	"encoding/json"
	"io"
	"math"
	"strings"
	"testing"
)

// texts are JSON, nearly JSON and none.
var texts = []string{
	"", " ", "null", "nul", "true ", "falsee", "0", "-0", "01", "-", "1.", "1.5", ".5", "1e", "1e+", "1E-7", "1e1.", "\"\"", `"\u12aF"`, `"\u12a"`, `"\x"`, "\"\x01\"", "\"\xff\"",
	`{}`, `[]`, `[,]`, `[1,]`, `[1 2]`, `{"a"}`, `{"a":}`, `{"a":1,}`, `{,}`, `{"a":1 "b":2}`, `{"a":1,"b":[{},[],"\""]}`, "\t{ \"a\" :\r\n1 , \"a\":2 } ", `{"\u0061":1,"a":2}`, "{\"\xff\":1}",
	`{"a":1}}`, `{}0`, `{"a":1} x`, `[}`, `{]`, `{1:2}`, `"\ud800"`, "\"\u2028<>&\x7f\"", "\xef\xbb\xbf{}", `{"a":{"b":{"c":[1,2,{"d":null}]}}}`,
}

// decoded is ParseObjectUpTo by the standard library's decoder.
func decoded(raw []byte, most int) (o Object, ok bool) {
	dec := json.NewDecoder(bytes.NewReader(raw))
	if t, err := dec.Token(); err != nil || t != json.Delim('{') {
		return nil, false
	}
	o = Object{}
	for n := 0; dec.More(); n++ {
		if n == most {
			return nil, false
		}
		t, err := dec.Token()
		name, isName := t.(string)
		var value json.RawMessage
		if err != nil || !isName || dec.Decode(&value) != nil {
			return nil, false
		}
		o.Set(name, value)
	}
	if _, err := dec.Token(); err != nil {
		return nil, false
	}
	_, err := dec.Token()
	return o, err == io.EOF
}

// asTheLibrary holds that a text is read and written as encoding/json does it.
func asTheLibrary(t *testing.T, text []byte) {
	t.Helper()
	before := bytes.Clone(text)
	if got, want := Valid(text), json.Valid(text); got != want {
		t.Errorf("Valid(%q) = %v", text, got)
	}
	for _, most := range []int{1, math.MaxInt} {
		want, wantOK := decoded(text, most)
		got, ok := ParseObjectUpTo(text, most)
		if ok != wantOK || ok && !bytes.Equal(got.Raw(), want.Raw()) || !ok && got != nil {
			t.Errorf("ParseObjectUpTo(%q, %d) = %s, %v", text, most, got.Raw(), ok)
		}
		for i := range got {
			_ = append(got[i].Value, '!') // must not reach the text
		}
	}
	var b bytes.Buffer
	want := "null"
	if json.Compact(&b, text) == nil {
		want = b.String()
	}
	if got := string(Compact(text)); got != want {
		t.Errorf("Compact(%q) = %q", text, got)
	}
	if got, want := Quote(string(text)), Encode(string(text)); !bytes.Equal(got, want) {
		t.Errorf("Quote(%q) = %s, want %s", text, got, want)
	}
	if !bytes.Equal(text, before) {
		t.Errorf("%q became %q", before, text)
	}
}

func TestEveryTextIsReadAsTheLibraryReadsIt(t *testing.T) {
	for _, text := range texts {
		asTheLibrary(t, []byte(text))
		asTheLibrary(t, []byte(`{"x":`+text+`}`))
	}
	for _, depth := range []int{maxDepth - 1, maxDepth, maxDepth + 1} {
		for _, text := range []string{strings.Repeat("[", depth) + strings.Repeat("]", depth), strings.Repeat(`{"a":`, depth-1) + "{}" + strings.Repeat("}", depth-1)} {
			if got, want := Valid([]byte(text)), json.Valid([]byte(text)); got != want {
				t.Errorf("of depth %d: %v, want %v", depth, got, want)
			}
		}
	}
	for _, end := range []string{`"`, `\n"`, `\u00e9"`, `\u00g0"`, `\x"`, "\x01\"", "\xff\"", `\`, ""} { // where a string is looked through many bytes at a time
		for _, size := range []int{20, 24, 25, 31, 32, 33, 57, 100} {
			asTheLibrary(t, []byte(`"`+strings.Repeat("x", size)+end))
		}
	}
	many := "{"
	for i := range 5000 {
		many += `"` + strings.Repeat("n", i%70) + `":` + strings.Repeat("1", i%70+1) + `,`
	}
	asTheLibrary(t, []byte(many+`"end":0}`))
}

func FuzzAsTheLibrary(f *testing.F) {
	for _, text := range texts {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, text []byte) { asTheLibrary(t, text) })
}
