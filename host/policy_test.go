package host

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/toolhost/toolhost/internal/cost"
)

func rulesOf(t *testing.T, p Policy) *Rules {
	t.Helper()
	r, err := p.Compile()
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func TestPolicyDecides(t *testing.T) {
	r := rulesOf(t, Policy{Default: Ask, Rules: []Rule{
		{Action: Allow, Annotations: RuleHints{ReadOnly: new(true), OpenWorld: new(false)}, Name: "readers"},
		{Action: Deny, Plugin: "db", Tool: "drop", Caller: CallerMatch{Group: "guests"}, Source: "f:3"},
		{Action: Deny, Tool: "db/*", Input: []Condition{{Path: "/table", Equals: json.RawMessage(`"users"`)}}},
	}})
	reader := Annotations{ReadOnly: new(true), OpenWorld: new(false)}
	for _, tt := range []struct {
		name    string
		call    PolicyCall
		want    Decision
		visible bool
	}{
		{"default", PolicyCall{Tool: Tool{Plugin: "x", ID: "y", Annotations: reader}}, Decision{Ask, "default", "", "no rule matches"}, true},
		{"T20 trusted", PolicyCall{Tool: Tool{Plugin: "x", ID: "y", Annotations: reader}, Trusted: true},
			Decision{Allow, "readers", "", "readOnly true; openWorld false"}, true},
		{"hidden from guests", PolicyCall{Tool: Tool{Plugin: "db", ID: "drop"}, Caller: Caller{Groups: []string{"guests"}}},
			Decision{Deny, "rule 2", "f:3", "plugin db; tool drop; caller group guests"}, false},
		{"by input", PolicyCall{Tool: Tool{Plugin: "db", ID: "drop", Name: "alias"}, Input: json.RawMessage(`{"table":"users"}`)},
			Decision{Deny, "rule 3", "", `tool db/*; input /table equals "users"`}, true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if diff := cmp.Diff(tt.want, r.Decide(t.Context(), tt.call)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			if got := r.Visible(tt.call); got != tt.visible {
				t.Errorf("visible %t", got)
			}
		})
	}
	if d := new(Rules).Decide(t.Context(), PolicyCall{}); d.Action != Allow {
		t.Errorf("the zero value says %+v", d)
	}
}

// TestPolicyFuncOnlyMakesStricter: AP-3 and design section 5: the strictest wins, and a failure asks.
func TestPolicyFuncOnlyMakesStricter(t *testing.T) {
	says := func(a Action, err error) func(context.Context, PolicyCall) (Action, error) {
		return func(context.Context, PolicyCall) (Action, error) { return a, err }
	}
	for _, tt := range []struct {
		name  string
		rules Action
		ask   func(context.Context, PolicyCall) (Action, error)
		want  Decision
	}{
		{"allow", Allow, says(Allow, nil), Decision{Allow, "rule 1", "", "tool *"}},
		{"allow does not soften", Ask, says(Allow, nil), Decision{Ask, "rule 1", "", "tool *"}},
		{"deny", Ask, says(Deny, nil), Decision{Deny, "function", "", "the policy's function says so"}},
		{"error", Allow, says(Allow, errors.New("no database")), Decision{Ask, "function", "", "the policy's function failed: no database"}},
		{"error beside deny", Allow, says(Deny, errors.New("x")), Decision{Ask, "function", "", "the policy's function failed: x"}},
		{"error beside ask", Ask, says(Deny, errors.New("x")), Decision{Ask, "rule 1", "", "tool *"}},
		{"no action", Allow, says(9, nil), Decision{Ask, "function", "", "the policy's function failed: it returned unknown_9"}},
		{"panic", Allow, func(context.Context, PolicyCall) (Action, error) { panic("secret") },
			Decision{Ask, "function", "", "the policy's function failed: it panicked"}},
		{"not asked after deny", Deny, func(context.Context, PolicyCall) (Action, error) { t.Error("asked"); return Allow, nil },
			Decision{Deny, "rule 1", "", "tool *"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			r := rulesOf(t, Policy{Rules: []Rule{{Action: tt.rules, Tool: "*"}}, Func: tt.ask})
			if diff := cmp.Diff(tt.want, r.Decide(t.Context(), PolicyCall{})); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			if _, strictest := r.Bounds(PolicyCall{}); strictest != Deny {
				t.Errorf("bounds up to %v, but a function may deny", strictest)
			}
		})
	}
}

func TestPolicyErrors(t *testing.T) {
	_, err := Policy{Default: 5, Rules: []Rule{
		{Tool: "a.b", Source: "f:7"},
		{Tool: "x", Input: []Condition{{Path: "/p", Matches: "re:("}}},
	}}.Compile()
	e, ok := errors.AsType[*PolicyError](err)
	if !ok || len(e.Faults) != 3 {
		t.Fatalf("error %v (%T)", err, err)
	}
	for _, want := range []string{
		"policy at /default: no action; ", "policy rule 1 (f:7) at /tool: no tool has such an id", "policy rule 2 at /input/~1p/matches: no RE2",
	} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("no %q in %s", want, err)
		}
	}
}

func TestPolicyDigest(t *testing.T) {
	a := Policy{Rules: []Rule{{Action: Deny, Tool: "x", Source: "f:1"}}}
	b := Policy{Rules: []Rule{{Action: Deny, Tool: "x", Source: "f:2", Name: "n"}}}
	c := Policy{Default: Ask, Rules: a.Rules}
	if rulesOf(t, a).Digest() != rulesOf(t, b).Digest() || rulesOf(t, a).Digest() == rulesOf(t, c).Digest() || rulesOf(t, Policy{}).Digest() == "" {
		t.Error("a digest says something else than what the rules say")
	}
}

func TestActionText(t *testing.T) {
	for a, want := range map[Action]string{Allow: `"allow"`, Ask: `"ask"`, Deny: `"deny"`} {
		text, err := json.Marshal(a)
		var back Action
		if err != nil || string(text) != want || json.Unmarshal(text, &back) != nil || back != a {
			t.Errorf("%d: %s, %v, and back %d", a, text, err, back)
		}
	}
	var a Action
	if err := json.Unmarshal([]byte(`"Deny"`), &a); err == nil {
		t.Errorf("Deny was read as %v", a)
	}
}

func TestPolicyDecideAllocatesNothing(t *testing.T) {
	r := rulesOf(t, Policy{Rules: []Rule{{Action: Ask, Tool: "db_*", Caller: CallerMatch{Group: "ops"}}}})
	c := PolicyCall{Tool: Tool{Plugin: "db", ID: "db_get"}, Caller: Caller{Groups: []string{"ops"}}, Input: json.RawMessage(`{}`)}
	ctx := t.Context()
	if n := cost.Of(100, func() { r.Decide(ctx, c); r.Visible(c) }).Allocs; n != 0 {
		t.Errorf("%d allocations", n)
	}
}
