package main

import (
	"bytes"
	"context"
	"encoding/json"
	"maps"
	"slices"

	"github.com/spf13/cobra"

	"github.com/toolhost/toolhost/host"
)

func (a *app) listCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "list",
		Short: "List the tools",
		Long:  "List the tools. Plugins that do not work are named on stderr and change nothing else.",
		Args:  wants(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error {
			ctx := cmd.Context()
			h, _, err := a.open(ctx)
			if err != nil {
				return err
			}
			defer a.closeHost(h)
			defer context.AfterFunc(ctx, func() { a.closeHost(h) })()
			tools := slices.Collect(h.Tools())
			if ctx.Err() != nil {
				return context.Cause(ctx)
			}
			for _, err := range flatten(h.Skipped()) {
				a.warn("%v", err)
			}
			a.warnFailed(h)
			if len(tools) == 0 {
				a.warnNone(h)
			}
			return a.list(tools)
		},
	}
}

func (a *app) list(tools []host.Tool) error {
	if a.json {
		if tools == nil {
			tools = []host.Tool{}
		}
		return writeJSON(a.out, tools)
	}
	if len(tools) == 0 {
		return nil
	}
	var rows [][]string
	for _, t := range tools {
		rows = append(rows, []string{t.Name, t.Plugin, t.Title, t.Description})
	}
	return writeTable(a.out, []string{"NAME", "PLUGIN", "TITLE", "DESCRIPTION"}, rows)
}

// warnNone says why there are no tools.
func (a *app) warnNone(h *host.Host) {
	n := 0
	for range h.Plugins() {
		n++
	}
	switch n {
	case 0:
		a.warn("no tools; see toolhost doctor for where plugins are searched")
	case 1:
		a.warn("no tools; there is one plugin, and toolhost status says more of it")
	default:
		a.warn("no tools; there are %d plugins, and toolhost status says more of them", n)
	}
}

// warnFailed names the plugins and tools that do not work, of those that were asked for their tools, and other names for nothing.
func (a *app) warnFailed(h *host.Host) {
	if a.file != nil {
		for _, alias := range slices.Sorted(maps.Keys(a.file.Tools)) {
			if _, ok := h.Tool(alias); !ok {
				a.warn("tools.%s: no tool %s is offered", alias, a.file.Tools[alias])
			}
		}
	}
	for p := range h.Plugins() {
		if p.Error != "" {
			a.warn("plugin %s: %s: %s", p.Name, p.State, p.Error)
		}
		for _, t := range p.BadTools {
			if t.ID == "" { // it is said of the plugin
				a.warn("plugin %s: %s", p.Name, t.Reason)
				continue
			}
			a.warn("plugin %s: tool %s was refused: %s", p.Name, t.ID, t.Reason)
		}
	}
}

// writeJSON writes v, indented.
func writeJSON(out *terminal, v any) error {
	text, err := marshalIndent(v)
	if err != nil {
		return err
	}
	return out.JSON(text)
}

// marshalIndent returns v as indented JSON, with a line end.
func marshalIndent(v any) ([]byte, error) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	err := enc.Encode(v)
	return b.Bytes(), err
}
