package policy

import (
	"encoding/json"
	"regexp"
	"strings"
	"testing"
)

// TestConditions is the table of the package comment. want is whether the condition holds in an ask or deny
// rule, and in an allow rule.
func TestConditions(t *testing.T) {
	yes, no := new(true), new(false)
	type want struct{ deny, allow bool }
	both, neither, strict := want{true, true}, want{}, want{deny: true}
	for _, tt := range []struct {
		cond  Condition
		input string
		want  want
	}{
		{Condition{Path: "/a", Equals: j(`1`)}, `{"a":1.0}`, both},
		{Condition{Path: "/a", Equals: j(`100`)}, `{"a":1e2}`, both},
		{Condition{Path: "/a", Equals: j(`9007199254740993`)}, `{"a":9007199254740992}`, neither},
		{Condition{Path: "/a", Equals: j(`1`)}, `{"a":"1"}`, neither},
		{Condition{Path: "/a", Equals: j(`null`)}, `{"a":null}`, both},
		{Condition{Path: "/a", Equals: j(`null`)}, `{}`, neither},
		{Condition{Path: "/a", Equals: j(`false`)}, `{"a":null}`, neither},
		{Condition{Path: "/a", Equals: j(`{"x":[1,{}],"y":"z"}`)}, `{"a":{"y":"z","x":[1.0,{}]}}`, both},
		{Condition{Path: "/a", Equals: j(`{"x":1}`)}, `{"a":{"x":1,"y":2}}`, neither},
		{Condition{Path: "/a", Equals: j(`{"x":1}`)}, `{"a":{"y":1}}`, neither},
		{Condition{Path: "/a", Equals: j(`[1]`)}, `{"a":[1,2]}`, neither},
		{Condition{Path: "/a", Equals: j(`"x"`)}, `{"a":["x"]}`, neither},
		{Condition{Path: "/a", Equals: j(`1`)}, `{"a":1e99999999}`, strict},
		{Condition{Path: "", Equals: j(`{}`)}, ``, both},
		{Condition{Path: "/a~1b/~0c", Equals: j(`1`)}, `{"a/b":{"~c":1}}`, both},
		{Condition{Path: "/a/1", Equals: j(`2`)}, `{"a":[1,2]}`, both},
		{Condition{Path: "/a/1", Equals: j(`2`)}, `{"a":{"1":2}}`, both},
		{Condition{Path: "/a/01", Exists: yes}, `{"a":[1,2]}`, neither},
		{Condition{Path: "/a/-1", Exists: yes}, `{"a":[1,2]}`, neither},
		{Condition{Path: "/a/2", Exists: yes}, `{"a":[1,2]}`, neither},
		{Condition{Path: "/a/b", Exists: yes}, `{"a":"b"}`, neither},

		{Condition{Path: "/a", NotEquals: j(`"read"`)}, `{"a":"write"}`, both},
		{Condition{Path: "/a", NotEquals: j(`"read"`)}, `{"a":"read"}`, neither},
		{Condition{Path: "/a", NotEquals: j(`"read"`)}, `{}`, strict},
		{Condition{Path: "/a", NotEquals: j(`"read"`)}, `{"a":null}`, both},
		{Condition{Path: "/a", NotEquals: j(`1`)}, `{"a":1e99999999}`, strict},
		{Condition{Path: "/a", NotEquals: j(`1`), Exists: yes}, `{}`, neither},

		{Condition{Path: "/a", Matches: "/etc/*"}, `{"a":"/etc/passwd"}`, both},
		{Condition{Path: "/a", Matches: "/etc/*"}, `{"a":"/etc/a\nb"}`, both},
		{Condition{Path: "/a", Matches: "/etc/*"}, `{"a":"x/etc/passwd"}`, neither},
		{Condition{Path: "/a", Matches: "*.go"}, `{"a":"a/b.go"}`, both},
		{Condition{Path: "/a", Matches: "a.c"}, `{"a":"abc"}`, neither},
		{Condition{Path: "/a", Matches: "/etc/*"}, `{"a":["/etc/passwd"]}`, strict},
		{Condition{Path: "/a", Matches: "/etc/*"}, `{"a":null}`, strict},
		{Condition{Path: "/a", Matches: "/etc/*"}, `{"a":7}`, strict},
		{Condition{Path: "/a", Matches: "*"}, `{}`, neither},
		{Condition{Path: "/a", Matches: "re:etc"}, `{"a":"/etc/passwd"}`, strict}, // a part is enough for deny only
		{Condition{Path: "/a", Matches: "re:/etc/.*"}, `{"a":"/etc/passwd"}`, both},
		{Condition{Path: "/a", Matches: "re:^/etc/.*$"}, `{"a":"/etc/x\n"}`, both}, // the line end evades nothing
		{Condition{Path: "/a", Matches: "re:^ls$|pwd"}, `{"a":"pwd; rm"}`, strict},
		{Condition{Path: "/a", Matches: "re:(?i)DROP"}, `{"a":"drop"}`, both},

		{Condition{Path: "/a", Above: "10"}, `{"a":10.5}`, both},
		{Condition{Path: "/a", Above: "10"}, `{"a":10}`, neither},
		{Condition{Path: "/a", Above: "10"}, `{"a":"11"}`, strict},
		{Condition{Path: "/a", Above: "10"}, `{"a":"9"}`, strict},
		{Condition{Path: "/a", Above: "10"}, `{}`, neither},
		{Condition{Path: "/a", Above: "10"}, `{"a":1e99999999}`, strict},
		{Condition{Path: "/a", Below: "-2"}, `{"a":-2.01}`, both},
		{Condition{Path: "/a", Above: "0", Below: "5"}, `{"a":3}`, both},
		{Condition{Path: "/a", Above: "0", Below: "5"}, `{"a":5}`, neither},

		{Condition{Path: "/a", Exists: yes}, `{"a":null}`, both},
		{Condition{Path: "/a", Exists: yes}, `{}`, neither},
		{Condition{Path: "/a", Exists: no}, `{}`, both},
		{Condition{Path: "/a", Exists: no}, `{"a":null}`, neither},

		{Condition{Path: "/p/*", Matches: "/tmp/*"}, `{"p":["/tmp/a","/tmp/b"]}`, both},
		{Condition{Path: "/p/*", Matches: "/tmp/*"}, `{"p":["/tmp/a","/etc/b"]}`, strict}, // one is enough to deny, not to allow
		{Condition{Path: "/p/*", Matches: "/tmp/*"}, `{"p":{"x":"/tmp/a"}}`, both},
		{Condition{Path: "/p/*", Matches: "/tmp/*"}, `{"p":[]}`, neither},
		{Condition{Path: "/p/*", Matches: "/tmp/*"}, `{"p":"/tmp/a"}`, neither},
		{Condition{Path: "/p/*/n", Equals: j(`1`)}, `{"p":[{"n":1},{}]}`, strict},
		{Condition{Path: "/p/*/n", NotEquals: j(`1`)}, `{"p":[{"n":1},{}]}`, strict},
		{Condition{Path: "/p/*/n", Exists: no}, `{"p":[{"n":1},{}]}`, strict},
		{Condition{Path: "/p/*/n", Exists: yes}, `{"p":[{"n":1},{}]}`, strict},
		{Condition{Path: "/*/*", Equals: j(`4`)}, `{"a":[1,2],"b":{"c":4}}`, strict},

		{Condition{Path: "/a", Exists: no}, `{"a":1`, strict},
		{Condition{Path: "/a", Equals: j(`1`)}, `{"a":1} x`, strict},
		{Condition{Path: "/a", Equals: j(`1`)}, "{\"a\":\"\xff\"}", strict},
	} {
		text, _ := json.Marshal(tt.cond)
		for action, want := range map[Action]bool{Deny: tt.want.deny, Ask: tt.want.deny, Allow: tt.want.allow} {
			fallback := Allow
			if action == Allow {
				fallback = Deny
			}
			s := compile(t, fallback, Rule{Action: action, Input: []Condition{tt.cond}})
			if got := s.Decide(&Facts{}, []byte(tt.input)).Action == action; got != want {
				t.Errorf("%s on %s: action %d holds: %t, want %t", text, tt.input, action, got, want)
			}
		}
	}
}

