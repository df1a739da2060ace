package scan

import (
	"unicode"
	"unicode/utf8"
)

// text is a sequence of characters: plain UTF-8, or what stands in a JSON string.
type text struct {
	bytes []byte
	json  bool
}

// at returns the character at i and its length in bytes; the length is 0 at the end.
func (t text) at(i int) (r rune, n int) {
	switch {
	case i >= len(t.bytes), t.json && t.bytes[i] == '"':
		return 0, 0
	case t.json && t.bytes[i] == '\\':
		return escaped(t.bytes[i:])
	case t.bytes[i] < utf8.RuneSelf:
		return rune(t.bytes[i]), 1
	}
	return utf8.DecodeRune(t.bytes[i:])
}

// sight knows what came before a character, which decides whether one that has no shape of its own is part of
// something that people see.
type sight struct {
	prev  rune // the last one that is seen, or part of what is seen
	emoji bool // what came before is an emoji to which another can be joined
}

// step returns the length of the character at i, or of several that belong together, and whether nobody sees it.
// The length is 0 at the end.
func (s *sight) step(t text, i int) (n int, hidden bool) {
	r, n := t.at(i)
	switch {
	case n == 0:
		return 0, false
	case r >= 0xc0 && r < 0x34f, r >= 0x3400 && r < 0xa000: // most letters that are not ASCII
		s.prev, s.emoji = r, false
		return n, false
	case r == blackFlag:
		n += flagTags(t, i+n)
	case r == textStyle || r == emojiStyle:
		next, _ := t.at(i + n)
		if !isEmoji(s.prev) && (!isKeycap(s.prev) || next != enclosingKeycap) {
			return n, true
		}
		s.prev = r
		return n, false
	case r == joiner || r == nonJoiner:
		next, _ := t.at(i + n)
		if (r == nonJoiner || !s.emoji || !isEmoji(next)) && (!joins(s.prev) || !joins(next)) {
			return n, true
		}
		s.prev = r
		return n, false
	case r >= 0x180b && r <= 0x180f && r != 0x180e && unicode.Is(unicode.Mongolian, s.prev):
	case Shapeless(r):
		return n, true
	case r >= 0x1f3fb && r <= 0x1f3ff && s.emoji: // the colour of the skin
		s.prev = r
		return n, false
	}
	s.prev, s.emoji = r, isEmoji(r)
	return n, false
}

const (
	nonJoiner       = 0x200c
	joiner          = 0x200d
	textStyle       = 0xfe0e
	emojiStyle      = 0xfe0f
	enclosingKeycap = 0x20e3
	blackFlag       = 0x1f3f4
	tagBase         = 0xe0000
)

// Shapeless reports characters without a shape of their own: the tag block, variation selectors, zero width,
// fillers, and those that turn the reading direction. Some are seen as part of an emoji or of a word in a script
// that joins its letters; this does not look at that.
func Shapeless(r rune) bool {
	switch {
	case r < 0xad:
		return false
	case r == 0xad, r == 0x34f, r == 0x61c, r == 0x115f, r == 0x1160, r == 0x17b4, r == 0x17b5, r == 0x3164, r == 0xfeff, r == 0xffa0:
		return true
	case r >= 0x180b && r <= 0x180f, r >= 0x200b && r <= 0x200f, r >= 0x202a && r <= 0x202e, r >= 0x2060 && r <= 0x206f:
		return true
	case r >= 0xfe00 && r <= 0xfe0f, r >= 0xfff0 && r <= 0xfffb, r >= 0x1bca0 && r <= 0x1bca3, r >= 0x1d173 && r <= 0x1d17a:
		return true
	}
	return r >= tagBase && r <= 0xe0fff
}

// flagTags is the length of the tags at i that make one of the flags that people use: England, Scotland and Wales.
// Any other word of tags could carry a text.
func flagTags(t text, i int) int {
	for _, region := range []string{"gbeng\x7f", "gbsct\x7f", "gbwls\x7f"} {
		at := i
		for _, want := range region {
			r, n := t.at(at)
			if r != tagBase+want {
				at = -1
				break
			}
			at += n
		}
		if at > 0 {
			return at - i
		}
	}
	return 0
}

// isEmoji reports whether r may be part of an emoji. It takes whole blocks of signs.
func isEmoji(r rune) bool {
	switch {
	case r < 0x2000:
		return r == 0xa9 || r == 0xae
	case r == 0x203c, r == 0x2049, r == 0x2122, r == 0x2139, r == 0x24c2, r == 0x3030, r == 0x303d, r == 0x3297, r == 0x3299:
		return true
	case r >= 0x2190 && r <= 0x23ff, r >= 0x25a0 && r <= 0x27bf, r >= 0x2934 && r <= 0x2935, r >= 0x2b00 && r <= 0x2bff:
		return true
	}
	return r >= 0x1f000 && r <= 0x1faff
}

func isKeycap(r rune) bool { return r >= '0' && r <= '9' || r == '#' || r == '*' }

// joins reports letters and marks of scripts in which a joiner between two of them changes what is seen.
func joins(r rune) bool {
	return r >= 0x600 && !Shapeless(r) && (unicode.IsLetter(r) || unicode.IsMark(r)) && unicode.In(r,
		unicode.Arabic, unicode.Syriac, unicode.Nko, unicode.Mongolian, unicode.Devanagari, unicode.Bengali, unicode.Gurmukhi,
		unicode.Gujarati, unicode.Oriya, unicode.Tamil, unicode.Telugu, unicode.Kannada, unicode.Malayalam, unicode.Sinhala,
		unicode.Khmer, unicode.Myanmar, unicode.Tibetan)
}

// firstHidden is where the first character stands that nobody sees; -1: there is none.
func firstHidden(s string) int {
	t, seen := text{bytes: []byte(s)}, sight{}
	for i := 0; ; {
		n, hidden := seen.step(t, i)
		switch {
		case n == 0:
			return -1
		case hidden:
			return i
		}
		i += n
	}
}
