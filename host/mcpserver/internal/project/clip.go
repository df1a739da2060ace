package project

import (
	"strings"
	"unicode/utf8"
)

// Clip cuts a text that came from a plugin, and says so. What is not UTF-8 is replaced.
func Clip(s string, most int) string {
	s = strings.ToValidUTF8(s, "\uFFFD")
	if len(s) <= most {
		return s
	}
	cut := most
	for cut > 0 && !utf8.RuneStart(s[cut]) {
		cut--
	}
	return s[:cut] + "…"
}
