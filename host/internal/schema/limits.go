package schema

import "fmt"

// Limits bound what is read before any engine sees it (T1 to T6). If zero, each is the default it names.
type Limits struct {
	Bytes    int // of the text; 1 MiB
	Depth    int // nested objects and arrays, where the root counts as 1; 200
	Values   int // objects, arrays, strings, numbers, booleans and nulls together; 1,000,000
	Key      int // bytes of one decoded member name; 1 MiB
	Members  int // of one object, repeated names included; 100,000
	Digits   int // of one number before its exponent; 400
	Exponent int // the largest exponent of a number, and its negative the smallest; 400
}

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

// withDefaults fills what is zero.
func (l Limits) withDefaults() Limits {
	set := func(v *int, def int) {
		if *v == 0 {
			*v = def
		}
	}
	set(&l.Bytes, 1<<20)
	set(&l.Depth, 200)
	set(&l.Values, 1_000_000)
	set(&l.Key, 1<<20)
	set(&l.Members, 100_000)
	set(&l.Digits, 400)
	set(&l.Exponent, 400)
	return l
}