func TestAllConditionsMustHold(t *testing.T) {
	s := compile(t, Allow, Rule{Action: Deny, Input: []Condition{{Path: "/a", Equals: j(`1`)}, {Path: "/b", Equals: j(`2`)}}})
	for input, want := range map[string]Action{`{"a":1,"b":2}`: Deny, `{"a":1}`: Allow, `{"b":2}`: Allow, `{}`: Allow} {
		if got := s.Decide(&Facts{}, []byte(input)).Action; got != want {
			t.Errorf("%s: %d, want %d", input, got, want)
		}
	}
}

// TestT4_LongText: a text that an expression cannot be afforded for is denied, at once.
func TestT4_LongText(t *testing.T) {
	slow := Condition{Path: "/a", Matches: `re:^(.{0,30}){0,10}b$`}
	input := []byte(`{"a":"` + strings.Repeat("x", 1<<20) + `"}`)
	if got := compile(t, Allow, Rule{Action: Deny, Input: []Condition{slow}}).Decide(&Facts{}, input).Action; got != Deny {
		t.Errorf("deny: %d", got)
	}
	if got := compile(t, Ask, Rule{Action: Allow, Input: []Condition{slow}}).Decide(&Facts{}, input).Action; got != Ask {
		t.Errorf("allow: %d", got)
	}
	// A pattern costs what the text costs, however many stars it has.
	many := Condition{Path: "/a", Matches: strings.Repeat("*x", 500) + "b*"}
	if got := compile(t, Allow, Rule{Action: Deny, Input: []Condition{many}}).Decide(&Facts{}, input).Action; got != Allow {
		t.Errorf("pattern: %d", got)
	}
}

