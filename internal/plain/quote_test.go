package plain

import (
	"bytes"
	"encoding/json"
	"math/rand/v2"
	"strings"
	"testing"
	"unicode/utf8"
)

// quotes fails the test where Quote writes another text than encoding/json.
func quotes(t *testing.T, s string) {
	t.Helper()
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(s); err != nil {
		t.Fatal(err)
	}
	text, ok := Quote(s)
	if want := utf8.ValidString(s) && !strings.ContainsAny(s, "\u2028\u2029"); ok != want {
		t.Fatalf("%q: %v", s, ok)
	}
	if want := strings.TrimSuffix(b.String(), "\n"); ok && string(text) != want {
		t.Fatalf("%q is %s, want %s", s, text, want)
	}
}

func TestQuote(t *testing.T) {
	for c := range 256 {
		for _, size := range []int{0, 1, 30, 31, 32, 33, 70} {
			fill := strings.Repeat("x", size)
			quotes(t, fill+string(byte(c))+fill)
			quotes(t, fill+string(rune(c))+fill)
			quotes(t, strings.Repeat(string(rune(c)), size))
		}
	}
	for _, s := range []string{"", "\u2028", "a\u2029b", "\ufffd", "é€😀", "\xed\xa0\x80", strings.Repeat("\x00", 10_000), strings.Repeat("a line\n", 1000), "<>&\x7f"} {
		quotes(t, s)
	}
	r := rand.New(rand.NewPCG(1, 2))
	for range 20_000 {
		text := make([]byte, r.IntN(200))
		for i := range text {
			if text[i] = byte(' ' + r.IntN(0x5f)); r.IntN(10) == 0 {
				text[i] = byte(r.IntN(0x80))
			}
		}
		quotes(t, string(text))
	}
}

func FuzzQuote(f *testing.F) {
	f.Add("a\n\"é\"\x1b[0m and so on for a while, until it is more than 32 bytes")
	f.Fuzz(func(t *testing.T, s string) { quotes(t, s) })
}

func BenchmarkQuote(b *testing.B) {
	s := strings.Repeat("The quick brown fox jumps over the lazy dog, as ever, and again\n", 16<<20/64)
	b.SetBytes(int64(len(s)))
	for b.Loop() {
		Quote(s)
	}
}
