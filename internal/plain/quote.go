package plain

import (
	"encoding/binary"
	"math/bits"
	"strings"
	"unicode/utf8"
)

// room is what must be free to write without a look: a block and what an escape of a byte takes.
const room = 32 + 6

// Quote is a string as JSON, as encoding/json writes it where it leaves < > & as they are. ok is false for the few that it does
// not do: those that are not UTF-8, or with the separators U+2028 and U+2029, which encoding/json escapes.
func Quote(s string) (text []byte, ok bool) {
	if !utf8.ValidString(s) || strings.Contains(s, "\u2028") || strings.Contains(s, "\u2029") {
		return nil, false
	}
	text = make([]byte, len(s)+len(s)/16+room) // with a line break every 16 bytes
	text[0] = '"'
	at := 1
	for i := 0; ; i++ {
		i, at, text = copyPlain(text, at, s, i)
		if i == len(s) {
			break
		}
		at += escape(text[at:], s[i])
	}
	text[at] = '"'
	return text[: at+1 : at+1], true
}

// copyPlain copies what stands for itself from i on, and returns where it ends. There is room in text after it.
func copyPlain(text []byte, at int, s string, i int) (int, int, []byte) {
	for {
		if len(text)-at < room {
			more := len(s) - i
			text = append(text, make([]byte, more+more/4+room)...)
		}
		if len(s)-i < 32 {
			break
		}
		from, to := s[i:i+32], text[at:at+32]
		w0, w1, w2, w3 := word(from), word(from[8:]), word(from[16:]), word(from[24:])
		binary.LittleEndian.PutUint64(to, w0)
		binary.LittleEndian.PutUint64(to[8:], w1)
		binary.LittleEndian.PutUint64(to[16:], w2)
		binary.LittleEndian.PutUint64(to[24:], w3)
		h0, h1, h2, h3 := special(w0), special(w1), special(w2), special(w3)
		n := 32
		switch {
		case h0|h1|h2|h3 == 0:
			i, at = i+n, at+n
			continue
		case h0 != 0:
			n = bits.TrailingZeros64(h0) / 8
		case h1 != 0:
			n = 8 + bits.TrailingZeros64(h1)/8
		case h2 != 0:
			n = 16 + bits.TrailingZeros64(h2)/8
		default:
			n = 24 + bits.TrailingZeros64(h3)/8
		}
		return i + n, at + n, text
	}
	for ; i < len(s); i++ {
		c := s[i]
		if c == '"' || c == '\\' || c < ' ' {
			break
		}
		text[at] = c
		at++
	}
	return i, at, text
}

func word(s string) uint64 {
	_ = s[7]
	return uint64(s[0]) | uint64(s[1])<<8 | uint64(s[2])<<16 | uint64(s[3])<<24 | uint64(s[4])<<32 | uint64(s[5])<<40 | uint64(s[6])<<48 | uint64(s[7])<<56
}

// escape writes the escape of a byte and returns its length.
func escape(to []byte, c byte) int {
	_ = to[5]
	to[0] = '\\'
	switch c {
	case '"', '\\':
		to[1] = c
	case '\b':
		to[1] = 'b'
	case '\f':
		to[1] = 'f'
	case '\n':
		to[1] = 'n'
	case '\r':
		to[1] = 'r'
	case '\t':
		to[1] = 't'
	default:
		const hex = "0123456789abcdef"
		to[1], to[2], to[3], to[4], to[5] = 'u', '0', '0', hex[c>>4], hex[c&15]
		return 6
	}
	return 2
}
