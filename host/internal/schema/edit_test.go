package schema

import (
	"encoding/json"
	"math/big"
	"math/rand/v2"
	"strconv"
	"strings"
	"testing"
)

// at returns the edits of a place, made if need be.
func at(root *edit, steps ...any) *edit {
	for _, s := range steps {
		switch s := s.(type) {
		case string:
			root = root.child(step{key: s})
		case int:
			root = root.child(step{array: true, index: s})
		}
	}
	return root
}

func TestBytes_EditsTouchNothingElse(t *testing.T) {
	remove := func(e *edit) { e.remove = true }
	replace := func(text string) func(*edit) { return func(e *edit) { e.replace = []byte(text) } }
	add := func(key, raw string) func(*edit) {
		return func(e *edit) { e.add = append(e.add, member{key, []byte(raw)}) }
	}
	type change struct {
		place []any
		do    func(*edit)
	}
	for _, c := range []struct {
		name, text, want string
		changes          []change
	}{
		{"remove the first", `{ "a": 1, "b": 2 }`, `{ "b": 2 }`, []change{{[]any{"a"}, remove}}},
		{"remove one in the middle", `{"a":1, "b":2 ,"c":3}`, `{"a":1,"c":3}`, []change{{[]any{"b"}, remove}}},
		{"remove the last", `{"a":1 , "b":2 }`, `{"a":1  }`, []change{{[]any{"b"}, remove}}},
		{"remove all", `{"a":1,"b":2}`, `{}`, []change{{[]any{"a"}, remove}, {[]any{"b"}, remove}}},
		{"remove all and add", `{ "a":{"x":[1,"}"]} }`, `{"c":3 }`, []change{{[]any{"a"}, remove}, {nil, add("c", "3")}}},
		{"remove the last and add", `{"a":1,"b":2}`, `{"a":1,"c":3,"d":4}`, []change{{[]any{"b"}, remove}, {nil, add("c", "3")}, {nil, add("d", "4")}}},
		{"replace in an array", `[1.0, [2e2 ,"x,]\"" ], 3]`, `[1.0, [2e2 ,true ], 3]`, []change{{[]any{1, 1}, replace("true")}}},
		{"replace the root", " {\"a\":1}\n", " 7\n", []change{{nil, replace("7")}}},
		{"below a name with escapes", `{"\u0061":{"b":1},"c":1}`, `{"\u0061":{"b":2},"c":1}`, []change{{[]any{"a", "b"}, replace("2")}}},
		{"within an added one", `{}`, `{"a":{"b":1,"c":2}}`, []change{{nil, add("a", `{"b":1}`)}, {[]any{"a"}, add("c", "2")}}},
		{"a place that is not there", `{"a":1}`, `{"a":1}`, []change{{[]any{"x", 3}, remove}, {[]any{"a", "b"}, remove}}},
		{"empty array", `[ ]`, `[ ]`, []change{{[]any{0}, remove}}},
	} {
		t.Run(c.name, func(t *testing.T) {
			root := &edit{}
			for _, ch := range c.changes {
				ch.do(at(root, ch.place...))
			}
			got := string(root.apply([]byte(c.text)))
			if got != c.want || !json.Valid([]byte(got)) {
				t.Errorf("got %s, want %s", got, c.want)
			}
		})
	}
}

// Numbers compare, and count as integers, as fractions do, however they are spelled.
func TestDecimal_AgreesWithFractions(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 5))
	number := func() json.Number {
		var b strings.Builder
		if rng.IntN(3) == 0 {
			b.WriteByte('-')
		}
		b.WriteString(strconv.Itoa([]int{0, 1, 9, 10, 100, 1200, rng.IntN(2000)}[rng.IntN(7)]))
		if rng.IntN(2) == 0 {
			b.WriteString([]string{".0", ".5", ".50", ".001", ".0100", ".999"}[rng.IntN(6)])
		}
		if rng.IntN(2) == 0 {
			b.WriteString([]string{"e0", "E+2", "e-2", "e-3", "e05", "e3"}[rng.IntN(6)])
		}
		return json.Number(b.String())
	}
	var h hasher
	for range 20_000 {
		a, b := number(), number()
		x, y := parseDecimal(a), parseDecimal(b)
		r, q := rat(a), rat(b)
		if sign(x.compare(&y)) != r.Cmp(q) {
			t.Fatalf("%s and %s compare as %d", a, b, x.compare(&y))
		}
		if x.isInteger() != r.IsInt() {
			t.Fatalf("%s is an integer: %v", a, x.isInteger())
		}
		if equal(a, b) != (h.sum(a) == h.sum(b)) {
			t.Fatalf("%s and %s: equality and hash differ", a, b)
		}
		if i, ok := smallInt(a); ok && r.Cmp(new(big.Rat).SetInt64(i)) != 0 {
			t.Fatalf("%s is read as %d", a, i)
		}
	}
}

func sign(n int) int {
	switch {
	case n < 0:
		return -1
	case n > 0:
		return 1
	}
	return 0
}

func TestPath_IsEscapedAndBounded(t *testing.T) {
	tr := trail{{step: step{key: "a/b~c"}}, {step: step{array: true, index: 7}}, {step: step{key: strings.Repeat("é", 1000)}}}
	got := tr.pointer()
	if !strings.HasPrefix(got, "/a~1b~0c/7/é") || len(got) > maxPath || !strings.HasSuffix(got, "é...") {
		t.Errorf("%d bytes: %s", len(got), got)
	}
}
