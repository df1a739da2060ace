package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/toolhost/toolhost/host"
	"github.com/toolhost/toolhost/host/mcpserver"
)

const lintLong = `Scan the definitions of tools for text that speaks to the model and not to people.

Without a name all plugins are scanned. Exit code 4: a tool was refused, because a
character that nobody sees is in its definition, or for another reason. Exit code 8:
a plugin did not say what tools it has. Findings alone are no error: look at them.

What became of a tool since its plugin was accepted last, or else was seen first, is
listed too: another text or schema, a weaker hint, a further permission, old -> new.

And what MCP clients, or the model APIs behind them, do not take as it is (rules that
begin with mcp): unions at the root of an input schema, roots that are no objects, older
drafts of JSON Schema, patterns outside of JavaScript's, names that are cut or mapped.
It is said of the server that serve in the configuration describes.

--accept records, after they are shown, that a person has accepted the definitions.
With definitions: review in the configuration a tool with findings or changes exists
only then, and one with findings until any definition of its plugin changes.

Wording cannot be scanned fully. No findings do not mean that a tool is safe.`

func (a *app) lintCommand() *cobra.Command {
	var accept bool
	cmd := &cobra.Command{
		Use:               "lint [TOOL | PLUGIN]",
		Short:             "Scan tool definitions for text that speaks to the model",
		Long:              lintLong,
		Example:           "  toolhost lint\n  toolhost lint weather --accept",
		Args:              wants(cobra.MaximumNArgs(1)),
		ValidArgsFunction: cobra.NoFileCompletions,
		RunE: func(cmd *cobra.Command, args []string) error {
			ctx := cmd.Context()
			h, err := a.openScanning(ctx)
			if err != nil {
				return err
			}
			defer a.closeHost(h)
			defer context.AfterFunc(ctx, func() { a.closeHost(h) })()
			return a.lint(ctx, h, strings.Join(args, ""), accept)
		},
	}
	cmd.Flags().BoolVar(&accept, "accept", false, "accept the definitions as they are shown")
	return cmd
}

// openScanning starts a host that scans whatever the configuration says, and hides nothing by policy. Nothing may be
// called on it. The caller must close it.
func (a *app) openScanning(ctx context.Context) (*host.Host, error) {
	cfg, err := a.configured()
	if err != nil {
		return nil, err
	}
	cfg.Policy, cfg.Eager = host.Policy{}, true
	if cfg.Definitions == host.DefinitionsOff {
		cfg.Definitions = host.DefinitionsWarn
	}
	for i, p := range cfg.Plugins {
		if p.Definitions != nil && *p.Definitions == host.DefinitionsOff {
			cfg.Plugins[i].Definitions = nil
		}
	}
	return host.Open(ctx, cfg)
}

// linted is what lint says of one plugin.
type linted struct {
	Plugin   string         `json:"plugin"`
	Manifest string         `json:"manifest"`
	Accepted bool           `json:"accepted"` // by this run
	Tools    []lintedTool   `json:"tools"`
	Refused  []host.BadTool `json:"refused"`
	Clashes  []string       `json:"clashes"`
	Error    string         `json:"error,omitempty"` // why the plugin did not say what tools it has
}

type lintedTool struct {
	ID       string         `json:"id"`
	Score    int            `json:"score"`
	Held     bool           `json:"held"`
	Findings []host.Finding `json:"findings"`
	Changes  []host.Change  `json:"changes"`

	MCP []mcpserver.Remark `json:"mcp"` // what MCP clients do not take as it is
}

func (a *app) lint(ctx context.Context, h *host.Host, name string, accept bool) error {
	found := lintPlugins(h, name, accept)
	addRemarks(found, mcpserver.Lint(slices.Collect(h.Tools()), mcpserver.Config{
		Prefix: a.file.Serve.Prefix, Profile: mcpserver.Profile(a.file.Serve.Profile),
	}))
	switch {
	case ctx.Err() != nil:
		return context.Cause(ctx)
	case len(found) == 0 && name != "":
		err := h.NotFound(name)
		err.Op = "lint"
		return err
	}
	if !a.json {
		if err := a.showLint(found); err != nil {
			return err
		}
	}
	for i := range found {
		if !accept || found[i].Manifest == "" {
			continue
		}
		if err := h.Accept(ctx, found[i].Plugin, found[i].Manifest); err != nil {
			return err
		}
		found[i].Accepted = true
		for j := range found[i].Tools {
			found[i].Tools[j].Held = false
			for k := range found[i].Tools[j].Changes {
				found[i].Tools[j].Changes[k].Held = false
			}
		}
		if !a.json {
			if _, err := fmt.Fprintf(a.out, "accepted %s %.12s\n", found[i].Plugin, found[i].Manifest); err != nil {
				return err
			}
		}
	}
	if a.json {
		if err := writeJSON(a.out, struct {
			Plugins []linted `json:"plugins"`
		}{found}); err != nil {
			return err
		}
	}
	return lintError(name, found)
}

