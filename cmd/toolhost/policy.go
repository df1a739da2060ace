package main

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/toolhost/toolhost/host"
)

const policyLong = `Show what the policy in the configuration says, and why. No tool is called.

A policy has rules that allow, ask or deny. Of the rules that match a call any
deny wins, then ask, then allow; if none matches, the default decides.`

func (a *app) policyCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "policy",
		Short: "Explain and test the policy",
		Long:  policyLong,
		Args:  cobra.ArbitraryArgs, // checked in RunE, whose error says more than cobra's
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) > 0 {
				return unknownCommand(cmd, args[0])
			}
			return usagef("policy: want explain or test; see toolhost policy --help")
		},
	}
	cmd.SuggestionsMinimumDistance = 2
	cmd.AddCommand(a.policyExplainCommand(), a.policyTestCommand())
	return cmd
}

const explainLong = `Say whether a call would be made, which rule decides, and where it stands.

INPUT is JSON; if it is omitted the input is {}, and - reads it from stdin. It is
taken as it is: it is not repaired, and the schema's defaults are not filled in.
The plugin is asked for its tools, but no tool is called.`

func (a *app) policyExplainCommand() *cobra.Command {
	var caller host.Caller
	cmd := &cobra.Command{
		Use:   "explain TOOL [INPUT | -]",
		Short: "Say what becomes of a call, and which rule decides",
		Long:  explainLong,
		Example: `  toolhost policy explain db_drop '{"table":"users"}'
  toolhost policy explain db_drop --channel mcp --subject ada --group ops`,
		Args:              wants(cobra.RangeArgs(1, 2)),
		ValidArgsFunction: cobra.NoFileCompletions,
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.explain(cmd.Context(), caller, args)
		},
	}
	flags := cmd.Flags()
	flags.SortFlags = false
	flags.StringVar(&caller.Channel, "channel", "terminal", "how the call comes: terminal, embedder, mcp, http, provider")
	flags.StringVar(&caller.Subject, "subject", "", "who calls")
	flags.StringArrayVar(&caller.Groups, "group", nil, "a `GROUP` of the subject (repeatable)")
	flags.StringVar(&caller.Tenant, "tenant", "", "whose data it is about")
	return cmd
}

func (a *app) explain(ctx context.Context, caller host.Caller, args []string) error {
	rules, err := a.rules()
	if err != nil {
		return err
	}
	h, cfg, err := a.openUnruled(ctx)
	if err != nil {
		return err
	}
	defer a.closeHost(h)
	defer context.AfterFunc(ctx, func() { a.closeHost(h) })()
	input, err := a.input(args[1:], cfg.Limits.Input)
	if err != nil {
		return err
	}
	tool, ok := h.Tool(args[0])
	switch {
	case ctx.Err() != nil:
		return context.Cause(ctx)
	case !ok:
		err := h.NotFound(args[0])
		err.Op = "policy explain"
		return err
	}
	e := explain(ctx, rules, host.PolicyCall{Tool: tool, Trusted: trusted(cfg, tool.Plugin), Caller: caller, Input: input})
	if a.json {
		return writeJSON(a.out, e)
	}
	_, err = a.out.Write([]byte(e.text()))
	return err
}

// explanation is what policy explain prints.
type explanation struct {
	Tool            string        `json:"tool"` // plugin/id
	Trusted         bool          `json:"trusted"`
	Hints           string        `json:"-"`
	Caller          host.Caller   `json:"caller"`
	Decision        host.Decision `json:"decision"` // the policy's
	Hidden          bool          `json:"hidden"`
	RequireApproval bool          `json:"requireApproval"` // the tool's own flag
	NeedsApproval   bool          `json:"needsApproval"`   // the tool has a function that may ask
	Result          host.Action   `json:"result"`          // the strictest of decision and flag
}

func explain(ctx context.Context, rules *host.Rules, c host.PolicyCall) explanation {
	e := explanation{
		Tool: c.Tool.Plugin + "/" + c.Tool.ID, Trusted: c.Trusted, Hints: hints(c.Tool.Annotations), Caller: c.Caller,
		Decision: rules.Decide(ctx, c), Hidden: !rules.Visible(c), RequireApproval: c.Tool.RequireApproval,
		NeedsApproval: slices.Contains(c.Tool.Callbacks, "needsApproval"),
	}
	e.Result = e.Decision.Action
	if e.RequireApproval {
		e.Result = max(e.Result, host.Ask)
	}
	return e
}

// text is for people. What a plugin or a flag says cannot begin a line of its own.
func (e explanation) text() string {
	var b strings.Builder
	line := func(name, value string) {
		if value != "" {
			fmt.Fprintf(&b, "%-8s  %s\n", name, strings.Join(strings.Fields(value), " "))
		}
	}
	line("tool", e.Tool)
	line("hints", e.hintsText())
	line("caller", callerText(e.Caller))
	line("policy", e.Decision.Action.String())
	line("rule", e.Decision.Rule)
	line("at", e.Decision.Source)
	line("because", e.Decision.Why)
	line("flag", e.flagText())
	if e.Hidden {
		line("hidden", "for this caller the tool does not exist")
	}
	line("result", e.Result.String())
	return b.String()
}

func (e explanation) hintsText() string {
	switch {
	case e.Hints == "":
		return "none"
	case e.Trusted:
		return e.Hints
	}
	return e.Hints + " (do not count: the plugin is not trusted)"
}

func (e explanation) flagText() string {
	switch {
	case e.RequireApproval:
		return "the tool asks at every call"
	case e.NeedsApproval:
		return "the tool decides at each call whether to ask"
	}
	return "the tool does not ask"
}

func callerText(c host.Caller) string {
	var words []string
	for _, w := range [][2]string{
		{"channel", c.Channel}, {"subject", c.Subject}, {"groups", strings.Join(c.Groups, " ")}, {"tenant", c.Tenant},
	} {
		if w[1] != "" {
			words = append(words, w[0]+" "+w[1])
		}
	}
	if len(words) == 0 {
		return "unknown"
	}
	return strings.Join(words, ", ")
}

// rules compiles the policy of the configuration file; without a file everything is allowed.
func (a *app) rules() (*host.Rules, error) {
	p, err := a.places()
	if err != nil {
		return nil, err
	}
	file, err := p.load()
	if err != nil {
		return nil, err
	}
	return file.Policy.Compile()
}

// openUnruled starts a host without the policy, so that a tool that it hides can be explained. Nothing may be
// called on it. The caller must close it.
func (a *app) openUnruled(ctx context.Context) (*host.Host, host.Config, error) {
	cfg, err := a.configured()
	if err != nil {
		return nil, cfg, err
	}
	cfg.Policy = host.Policy{} // which would hide what is to be explained
	h, err := host.Open(ctx, cfg)
	return h, cfg, err
}

// trusted reports whether the configuration trusts the plugin.
func trusted(cfg host.Config, plugin string) bool {
	return slices.ContainsFunc(cfg.Plugins, func(p host.Plugin) bool { return p.Name == plugin && p.Trusted })
}
