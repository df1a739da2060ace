package scan

import (
	"encoding/json"
	"strconv"
	"strings"

	"github.com/toolhost/toolhost/internal/jsonpointer"
)

// walker visits every string of a JSON text in its order, keys too, and both of two members of one name. It takes what
// it is given for JSON: whoever calls has parsed it within a budget. Of anything else it visits some strings.
type walker struct {
	text  []byte
	at    int
	path  []string // keys and indexes down to the current value
	visit func(path func() string, s string, key bool)
}

// value visits the value at w.at and stops behind it.
func (w *walker) value() {
	switch w.peek() {
	case '{':
		w.members()
	case '[':
		w.items()
	case '"':
		w.visit(w.pointer, w.string(), false)
	default: // a number or a word
		for w.at < len(w.text) && !strings.ContainsRune(" \t\r\n,:[]{}\"", rune(w.text[w.at])) {
			w.at++
		}
	}
}

func (w *walker) members() {
	for w.at++; w.peek() == '"'; {
		key := w.string()
		w.path = append(w.path, key)
		w.visit(w.pointer, key, true)
		if w.peek() == ':' {
			w.at++
			w.value()
		}
		w.path = w.path[:len(w.path)-1]
		if w.peek() == ',' {
			w.at++
		}
	}
	w.at++ // the brace
}

func (w *walker) items() {
	w.at++
	for i := 0; w.at < len(w.text) && w.peek() != ']' && w.peek() != 0; i++ {
		was := w.at
		w.path = append(w.path, strconv.Itoa(i))
		w.value()
		w.path = w.path[:len(w.path)-1]
		if w.peek() == ',' {
			w.at++
		}
		if w.at == was {
			return // no JSON
		}
	}
	w.at++ // the bracket
}

// peek skips blanks and returns the byte that follows; 0 at the end.
func (w *walker) peek() byte {
	for ; w.at < len(w.text); w.at++ {
		switch c := w.text[w.at]; c {
		case ' ', '\t', '\r', '\n':
		default:
			return c
		}
	}
	return 0
}

// string reads the string at w.at and stops behind it.
func (w *walker) string() string {
	start, plain := w.at, true
	for w.at++; w.at < len(w.text) && w.text[w.at] != '"'; w.at++ {
		if w.text[w.at] == '\\' {
			plain = false
			w.at++
		}
	}
	end := min(w.at, len(w.text))
	w.at = min(w.at+1, len(w.text))
	if plain {
		return string(w.text[start+1 : end])
	}
	var s string
	if json.Unmarshal(w.text[start:w.at], &s) != nil {
		return string(w.text[start+1 : end])
	}
	return s
}

// pointer is the JSON Pointer of the current value.
func (w *walker) pointer() string {
	var b strings.Builder
	for _, p := range w.path {
		b.WriteByte('/')
		b.WriteString(jsonpointer.Escape(p))
	}
	return b.String()
}
