package partialjson

import (
	"strings"
	"unicode/utf8"
)

// state is what the reader expects, or is in.
type state uint8

const (
	stateValue     state = iota // a value
	stateFirstItem              // a value or ]
	stateFirstKey               // a name or }
	stateKey                    // a name
	stateColon                  // :
	stateAfter                  // , or the closing bracket
	stateString                 // within a string, at pos
	stateName                   // within a member's name, at pos
	stateNumber                 // within a number
	stateWord                   // within true, false or null
	stateEnd                    // only white space
)

// step reads on from pos; false means that the rest of the text is needed or that it is not JSON.
func (r *Reader) step() bool {
	switch r.state {
	case stateString, stateName:
		return r.str()
	case stateNumber:
		return r.digits()
	case stateWord:
		if r.text[r.pos] != r.word[r.read] {
			return r.fail(r.pos, r.word)
		}
		r.pos++
		if r.read++; r.read == len(r.word) {
			r.ended()
		}
		return true
	}
	c := r.text[r.pos]
	if c == ' ' || c == '\n' || c == '\t' || c == '\r' {
		r.pos++
		return true
	}
	switch r.state {
	case stateValue, stateFirstItem:
		if c == ']' && r.state == stateFirstItem {
			return r.close()
		}
		return r.value(c)
	case stateKey, stateFirstKey:
		if c == '}' && r.state == stateFirstKey {
			return r.close()
		}
		return r.punctuation('"', stateName, "a member name in double quotes")
	case stateColon:
		return r.punctuation(':', stateValue, "':'")
	case stateAfter:
		return r.after(c)
	}
	return r.fail(r.pos, "the end of the text")
}

func (r *Reader) fail(at int, expected string) bool {
	r.err = &SyntaxError{Offset: at, Expected: expected}
	return false
}

// punctuation reads one character that must be here.
func (r *Reader) punctuation(c byte, next state, expected string) bool {
	if r.text[r.pos] != c {
		return r.fail(r.pos, expected)
	}
	r.pos++
	r.state = next
	return true
}

// value begins a value.
func (r *Reader) value(c byte) bool {
	switch {
	case c == '{' || c == '[':
		if limit := either(r.Depth, 200); len(r.open) >= limit {
			r.err = &LimitError{What: "levels of nesting", Max: limit, Offset: r.pos}
			return false
		}
		r.open = append(r.open, c)
		r.pos++
		r.safe = r.pos
		if r.state = stateFirstItem; c == '{' {
			r.state = stateFirstKey
		}
		return true
	case c == '"':
		r.state = stateString
		r.pos++
		return true
	case c == '-' || c-'0' <= 9:
		r.state, r.start, r.number = stateNumber, r.pos, number{end: r.pos}
		return true
	}
	for _, word := range [...]string{"true", "false", "null"} {
		if c == word[0] {
			r.state, r.word, r.read = stateWord, word, 0
			return true
		}
	}
	return r.fail(r.pos, "a value")
}

// after goes on after a value within an object or an array.
func (r *Reader) after(c byte) bool {
	top := r.open[len(r.open)-1]
	switch {
	case c == top+2:
		return r.close()
	case c != ',':
		return r.fail(r.pos, "',' or '"+string(top+2)+"'")
	}
	r.pos++
	if r.state = stateValue; top == '{' {
		r.state = stateKey
	}
	return true
}

func (r *Reader) close() bool {
	r.open = r.open[:len(r.open)-1]
	r.pos++
	r.ended()
	return true
}

// ended is after a whole value.
func (r *Reader) ended() {
	r.safe = r.pos
	if r.state = stateAfter; len(r.open) == 0 {
		r.state = stateEnd
	}
}

// str reads a string or a name as far as it goes. Whatever is not whole at the end of the text (a rune, an escape, a
// surrogate pair: at most 12 bytes) is read again when there is more.
func (r *Reader) str() bool {
	for r.pos < len(r.text) {
		c := r.text[r.pos]
		size := 1
		switch {
		case c == '"':
			r.pos++
			if r.state == stateName {
				r.state = stateColon
			} else {
				r.ended()
			}
			return true
		case c == '\\':
			size = r.escape(r.text[r.pos:])
		case c < ' ':
			return r.fail(r.pos, "an escaped control character")
		case c >= utf8.RuneSelf:
			size = r.rune(r.text[r.pos:])
		}
		if size == 0 {
			return false
		}
		r.pos += size
	}
	return true
}

