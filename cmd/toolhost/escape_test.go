package main

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
)

// hostileTexts returns at least 300 texts that must not reach a terminal as they are (T10).
func hostileTexts() []string {
	var all []string
	add := func(s ...string) { all = append(all, s...) }
	for c := range rune(0x20) {
		if c != '\n' && c != '\t' {
			add("a" + string(c) + "b")
		}
	}
	for c := rune(0x7f); c < 0xa0; c++ {
		add("a" + string(c) + "b")
	}
	for c := 0x80; c < 0xa0; c++ { // C1 as single bytes: no UTF-8
		add("a" + string([]byte{byte(c)}) + "31mb")
	}
	for _, body := range []string{
		"[31m", "[2J", "[H", "[6n", "[21t", "[?1049h", "[1000h", "[8m", "c", "(0", "#8", "7", "[3A\x1b[2K", "[s", "[5i", "M", "[999;999H",
	} {
		add("\x1b"+body, "x\x1b"+body+"y", "\u009b"+body[1:], "\x1b\x1b"+body)
	}
	for _, osc := range []string{
		"0;owned", "2;t", "4;1;?", "7;file:///etc", "8;;http://evil.example/", "9;hi", "10;?", "52;c;ZXZpbA==", "52;c;?", "133;A", "777;notify;a;b", "1337;File=:AA", "P41;x",
	} {
		add("\x1b]"+osc+"\a", "\x1b]"+osc+"\x1b\\", "\u009d"+osc+"\u009c", "\x1bP"+osc+"\x1b\\", "\x1b_"+osc+"\x1b\\", "\x1b^"+osc+"\x1b\\", "\x1bX"+osc+"\x1b\\")
	}
	for _, r := range []rune{0x202a, 0x202b, 0x202c, 0x202d, 0x202e, 0x2066, 0x2067, 0x2068, 0x2069, 0x2028, 0x2029, 0xfeff, 0x2060, 0x200b, 0xfff9, 0xfffe, 0xffff, 0x378, 0xe000, 0xf8ff, 0xf0000, 0x10ffff} {
		add("user"+string(r)+"txt.exe", string(r))
	}
	for r := rune(0xe0001); r < 0xe0080; r += 3 {
		add("flag" + string(r))
	}
	add("100%\rdone", "a\b\b\bsudo", "line\x0bline", "page\x0cpage", "\xff\xfe", "\xc2", "\xed\xa0\x80", "\xf4\x90\x80\x80")
	return all
}

// dangerous returns the first thing in text that the corpus is about, apart from the \r\n that a pty makes of
// \n.
func dangerous(text string) string {
	if !utf8.ValidString(text) {
		return "bytes that are no UTF-8"
	}
	for i, r := range strings.ReplaceAll(text, "\r\n", "\n") {
		if r < 0x20 && r != '\n' && r != '\t' || r >= 0x7f && r < 0xa0 || r >= 0x202a && r <= 0x202e || r >= 0x2066 && r <= 0x2069 ||
			r >= 0xe0000 && r <= 0xe007f || r >= 0xe000 && r <= 0xf8ff || r >= 0xf0000 || r == 0x378 || r == 0x2028 || r == 0x2029 {
			return fmt.Sprintf("%U at %d", r, i)
		}
	}
	return ""
}

func TestT10_CorpusIsLarge(t *testing.T) {
	if n := len(hostileTexts()); n < 300 {
		t.Fatalf("%d texts, want 300", n)
	}
	for _, text := range hostileTexts() {
		if d := dangerous(text); d == "" && !strings.ContainsAny(text, "\ufeff\u2060\u200b\ufff9\ufffe\uffff") {
			t.Errorf("%q is not dangerous: the check below proves nothing", text)
		}
	}
}

func TestT10_EscapeText(t *testing.T) {
	for _, text := range hostileTexts() {
		got := escapeText(text)
		if d := dangerous(got); d != "" {
			t.Errorf("escape(%q) = %q has %s", text, got, d)
		}
		if got == text {
			t.Errorf("escape(%q) changed nothing", text)
		}
	}
	tests := []struct{ in, want string }{
		{"", ""},
		{"plain ASCII\n\tand more", "plain ASCII\n\tand more"},
		{"\x1b[31m", `\x1b[31m`},
		{"a\rb", `a\x0db`},
		{"\u009b", `\x9b`},
		{"\x9b", `\x9b`},
		{"\u202e", `\u202e`},
		{"\U000e0041", `\U000e0041`},
		{"Grüße 東京 нет عربى עברית हिन्दी", "Grüße 東京 нет عربى עברית हिन्दी"},
		{"👩‍👩‍👧 ❤️ 🇩🇪 👍🏽", "👩‍👩‍👧 ❤️ 🇩🇪 👍🏽"},
		{"\u0645\u06cc\u200c\u062e", "\u0645\u06cc\u200c\u062e"}, // a zero width non-joiner that spelling needs
	}
	for _, tt := range tests {
		if got := escapeText(tt.in); got != tt.want {
			t.Errorf("escapeText(%q) = %q, want %q", tt.in, got, tt.want)
		}
	}
}

func TestT10_EscapeJSONKeepsTheValue(t *testing.T) {
	for _, text := range append(hostileTexts(), `quote " and \ backslash`, `\`, `\\`, `"`) {
		valid := strings.ToValidUTF8(text, "\ufffd")
		// Members, nesting, white space with carriage returns between tokens, and raw characters as a tool
		// may write them.
		doc := []byte("{\r\n \"k\":\r[" + rawString(valid) + ", \"\\u001b\\\"\\\\\"],\r\n" + rawString("k"+valid) + ": 1e2}")
		if !json.Valid(doc) {
			t.Fatalf("%q: the test's own document is no JSON", doc)
		}
		got := escape(doc, jsonNotation)
		if d := dangerous(string(got)); d != "" {
			t.Errorf("escape(%q) = %q has %s", doc, got, d)
		}
		var before, after any
		if err := json.Unmarshal(doc, &before); err != nil {
			t.Fatal(err)
		}
		if err := json.Unmarshal(got, &after); err != nil {
			t.Errorf("escape(%q) = %q is no JSON: %v", doc, got, err)
			continue
		}
		if diff := cmp.Diff(before, after); diff != "" {
			t.Errorf("escape(%q) has another value:\n%s", doc, diff)
		}
	}
}

// rawString writes s as a JSON string that escapes only what it must.
func rawString(s string) string {
	var b strings.Builder
	b.WriteByte('"')
	for _, r := range s {
		switch {
		case r == '"' || r == '\\':
			b.WriteString(`\` + string(r))
		case r < 0x20:
			fmt.Fprintf(&b, `\u%04x`, r)
		default:
			b.WriteRune(r)
		}
	}
	return b.String() + `"`
}

func FuzzEscapeJSON(f *testing.F) {
	f.Add([]byte(`{"a":"\u202e\\"}`))
	f.Fuzz(func(t *testing.T, doc []byte) {
		var before, after any
		if json.Unmarshal(doc, &before) != nil {
			t.Skip()
		}
		got := escape(doc, jsonNotation)
		if d := dangerous(string(got)); d != "" {
			t.Fatalf("%q has %s", got, d)
		}
		if err := json.Unmarshal(got, &after); err != nil {
			t.Fatalf("%q: %v", got, err)
		}
		if diff := cmp.Diff(before, after); diff != "" {
			t.Fatal(diff)
		}
	})
}
