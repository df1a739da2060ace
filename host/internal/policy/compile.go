package policy

import (
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/toolhost/toolhost/internal/jsonpointer"
	"github.com/toolhost/toolhost/internal/runes"
)

// Compile compiles rules. Without faults the set is ready; else it must not be used.
func Compile(fallback Action, rules []Rule) (*Set, []Fault) {
	var faults []Fault
	s := &Set{fallback: fallback, rules: make([]rule, 0, len(rules))}
	if !fallback.valid() {
		faults = append(faults, Fault{Rule: -1, At: "/default", Message: "no action"})
	}
	for i := range rules {
		c := compiler{in: &rules[i]}
		s.rules = append(s.rules, c.compile(i))
		for _, f := range c.faults {
			f.Rule = i
			faults = append(faults, f)
		}
	}
	return s, faults
}

func (a Action) valid() bool { return a >= Allow && a <= Deny }

// compiler compiles one rule.
type compiler struct {
	in     *Rule
	faults []Fault
	what   []string // matchers in words
}

func (c *compiler) fault(at, message string) {
	c.faults = append(c.faults, Fault{At: at, Message: message})
}

func (c *compiler) compile(index int) rule {
	in := c.in
	r := rule{action: in.Action, name: in.Name, source: in.Source, hints: in.Hints.clone()}
	if r.name == "" {
		r.name = "rule " + strconv.Itoa(index+1)
	}
	if !in.Action.valid() {
		c.fault("", "no action")
	}
	r.plugin = c.glob("/plugin", in.Plugin)
	if strings.Contains(in.Plugin, "/") {
		c.fault("/plugin", "a plugin's name has no slash")
	}
	r.toolPlugin, r.tool = c.tool(in.Tool)
	r.subject = c.glob("/caller/subject", in.Caller.Subject)
	r.group = c.glob("/caller/group", in.Caller.Group)
	r.channel = c.glob("/caller/channel", in.Caller.Channel)
	r.tenant = c.glob("/caller/tenant", in.Caller.Tenant)
	c.hints()
	for _, cond := range in.Input {
		r.conditions = append(r.conditions, c.condition(cond))
	}
	if len(c.what) == 0 {
		c.fault("", `matches every call; if that is meant write tool: "*"`)
	}
	r.why = strings.Join(c.what, "; ")
	r.whyUnknown = r.why + "; what is not known, or cannot be tested, counts as met"
	r.whyUnread = r.why + "; the input cannot be read, so every condition counts as met"
	return r
}

// glob also notes the pattern for Decision.Why.
func (c *compiler) glob(at, pattern string) glob {
	if pattern == "" {
		return glob{}
	}
	if len(pattern) > maxPattern {
		c.fault(at, "longer than 1 KiB")
	}
	c.what = append(c.what, strings.ReplaceAll(at[1:], "/", " ")+" "+clip(pattern))
	return newGlob(pattern)
}

// tool takes a pattern of an id, or of plugin/id.
func (c *compiler) tool(pattern string) (plugin, id glob) {
	whole := c.glob("/tool", pattern)
	head, tail, both := strings.Cut(pattern, "/")
	if !both {
		head, tail, id = "", pattern, whole
	} else if plugin, id = newGlob(head), newGlob(tail); head == "" || tail == "" {
		c.fault("/tool", "write plugin/id; * stands for any of them")
		return plugin, id
	}
	bad := func(r rune) bool {
		return r != '*' && r != '_' && r != '-' && (r < '0' || r > '9') && (r < 'A' || r > 'Z') && (r < 'a' || r > 'z')
	}
	if strings.ContainsFunc(tail, bad) {
		c.fault("/tool", "no tool has such an id: ids hold letters, digits, _ and -, and * stands for any of them")
	}
	return plugin, id
}

// hints notes the hints for Decision.Why.
func (c *compiler) hints() {
	h := c.in.Hints
	for _, one := range []struct {
		name string
		set  *bool
	}{{"readOnly", h.ReadOnly}, {"destructive", h.Destructive}, {"idempotent", h.Idempotent}, {"openWorld", h.OpenWorld}} {
		if one.set != nil {
			c.what = append(c.what, one.name+" "+strconv.FormatBool(*one.set))
		}
	}
}

func (c *compiler) condition(in Condition) condition {
	at := "/input/" + jsonpointer.Escape(in.Path)
	words := []string{"input"}
	if in.Path != "" {
		words = []string{"input " + clip(in.Path)}
	}
	for _, test := range []struct{ name, value string }{
		{"equals", string(in.Equals)}, {"not equals", string(in.NotEquals)}, {"matches", in.Matches},
		{"above", string(in.Above)}, {"below", string(in.Below)},
	} {
		if test.value != "" {
			words = append(words, test.name+" "+clip(test.value))
		}
	}
	if in.Exists != nil {
		words = append(words, fmt.Sprintf("exists %t", *in.Exists))
	}
	c.what = append(c.what, strings.Join(words, " "))
	return compileCondition(in, c.in.Action, func(test, message string) {
		if test != "" {
			test = "/" + test
		}
		c.fault(at+test, message)
	})
}

// clone makes a rule independent of what the caller does with its pointers later.
func (h Hints) clone() Hints {
	return Hints{cloneBool(h.ReadOnly), cloneBool(h.Destructive), cloneBool(h.Idempotent), cloneBool(h.OpenWorld)}
}

func cloneBool(b *bool) *bool {
	if b == nil {
		return nil
	}
	return new(*b)
}

// clip shortens what is quoted.
func clip(s string) string { return runes.Cut(s, 100) }

// Canonical returns a text that two sets have in common only if they decide alike: names, sources and the
// order of rules do not count. The rules must have compiled.
func Canonical(fallback Action, rules []Rule) ([]byte, error) {
	lines := make([]string, 0, len(rules))
	for _, r := range rules {
		r.Name, r.Source = "", ""
		line, err := json.Marshal(r)
		if err != nil {
			return nil, err
		}
		lines = append(lines, string(line))
	}
	slices.Sort(lines)
	return json.Marshal(struct {
		Default Action
		Rules   []string
	}{fallback, slices.Compact(lines)})
}
