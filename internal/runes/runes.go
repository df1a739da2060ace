// Package runes cuts text between its characters.
package runes

import "unicode/utf8"

// Whole is the length of text without the beginning of a character at its end. Bytes that begin none count as they are.
func Whole[T string | []byte](text T) int {
	for i := len(text) - 1; i >= max(0, len(text)-utf8.UTFMax+1); i-- {
		if !utf8.RuneStart(text[i]) {
			continue
		}
		if !utf8.FullRuneInString(string(text[i:])) {
			return i
		}
		break
	}
	return len(text)
}

// Prefix is the longest beginning of s that has at most n bytes and does not end within a character.
func Prefix(s string, n int) string {
	if len(s) <= n {
		return s
	}
	s = s[:max(0, n)]
	return s[:Whole(s)]
}

// Cut is s if it has at most n bytes, else its Prefix with "…" behind it, which is not counted.
func Cut(s string, n int) string {
	if len(s) <= n {
		return s
	}
	return Prefix(s, n) + "…"
}
