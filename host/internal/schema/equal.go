package schema

import (
	"encoding/json"
	"hash/maphash"
	"slices"
)

// equal compares two decoded values as JSON Schema does: numbers by value, objects without order.
func equal(a, b any) bool {
	switch a := a.(type) {
	case json.Number:
		b, ok := b.(json.Number)
		return ok && (a == b || equalNumbers(a, b))
	case []any:
		b, ok := b.([]any)
		if !ok || len(a) != len(b) {
			return false
		}
		for i := range a {
			if !equal(a[i], b[i]) {
				return false
			}
		}
		return true
	case map[string]any:
		b, ok := b.(map[string]any)
		if !ok || len(a) != len(b) {
			return false
		}
		for k, v := range a {
			if w, ok := b[k]; !ok || !equal(v, w) {
				return false
			}
		}
		return true
	}
	return a == b // string, bool, nil: never a map or a slice against the same, so it cannot panic
}

func equalNumbers(a, b json.Number) bool {
	x, y := parseDecimal(a), parseDecimal(b)
	return x.compare(&y) == 0
}

// hasher hashes decoded values so that equal values have equal hashes. Its seed is random: nobody can aim at
// collisions.
type hasher struct {
	hash   maphash.Hash
	values int // how many were hashed, for the budget
}

func (h *hasher) sum(v any) uint64 {
	h.hash.Reset()
	h.write(v)
	return h.hash.Sum64()
}

// The hash's writers never fail.
func (h *hasher) write(v any) {
	h.values++
	switch v := v.(type) {
	case nil:
		_ = h.hash.WriteByte('0')
	case bool:
		if v {
			_ = h.hash.WriteByte('t')
		} else {
			_ = h.hash.WriteByte('f')
		}
	case json.Number:
		h.number(v)
	case string:
		_ = h.hash.WriteByte('s')
		h.string(v)
	case []any:
		_ = h.hash.WriteByte('[')
		for _, item := range v {
			h.write(item)
		}
		_ = h.hash.WriteByte(']')
	case map[string]any:
		_ = h.hash.WriteByte('{')
		keys := make([]string, 0, len(v))
		for k := range v {
			keys = append(keys, k)
		}
		slices.Sort(keys)
		for _, k := range keys {
			h.string(k)
			h.write(v[k])
		}
		_ = h.hash.WriteByte('}')
	}
}

func (h *hasher) string(s string) {
	_, _ = h.hash.WriteString(s)
	_ = h.hash.WriteByte(0xFF) // no UTF-8 text holds it
}

func (h *hasher) number(n json.Number) {
	d := parseDecimal(n)
	_, _ = h.hash.Write([]byte{'n', byte(d.sign()), byte(d.point), byte(d.point >> 8)})
	_, _ = h.hash.WriteString(d.head) // how the digits fall on head and tail depends on the spelling, their joined text does not
	h.string(d.tail)
}

// duplicate finds two equal items: their indexes, or ok false. Its time is linear in the values, which h
// counts.
func (h *hasher) duplicate(items []any) (i, j int, ok bool) {
	seen := make(map[uint64][]int, len(items))
	for j, item := range items {
		sum := h.sum(item)
		for _, i := range seen[sum] {
			if equal(items[i], item) {
				return i, j, true
			}
		}
		seen[sum] = append(seen[sum], j)
	}
	return 0, 0, false
}
