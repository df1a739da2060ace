// Package plain finds the end of what stands for itself in a JSON string, many bytes at a time.
package plain

import (
	"encoding/binary"
	"math/bits"
)

const (
	ones = 0x0101010101010101
	tops = 0x8080808080808080
)

// End is where the first quote, backslash or control character is from i on, or the length of the text. It also reports whether
// all bytes before it are ASCII; it may say no if they are, when some within 32 bytes after it are not.
func End(text []byte, i int) (end int, ascii bool) {
	var seen uint64
	for len(text)-i >= 32 {
		b := text[i : i+32]
		w0, w1 := binary.LittleEndian.Uint64(b), binary.LittleEndian.Uint64(b[8:])
		w2, w3 := binary.LittleEndian.Uint64(b[16:]), binary.LittleEndian.Uint64(b[24:])
		seen |= w0 | w1 | w2 | w3
		if (near(w0)|near(w1)|near(w2)|near(w3))&tops != 0 {
			if n := first(w0, w1, w2, w3); n < 32 {
				return i + n, seen&tops == 0
			}
		}
		i += 32
	}
	for len(text)-i >= 8 {
		w := binary.LittleEndian.Uint64(text[i:])
		seen |= w
		if h := special(w); h != 0 {
			return i + bits.TrailingZeros64(h)/8, seen&tops == 0
		}
		i += 8
	}
	for ; i < len(text); i++ {
		c := text[i]
		if c == '"' || c == '\\' || c < ' ' {
			break
		}
		seen |= uint64(c)
	}
	return i, seen&tops == 0
}

// Skip is End that goes on after the escape sequences of two bytes: it ends at the string's quote, at a control character, at a backslash
// that begins anything else, or with the text.
func Skip(text []byte, i int) (end int, ascii bool) {
	var seen uint64
	for len(text)-i >= 34 { // with the byte after a backslash
		b := text[i : i+34]
		w0, w1 := binary.LittleEndian.Uint64(b), binary.LittleEndian.Uint64(b[8:])
		w2, w3 := binary.LittleEndian.Uint64(b[16:]), binary.LittleEndian.Uint64(b[24:])
		seen |= w0 | w1 | w2 | w3
		n := 32
		if (near(w0)|near(w1)|near(w2)|near(w3))&tops != 0 {
			n = first(w0, w1, w2, w3)
		}
		if n == 32 {
			i += 32
			continue
		}
		if n &= 31; b[n] != '\\' || !short[b[n+1]] {
			return i + n, seen&tops == 0
		}
		i += n + 2
	}
	for {
		var plain bool
		if i, plain = End(text, i); !plain {
			seen = tops
		}
		if len(text)-i < 2 || text[i] != '\\' || !short[text[i+1]] {
			return i, seen&tops == 0
		}
		i += 2
	}
}

// special has the top bit of each byte of w that is meant, of which the lowest is right: what is subtracted borrows only from bytes
// above one that is meant. A quote is what is below 0x21, beside the control characters, once its second bit is turned.
func special(w uint64) uint64 { return near(w) &^ w & tops }

// near has it also for some that are not ASCII.
func near(w uint64) uint64 { return ((w ^ 2*ones) - 0x21*ones) | ((w ^ '\\'*ones) - ones) }

// first is which of 32 bytes is the first that is meant; 32: none.
func first(w0, w1, w2, w3 uint64) int {
	if h := special(w0); h != 0 {
		return bits.TrailingZeros64(h) / 8
	}
	if h := special(w1); h != 0 {
		return 8 + bits.TrailingZeros64(h)/8
	}
	if h := special(w2); h != 0 {
		return 16 + bits.TrailingZeros64(h)/8
	}
	if h := special(w3); h != 0 {
		return 24 + bits.TrailingZeros64(h)/8
	}
	return 32
}

// short are the bytes that make an escape sequence with a backslash before them.
var short = [256]bool{'"': true, '\\': true, '/': true, 'b': true, 'f': true, 'n': true, 'r': true, 't': true}
