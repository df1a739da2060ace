package project

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"unicode"

	"github.com/toolhost/toolhost/internal/runes"
)

// Clip cuts a text that came from a plugin, and says so. What is not UTF-8 is replaced.
func Clip(s string, most int) string {
	return runes.Cut(strings.ToValidUTF8(s, "\uFFFD"), most)
}

// Plain is a plugin's text as a client may show it to a person: what cannot be seen, or turns the text around, is
// escaped, line ends and tabs are kept, and it is cut (T10, T13).
func Plain(s string, most int) string {
	s = Clip(s, most)
	if strings.IndexFunc(s, hidden) < 0 {
		return s
	}
	var b strings.Builder
	for _, r := range s {
		switch {
		case !hidden(r):
			b.WriteRune(r)
		case r > 0xFFFF:
			fmt.Fprintf(&b, `\U%08X`, r)
		default:
			fmt.Fprintf(&b, `\u%04X`, r)
		}
	}
	return b.String()
}

// hidden reports characters that cannot be seen. The joiner of emoji is let through.
func hidden(r rune) bool {
	return unicode.In(r, unicode.C, unicode.Zl, unicode.Zp) && r != '\n' && r != '\t' && r != 0x200D
}

// ForPerson is JSON for a person to read: with sorted members, one on a line. ok is false if it is longer than most: then
// it is not shown at all, since what is left out could be what matters (T13).
func ForPerson(text json.RawMessage, most int) (out string, ok bool) {
	if len(text) == 0 {
		return "(nothing)", true
	}
	if len(text) > most {
		return "", false
	}
	d := json.NewDecoder(bytes.NewReader(text))
	d.UseNumber()
	var v any
	if d.Decode(&v) != nil {
		return "", false
	}
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	if e.Encode(v) != nil || b.Len() > most {
		return "", false
	}
	plain := Plain(strings.TrimSpace(b.String()), 8*most)
	return plain, true
}
