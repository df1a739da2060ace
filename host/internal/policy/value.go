package policy

import (
	"bytes"
	"encoding/json"
	"io"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/toolhost/toolhost/internal/jsonpointer"
)

// decode reads one JSON value and nothing after it. Numbers stay texts. An empty text is {}.
func decode(text []byte) (v any, ok bool) {
	if len(text) == 0 {
		return map[string]any{}, true
	}
	if !utf8.Valid(text) {
		return nil, false
	}
	dec := json.NewDecoder(bytes.NewReader(text))
	dec.UseNumber()
	if dec.Decode(&v) != nil {
		return nil, false
	}
	_, err := dec.Token()
	return v, err == io.EOF
}

// verdict is what a test says of one place.
type verdict int8

// The verdicts. The lesser one wins where several tests are of one place.
const (
	no      verdict = iota
	unknown         // the test cannot be applied: it counts for ask and deny, and against allow
	yes
)

func truth(b bool) verdict {
	if b {
		return yes
	}
	return no
}

// same compares two decoded values: numbers by value, objects without order.
func same(a, b any) verdict {
	switch a := a.(type) {
	case json.Number:
		b, ok := b.(json.Number)
		if !ok || a == b {
			return truth(ok)
		}
		x, okX := parseNumber(a)
		y, okY := parseNumber(b)
		if !okX || !okY {
			return unknown
		}
		return truth(x.compare(y) == 0)
	case []any:
		b, ok := b.([]any)
		if !ok || len(a) != len(b) {
			return no
		}
		all := yes
		for i := range a {
			all = min(all, same(a[i], b[i]))
		}
		return all
	case map[string]any:
		b, ok := b.(map[string]any)
		if !ok || len(a) != len(b) {
			return no
		}
		all := yes
		for k, v := range a {
			w, ok := b[k]
			if !ok {
				return no
			}
			all = min(all, same(v, w))
		}
		return all
	}
	switch b.(type) {
	case []any, map[string]any:
		return no
	}
	return truth(a == b) // text, truth value or null
}

// step is one token of a path.
type step struct {
	key   string
	index int // -1 if the key is no index
	every bool
}

// parsePath reads a JSON Pointer in which a token * means every one.
func parsePath(pointer string) (path []step, ok bool) {
	if pointer == "" {
		return nil, true
	}
	if pointer[0] != '/' {
		return nil, false
	}
	for token := range strings.SplitSeq(pointer[1:], "/") {
		if strings.Contains(strings.NewReplacer("~0", "", "~1", "").Replace(token), "~") {
			return nil, false
		}
		s := step{key: jsonpointer.Unescape(token), index: -1, every: token == "*"}
		if i, err := strconv.Atoi(s.key); err == nil && strconv.Itoa(i) == s.key && i >= 0 {
			s.index = i
		}
		path = append(path, s)
	}
	return path, true
}

// places calls visit for every place that path leads to, also where nothing is; at least once. It stops when
// visit returns false.
func places(v any, path []step, visit func(v any, there bool) bool) bool {
	if len(path) == 0 {
		return visit(v, true)
	}
	s, rest := path[0], path[1:]
	switch v := v.(type) {
	case map[string]any:
		if !s.every {
			if w, ok := v[s.key]; ok {
				return places(w, rest, visit)
			}
			break
		}
		for _, w := range v {
			if !places(w, rest, visit) {
				return false
			}
		}
		if len(v) > 0 {
			return true
		}
	case []any:
		if !s.every {
			if s.index >= 0 && s.index < len(v) {
				return places(v[s.index], rest, visit)
			}
			break
		}
		for _, w := range v {
			if !places(w, rest, visit) {
				return false
			}
		}
		if len(v) > 0 {
			return true
		}
	}
	return visit(nil, false)
}
