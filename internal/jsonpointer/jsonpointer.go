// Package jsonpointer writes and reads the tokens of JSON Pointers (RFC 6901).
package jsonpointer

import "strings"

// Escape is a member's name as a token.
func Escape(name string) string { return escapes.Replace(name) }

// Unescape is the name that a token stands for. A tilde that escapes nothing stays.
func Unescape(token string) string { return unescapes.Replace(token) }

var (
	escapes   = strings.NewReplacer("~", "~0", "/", "~1")
	unescapes = strings.NewReplacer("~1", "/", "~0", "~")
)
