package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strconv"

	"github.com/spf13/cobra"

	"github.com/toolhost/toolhost/host"
	"github.com/toolhost/toolhost/host/config"
)

const policyTestLong = `Compare what the policy says with what it should say. FILE is a YAML list:

  - {plugin: db, tool: drop, caller: {channel: mcp}, want: hidden}
  - {plugin: db, tool: get, input: {table: users}, want: ask}

want is allow, ask, deny, or hidden (deny, whatever the input). A caller has a
subject, groups, a channel, a session and a tenant; annotations and trusted say
what is known of the tool. Rows with a plugin hold all facts: nothing is started
for them. For the others the tool is looked up. What a tool asks for itself does
not count. Exit code 0 only if every row holds.`

func (a *app) policyTestCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "test FILE",
		Short: "Compare the policy with a table of calls",
		Long:  policyTestLong,
		Args:  wants(cobra.ExactArgs(1)),
		ValidArgsFunction: func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
			return []string{"yaml", "yml"}, cobra.ShellCompDirectiveFilterFileExt
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.policyTest(cmd.Context(), args[0])
		},
	}
}

func (a *app) policyTest(ctx context.Context, path string) error {
	tests, err := config.LoadPolicyTests(path)
	if e, ok := errors.AsType[*fs.PathError](err); ok {
		return usagef("policy test: %s: %w", e.Path, e.Err)
	} else if err != nil {
		return err
	}
	rules, err := a.rules()
	if err != nil {
		return err
	}
	find, done, err := a.finder(ctx, tests)
	if err != nil {
		return err
	}
	defer done()
	failed := 0
	var rows []testedRow
	for _, test := range tests {
		row := tested(ctx, rules, test, find)
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		if !row.OK {
			failed++
		}
		rows = append(rows, row)
	}
	if err := a.printTested(rows); err != nil {
		return err
	}
	if failed > 0 {
		return fmt.Errorf("policy test %s: %d of %d rows do not hold", path, failed, len(rows))
	}
	return nil
}

// testedRow is what became of one row.
type testedRow struct {
	OK     bool   `json:"ok"`
	Line   int    `json:"line"`
	Name   string `json:"name,omitempty"`
	Tool   string `json:"tool"`
	Want   string `json:"want"`
	Got    string `json:"got"` // a word of Want, or why there is none
	Rule   string `json:"rule,omitempty"`
	Source string `json:"source,omitempty"`
	Why    string `json:"why,omitempty"`
}

const wordHidden = "hidden"

func tested(ctx context.Context, rules *host.Rules, test config.PolicyTest, find finder) testedRow {
	row := testedRow{Line: test.Line, Name: test.Name, Tool: test.Tool, Want: test.Want.String()}
	if test.Hidden {
		row.Want = wordHidden
	}
	call := host.PolicyCall{Caller: test.Caller, Input: test.Input, Tool: host.Tool{Plugin: test.Plugin, ID: test.Tool}}
	isTool := true
	if test.Plugin != "" {
		row.Tool = test.Plugin + "/" + test.Tool
		call.Trusted = find.trusted(test.Plugin)
	} else if call.Tool, isTool = find.tool(test.Tool); !isTool {
		row.Got = "no such tool"
		return row
	} else {
		call.Trusted = find.trusted(call.Tool.Plugin)
	}
	if test.Annotations != nil {
		call.Tool.Annotations = *test.Annotations
	}
	if test.Trusted != nil {
		call.Trusted = *test.Trusted
	}
	d := rules.Decide(ctx, call)
	row.Got, row.Rule, row.Source, row.Why = d.Action.String(), d.Rule, d.Source, d.Why
	hidden := !rules.Visible(call)
	if hidden {
		row.Got = wordHidden
	}
	row.OK = d.Action == test.Want && (hidden || !test.Hidden)
	return row
}

// finder finds the facts that a row does not hold.
type finder struct {
	tool    func(name string) (host.Tool, bool)
	trusted func(plugin string) bool
}

// finder starts a host if a row needs one. The caller must call done.
func (a *app) finder(ctx context.Context, tests []config.PolicyTest) (find finder, done func(), err error) {
	find.tool, done = func(string) (host.Tool, bool) { return host.Tool{}, false }, func() {}
	cfg, err := a.configured()
	if err != nil {
		return find, done, err
	}
	find.trusted = func(plugin string) bool { return trusted(cfg, plugin) }
	if !slices.ContainsFunc(tests, func(t config.PolicyTest) bool { return t.Plugin == "" }) {
		return find, done, nil
	}
	h, _, err := a.openUnruled(ctx)
	if err != nil {
		return find, done, err
	}
	stop := context.AfterFunc(ctx, func() { a.closeHost(h) })
	find.tool = h.Tool
	return find, func() { stop(); a.closeHost(h) }, nil
}

func (a *app) printTested(rows []testedRow) error {
	if a.json {
		return writeJSON(a.out, rows)
	}
	var cells [][]string
	for _, r := range rows {
		word := "ok"
		if !r.OK {
			word = "FAIL"
		}
		rule := r.Rule
		if r.Source != "" {
			rule += " (" + r.Source + ")"
		}
		cells = append(cells, []string{word, strconv.Itoa(r.Line), r.Tool, r.Want, r.Got, rule, r.Name})
	}
	return writeTable(a.out, []string{"", "LINE", "TOOL", "WANT", "GOT", "RULE", "NAME"}, cells)
}
