package view

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/toolhost/toolhost/proto/wire"
)

func keep(paths ...string) Rule              { return Rule{Action: Keep, Paths: paths} }
func hide(paths ...string) Rule              { return Rule{Action: Mask, Paths: paths} }
func replace(value string, path string) Rule { return Rule{Replace, []string{path}, []byte(value)} }
func mustCompile(t testing.TB, rules ...Rule) *View {
	t.Helper()
	v, err := Compile(rules)
	if err != nil {
		t.Fatal(err)
	}
	return v
}

func TestApply(t *testing.T) {
	for _, tt := range []struct {
		name  string
		rules []Rule
		in    string
		want  string
	}{
		{"keep a member", []Rule{keep("/a")}, `{"b":1,"a":{"x": [1, 2]}}`, `{"a":{"x": [1, 2]}}`},
		{"key order and number spelling", []Rule{keep("/b", "/a")}, `{"z":0,"b":1.0e2,"a":12345678901234567890.10}`, `{"b":1.0e2,"a":12345678901234567890.10}`},
		{"every element", []Rule{keep("/l/*/n")}, `{"l":[{"n":1,"s":2},{"s":3},{"n":4}]}`, `{"l":[{"n":1},{"n":4}]}`},
		{"every member", []Rule{keep("/*/n")}, `{"a":{"n":1,"s":2},"b":7,"c":{"n":3}}`, `{"a":{"n":1},"c":{"n":3}}`},
		{"a number of an element", []Rule{keep("/1")}, `[1,2,3]`, `[2]`},
		{"numbers stay those of the given value", []Rule{keep("/1", "/2"), hide("/2")}, `[1,2,3]`, `[2,"***"]`},
		{"no other spelling of a number", []Rule{keep("/01", "/-", "/+1")}, `[1,2,3]`, `[]`},
		{"nothing to keep in an object", []Rule{keep("/a/b")}, `{"a":{"c":1},"d":2}`, `{}`},
		{"a kept container may be empty", []Rule{keep("/a")}, `{"a":{},"d":2}`, `{"a":{}}`},
		{"keep within a scalar", []Rule{keep("/a/b")}, `{"a":"b"}`, `{}`},
		{"keep all", []Rule{keep("")}, ` {"a": 1} `, `{"a": 1}`},
		{"two keeps leave what both name", []Rule{keep("/a", "/b"), keep("/b", "/c")}, `{"a":1,"b":2,"c":3}`, `{"b":2}`},
		{"a keep below a keep", []Rule{keep("/a"), keep("/a/x")}, `{"a":{"x":1,"y":2},"b":2}`, `{"a":{"x":1}}`},
		{"mask", []Rule{hide("/a", "/l/*/s", "/none")}, `{"a":{"x":1},"l":[{"s":1,"t":null},3]}`, `{"a":"***","l":[{"s":"***","t":null},3]}`},
		{"mask all", []Rule{hide("")}, `[1]`, `"***"`},
		{"mask an escaped name", []Rule{hide("/käse~1~0")}, `{"k\u00e4se\/~":1}`, `{"k\u00e4se\/~":"***"}`},
		{"mask every one of the same name", []Rule{hide("/a")}, `{"a":1,"\u0061":2}`, `{"a":"***","\u0061":"***"}`},
		{"an empty name", []Rule{hide("/")}, `{"":1,"a":2}`, `{"":"***","a":2}`},
		{"replace", []Rule{replace(`{"n": 0}`, "/a")}, `{"a":[1],"b":1}`, `{"a":{"n": 0},"b":1}`},
		{"replace adds nothing", []Rule{replace(`0`, "/b")}, `{"a":1}`, `{"a":1}`},
		{"mask, then keep", []Rule{hide("/a"), keep("/a")}, `{"a":{"x":1},"b":2}`, `{"a":"***"}`},
		{"mask, then keep a part of what is no more", []Rule{hide("/a"), keep("/a/x")}, `{"a":{"x":1},"b":2}`, `{}`},
		{"keep, then mask what is dropped", []Rule{keep("/a/x"), hide("/a")}, `{"a":{"y":1}}`, `{}`},
		{"keep, then mask around it", []Rule{keep("/a/x"), hide("/a")}, `{"a":{"x":1,"y":1}}`, `{"a":"***"}`},
		{"replace, then mask within", []Rule{replace(`{"x":1,"y":2}`, "/a"), hide("/a/x")}, `{"a":0}`, `{"a":{"x":"***","y":2}}`},
		{"replace, then keep within", []Rule{replace(`{"x":1,"y":[1,2]}`, "/*"), keep("/a/y/1")}, `{"a":0,"b":0}`, `{"a":{"y":[2]}}`},
		{"mask, then replace", []Rule{hide("/a"), replace(`1`, "/a")}, `{"a":0}`, `{"a":1}`},
		{"replace all, then keep", []Rule{replace(`{"x":1,"y":2}`, ""), keep("/y")}, `"s"`, `{"y":2}`},
		{"a name that is a star", []Rule{hide("/*/x")}, `{"*":{"x":1}}`, `{"*":{"x":"***"}}`},
		{"star and name", []Rule{keep("/a/x", "/*/y")}, `{"a":{"x":1,"y":2,"z":3},"b":{"x":1,"y":2}}`, `{"a":{"x":1,"y":2},"b":{"y":2}}`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			in := []byte(tt.in)
			got, err := mustCompile(t, tt.rules...).Apply(in)
			if err != nil || string(got) != tt.want {
				t.Errorf("got %s, %v, want %s", got, err, tt.want)
			}
			if string(in) != tt.in {
				t.Errorf("the value was changed: %s", in)
			}
			compare(t, tt.rules, in)
		})
	}
}

