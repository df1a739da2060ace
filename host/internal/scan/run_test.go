package scan

import (
	"bytes"
	"math/rand/v2"
	"strconv"
	"strings"
	"testing"
)

// stripSlow is StripJSON character by character.
func stripSlow(text []byte) (out []byte, count int) {
	for i := 0; i < len(text); i++ {
		out = append(out, text[i])
		if text[i] != '"' {
			continue
		}
		i++
		for seen := (sight{}); ; {
			n, hidden := seen.step(textIn(text), i)
			if n == 0 {
				break
			}
			if count++; !hidden {
				count--
				out = append(out, text[i:i+n]...)
			}
			i += n
		}
		if i < len(text) {
			out = append(out, text[i])
		}
	}
	return out, count
}

func textIn(b []byte) text { return text{b, true} }

// What is skipped in one go changes nothing.
func TestT17_RunsChangeNothing(t *testing.T) {
	r := rand.New(rand.NewPCG(17, 17))
	pieces := []string{"a", "0", "#", " ", "word", strings.Repeat("x", 20), `\n`, `\\`, `\"`, `\u200b`, `\u0041`, "é", "字", "\u200d", "\ufe0f", "\u20e3", "👍", "🏽", "\u200c", "\U000e0041", "❤", "ك", "ä", "가", "龍", "\xe4\xb8", "\xc3", "\xe5a", "\u0340", "\u00ad", "\u034f"}
	for range 20_000 {
		var b strings.Builder
		for range 1 + r.IntN(3) {
			b.WriteString(`{"`)
			for range r.IntN(12) {
				b.WriteString(pieces[r.IntN(len(pieces))])
			}
			b.WriteString(`" : 1}`)
		}
		got, n := StripJSON([]byte(b.String()))
		want, wantN := stripSlow([]byte(b.String()))
		if !bytes.Equal(got, want) || n != wantN {
			t.Fatalf("%s: %s and %d, want %s and %d", b.String(), got, n, want, wantN)
		}
	}
	for n := range 40 { // every length, and what ends a run at every place
		for _, end := range []string{`"`, `\`, "\x80", "é"} {
			text := strings.Repeat("~", n) + end + strings.Repeat("~", 9)
			if got := asciiRun([]byte(text)); got != n {
				t.Fatalf("%q: a run of %d", text, got)
			}
		}
	}
}

// The letters that are told by their range are neither hidden nor emoji.
func TestT17_LettersByRange(t *testing.T) {
	for r := rune(0xa0); r < 0x11000; r++ {
		seen := sight{prev: 'a', emoji: true}
		if n, hidden := seen.step(text{bytes: []byte(string(r))}, 0); n == 0 || hidden != (Shapeless(r)) && r != 0x200d && r != 0x200c {
			t.Errorf("%U: %d, hidden %v", r, n, hidden)
		} else if run := seenRun([]byte(string(r))); run > 0 && (hidden || isEmoji(r) || run != n) {
			t.Errorf("%U: a run of %d", r, run)
		} else if !hidden && seen.emoji != isEmoji(r) && r != 0x200d {
			t.Errorf("%U: emoji %v", r, seen.emoji)
		}
	}
}

func TestHex4(t *testing.T) {
	for c := range 256 {
		for at := 2; at < 6; at++ {
			b := []byte(`\u0a0F`)
			b[at] = byte(c)
			want, err := strconv.ParseUint(string(b[2:]), 16, 16)
			if r, ok := hex4(b); ok != (err == nil) || ok && r != rune(want) {
				t.Errorf("%q: %U, %v", b, r, ok)
			}
		}
	}
}
