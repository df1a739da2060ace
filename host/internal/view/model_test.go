package view

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"strconv"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/toolhost/toolhost/internal/jsonpointer"
)

// The model: the rules one after the other on a tree, as the package comment says it.
type tree struct {
	kind  byte // '{', '[', or 0 for a scalar
	raw   string
	items []item
}

type item struct {
	raw  string // of a name
	step string
	tree *tree
}

func parseTree(raw []byte) (*tree, error) {
	dec := json.NewDecoder(bytes.NewReader(raw))
	dec.UseNumber()
	return readTree(dec)
}

func readTree(dec *json.Decoder) (*tree, error) {
	tok, err := dec.Token()
	if err != nil {
		return nil, err
	}
	delim, ok := tok.(json.Delim)
	if !ok {
		raw, err := json.Marshal(tok)
		return &tree{raw: string(raw)}, err
	}
	t := &tree{kind: byte(delim)}
	for dec.More() {
		it := item{step: strconv.Itoa(len(t.items))}
		if t.kind == '{' {
			name, err := dec.Token()
			if err != nil {
				return nil, err
			}
			raw, _ := json.Marshal(name)
			it.raw, it.step = string(raw), name.(string)
		}
		if it.tree, err = readTree(dec); err != nil {
			return nil, err
		}
		t.items = append(t.items, it)
	}
	_, err = dec.Token()
	return t, err
}

func (t *tree) String() string {
	if t.kind == 0 {
		return t.raw
	}
	var parts []string
	for _, it := range t.items {
		part := it.tree.String()
		if t.kind == '{' {
			part = it.raw + ":" + part
		}
		parts = append(parts, part)
	}
	return string(t.kind) + strings.Join(parts, ",") + map[byte]string{'{': "}", '[': "]"}[t.kind]
}

// named reports whether one of paths leads to the place, and whether one leads below it.
func named(paths []string, place []string) (here, below bool) {
	for _, p := range paths {
		steps := strings.Split(p, "/")[1:]
		fits := len(steps) >= len(place)
		for i := 0; fits && i < len(place); i++ {
			fits = steps[i] == "*" || jsonpointer.Unescape(steps[i]) == place[i]
		}
		here = here || fits && len(steps) == len(place)
		below = below || fits && len(steps) > len(place)
	}
	return here, below
}

// apply returns what the rule leaves of t, or nil.
func (t *tree) apply(r Rule, place []string) (*tree, error) {
	here, below := named(r.Paths, place)
	switch {
	case here && r.Action == Mask:
		return &tree{raw: `"***"`}, nil
	case here && r.Action == Replace:
		return parseTree(r.Value)
	case here && r.Action == Keep:
		return t, nil
	case r.Action == Keep && (!below || t.kind == 0):
		return nil, nil
	}
	left := &tree{kind: t.kind, raw: t.raw}
	for _, it := range t.items {
		sub, err := it.tree.apply(r, append(place[:len(place):len(place)], it.step))
		if err != nil {
			return nil, err
		}
		if sub != nil {
			left.items = append(left.items, item{it.raw, it.step, sub})
		}
	}
	if r.Action == Keep && len(left.items) == 0 && len(place) > 0 {
		return nil, nil
	}
	return left, nil
}

// reference is the view of in by the model, in compact form with names and strings as encoding/json writes them.
func reference(rules []Rule, in []byte) (string, error) {
	t, err := parseTree(in)
	for _, r := range rules {
		if err != nil {
			return "", err
		}
		if t == nil {
			return "", ErrNothing
		}
		t, err = t.apply(r, nil)
	}
	if err != nil {
		return "", err
	}
	if t == nil {
		return "", ErrNothing
	}
	return canonical([]byte(t.String()))
}

// canonical writes names and strings one way, so that two forms can be compared.
func canonical(raw []byte) (string, error) {
	t, err := parseTree(raw)
	if err != nil {
		return "", err
	}
	return t.String(), nil
}

// randomRules makes rules of a small alphabet, so that paths meet values and each other.
func randomRules(rng *rand.Rand) []Rule {
	steps := []string{"a", "b", "c", "0", "1", "*", "*", "~0", ""}
	values := []string{`1`, `"r"`, `{"a":{"b":2},"c":3}`, `[1,{"a":1},[2,3]]`, `{}`}
	rules := make([]Rule, 1+rng.IntN(5))
	for i := range rules {
		r := &rules[i]
		r.Action = Action(1 + rng.IntN(3))
		if r.Action == Replace {
			r.Value = []byte(values[rng.IntN(len(values))])
		}
		for range 1 + rng.IntN(3) {
			path := ""
			for range rng.IntN(4) {
				path += "/" + steps[rng.IntN(len(steps))]
			}
			r.Paths = append(r.Paths, path)
		}
	}
	return rules
}

