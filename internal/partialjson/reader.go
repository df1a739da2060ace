package partialjson

import (
	"fmt"
	"slices"
)

// Reader reads one JSON text in pieces. Its time is linear in the text, whatever the pieces; it holds the text. The
// zero value is ready; the exported fields are set before the first Feed. It is used by one goroutine at a time.
type Reader struct {
	Depth       int  // nested objects and arrays, where the root counts as 1. If zero, 200
	Bytes       int  // of the text. If zero, 32 MiB
	HoldNumbers bool // a number counts only once what follows shows that it is complete

	text   []byte
	pos    int // all before it is read
	safe   int // text[:safe] ends right after a value or an opening bracket: with the open brackets closed it is valid
	state  state
	open   []byte // the brackets that are open
	number number
	start  int    // of the open number
	word   string // the open word: true, false or null
	read   int    // bytes of word that are there
	suffix []byte
	shown  int // length of the text at the last Append
	err    error
}

// SyntaxError says where the text stops being JSON.
type SyntaxError struct {
	Offset   int    // in bytes from 0
	Expected string // such as "a value"
}

// Error reads "not JSON at offset 7: expected a value".
func (e *SyntaxError) Error() string {
	return fmt.Sprintf("not JSON at offset %d: expected %s", e.Offset, e.Expected)
}

// LimitError says which limit the text went over.
type LimitError struct {
	What   string // "bytes of text" or "levels of nesting"
	Max    int
	Offset int // in bytes from 0
}

// Error reads "at offset 200: more than 200 levels of nesting".
func (e *LimitError) Error() string {
	return fmt.Sprintf("at offset %d: more than %d %s", e.Offset, e.Max, e.What)
}

// Feed reads the next piece; it may end anywhere, within a rune too. The piece is copied.
// Errors: *SyntaxError, *LimitError. After one, Feed returns it again, and what was read before it stays to be had.
func (r *Reader) Feed(piece []byte) error {
	if r.err != nil {
		return r.err
	}
	if limit := either(r.Bytes, 32<<20); len(r.text)+len(piece) > limit {
		r.err = &LimitError{What: "bytes of text", Max: limit, Offset: limit}
		return r.err
	}
	r.text = append(r.text, piece...)
	for r.pos < len(r.text) && r.step() {
	}
	return r.err
}

// Complete reports whether the text holds a whole value. A number at the root never is: another digit may follow.
func (r *Reader) Complete() bool { return r.state == stateEnd }

// Repair says how the text becomes valid JSON: its first cut bytes followed by suffix.
//
//   - A member whose value has not begun is cut, with the comma before it, whether its name is complete or not.
//   - An open string is closed; half an escape, half a surrogate pair and half a rune are cut.
//   - An open word is completed; an open number is cut to the longest that is valid, or as HoldNumbers says. If none is, its
//     member or item is cut.
//   - What is open is closed. Of nothing, the result is null.
//
// It takes time in proportion to the depth. The suffix is valid until the next call.
func (r *Reader) Repair() (cut int, suffix []byte) {
	cut, suffix = r.safe, r.suffix[:0]
	switch r.state {
	case stateString:
		cut, suffix = r.pos, append(suffix, '"')
	case stateWord:
		cut, suffix = r.pos, append(suffix, r.word[r.read:]...)
	case stateNumber:
		if end := r.number.end; end > r.start && !r.HoldNumbers {
			cut = end
		}
	}
	if cut == 0 {
		suffix = append(suffix, "null"...)
	}
	for _, bracket := range slices.Backward(r.open) {
		suffix = append(suffix, bracket+2) // in ASCII, both closing brackets come two after theirs
	}
	r.suffix = suffix
	return cut, suffix
}

// Append appends what the text is worth so far to dst, as valid JSON. It takes time in proportion to the text.
func (r *Reader) Append(dst []byte) []byte {
	cut, suffix := r.Repair()
	r.shown = len(r.text)
	return append(append(dst, r.text[:cut]...), suffix...)
}

// Value is what the text is worth so far, as valid JSON of its own.
func (r *Reader) Value() []byte { return r.Append(nil) }

// Due reports whether the text has grown by a quarter, or has become complete, since the last Append or Value. Who asks for the
// value only then pays for all values together in proportion to the text.
func (r *Reader) Due() bool {
	return len(r.text) > r.shown+r.shown/4 || r.state == stateEnd && r.shown < r.safe
}

func either(n, otherwise int) int {
	if n == 0 {
		return otherwise
	}
	return n
}
