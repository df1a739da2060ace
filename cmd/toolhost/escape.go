package main

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf16"
	"unicode/utf8"
)

// notation is how an unsafe character is written.
type notation int

const (
	textNotation notation = iota // \x1b, \u202e, \U000e0041; bytes that are no UTF-8 are \xff
	jsonNotation                 // \u001b, \u202e, \udb40\udc41: the same value to a JSON parser
)

// unsafeRune reports whether r must not reach a terminal as it is (T10): it may move the cursor, talk to the
// terminal, turn the reading direction, or is not to be seen at all.
func unsafeRune(r rune) bool {
	switch {
	case r == '\n' || r == '\t':
		return false
	case r < 0x20 || r >= 0x7f && r < 0xa0: // C0, DEL, C1
		return true
	case r < 0x300:
		return false
	case r == 0x200c || r == 0x200d: // joiners: emoji and many scripts need them
		return false
	case r == 0x200e || r == 0x200f || r == 0x061c: // marks that only order their neighbours
		return false
	case unicode.Is(unicode.Cf, r) && unicode.Is(unicode.Arabic, r), unicode.Is(unicode.Prepended_Concatenation_Mark, r):
		return false
	case unicode.Is(unicode.Cf, r), unicode.Is(unicode.Zl, r), unicode.Is(unicode.Zp, r):
		return true // bidi overrides and isolates, the tag block, zero width, line separators
	case unicode.Is(unicode.Co, r), unicode.Is(unicode.Cs, r):
		return true
	}
	return !unicode.In(r, unicode.L, unicode.M, unicode.N, unicode.P, unicode.S, unicode.Z) // unassigned
}

// escape returns text with every unsafe character as a visible escape. In jsonNotation, text is JSON, and a
// carriage return between tokens becomes a space.
func escape(text []byte, as notation) []byte {
	safe := safePrefix(text)
	if safe == len(text) {
		return text
	}
	out := make([]byte, 0, len(text)+64)
	inString := false
	for i := 0; i < len(text); {
		r, n := rune(text[i]), 1
		if r >= utf8.RuneSelf {
			r, n = utf8.DecodeRune(text[i:])
		}
		switch {
		case as == jsonNotation && inString && r == '\\' && i+1 < len(text):
			out = append(out, '\\')
			i++ // what follows is written by the next turn, but is no end of the string
			if c := text[i]; c < utf8.RuneSelf && !unsafeRune(rune(c)) {
				out = append(out, c)
				i++
			}
			continue
		case r == '"':
			inString = !inString
		}
		switch {
		case r == utf8.RuneError && n == 1:
			out = appendByte(out, text[i], as)
		case !unsafeRune(r):
			out = append(out, text[i:i+n]...)
		case as == jsonNotation && r == '\r' && !inString:
			out = append(out, ' ')
		default:
			out = appendRune(out, r, as)
		}
		i += n
	}
	return out
}

// escapeText is escape for one piece of plain text.
func escapeText(s string) string { return string(escape([]byte(s), textNotation)) }

// oneLine is escapeText for text that must stay on one line: line breaks and tabs become spaces.
func oneLine(s string) string {
	return escapeText(strings.Join(strings.Fields(s), " "))
}

// safePrefix returns how many bytes at the start of text need no escape.
func safePrefix(text []byte) int {
	for i := 0; i < len(text); {
		if text[i] < utf8.RuneSelf {
			if unsafeRune(rune(text[i])) {
				return i
			}
			i++
			continue
		}
		r, n := utf8.DecodeRune(text[i:])
		if r == utf8.RuneError && n == 1 || unsafeRune(r) {
			return i
		}
		i += n
	}
	return len(text)
}

func appendByte(out []byte, b byte, as notation) []byte {
	if as == jsonNotation {
		return append(out, `\ufffd`...) // what a JSON parser reads there
	}
	return fmt.Appendf(out, `\x%02x`, b)
}

func appendRune(out []byte, r rune, as notation) []byte {
	switch {
	case as == textNotation && r < 0x100:
		return fmt.Appendf(out, `\x%02x`, r)
	case r < 0x10000:
		return fmt.Appendf(out, `\u%04x`, r)
	case as == textNotation:
		return fmt.Appendf(out, `\U%08x`, r)
	}
	high, low := utf16.EncodeRune(r)
	return fmt.Appendf(out, `\u%04x\u%04x`, high, low)
}