func compact(t testing.TB, raw []byte) string {
	t.Helper()
	var b bytes.Buffer
	if err := json.Compact(&b, raw); err != nil {
		t.Fatalf("%v: %s", err, raw)
	}
	return b.String()
}

func TestNothingToKeep(t *testing.T) {
	v := mustCompile(t, keep("/a"))
	for _, in := range []string{`"secret"`, `1`, `null`} {
		if got, err := v.Apply([]byte(in)); !errors.Is(err, ErrNothing) || got != nil {
			t.Errorf("%s: got %s, %v", in, got, err)
		}
	}
	v = mustCompile(t, replace(`"x"`, ""), keep("/a"))
	if got, err := v.Apply([]byte(`{"a":1}`)); !errors.Is(err, ErrNothing) || got != nil {
		t.Errorf("got %s, %v", got, err)
	}
}

func TestApplyRefuses(t *testing.T) {
	v := mustCompile(t, hide("/a"))
	deep := func(n int) string { return strings.Repeat("[", n) + strings.Repeat("]", n) }
	for _, in := range []string{
		``, ` `, `{`, `{"a"`, `{"a":`, `{"a":1`, `{"a":1,}`, `{,}`, `{a:1}`, `[1,]`, `[1`, `[1 2]`, `1 2`, `{} x`, `01`, `1.`, `-`, `1e`, `+1`, `.5`, `tru`,
		`nul`, `"`, `"\x"`, `"\u12"`, "\"\x01\"", "\"\xff\"", `{"a":"` + "\xff" + `"}`, `'a'`, `NaN`, `{"a":1 "b":2}`, `{"a" 1}`, "\ufeff1", deep(MaxDepth + 1),
		`{"a":[01]}`, `{"b":[01]}`,
	} {
		got, err := v.Apply([]byte(in))
		if err == nil || got != nil {
			t.Errorf("%.40q: got %.40q", in, got)
		}
	}
	for _, in := range []string{deep(MaxDepth), `{"b":1}`, `"\ud800"`, `"\"\\\/\b\f\n\r\tA"`, `-0.5E+3`, " \t\r\n{ } "} {
		if got, err := v.Apply([]byte(in)); err != nil || string(got) != strings.TrimSpace(in) && compact(t, got) != compact(t, []byte(in)) {
			t.Errorf("%.40q: got %.40q, %v", in, got, err)
		}
	}
	if _, err := v.Apply(make([]byte, MaxSize+1)); err == nil || !strings.Contains(err.Error(), "limit") {
		t.Errorf("a large value: %v", err)
	}
	// What replacements add counts for the depth, and for the size.
	v = mustCompile(t, replace(deep(MaxDepth), "/a"))
	if got, err := v.Apply([]byte(`{"a":1}`)); err == nil {
		t.Errorf("a value that is too deep: %s", got)
	}
	if got, err := v.Apply([]byte(`{"b":1}`)); err != nil || string(got) != `{"b":1}` {
		t.Errorf("got %s, %v", got, err)
	}
	wide := "[" + strings.Repeat("0,", 20_000) + "0]"
	v = mustCompile(t, replace(wide, "/*"), replace(wide, "/*/*"), replace(wide, "/*/*/*"), keep("/none"))
	if got, err := v.Apply([]byte(wide)); err == nil || !strings.Contains(err.Error(), "add more than the limit") {
		t.Errorf("replacements without end: %.20s, %v", got, err)
	}
}

