package host

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/toolhost/toolhost/host/internal/policy"
)

// Policy says which calls may be made. Of the rules that match a call any deny wins, then ask, then allow;
// if none matches, Default decides. Order does not matter. The zero value allows everything. What a tool
// asks for itself, such as RequireApproval, counts beside it: the strictest wins.
//
// What is not known is read strictly: a hint of a plugin that is not trusted, a caller without the
// attribute, an argument of another kind than a condition tests, or an input that cannot be read make ask
// and deny rules match and keep allow rules from matching. [Condition] says how in detail.
//
// A tool that the rules deny whatever its input is hidden: to that caller it does not exist.
type Policy struct {
	Default Action // for calls that no rule matches; if zero, Allow
	Rules   []Rule

	// Func is asked about every call that the rules do not deny, and can only make the decision stricter.
	// It may be called concurrently. An error or a panic means Ask.
	Func func(context.Context, PolicyCall) (Action, error)
}

// Action is what a policy says of a call. The greater one is the stricter one.
type Action int

// The actions.
const (
	Allow Action = iota // the call is made
	Ask                 // a person, or whoever may approve, is asked first
	Deny                // the call is refused
)

var actionWords = [...]string{"allow", "ask", "deny"}

// String returns the action's word, such as "ask".
func (a Action) String() string { return word(actionWords[:], int(a)) }

// MarshalText returns String.
func (a Action) MarshalText() ([]byte, error) { return []byte(a.String()), nil }

// UnmarshalText reads allow, ask or deny.
func (a *Action) UnmarshalText(text []byte) error {
	i := slices.Index(actionWords[:], string(text))
	if i < 0 {
		return fmt.Errorf("action %q: want allow, ask or deny", text)
	}
	*a = Action(i)
	return nil
}

// Rule is one rule of a policy. All of its matchers must match; an empty field matches everything, but a
// rule without any matcher is refused: Tool "*" says that every tool is meant.
//
// In patterns * stands for any characters, also none, and everything else for itself; a pattern covers the
// whole text.
type Rule struct {
	Action      Action
	Plugin      string      // pattern of the plugin's name
	Tool        string      // pattern of the tool's id ("db_*") or of plugin/id ("*/db_*"); aliases do not count
	Caller      CallerMatch // who asks
	Annotations RuleHints   // what the tool does; the plugin's word counts only if it is trusted (T20)
	Input       []Condition // what the arguments are; all must hold

	Name   string // for Decision.Rule; if empty, "rule 3" for the third
	Source string // where it was written, such as "toolhost.yaml:12"; may be empty
}

// CallerMatch holds patterns of a Caller's fields; an empty one matches everything. If the caller's field
// is empty, * matches it in ask and deny rules and nothing matches it in allow rules.
type CallerMatch struct {
	Subject string
	Group   string // matches if one of the groups does
	Channel string
	Tenant  string
}

// RuleHints is what a rule wants of a tool's annotations; nil matches everything. A tool of a plugin that
// is not trusted counts as one that writes, destroys, is not idempotent and reaches the open world. So does
// what a trusted plugin does not say, as in MCP; but a read-only tool destroys nothing and is idempotent
// unless it says otherwise.
type RuleHints struct {
	ReadOnly, Destructive, Idempotent, OpenWorld *bool
}

// Condition is about the values at one place of the validated input. At least one test must be given; all
// that are must hold for the same value. Where * leads to several values, ask and deny rules want one for
// which they hold, allow rules want them to hold for all.
//
// A value to which a test cannot be applied (Matches to what is no text, Above and Below to what is no
// number, NotEquals to nothing) meets the condition in ask and deny rules, and does not in allow rules. Any
// other test of a value that is not there does not hold. If the input cannot be read, every condition of
// ask and deny rules holds, and none of allow rules.
//
// Tests see the text of a value and nothing behind it: the pattern /tmp/* matches /tmp/../etc/passwd.
type Condition struct {
	Path      string          // JSON Pointer; a token * stands for every member or item of one level; "" is the whole input
	Equals    json.RawMessage // a JSON value; numbers are compared exactly and by value
	NotEquals json.RawMessage // a JSON value

	// Matches is a pattern, or "re:" and an RE2 expression, in which the dot matches line ends too. A
	// pattern covers the whole text. So does an expression in an allow rule; in ask and deny rules it may
	// match any part of it.
	Matches string

	Above  json.Number // the value is a number above it; if empty, not tested
	Below  json.Number // the value is a number below it; if empty, not tested
	Exists *bool       // true: something is there, if only null; false: nothing is, and there is no other test
}

// Caller is who asks for a call or a list. It is set by what received the request, never from the request's
// own content. The zero value is a caller of whom nothing is known.
type Caller struct {
	Subject string   `json:"subject,omitempty"` // the authenticated person or program
	Groups  []string `json:"groups,omitempty"`  // of the subject
	Channel string   `json:"channel,omitempty"` // how it came: terminal, embedder, mcp, http, provider, ...
	Session string   `json:"session,omitempty"` // one conversation or connection; no rule matches it
	Tenant  string   `json:"tenant,omitempty"`  // whose data
}

// PolicyCall is a call as a policy sees it.
type PolicyCall struct {
	Tool    Tool            // Plugin, ID and Annotations are what rules match
	Trusted bool            // whether the tool's plugin is
	Caller  Caller          // who asks
	Input   json.RawMessage // validated, with defaults; empty means {}. It must not be changed, and may hold secrets
}

// Decision is what a policy says of one call.
type Decision struct {
	Action Action `json:"action"`
	Rule   string `json:"rule"`             // Rule.Name, "rule 3", "default" or "function"
	Source string `json:"source,omitempty"` // Rule.Source
	Why    string `json:"why"`              // the rule's matchers in words, or the error of Func; nothing of the input
}

