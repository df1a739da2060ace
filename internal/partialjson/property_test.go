package partialjson

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
)

// within says why a partial value is not a beginning of the final one, "" if it is.
func within(part, final any, path string) string {
	switch p := part.(type) {
	case string:
		if f, ok := final.(string); !ok || !strings.HasPrefix(f, p) {
			return fmt.Sprintf("%s: %q is no beginning of %v", path, p, final)
		}
	case map[string]any:
		f, ok := final.(map[string]any)
		if !ok {
			return fmt.Sprintf("%s: an object, but %v at the end", path, final)
		}
		for k, v := range p {
			fv, there := f[k]
			if !there {
				return fmt.Sprintf("%s: the final value has no %q", path, k)
			}
			if why := within(v, fv, path+"/"+k); why != "" {
				return why
			}
		}
	case []any:
		f, ok := final.([]any)
		if !ok || len(f) < len(p) {
			return fmt.Sprintf("%s: %d items, %v at the end", path, len(p), final)
		}
		for i := range p {
			if why := within(p[i], f[i], fmt.Sprint(path, "/", i)); why != "" {
				return why
			}
		}
	case json.Number:
		if f, ok := final.(json.Number); !ok || !strings.HasPrefix(string(f), string(p)) {
			return fmt.Sprintf("%s: %s is no beginning of %v", path, p, final)
		}
	default:
		if part != final {
			return fmt.Sprintf("%s: %v, but %v at the end", path, part, final)
		}
	}
	return ""
}

func decode(text []byte) (any, error) {
	d := json.NewDecoder(bytes.NewReader(text))
	d.UseNumber()
	var v any
	err := d.Decode(&v)
	return v, err
}

// checkPrefixes feeds a valid text in pieces and holds the value after each against the final one.
func checkPrefixes(t *testing.T, text []byte, piece func() int, hold bool) {
	t.Helper()
	final, err := decode(text)
	if err != nil {
		t.Fatalf("%q: %v", text, err)
	}
	r := Reader{HoldNumbers: hold}
	for rest := text; len(rest) > 0; {
		n := min(piece(), len(rest))
		if err := r.Feed(rest[:n]); err != nil {
			t.Fatalf("%q: %v", text, err)
		}
		rest = rest[n:]
		got := r.Value()
		part, err := decode(got)
		if err != nil || !json.Valid(got) {
			t.Fatalf("%q, of %q: %s: %v", text[:len(text)-len(rest)], text, got, err)
		}
		if bytes.Equal(got, []byte("null")) { // nothing yet, or the text itself
			continue
		}
		if why := within(part, final, ""); why != "" {
			t.Fatalf("%q, of %q: %s: %s", text[:len(text)-len(rest)], text, got, why)
		}
	}
	if err := r.Feed([]byte(" ")); err != nil || !r.Complete() || string(r.Value()) != strings.TrimRight(string(text), " \t\r\n") {
		t.Fatalf("%q: the last value is %s: %v", text, r.Value(), err)
	}
}

type source struct{ *rand.Rand }

func (s source) text(depth int) string {
	space := func() string { return []string{"", "", "", " ", "\n\t"}[s.IntN(5)] }
	n := s.IntN(4)
	var b strings.Builder
	switch kind := s.IntN(8); {
	case kind < 2 && depth > 0:
		b.WriteString("{" + space())
		for i := range n {
			name := strings.TrimSuffix(s.str(), `"`) + fmt.Sprint("#", i) // each once in its object
			b.WriteString(name + `"` + space() + ":" + space() + s.text(depth-1) + space())
			if i < n-1 {
				b.WriteString("," + space())
			}
		}
		return b.String() + "}"
	case kind < 4 && depth > 0:
		b.WriteString("[" + space())
		for i := range n {
			b.WriteString(s.text(depth-1) + space())
			if i < n-1 {
				b.WriteString("," + space())
			}
		}
		return b.String() + "]"
	case kind < 5:
		return []string{"true", "false", "null"}[s.IntN(3)]
	case kind < 6:
		return []string{"0", "-0", "12", "-1.50", "1e5", "2.5E-07", "-0.0e+0", "12345678901234567890"}[s.IntN(8)]
	}
	return s.str()
}

func (s source) str() string {
	parts := []string{"a", "é", "\U0001F600", `\n`, `\"`, `\\`, `\u00e9`, `\ud83d\ude00`, `\/`, "{", "}", ",", ":", "]", "true", "1", " ", "\u2028", "\x7f"}
	var b strings.Builder
	for range s.IntN(5) {
		b.WriteString(parts[s.IntN(len(parts))])
	}
	return `"` + b.String() + `"`
}

// Every prefix of random documents gives valid JSON whose every string is a prefix of the final one and which has no
// member that the final value lacks.
func TestValue_EveryPrefixIsABeginning(t *testing.T) {
	rounds := 6000
	if testing.Short() {
		rounds = 500
	}
	s := source{rand.New(rand.NewPCG(8, 8))}
	for i := range rounds {
		text := []byte(s.text(4))
		checkPrefixes(t, text, func() int { return 1 }, i%2 == 0)
		checkPrefixes(t, text, func() int { return 1 + s.IntN(7) }, i%2 == 0)
	}
}

// FuzzReader: whatever is fed, the value is valid JSON; if the text is JSON, it is never refused and every value is a
// beginning of it; if it is accepted as complete, it is JSON.
func FuzzReader(f *testing.F) {
	for _, text := range []string{`{"a":[1,-2.5e3,"x\u00e9\ud83d\ude00"],"b":{"c":null}}`, `[tru`, `"\ud83d`, `-`, "[\"\xf0\x9f", `{"a":1,"a":2}`, ` 12 `} {
		f.Add([]byte(text), uint8(1), false)
		f.Add([]byte(text), uint8(3), true)
	}
	f.Fuzz(func(t *testing.T, text []byte, size uint8, hold bool) {
		r := Reader{HoldNumbers: hold}
		step := int(size)%17 + 1
		var err error
		for rest := text; len(rest) > 0 && err == nil; rest = rest[min(step, len(rest)):] {
			err = r.Feed(rest[:min(step, len(rest))])
			if got := r.Value(); !json.Valid(got) {
				t.Fatalf("%q: %q", text, got)
			}
		}
		if json.Valid(text) && !strictly(text) {
			return
		}
		if json.Valid(text) != (err == nil && (r.Complete() || r.Feed([]byte(" ")) == nil && r.Complete())) {
			t.Fatalf("%q is JSON: %v, but %v, %v", text, json.Valid(text), r.Complete(), err)
		}
	})
}

// strictly reports whether a valid text is also JSON to those who want UTF-8, no lone surrogates and 200 levels at most.
func strictly(text []byte) bool {
	var r Reader
	err := r.Feed(text)
	if err == nil {
		return true
	}
	why := err.Error()
	return !strings.Contains(why, "UTF-8") && !strings.Contains(why, "surrogate") && !strings.Contains(why, "levels")
}
