package main

import (
	"bytes"
	"encoding/json"
	"testing"
)

func TestPlainJSON(t *testing.T) {
	for in, want := range map[string]string{
		`{"a": 1}`:                         `{"a": 1}`,
		"\ufeff{}":                         `{}`,
		`{"a": 1,}`:                        `{"a": 1 }`,
		"[1, // one\n 2, /* two */ ]":      "[1,       \n 2            ]",
		`{"a//b": "/* c */, ]", "d": ","}`: `{"a//b": "/* c */, ]", "d": ","}`,
		`{"a": "\"// ,}"}`:                 `{"a": "\"// ,}"}`,
		"[1 /* a\nb */ , ]":                "[1     \n       ]",
		`[1,,]`:                            `[1, ]`, // which the parser refuses
		`[1, /*`:                           `[1,   `,
		`["a`:                              `["a`,
		`["a\`:                             `["a\`,
	} {
		if got := string(plainJSON([]byte(in))); got != want {
			t.Errorf("%s: got %q, want %q", in, got, want)
		}
	}
}

// What is JSON already stays byte for byte, and nothing panics.
func FuzzPlainJSON(f *testing.F) {
	f.Add([]byte(`{"a": [1, "// b", "\\"], "c": "*/,]"}`))
	f.Add([]byte(`[1, /* , */ ]`))
	f.Fuzz(func(t *testing.T, text []byte) {
		if got := plainJSON(text); json.Valid(text) && !bytes.Equal(got, text) {
			t.Errorf("%s became %s", text, got)
		}
	})
}
