package config

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/toolhost/toolhost/host"
)

const fullPolicy = `
tools: {fetch: webfetch}
policy:
  default: ask
  rules:
    - name: everything
      deny:
        plugin: db
        tool: db_*
        caller: {subject: "*@example.org", group: ops, channel: mcp, tenant: acme}
        annotations: {readOnly: false, destructive: true, idempotent: false, openWorld: true}
        input:
          /b: {equals: null, exists: true}
          /a/*: {notEquals: 12345678901234567890, matches: "re:^x", above: 1e3, below: 9007199254740993}
    - allow: {tool: "*/get"}
    - {ask: {input: {/c: {exists: false}}}}
`

func TestPolicy(t *testing.T) {
	got, err := Parse("etc/toolhost.yaml", []byte(fullPolicy))
	if err != nil {
		t.Fatal(err)
	}
	want := host.Policy{Default: host.Ask, Rules: []host.Rule{
		{
			Action: host.Deny, Name: "everything", Source: "etc/toolhost.yaml:6", Plugin: "db", Tool: "db_*",
			Caller:      host.CallerMatch{Subject: "*@example.org", Group: "ops", Channel: "mcp", Tenant: "acme"},
			Annotations: host.RuleHints{ReadOnly: new(false), Destructive: new(true), Idempotent: new(false), OpenWorld: new(true)},
			Input: []host.Condition{
				{Path: "/a/*", NotEquals: []byte("12345678901234567890"), Matches: "re:^x", Above: "1e3", Below: "9007199254740993"},
				{Path: "/b", Equals: []byte("null"), Exists: new(true)},
			},
		},
		{Action: host.Allow, Source: "etc/toolhost.yaml:15", Tool: "*/get"},
		{Action: host.Ask, Source: "etc/toolhost.yaml:16", Input: []host.Condition{{Path: "/c", Exists: new(false)}}},
	}}
	if diff := cmp.Diff(want, got.Policy); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestPolicyErrorsHaveAPlace(t *testing.T) {
	for _, tt := range []struct{ name, text, want string }{
		{"default", "policy: {default: no}\n", `f:1:19: policy.default: got "no"; write one of allow ask deny`},
		{"key", "policy: {rule: []}\n", "f:1:10: policy.rule: unknown key; did you mean rules?"},
		{"two actions", "policy:\n  rules:\n  - {allow: {tool: a}, deny: {tool: b}}\n", "f:3:5: policy.rules[0]: write one of allow, ask and deny"},
		{"no action", "policy: {rules: [{name: x}]}\n", "f:1:18: policy.rules[0]: write one of allow, ask and deny"},
		{"action", "policy: {rules: [{alow: {tool: a}}]}\n", "f:1:19: policy.rules[0].alow: unknown key; did you mean allow?"},
		{"no matcher", "policy: {rules: [{deny: {}}]}\n", "f:1:25: policy.rules[0].deny: matches every call"},
		{"nothing", "policy: {rules: [{deny: }]}\n", "f:1:25: policy.rules[0].deny: got null; write a map"},
		{"matcher", "policy: {rules: [{deny: {tols: a}}]}\n", "f:1:26: policy.rules[0].deny.tols: unknown key; did you mean tool"},
		{"empty pattern", "policy: {rules: [{allow: {tool: a, plugin: ''}}]}\n", "f:1:44: policy.rules[0].allow.plugin: "},
		{"id", "policy:\n  rules:\n  - {ask: {tool: a}}\n  - {deny: {tool: db.x}}\n", "f:4:19: policy.rules[1].deny.tool: no tool has such an id"},
		{"after a rule without action", "policy: {rules: [{}, {deny: {tool: a.b}}]}\n",
			"f:1:18: policy.rules[0]: write one of allow, ask and deny\nf:1:36: policy.rules[1].deny.tool: no tool"},
		{"group", "policy: {rules: [{deny: {caller: {groups: [a]}}}]}\n", "f:1:35: policy.rules[0].deny.caller.groups: unknown key; did you mean group?"},
		{"annotation", "policy: {rules: [{deny: {annotations: {readOnlyHint: true}}}]}\n", "f:1:40: policy.rules[0].deny.annotations.readOnlyHint: unknown key"},
		{"pointer", "policy: {rules: [{deny: {input: {path: {exists: true}}}}]}\n", "f:1:40: policy.rules[0].deny.input.path: no JSON Pointer"},
		{"test", "policy: {rules: [{deny: {input: {/path: {match: x}}}}]}\n", "f:1:42: policy.rules[0].deny.input./path.match: unknown key; did you mean matches?"},
		{"no test", "policy: {rules: [{deny: {input: {/path: {}}}}]}\n", "f:1:41: policy.rules[0].deny.input./path: no test"},
		{"expression", "policy:\n  rules:\n  - deny:\n      input:\n        /path: {matches: 're:('}\n", "f:5:26: policy.rules[0].deny.input./path.matches: no RE2"},
		{"number", "policy: {rules: [{deny: {input: {/n: {above: '3'}}}}]}\n", `f:1:46: policy.rules[0].deny.input./n.above: `},
		{"alias", "tools: {fetch: webfetch}\npolicy: {rules: [{deny: {tool: fetch}}]}\n", "f:2:32: policy.rules[0].deny.tool: fetch is another name for webfetch"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			_, err := Parse("f", []byte(tt.text))
			if _, ok := errors.AsType[*Error](err); !ok || !strings.HasPrefix(err.Error(), tt.want) {
				t.Errorf("error\n%v\nwant\n%s…", err, tt.want)
			}
		})
	}
}

func TestPolicyTests(t *testing.T) {
	got, err := ParsePolicyTests("f", []byte(`
- {tool: weather, want: allow}
- name: full
  plugin: db
  tool: drop
  caller: {subject: ada, groups: [ops, staff], channel: mcp, session: s1, tenant: acme}
  input: {table: users, n: 1.50}
  annotations: {readOnly: true, destructive: false}
  trusted: true
  want: hidden
`))
	if err != nil {
		t.Fatal(err)
	}
	want := []PolicyTest{
		{Line: 2, Tool: "weather", Want: host.Allow},
		{
			Line: 3, Name: "full", Plugin: "db", Tool: "drop", Want: host.Deny, Hidden: true, Trusted: new(true),
			Caller:      host.Caller{Subject: "ada", Groups: []string{"ops", "staff"}, Channel: "mcp", Session: "s1", Tenant: "acme"},
			Input:       json.RawMessage(`{"table":"users","n":1.50}`),
			Annotations: &host.Annotations{ReadOnly: new(true), Destructive: new(false)},
		},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	for text, want := range map[string]string{
		"":                                    "f: ",
		"[]":                                  "f:1:1: ",
		"- {tool: x}":                         "f:1:3: [0].want: is missing; write one of allow ask deny hidden",
		"- {want: ask}":                       "f:1:3: [0].tool: is missing; write a text",
		"- {tool: x, want: ask, plug: y}":     "f:1:24: [0].plug: unknown key; did you mean plugin?",
		"- {tool: x, want: Ask}":              `f:1:19: [0].want: got "Ask"; write one of`,
		"- {tool: x, want: ask, caller: ada}": "f:1:32: [0].caller: ",
		"- {tool: x\n":                        "f:1: no YAML: ",
		strings.Repeat("#", MaxSize+1):        "f: the file is larger than 1 MiB",
	} {
		if _, err := ParsePolicyTests("f", []byte(text)); err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%.40q: error %v, want %s…", text, err, want)
		}
	}
}