func TestGlob(t *testing.T) {
	alphabet := []string{"", "a", "b", "*", "ab", "a*", "*b", "**", "a*b", "*a*", "ab*ab", "a*a*a", "*ab*b"}
	texts := []string{"", "a", "b", "ab", "ba", "aab", "abab", "aaa", "abb", "aba", "a\nb", "xaby"}
	for _, pattern := range alphabet[1:] {
		re := regexp.MustCompile(`(?s)\A` + strings.ReplaceAll(pattern, "*", ".*") + `\z`)
		for _, text := range texts {
			if got, want := newGlob(pattern).match(text), re.MatchString(text); got != want {
				t.Errorf("%q on %q: %t, want %t", pattern, text, got, want)
			}
		}
	}
}

func TestNumbers(t *testing.T) {
	ordered := []json.Number{"-1e6", "-12", "-1.5", "-0.001", "0", "1e-400", "0.1", "0.11", "1", "9007199254740992", "9007199254740993", "1e400"}
	for i, a := range ordered {
		for k, b := range ordered {
			x, okX := parseNumber(a)
			y, okY := parseNumber(b)
			want := 0
			if i < k {
				want = -1
			} else if i > k {
				want = 1
			}
			if got := x.compare(y); !okX || !okY || got != want {
				t.Errorf("%s and %s: %d, want %d", a, b, got, want)
			}
		}
	}
	for a, b := range map[json.Number]json.Number{"0": "-0.0e5", "10": "1e1", "0.10": "1E-1", "120e-1": "12.0", "-5": "-50e-1"} {
		x, _ := parseNumber(a)
		y, _ := parseNumber(b)
		if x != y || x.compare(y) != 0 {
			t.Errorf("%s and %s differ: %+v, %+v", a, b, x, y)
		}
	}
	for _, bad := range []json.Number{"", "x", "01", "1.", "+1", " 1", "1 ", "1e1000001", "1e-1000001", "1e99999999999999999999", `"1"`, "-", "NaN"} {
		if n, ok := parseNumber(bad); ok {
			t.Errorf("%q is %+v", bad, n)
		}
	}
}

func j(text string) json.RawMessage { return json.RawMessage(text) }
