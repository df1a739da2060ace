package policy

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
)

// The vocabulary of random policies is small, so that rules and calls meet often.
var (
	plugins    = []string{"db", "files"}
	tools      = []string{"get", "get_all", "drop"}
	subjects   = []string{"", "ada", "bob"}
	channels   = []string{"", "mcp", "terminal"}
	groupLists = [][]string{nil, {"ops"}, {"staff", "ops"}, {""}}

	toolGlobs    = []string{"", "*", "get*", "drop", "db/*", "*/get", "files/get*"}
	subjectGlobs = []string{"", "", "*", "ada", "b*"}
	groupGlobs   = []string{"", "", "*", "ops", "st*"}
	tests        = []Condition{
		{Path: "/a", Equals: j(`1`)}, {Path: "/a", NotEquals: j(`1`)}, {Path: "/a", Matches: "x*"}, {Path: "/a", Matches: "re:x"},
		{Path: "/a/*", Above: "3"}, {Path: "/*", Below: "3"}, {Path: "/a", Exists: new(false)}, {Path: "/b", Exists: new(true)},
	}
	inputs = []string{
		`{}`, `{"a":1}`, `{"a":"x"}`, `{"a":"yx","b":2}`, `{"a":[1,5]}`, `{"a":[7],"b":null}`, `{"a":{"c":"4"}}`, `{"b":1e99999999}`, ``,
	}
	unreadable = []byte(`{"a":`)
)

func pick[T any](r *rand.Rand, of []T) T { return of[r.IntN(len(of))] }

func randomRule(r *rand.Rand) Rule {
	rule := Rule{
		Action: Action(r.IntN(3)), Tool: pick(r, toolGlobs),
		Caller: Match{Subject: pick(r, subjectGlobs), Group: pick(r, groupGlobs)},
	}
	if r.IntN(4) == 0 {
		rule.Plugin = pick(r, plugins)
	}
	if r.IntN(4) == 0 {
		rule.Caller.Channel = pick(r, channels[1:])
	}
	if r.IntN(4) == 0 {
		rule.Hints.ReadOnly = new(r.IntN(2) == 0)
	}
	for r.IntN(2) == 0 {
		rule.Input = append(rule.Input, pick(r, tests))
	}
	if rule.Tool == "" && rule.Hints.ReadOnly == nil { // some matcher must be there
		rule.Tool = "*"
	}
	return rule
}

func randomRules(r *rand.Rand) []Rule {
	rules := make([]Rule, r.IntN(6))
	for i := range rules {
		rules[i] = randomRule(r)
	}
	return rules
}

func randomFacts(r *rand.Rand) *Facts {
	f := &Facts{
		Plugin: pick(r, plugins), Tool: pick(r, tools), Trusted: r.IntN(2) == 0,
		Subject: pick(r, subjects), Channel: pick(r, channels), Groups: pick(r, groupLists),
	}
	if r.IntN(2) == 0 {
		f.Hints.ReadOnly = new(r.IntN(2) == 0)
	}
	return f
}

// eachRandom runs a property over random policies, each with a seed that a failure names.
func eachRandom(t *testing.T, check func(r *rand.Rand) error) {
	t.Helper()
	base := rand.Uint64()
	for i := range uint64(2_000) {
		if err := check(rand.New(rand.NewPCG(base, i))); err != nil {
			t.Fatalf("seed %d, %d: %v", base, i, err)
		}
	}
}

func show(s ...any) string {
	text, _ := json.Marshal(s)
	return string(text)
}

// TestDenyNeverAllowsMore: whatever a policy says, a deny rule more makes no decision milder and shows no
// tool more.
func TestDenyNeverAllowsMore(t *testing.T) {
	changed := 0
	eachRandom(t, func(r *rand.Rand) error {
		fallback, rules := Action(r.IntN(3)), randomRules(r)
		deny := randomRule(r)
		deny.Action = Deny
		at := r.IntN(len(rules) + 1)
		more := append(append(append([]Rule(nil), rules[:at]...), deny), rules[at:]...)
		before, after := compile(t, fallback, rules...), compile(t, fallback, more...)
		f := randomFacts(r)
		for _, in := range append(inputs, string(unreadable)) {
			a, b := before.Decide(f, []byte(in)), after.Decide(f, []byte(in))
			if b.Action < a.Action {
				return fmt.Errorf("%s: %d became %d by %s", show(rules, f, in), a.Action, b.Action, show(deny))
			}
			if a.Action != b.Action {
				changed++
			}
		}
		if after.Visible(f) && !before.Visible(f) {
			return fmt.Errorf("%s: shown by %s", show(rules, f), show(deny))
		}
		return nil
	})
	if changed == 0 {
		t.Error("no deny rule changed anything: this test sees nothing")
	}
}