// Rules is a compiled Policy. The zero value allows everything. Its methods may be called concurrently.
type Rules struct {
	set    policy.Set
	ask    func(context.Context, PolicyCall) (Action, error)
	digest string
	open   bool // everything is allowed, whatever it is
}

// Compile checks and compiles the policy. Later changes to it have no effect. The error is a *PolicyError.
func (p Policy) Compile() (*Rules, error) {
	rules := make([]policy.Rule, len(p.Rules))
	for i, r := range p.Rules {
		rules[i] = r.internal()
	}
	set, faults := policy.Compile(policy.Action(p.Default), rules)
	if len(faults) > 0 {
		return nil, p.policyError(faults)
	}
	text, err := policy.Canonical(policy.Action(p.Default), rules)
	if err != nil { // cannot happen: what compiles marshals
		return nil, &PolicyError{Faults: []PolicyFault{{Rule: -1, Message: err.Error()}}}
	}
	sum := sha256.Sum256(text)
	return &Rules{set: *set, ask: p.Func, digest: hex.EncodeToString(sum[:]), open: len(p.Rules) == 0 && p.Default == Allow && p.Func == nil}, nil
}

// Decide decides one call. A decision without Func in which no condition is tested allocates nothing.
func (r *Rules) Decide(ctx context.Context, c PolicyCall) Decision {
	f := c.facts()
	d := decision(r.set.Decide(&f, c.Input))
	if r.ask == nil || d.Action == Deny {
		return d
	}
	action, err := r.asked(ctx, c)
	switch {
	case err != nil:
		action = Ask
	case action < Allow || action > Deny:
		action, err = Ask, fmt.Errorf("it returned %v", action)
	}
	if action <= d.Action {
		return d
	}
	d = Decision{Action: action, Rule: "function", Why: "the policy's function says so"}
	if err != nil {
		d.Why = "the policy's function failed: " + err.Error()
	}
	return d
}

// Visible reports whether the tool exists for the caller: false if the rules deny every call of it,
// whatever its input. It does not ask Func. The input of c does not count.
func (r *Rules) Visible(c PolicyCall) bool {
	f := c.facts()
	return r.set.Visible(&f)
}

// Bounds returns the least and the most that Decide can say of the call, whatever its input: what may be
// said before there is one. It does not ask Func, for which strictest is Deny. The input of c does not
// count.
func (r *Rules) Bounds(c PolicyCall) (mildest, strictest Action) {
	f := c.facts()
	least, most := r.set.Bounds(&f)
	if r.ask != nil {
		most = policy.Deny
	}
	return Action(least), Action(most)
}

// Digest identifies what the rules say: names, sources and their order do not count, nor does Func. It is
// empty for the zero value only.
func (r *Rules) Digest() string { return r.digest }

// PolicyError says what is wrong with a policy. It has at least one fault.
type PolicyError struct{ Faults []PolicyFault }

// PolicyFault is one thing that is wrong with a rule.
type PolicyFault struct {
	Rule    int    // index in Policy.Rules; -1: it is about Default
	Source  string // of the rule
	Path    string // JSON Pointer within the rule as toolhost.yaml has it, such as /tool or /input/~1path/matches; "" is the whole
	Message string
}

// Error lists the faults, separated by semicolons.
func (e *PolicyError) Error() string {
	lines := make([]string, len(e.Faults))
	for i, f := range e.Faults {
		where := "policy"
		if f.Rule >= 0 {
			where = fmt.Sprintf("policy rule %d", f.Rule+1)
		}
		if f.Source != "" {
			where += " (" + f.Source + ")"
		}
		if f.Path != "" {
			where += " at " + f.Path
		}
		lines[i] = where + ": " + f.Message
	}
	return strings.Join(lines, "; ")
}

func (p Policy) policyError(faults []policy.Fault) error {
	e := new(PolicyError)
	for _, f := range faults {
		out := PolicyFault{Rule: f.Rule, Path: f.At, Message: f.Message}
		if f.Rule >= 0 {
			out.Source = p.Rules[f.Rule].Source
		}
		e.Faults = append(e.Faults, out)
	}
	return e
}

// asked asks Func.
func (r *Rules) asked(ctx context.Context, c PolicyCall) (action Action, err error) {
	defer func() {
		if v := recover(); v != nil {
			err = errors.New("it panicked") // the value may hold a part of the input
		}
	}()
	return r.ask(ctx, c)
}

func (c *PolicyCall) facts() policy.Facts {
	a := &c.Tool.Annotations
	return policy.Facts{
		Plugin: c.Tool.Plugin, Tool: c.Tool.ID, Trusted: c.Trusted,
		Hints:   policy.Hints{ReadOnly: a.ReadOnly, Destructive: a.Destructive, Idempotent: a.Idempotent, OpenWorld: a.OpenWorld},
		Subject: c.Caller.Subject, Groups: c.Caller.Groups, Channel: c.Caller.Channel, Tenant: c.Caller.Tenant,
	}
}

func (r *Rule) internal() policy.Rule {
	out := policy.Rule{
		Action: policy.Action(r.Action), Plugin: r.Plugin, Tool: r.Tool, Caller: policy.Match(r.Caller),
		Hints: policy.Hints(r.Annotations), Name: r.Name, Source: r.Source,
	}
	for _, c := range r.Input {
		out.Input = append(out.Input, policy.Condition(c))
	}
	return out
}

func decision(d policy.Decision) Decision {
	return Decision{Action: Action(d.Action), Rule: d.Rule, Source: d.Source, Why: d.Why}
}