func randomValue(rng *rand.Rand, depth int) string {
	n := rng.IntN(7)
	if depth == 0 {
		n = rng.IntN(4)
	}
	switch n {
	case 0:
		return fmt.Sprintf(`"s%d"`, rng.IntN(100))
	case 1:
		return fmt.Sprintf(`-%d.0e1`, rng.IntN(100))
	case 2:
		return `null`
	case 3:
		return `[ ]`
	}
	names := []string{"a", "b", "c", `\u0061`, "0", "~", "", "*"}
	var parts []string
	for range rng.IntN(4) {
		v := randomValue(rng, depth-1)
		if n > 4 {
			v = fmt.Sprintf(`"%s" : %s`, names[rng.IntN(len(names))], v)
		}
		parts = append(parts, v)
	}
	if n > 4 {
		return "{" + strings.Join(parts, ", ") + "}"
	}
	return "[" + strings.Join(parts, " ,") + "]"
}

func TestModel(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	kept := 0
	for range 30_000 {
		rules, in := randomRules(rng), []byte(randomValue(rng, 4))
		if compare(t, rules, in) {
			kept++
		}
	}
	if kept < 10_000 {
		t.Errorf("only %d values had a view", kept)
	}
}

// compare reports whether in has a view, and that the model says the same.
func compare(t *testing.T, rules []Rule, in []byte) bool {
	t.Helper()
	v, err := Compile(rules)
	if err != nil {
		t.Fatal(err)
	}
	got, err := v.Apply(in)
	want, wantErr := reference(rules, in)
	if errors.Is(wantErr, ErrNothing) {
		if !errors.Is(err, ErrNothing) {
			t.Fatalf("%s on %s: got %s, %v, want nothing", show(rules), in, got, err)
		}
		return false
	}
	if err != nil || wantErr != nil {
		t.Fatalf("%s on %s: %v; the model: %v", show(rules), in, err, wantErr)
	}
	if have, err := canonical(got); err != nil || have != want {
		t.Fatalf("%s on %s: got %s (%v), want %s", show(rules), in, got, err, want)
	}
	return true
}

func show(rules []Rule) string {
	var b strings.Builder
	for _, r := range rules {
		fmt.Fprintf(&b, "%d%q%s ", r.Action, r.Paths, r.Value)
	}
	return b.String()
}

// FuzzApply: nothing panics; what is no JSON is refused and everything else, within the limits, has the view that the model
// says.
func FuzzApply(f *testing.F) {
	f.Add(uint64(1), []byte(`{"a":{"b":[1,2,{"c":null}]},"\u0062":"x"}`))
	f.Add(uint64(2), []byte(`[[[1.0e-5]],{"a":{"a":{"a":{}}}}]`))
	f.Add(uint64(3), []byte(`{"a":1}x`))
	f.Add(uint64(4), []byte("\"\xff\""))
	f.Fuzz(func(t *testing.T, seed uint64, in []byte) {
		rules := randomRules(rand.New(rand.NewPCG(seed, 0)))
		v, err := Compile(rules)
		if err != nil {
			t.Fatal(err)
		}
		got, err := v.Apply(in)
		switch {
		case !json.Valid(in) || !utf8.Valid(in):
			if err == nil {
				t.Fatalf("%q has a view: %q", in, got)
			}
		case err != nil && strings.Contains(err.Error(), "levels"):
		default:
			compare(t, rules, in)
		}
	})
}

// FuzzCompile: nothing panics, and what compiles can be applied.
func FuzzCompile(f *testing.F) {
	f.Add(1, "/a/*/~0~1", []byte(nil))
	f.Add(3, "", []byte(`{"a":1}`))
	f.Fuzz(func(t *testing.T, action int, path string, value []byte) {
		v, err := Compile([]Rule{{Action(action), []string{path}, value}})
		if err != nil {
			return
		}
		if got, err := v.Apply([]byte(`{"a":[{"/~":1}],"b":2}`)); err == nil && !json.Valid(got) {
			t.Errorf("%q: %s", path, got)
		}
	})
}
