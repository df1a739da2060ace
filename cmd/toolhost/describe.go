package main

import (
	"context"
	"strings"

	"github.com/spf13/cobra"

	"github.com/toolhost/toolhost/host"
)

func (a *app) describeCommand() *cobra.Command {
	var schema bool
	cmd := &cobra.Command{
		Use:   "describe {TOOL | PLUGIN}",
		Short: "Show everything that is known of a tool, or of a plugin",
		Long: `Show everything that is known of a tool: its definition as the plugin gave it. A
name that no tool has shows the plugin of that name; plugin:NAME always does.`,
		Args:              wants(cobra.ExactArgs(1)),
		ValidArgsFunction: cobra.NoFileCompletions,
		RunE: func(cmd *cobra.Command, args []string) error {
			ctx := cmd.Context()
			h, _, err := a.open(ctx)
			if err != nil {
				return err
			}
			defer a.closeHost(h)
			defer context.AfterFunc(ctx, func() { a.closeHost(h) })()
			tool, isTool := h.Tool(args[0])
			plugin, isPlugin := findPlugin(h, strings.TrimPrefix(args[0], "plugin:"))
			switch {
			case ctx.Err() != nil:
				return context.Cause(ctx)
			case isTool && schema:
				return a.document(tool.InputSchema)
			case isTool:
				return a.describe(toolDefinition(tool))
			case isPlugin && !schema:
				return a.describe(pluginDefinition(plugin, a.serverOf(plugin.Name)))
			}
			missing := h.NotFound(args[0])
			missing.Op = "describe"
			return missing
		},
	}
	cmd.Flags().BoolVar(&schema, "schema", false, "print the tool's own input schema and nothing else")
	return cmd
}

func findPlugin(h *host.Host, name string) (host.PluginStatus, bool) {
	for p := range h.Plugins() {
		if p.Name == name {
			return p, true
		}
	}
	return host.PluginStatus{}, false
}

func hints(n host.Annotations) string {
	var words []string
	for _, h := range []struct {
		set     *bool
		yes, no string
	}{
		{n.ReadOnly, "read-only", "not read-only"},
		{n.Destructive, "destructive", "not destructive"},
		{n.Idempotent, "idempotent", "not idempotent"},
		{n.OpenWorld, "open world", "closed world"},
	} {
		switch {
		case h.set == nil:
		case *h.set:
			words = append(words, h.yes)
		default:
			words = append(words, h.no)
		}
	}
	return strings.Join(words, ", ")
}