// rune is the size of the rune that the text begins with; 0 if it is not whole, or none.
func (r *Reader) rune(text []byte) int {
	if !utf8.FullRune(text) {
		return 0
	}
	c, size := utf8.DecodeRune(text)
	if c == utf8.RuneError && size == 1 {
		r.fail(r.pos, "UTF-8")
		return 0
	}
	return size
}

// escape is the size of the escape that the text begins with, both halves of a surrogate pair together; 0 if it is not
// whole, or none.
func (r *Reader) escape(text []byte) int {
	switch {
	case len(text) < 2:
		return 0
	case text[1] != 'u' && strings.IndexByte(`"\/bfnrt`, text[1]) < 0:
		r.fail(r.pos+1, "an escape sequence")
		return 0
	case text[1] != 'u':
		return 2
	}
	high, whole := r.hex(text, 2)
	if !whole || high < 0xD800 || high > 0xDFFF {
		return 6 * toInt(whole)
	}
	for i, c := range []byte(`\u`) {
		if len(text) > 6+i && text[6+i] != c || high >= 0xDC00 {
			r.fail(r.pos, "both halves of a surrogate pair")
			return 0
		}
	}
	low, whole := r.hex(text, 8)
	if whole && (low < 0xDC00 || low > 0xDFFF) {
		r.fail(r.pos, "both halves of a surrogate pair")
		return 0
	}
	return 12 * toInt(whole)
}

func toInt(b bool) int {
	if b {
		return 1
	}
	return 0
}

// hex reads four hexadecimal digits; whole is false if they are not all there, or none.
func (r *Reader) hex(text []byte, at int) (v rune, whole bool) {
	for i := at; i < at+4; i++ {
		if i >= len(text) {
			return 0, false
		}
		switch c := text[i]; {
		case c-'0' <= 9:
			v = v<<4 | rune(c-'0')
		case c|0x20 >= 'a' && c|0x20 <= 'f':
			v = v<<4 | rune(c|0x20-'a'+10)
		default:
			r.fail(r.pos+i, "four hexadecimal digits")
			return 0, false
		}
	}
	return v, true
}

// number is how far an open number has been read.
type number struct {
	part numberPart
	end  int // of the longest number so far that is valid; its start if there is none
}

type numberPart uint8

const (
	partStart    numberPart = iota // nothing
	partMinus                      // -
	partZero                       // 0: no digit may follow
	partInt                        // 12
	partPoint                      // 12.
	partFraction                   // 12.5
	partE                          // 12e
	partSign                       // 12e+
	partExponent                   // 12e5
)

// digits reads a number as far as it goes. One that another character ends is a whole value.
func (r *Reader) digits() bool {
	for r.pos < len(r.text) {
		next, ok := r.number.part.next(r.text[r.pos])
		if !ok {
			if r.number.end < r.pos {
				return r.fail(r.pos, "a digit")
			}
			r.ended()
			return true
		}
		r.pos++
		r.number.part = next
		if next == partZero || next == partInt || next == partFraction || next == partExponent {
			r.number.end = r.pos
		}
	}
	return true
}

// next is the part after one more character; ok is false if the number has none such.
func (p numberPart) next(c byte) (next numberPart, ok bool) {
	digit := c-'0' <= 9
	switch p {
	case partStart:
		if c == '-' {
			return partMinus, true
		}
		fallthrough
	case partMinus:
		if c == '0' {
			return partZero, true
		}
		return partInt, digit
	case partZero, partInt:
		switch {
		case c == '.':
			return partPoint, true
		case c == 'e' || c == 'E':
			return partE, true
		}
		return partInt, digit && p == partInt
	case partPoint:
		return partFraction, digit
	case partFraction:
		if c == 'e' || c == 'E' {
			return partE, true
		}
		return partFraction, digit
	case partE:
		if c == '+' || c == '-' {
			return partSign, true
		}
		return partExponent, digit
	}
	return partExponent, digit
}
