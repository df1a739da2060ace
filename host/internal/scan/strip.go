package scan

import (
	"bytes"
	"encoding/binary"
	"math/bits"
	"unicode/utf16"
	"unicode/utf8"
)

// StripJSON returns a JSON text without the characters in its strings and keys that nobody sees, also where they are
// written as \u escapes, and how many there were. Emoji, and joiners between letters of a script that needs them,
// stay. If there are none, it returns text itself and allocates nothing. text is not changed. Two keys that differ
// in such characters only become the same.
func StripJSON(text []byte) (stripped []byte, count int) {
	if visibleBytes(text) {
		return text, 0
	}
	var out []byte
	from := 0 // not yet in out
	for i := 0; i < len(text); i++ {
		if text[i] != '"' {
			continue
		}
		i++
		i = stripString(text, i, func(start, end int) {
			out = append(out, text[from:start]...)
			from = end
			count++
		})
	}
	if count == 0 {
		return text, 0
	}
	return append(out, text[from:]...), count
}

// stripString names every hidden character of the JSON string whose first character is at i, and returns where it
// ends: its quote.
func stripString(from []byte, i int, hide func(start, end int)) int {
	t, seen := text{from, true}, sight{}
	for {
		if run := seenRun(from[i:]); run > 0 {
			i += run
			last, _ := utf8.DecodeLastRune(from[:i])
			seen = sight{prev: last}
		}
		n, hidden := seen.step(t, i)
		if n == 0 {
			return i
		}
		if hidden {
			hide(i, i+n)
		}
		i += n
	}
}

// seenRun is how long the text goes on with characters of which everybody knows that they are seen, and that are no emoji: ASCII
// except quotes and backslashes, and letters from U+00C0 and U+4000 on, by their first byte.
func seenRun(text []byte) (i int) {
	for i < len(text) {
		switch c := text[i]; {
		case c < utf8.RuneSelf:
			n := asciiRun(text[i:])
			if n == 0 {
				return i
			}
			i += n
		case c >= 0xc3 && c <= 0xcc && goesOn(text[i:], 2):
			i += 2
		case c >= 0xe4 && c <= 0xe9 && goesOn(text[i:], 3):
			i += 3
		default:
			return i
		}
	}
	return i
}

// goesOn reports whether the first of n bytes is followed by those that are never first in a character.
func goesOn(text []byte, n int) bool {
	return len(text) >= n && text[1]&0xc0 == 0x80 && text[n-1]&0xc0 == 0x80
}

// asciiRun is how many bytes there are before a quote, a backslash or what is not ASCII.
func asciiRun(text []byte) int {
	const ones, tops = 0x0101010101010101, 0x8080808080808080
	i := 0
	for ; len(text)-i >= 8; i += 8 {
		w := binary.LittleEndian.Uint64(text[i:])
		quote, slash := w^'"'*ones, w^'\\'*ones // of the bytes that become 0, the lowest is found rightly
		if stop := ((quote-ones)&^quote | (slash-ones)&^slash | w) & tops; stop != 0 {
			return i + bits.TrailingZeros64(stop)/8
		}
	}
	for i < len(text) && text[i] < utf8.RuneSelf && text[i] != '"' && text[i] != '\\' {
		i++
	}
	return i
}

// visibleBytes reports texts that need no closer look: ASCII without an escape that names a character.
func visibleBytes(text []byte) bool {
	rest := text
	for ; len(rest) >= 8; rest = rest[8:] {
		if binary.LittleEndian.Uint64(rest)&0x8080808080808080 != 0 {
			return false
		}
	}
	for _, b := range rest {
		if b >= utf8.RuneSelf {
			return false
		}
	}
	return !bytes.Contains(text, []byte(`\u`))
}

// escaped returns the character that the JSON escape at the start of b names, and the escape's length.
func escaped(b []byte) (r rune, n int) {
	if len(b) < 2 {
		return utf8.RuneError, len(b)
	}
	if b[1] != 'u' {
		return rune(b[1]), 2 // a letter in place of a control character: neither hides
	}
	r, ok := hex4(b)
	if !ok {
		return utf8.RuneError, 2
	}
	if low, ok := hex4(b[6:]); ok && utf16.IsSurrogate(r) {
		if both := utf16.DecodeRune(r, low); both != utf8.RuneError {
			return both, 12
		}
	}
	return r, 6
}

// hex4 reads a \u and its four hexadecimal digits.
func hex4(b []byte) (r rune, ok bool) {
	if len(b) < 6 || b[0] != '\\' || b[1] != 'u' {
		return 0, false
	}
	for _, c := range b[2:6] {
		switch {
		case c-'0' <= 9:
			c -= '0'
		case c|0x20 >= 'a' && c|0x20 <= 'f':
			c = c | 0x20 - 'a' + 10
		default:
			return 0, false
		}
		r = r<<4 | rune(c)
	}
	return r, true
}
