package plain

import (
	"encoding/binary"
	"strings"
	"unicode/utf8"
)

// room is what must be free to write without a look: a block and what an escape of a byte takes.
const room = 32 + 6

// Quote is a string as JSON, as encoding/json writes it where it leaves < > & as they are. ok is false for the few that it does
// not do: those that are not UTF-8, or with the separators U+2028 and U+2029, which encoding/json escapes.
func Quote(s string) (text []byte, ok bool) {
	text = make([]byte, len(s)+len(s)/16+room) // with a line break every 16 bytes
	text[0] = '"'
	at := 1
	var seen, more uint64
	for i := 0; ; i++ {
		i, at, text, more = copyPlain(text, at, s, i)
		if seen |= more; i == len(s) {
			break
		}
		at += escape(text[at:], s[i])
	}
	if seen&tops != 0 && (!utf8.ValidString(s) || strings.Contains(s, "\u2028") || strings.Contains(s, "\u2029")) {
		return nil, false
	}
	text[at] = '"'
	return text[: at+1 : at+1], true
}

// copyPlain copies what stands for itself from i on, and returns where it ends, and all bits of its bytes. There is room in text
// after it.
func copyPlain(text []byte, at int, s string, i int) (int, int, []byte, uint64) {
	var seen uint64
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
		seen |= w0 | w1 | w2 | w3
		if (near(w0)|near(w1)|near(w2)|near(w3))&tops != 0 {
			if n := first(w0, w1, w2, w3); n < 32 {
				return i + n, at + n, text, seen
			}
		}
		i, at = i+32, at+32
	}
	for ; i < len(s); i++ {
		c := s[i]
		if c == '"' || c == '\\' || c < ' ' {
			break
		}
		seen |= uint64(c) * ones
		text[at] = c
		at++
	}
	return i, at, text, seen
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
