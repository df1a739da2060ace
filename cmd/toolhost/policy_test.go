package main

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/toolhost/toolhost/host"
	"github.com/toolhost/toolhost/host/config"
)

// TestPolicyExample holds the README's cautious rule set to its table.
func TestPolicyExample(t *testing.T) {
	dir := filepath.Join("..", "..", "examples", "policy")
	t.Setenv("HOME", t.TempDir())
	t.Setenv("TOOLHOST_STATE", t.TempDir())
	for _, name := range []string{"XDG_CONFIG_HOME", "XDG_DATA_HOME", "TOOLHOST_PLUGINS"} {
		t.Setenv(name, "")
	}
	stdout, err := os.Create(filepath.Join(t.TempDir(), "stdout"))
	if err != nil {
		t.Fatal(err)
	}
	defer stdout.Close()
	args := []string{"--config", filepath.Join(dir, "toolhost.yaml"), "policy", "test", filepath.Join(dir, "tests.yaml")}
	code := run(t.Context(), args, strings.NewReader(""), stdout, stdout)
	text, err := os.ReadFile(stdout.Name())
	if code != 0 || err != nil || strings.Count(string(text), "\nok ") < 10 {
		t.Errorf("exit code %d, %v\n%s", code, err, text)
	}
}

func TestExplainTakesTheStrictest(t *testing.T) {
	for _, tt := range []struct {
		policy host.Action
		tool   host.Tool
		result host.Action
		flag   string
	}{
		{host.Allow, host.Tool{}, host.Allow, "the tool does not ask"},
		{host.Allow, host.Tool{RequireApproval: true}, host.Ask, "the tool asks at every call"},
		{host.Deny, host.Tool{RequireApproval: true}, host.Deny, "the tool asks at every call"},
		{host.Ask, host.Tool{Callbacks: []string{"needsApproval"}}, host.Ask, "the tool decides at each call whether to ask"},
	} {
		rules, err := host.Policy{Default: tt.policy}.Compile()
		if err != nil {
			t.Fatal(err)
		}
		e := explain(t.Context(), rules, host.PolicyCall{Tool: tt.tool})
		if e.Result != tt.result || e.flagText() != tt.flag || e.Decision.Action != tt.policy {
			t.Errorf("%v and %+v: %+v, %s", tt.policy, tt.tool, e, e.flagText())
		}
	}
}

// TestPolicyTestEnds: a table is not finished after the command is told to stop.
func TestPolicyTestEnds(t *testing.T) {
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(errInterrupted)
	dir := t.TempDir()
	t.Setenv("HOME", dir)
	table := filepath.Join(dir, "t.yaml")
	if err := os.WriteFile(table, []byte("- {plugin: p, tool: t, want: allow}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	a := &app{out: newTerminal(os.Stdout, false), err: newTerminal(os.Stderr, false)}
	if err := a.policyTest(ctx, table); !errors.Is(err, errInterrupted) {
		t.Errorf("error %v", err)
	}
}

func TestTestedComparesHidden(t *testing.T) {
	rules, err := host.Policy{Rules: []host.Rule{{Action: host.Deny, Tool: "x", Annotations: host.RuleHints{ReadOnly: new(true)}}}}.Compile()
	if err != nil {
		t.Fatal(err)
	}
	find := finder{trusted: func(plugin string) bool { return plugin == "believed" }}
	reader := &host.Annotations{ReadOnly: new(true)}
	for _, tt := range []struct {
		test config.PolicyTest
		got  string
		ok   bool
	}{
		{config.PolicyTest{Plugin: "p", Tool: "x", Annotations: reader}, "allow", true},
		{config.PolicyTest{Plugin: "believed", Tool: "x", Annotations: reader, Want: host.Deny, Hidden: true}, "hidden", true},
		{config.PolicyTest{Plugin: "believed", Tool: "x", Annotations: reader, Want: host.Deny}, "hidden", true},
		{config.PolicyTest{Plugin: "believed", Tool: "x", Annotations: reader}, "hidden", false},
		{config.PolicyTest{Plugin: "believed", Tool: "x", Annotations: reader, Trusted: new(false)}, "allow", true},
		{config.PolicyTest{Plugin: "believed", Tool: "x", Want: host.Ask}, "allow", false},
	} {
		if row := tested(t.Context(), rules, tt.test, find); row.Got != tt.got || row.OK != tt.ok {
			t.Errorf("%+v: %+v", tt.test, row)
		}
	}
}
