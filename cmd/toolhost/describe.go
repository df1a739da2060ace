package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/toolhost/toolhost/host"
)

func (a *app) describeCommand() *cobra.Command {
	var schema bool
	cmd := &cobra.Command{
		Use:               "describe TOOL",
		Short:             "Show everything that is known of a tool",
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
			tool, ok := h.Tool(args[0])
			switch {
			case ctx.Err() != nil:
				return context.Cause(ctx)
			case !ok:
				err := h.NotFound(args[0])
				err.Op = "describe"
				return err
			case schema:
				return a.document(tool.InputSchema)
			case a.json:
				return writeJSON(a.out, tool)
			}
			return a.describe(tool)
		},
	}
	cmd.Flags().BoolVar(&schema, "schema", false, "print the tool's own input schema and nothing else")
	return cmd
}

// describe writes a tool for people to read.
func (a *app) describe(t host.Tool) error {
	var b strings.Builder
	line := func(name, value string) {
		if value != "" {
			fmt.Fprintf(&b, "%-12s %s\n", name, value)
		}
	}
	line("name", t.Name)
	line("plugin", t.Plugin)
	if t.ID != t.Name {
		line("id", t.ID)
	}
	line("title", t.Title)
	line("description", strings.ReplaceAll(strings.TrimSpace(t.Description), "\n", "\n             "))
	line("hints", hints(t.Annotations))
	if t.Timeout > 0 {
		line("timeout", t.Timeout.String())
	}
	if t.MaxConcurrency > 0 {
		line("concurrency", fmt.Sprint(t.MaxConcurrency))
	}
	if t.RequireApproval {
		line("approval", "every call asks")
	}
	if t.OutputMode != host.OutputReject {
		line("output mode", t.OutputMode.String())
	}
	line("callbacks", strings.Join(t.Callbacks, ", "))
	if _, err := a.out.Write([]byte(b.String())); err != nil {
		return err
	}
	for _, part := range []struct {
		name string
		json json.RawMessage
	}{
		{"input schema", t.InputSchema}, {"output schema", t.OutputSchema}, {"context schema", t.RequestContextSchema},
		{"suspend schema", t.SuspendSchema}, {"resume schema", t.ResumeSchema}, {"examples", examples(t.Examples)},
	} {
		if err := a.part(part.name, part.json); err != nil {
			return err
		}
	}
	return nil
}

// part writes one JSON document under a heading.
func (a *app) part(name string, text json.RawMessage) error {
	if len(text) == 0 || string(text) == "null" {
		return nil
	}
	if _, err := fmt.Fprintf(a.out, "\n%s\n", name); err != nil {
		return err
	}
	var b bytes.Buffer
	b.WriteString("  ")
	if err := json.Indent(&b, text, "  ", "  "); err != nil {
		return err
	}
	b.WriteByte('\n')
	return a.out.JSON(b.Bytes())
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

func examples(list []json.RawMessage) json.RawMessage {
	if len(list) == 0 {
		return nil
	}
	text, err := json.Marshal(list)
	if err != nil { // an example that is no JSON is not shown
		return nil
	}
	return text
}