// lintPlugins looks at the plugins, or at the one of this name, or at the tools of this name. If all, it looks at the whole
// plugin of such a tool: a manifest is accepted as a whole.
func lintPlugins(h *host.Host, name string, all bool) []linted {
	found := []linted{}
	plugins := slices.Collect(h.Plugins())
	isPlugin := slices.ContainsFunc(plugins, func(p host.PluginStatus) bool { return p.Name == name })
	if t, ok := h.Tool(name); ok && !isPlugin {
		name = t.Plugin + "/" + t.ID // also of an alias
	}
	for _, p := range plugins {
		matches := func(id string) bool { return !isPlugin && (name == id || name == p.Name+"/"+id) }
		named := slices.ContainsFunc(p.Tools, matches) || slices.ContainsFunc(p.BadTools, func(b host.BadTool) bool { return matches(b.ID) })
		whole := name == "" || name == p.Name || all && named
		if !whole && !named {
			continue
		}
		l := linted{Plugin: p.Name, Manifest: p.Manifest, Tools: []lintedTool{}, Refused: []host.BadTool{}, Clashes: []string{}}
		for _, id := range p.Tools {
			if whole || matches(id) {
				l.Tools = append(l.Tools, lintedOf(p, id))
			}
		}
		for _, b := range p.BadTools {
			if whole || matches(b.ID) {
				l.Refused = append(l.Refused, b)
			}
		}
		l.Clashes = append(l.Clashes, p.Clashes...)
		if p.Manifest == "" {
			l.Error = p.Error
		}
		found = append(found, l)
	}
	return found
}

func lintedOf(p host.PluginStatus, id string) lintedTool {
	t := lintedTool{ID: id, Findings: []host.Finding{}, Changes: []host.Change{}}
	i := slices.IndexFunc(p.Findings, func(f host.ToolFindings) bool { return f.Tool == id })
	if i >= 0 {
		f := p.Findings[i]
		t.Score, t.Held, t.Findings = f.Score, f.Held, f.Findings
	}
	for _, c := range p.Changes {
		if c.Tool == id {
			t.Held, t.Changes = t.Held || c.Held, append(t.Changes, c)
		}
	}
	return t
}

// addRemarks gives every tool what is said of it.
func addRemarks(found []linted, remarks []mcpserver.Remark) {
	for _, l := range found {
		for i := range l.Tools {
			t := &l.Tools[i]
			t.MCP = []mcpserver.Remark{}
			for _, r := range remarks {
				if r.Plugin == l.Plugin && r.Tool == t.ID {
					t.MCP = append(t.MCP, r)
				}
			}
		}
	}
}

func (a *app) showLint(found []linted) error {
	var rows [][]string
	add := func(tool, score, rule, path, what string) {
		rows = append(rows, []string{tool, score, rule, path, what})
	}
	for _, l := range found {
		for _, t := range l.Tools {
			name, score := l.Plugin+"/"+t.ID, fmt.Sprint(t.Score)
			if t.Held {
				score += " held"
			}
			if len(t.Findings)+len(t.Changes)+len(t.MCP) == 0 {
				add(name, score, "-", "", "")
			}
			for _, c := range t.Changes {
				add(name, score, "changed", "", c.String())
			}
			for _, f := range t.Findings {
				add(name, score, f.Rule, f.Path, f.Quote)
			}
			for _, r := range t.MCP {
				add(name, score, "mcp "+r.Rule, r.Path, r.Text)
			}
		}
		for _, b := range l.Refused {
			add(l.Plugin+"/"+b.ID, "refused", "-", "", b.Reason)
		}
		for _, c := range l.Clashes {
			add(l.Plugin, "", "name", "", c)
		}
		if l.Error != "" {
			a.warn("plugin %s: %s", l.Plugin, l.Error)
		}
	}
	if len(rows) == 0 {
		return nil
	}
	return writeTable(a.out, []string{"TOOL", "SCORE", "RULE", "PATH", "TEXT"}, rows)
}

// lintError is the error of what was refused, else of what could not be scanned.
func lintError(name string, found []linted) error {
	var refused, failed []string
	for _, l := range found {
		for _, b := range l.Refused {
			refused = append(refused, l.Plugin+"/"+b.ID)
		}
		if l.Error != "" {
			failed = append(failed, l.Plugin)
		}
	}
	fail := func(code host.Code, text string) error {
		return &host.Error{Op: "lint", Tool: name, Code: code, Err: errors.New(text)}
	}
	switch {
	case len(refused) > 0:
		return fail(host.InvalidInput, "refused: "+strings.Join(refused, ", "))
	case len(failed) > 0:
		return fail(host.Unavailable, "not scanned: "+strings.Join(failed, ", "))
	}
	return nil
}
