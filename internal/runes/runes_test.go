package runes

import (
	"strings"
	"testing"
	"unicode/utf8"
)

func TestWhole(t *testing.T) {
	for text, want := range map[string]int{
		"": 0, "a": 1, "é": 2, "a\xc3": 1, "€\xe2\x82": 3, "😀": 4, "a\xf0\x9f\x98": 1,
		"\x80\x80\x80\x80": 4, "a\xff": 2, "\xc3(": 2, "\xf0\x9f\x98\x80\x80": 5,
	} {
		if got := Whole(text); got != want {
			t.Errorf("Whole(%q) = %d, want %d", text, got, want)
		}
		if got := Whole([]byte(text)); got != want {
			t.Errorf("Whole([]byte(%q)) = %d, want %d", text, got, want)
		}
	}
}

// What is cut is valid if the whole was, and as long as can be.
func TestCut(t *testing.T) {
	const s = "aé€😀b"
	for n := -1; n <= len(s)+1; n++ {
		got := Prefix(s, n)
		if !strings.HasPrefix(s, got) || !utf8.ValidString(got) || len(got) > max(n, 0) {
			t.Errorf("Prefix(%q, %d) = %q", s, n, got)
		}
		if _, size := utf8.DecodeRuneInString(s[len(got):]); size > 0 && len(got)+size <= n {
			t.Errorf("Prefix(%q, %d) = %q: there was room for more", s, n, got)
		}
		want := got + "…"
		if n >= len(s) {
			want = s
		}
		if got := Cut(s, n); got != want {
			t.Errorf("Cut(%q, %d) = %q, want %q", s, n, got, want)
		}
	}
}

func TestWhole_Allocates(t *testing.T) {
	text := []byte("some text with an end that is not whole: \xe2\x82")
	if n := testing.AllocsPerRun(100, func() { Whole(text) }); n > 0 {
		t.Errorf("%v allocations", n)
	}
}