func TestErrorsQuoteNothing(t *testing.T) {
	_, err := mustCompile(t, hide("/a")).Apply([]byte(`{"a":"hunter2","b":hunter2}`))
	if err == nil || strings.Contains(err.Error(), "hunter") || !strings.Contains(err.Error(), "at byte 19") {
		t.Errorf("got %v", err)
	}
}

func TestCompileErrorsNameThePath(t *testing.T) {
	long := strings.Repeat("/a", wire.MaxViewDepth+1)
	for _, tt := range []struct {
		rules []Rule
		want  string
	}{
		{nil, "view: no rules"},
		{[]Rule{keep("/a"), keep()}, "view: rule 1: no paths"},
		{[]Rule{keep("/a", "b")}, `view: rule 0: path "b": a JSON Pointer begins with "/"`},
		{[]Rule{hide("/a~2")}, `view: rule 0: path "/a~2": "~" is written`},
		{[]Rule{hide("/a~")}, `view: rule 0: path "/a~": "~" is written`},
		{[]Rule{hide("/~0~1"), hide(long)}, `view: rule 1: path "` + long + `": 65 steps, the limit is 64`},
		{[]Rule{{Action: 7, Paths: []string{"/a"}}}, `view: rule 0: path "/a": unknown action 7`},
		{[]Rule{{Paths: []string{"/a"}}}, `view: rule 0: path "/a": unknown action 0`},
		{[]Rule{replace(`{`, "/a")}, `view: rule 0: path "/a": the replacement is no JSON`},
		{[]Rule{replace(``, "/a")}, `view: rule 0: path "/a": the replacement is no JSON`},
		{[]Rule{replace("\"\xff\"", "/a")}, `view: rule 0: path "/a": the replacement is no JSON`},
		{[]Rule{replace(strings.Repeat("[", 201)+strings.Repeat("]", 201), "/a")}, `view: rule 0: path "/a": more than 200 levels`},
		{[]Rule{replace(`"`+strings.Repeat("x", wire.MaxViewValue)+`"`, "/a")}, `view: rule 0: path "/a": a replacement of 65538 bytes`},
		{[]Rule{{Keep, []string{"/a"}, []byte("1")}}, `view: rule 0: path "/a": a value that nothing is replaced by`},
		{make([]Rule, wire.MaxViewRules+1), "view: 65 rules, the limit is 64"},
		{[]Rule{keep(strings.Split(strings.Repeat("/a ", wire.MaxViewPaths), " ")...)}, "view: more than 256 paths"},
	} {
		if _, err := Compile(tt.rules); err == nil || !strings.HasPrefix(err.Error(), tt.want) {
			t.Errorf("got %v, want %s", err, tt.want)
		}
	}
}

// All 64 rules have a bit.
func TestManyRules(t *testing.T) {
	var rules []Rule
	for i := range wire.MaxViewRules {
		rules = append(rules, replace(fmt.Sprint(i), "/a"))
	}
	if got, err := mustCompile(t, rules...).Apply([]byte(`{"a":"x"}`)); err != nil || string(got) != `{"a":63}` {
		t.Errorf("got %s, %v", got, err)
	}
}

// Twice the text takes about twice the time, whatever the rules.
func TestLinear(t *testing.T) {
	v := mustCompile(t, keep("/*/a", "/*/*/b", "/*/l/*"), hide("/*/a", "/*"), hide("/*/l/1"), keep("/5", "/*"))
	measure := func(n int) time.Duration {
		in := []byte("[" + strings.Repeat(`{"a":"xxxxxxxxxx","c":{"b":1,"c":2},"l":[1,2,3]},`, n) + "0]")
		best := time.Hour
		for range 5 {
			start := time.Now()
			if _, err := v.Apply(in); err != nil {
				t.Fatal(err)
			}
			best = min(best, time.Since(start))
		}
		return best
	}
	small, large := measure(2_000), measure(20_000)
	if large > 40*small {
		t.Errorf("%s for a value of one size, %s for one ten times as large", small, large)
	}
}