// TestListEqualsCall: what is hidden is denied whatever the input, and every decision is within the bounds.
func TestListEqualsCall(t *testing.T) {
	hidden := 0
	eachRandom(t, func(r *rand.Rand) error {
		rules, f := randomRules(r), randomFacts(r)
		s := compile(t, Action(r.IntN(3)), rules...)
		mildest, strictest := s.Bounds(f)
		if !s.Visible(f) {
			hidden++
		}
		for _, in := range append(inputs, string(unreadable)) {
			if d := s.Decide(f, []byte(in)); d.Action < mildest || d.Action > strictest {
				return fmt.Errorf("%s: %+v is not within %d and %d", show(rules, f, in), d, mildest, strictest)
			}
		}
		return nil
	})
	if hidden == 0 {
		t.Error("no tool was hidden: this test sees nothing")
	}
}

// TestListEqualsCallExactly: where conditions are independent of each other, a tool is hidden if and only if
// every input is denied, and both bounds are met by some input.
func TestListEqualsCallExactly(t *testing.T) {
	eachRandom(t, func(r *rand.Rand) error {
		rules, f := randomRules(r), randomFacts(r)
		paths := 0
		for i := range rules {
			if len(rules[i].Input) > 0 {
				rules[i].Input = []Condition{{Path: fmt.Sprintf("/p%d", paths), Equals: j(`1`)}}
				paths++
			}
		}
		s := compile(t, Action(r.IntN(3)), rules...)
		mildest, strictest := Deny, Allow
		for set := range 1 << paths {
			var members []string
			for p := range paths {
				if set>>p&1 == 1 {
					members = append(members, fmt.Sprintf(`"p%d":1`, p))
				}
			}
			a := s.Decide(f, []byte("{"+strings.Join(members, ",")+"}")).Action
			mildest, strictest = min(mildest, a), max(strictest, a)
		}
		if least, most := s.Bounds(f); least != mildest || most != strictest {
			return fmt.Errorf("%s: bounds %d, %d, but inputs get %d to %d", show(rules, f), least, most, mildest, strictest)
		}
		if visible := s.Visible(f); visible != (mildest < Deny) {
			return fmt.Errorf("%s: visible %t, but the mildest decision is %d", show(rules, f), visible, mildest)
		}
		return nil
	})
}

// TestUnreadableIsStrictest: an input that cannot be read gets nothing milder
// than any other input gets.
func TestUnreadableIsStrictest(t *testing.T) {
	eachRandom(t, func(r *rand.Rand) error {
		rules, f := randomRules(r), randomFacts(r)
		s := compile(t, Action(r.IntN(3)), rules...)
		bad := s.Decide(f, unreadable)
		for _, in := range inputs {
			if d := s.Decide(f, []byte(in)); d.Action > bad.Action {
				return fmt.Errorf("%s: %+v, but unreadable gets %+v", show(rules, f, in), d, bad)
			}
		}
		return nil
	})
}

// TestOrderDoesNotMatter: neither that of the rules, nor that of members in a Go map.
func TestOrderDoesNotMatter(t *testing.T) {
	eachRandom(t, func(r *rand.Rand) error {
		fallback, rules, f, in := Action(r.IntN(3)), randomRules(r), randomFacts(r), []byte(pick(r, inputs))
		before := compile(t, fallback, rules...).Decide(f, in)
		if again := compile(t, fallback, rules...).Decide(f, in); again != before {
			return fmt.Errorf("%s: %+v, then %+v", show(rules, f, string(in)), before, again)
		}
		r.Shuffle(len(rules), func(i, k int) { rules[i], rules[k] = rules[k], rules[i] })
		if after := compile(t, fallback, rules...).Decide(f, in); after.Action != before.Action {
			return fmt.Errorf("%s: %d, in another order %d", show(rules, f, string(in)), after.Action, before.Action)
		}
		return nil
	})
}

// FuzzRule: no rule and no input makes Compile or Decide panic, and a deny rule with that condition never
// allows more.
func FuzzRule(f *testing.F) {
	for _, c := range tests {
		f.Add("db/*", c.Path, string(c.Equals), c.Matches, string(c.Above), `{"a":[1,"x",null,{"b":1e5}]}`)
	}
	f.Add("*", "/a/*/~0", `{"x":[1e5,null]}`, `re:(?i)^a|b\z`, "-0e-3", `{"a":{"b":{"~":-0}}}`)
	f.Fuzz(func(t *testing.T, tool, path, equals, matches, above, input string) {
		for action := Allow; action <= Deny; action++ {
			rule := Rule{Action: action, Tool: tool, Input: []Condition{{
				Path: path, Equals: j(equals), NotEquals: j(equals), Matches: matches, Above: json.Number(above),
			}, {Path: path, Equals: j(equals)}}}
			s, faults := Compile(Ask, []Rule{rule})
			if len(faults) > 0 {
				return
			}
			facts := &Facts{Plugin: "p", Tool: "t"}
			d := s.Decide(facts, []byte(input))
			if again := s.Decide(facts, []byte(input)); again != d {
				t.Fatalf("%+v, then %+v", d, again)
			}
			if least, most := s.Bounds(facts); d.Action < least || d.Action > most {
				t.Fatalf("%+v is not within %d and %d", d, least, most)
			}
			if d.Action != Ask && d.Action != action {
				t.Fatalf("action %d gave %+v", action, d)
			}
		}
	})
}
