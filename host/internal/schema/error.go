package schema

import (
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"
)

// LimitError says which budget a text, a schema or a check went over.
type LimitError struct {
	What   string // what there was too much of, such as "values" or "digits in a number"
	Max    int
	Path   string // JSON Pointer of the place; at most 512 bytes
	Offset int    // in bytes from 0, where a text was being read
	Line   int    // from 1; 0 where there is no text position
	Column int    // in bytes from 1
}

// Error reads "line 1, column 9: at /a: more than 400 digits in a number".
func (e *LimitError) Error() string {
	text := fmt.Sprintf("more than %d %s", e.Max, e.What)
	if e.Path != "" {
		text = fmt.Sprintf("at %s: %s", e.Path, text)
	}
	if e.Line > 0 {
		text = fmt.Sprintf("line %d, column %d: %s", e.Line, e.Column, text)
	}
	return text
}

// SyntaxError says where a text stops being one JSON value of RFC 8259.
type SyntaxError struct {
	Offset   int    // in bytes from 0
	Line     int    // from 1
	Column   int    // in bytes from 1
	Expected string // such as "',' or '}'"
	Got      string // such as "'x'" or "the end of the text"; at most one character is quoted
}

// Error reads "line 1, column 9: expected ',' or '}', got 'x'".
func (e *SyntaxError) Error() string {
	return fmt.Sprintf("line %d, column %d: expected %s, got %s", e.Line, e.Column, e.Expected, e.Got)
}

// PanicError is a panic of an engine that was caught (T1). It is a bug here or there, never the fault of the
// input's author alone.
type PanicError struct {
	Op    string // "compile", "defaults", "validate" or "mask"
	Value any
	Stack []byte
}

// Error reads "validate: panic: runtime error: ...", without the stack.
func (e *PanicError) Error() string { return fmt.Sprintf("%s: panic: %v", e.Op, e.Value) }

// gotEnd says that a text ended too early.
const gotEnd = "the end of the text"

// describe names the character at pos.
func describe(text string, pos int) string {
	if pos >= len(text) {
		return gotEnd
	}
	r, size := utf8.DecodeRuneInString(text[pos:])
	switch {
	case r == utf8.RuneError && size < 2:
		return fmt.Sprintf("the byte 0x%02x, which is not UTF-8", text[pos])
	case r == '\uFEFF':
		return "a byte order mark"
	case r == '\'':
		return "a single quote"
	}
	return strconv.QuoteRune(r)
}

// position is the line and the column, both from 1, of a byte offset.
func position(text string, pos int) (line, column int) {
	before := text[:pos]
	return 1 + strings.Count(before, "\n"), pos - strings.LastIndexByte(before, '\n')
}
