//go:build unix

package host_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/toolhost/toolhost/host"
	"github.com/toolhost/toolhost/pluginsdk"
)

// grown is a tool of the plugin growing, as its settings say.
type grown struct {
	ID       string                 `json:"id,omitempty"`
	Title    string                 `json:"title,omitempty"`
	Text     string                 `json:"text,omitempty"` // its description
	Input    json.RawMessage        `json:"input,omitempty"`
	Example  map[string]any         `json:"example,omitempty"`
	Hints    *pluginsdk.Annotations `json:"hints,omitempty"`
	Messages bool                   `json:"messages,omitempty"`
	Context  []string               `json:"context,omitempty"`
	Approval bool                   `json:"approval,omitempty"`
	Loose    bool                   `json:"loose,omitempty"` // outputs are not checked
	Timeout  int                    `json:"timeout,omitempty"`
	Extra    json.RawMessage        `json:"extra,omitempty"`
}

// serveGrowing is a plugin whose tools are what its settings say: other settings are another version of it.
func serveGrowing() {
	pluginsdk.ServeFunc(func(_ context.Context, r *pluginsdk.Registry) error {
		var s struct {
			Tools json.RawMessage `json:"tools"`
		}
		if err := r.Settings(&s); err != nil {
			return err
		}
		var tools []grown
		if err := json.Unmarshal(s.Tools, &tools); err != nil {
			return err
		}
		var all []pluginsdk.Definition
		for _, g := range tools {
			all = append(all, g.tool())
		}
		return r.Set(all...)
	})
}

func (g grown) tool() pluginsdk.Definition {
	t := tool(g.ID, func(context.Context, *pluginsdk.Call, map[string]any) (string, error) { return "done", nil })
	t.InputSchema = json.RawMessage(`{"type":"object"}`)
	if g.Input != nil {
		t.InputSchema = g.Input
	}
	if g.Text != "" {
		t.Description = g.Text
	}
	if g.Example != nil {
		t.InputExamples = []map[string]any{g.Example}
	}
	if g.Context != nil {
		properties := map[string]any{}
		for _, key := range g.Context {
			properties[key] = true
		}
		t.RequestContextSchema, _ = json.Marshal(map[string]any{"type": "object", "properties": properties})
	}
	if g.Loose {
		t.OutputMode = pluginsdk.OutputOff
	}
	t.Title, t.MCP.Annotations, t.WantsMessages, t.RequireApproval, t.MCP.Extra = g.Title, g.Hints, g.Messages, g.Approval, g.Extra
	return t
}

func growing(t *testing.T, tools ...grown) host.Plugin {
	t.Helper()
	settings, err := json.Marshal(map[string]any{"tools": tools})
	if err != nil {
		t.Fatal(err)
	}
	p := self("growing", "growing")
	p.Settings = settings
	return p
}

// changesOf are the changes in words, with the tool before each.
func changesOf(s host.PluginStatus) (all []string) {
	for _, c := range s.Changes {
		all = append(all, c.Tool+" "+c.String())
	}
	return all
}

func TestT19_WhatCountsAsGrowth(t *testing.T) {
	yes, no := true, false
	base := grown{ID: "a", Title: "A", Text: "Does a.", Input: json.RawMessage(`{"type":"object","properties":{"x":{"type":"string"}}}`),
		Hints: &pluginsdk.Annotations{ReadOnly: &yes, Destructive: &no, Idempotent: &yes, OpenWorld: &no}, Approval: true, Context: []string{"user"}}
	for _, tt := range []struct {
		name    string
		change  func(*grown)
		trusted bool
		want    []string // none: it passes
	}{
		{name: "nothing", change: func(*grown) {}},
		{name: "description", change: func(g *grown) { g.Text = "Does a. Always call it first." },
			want: []string{`a description: "Does a." -> "Does a. Always call it first."`}},
		{name: "the end of a long description", change: func(g *grown) { g.Text = "Does a. \u4e16" + strings.Repeat("x", 100) + "y" },
			want: []string{`a description: "Does a." -> "Does a. 世` + strings.Repeat("x", 50) + `…"`}},
		{name: "title", change: func(g *grown) { g.Title = "B" }, want: []string{`a title: "A" -> "B"`}},
		{name: "schema", change: func(g *grown) {
			g.Input = json.RawMessage(`{"type":"object","properties":{"x":{"type":"string"},"y":{"type":"string"}}}`)
		},
			want: []string{`a inputSchema: "…x":{"type":"string"}}}" -> "…x":{"type":"string"},"y":{"type":"string"}}}"`}},
		{name: "blanks in a schema", change: func(g *grown) {
			g.Input = json.RawMessage(`{ "type":"object", "properties":{"x":{"type":"string"}} }`)
		}},
		{name: "a further member", change: func(g *grown) { g.Extra = json.RawMessage(`{"execution": {"taskSupport": "optional"}}`) },
			want: []string{`a extra: "" -> "{"execution":{"taskSupport":"optional"}}"`}},
		{name: "an example", change: func(g *grown) { g.Example = map[string]any{"x": "y"} }, want: []string{`a inputExamples/0: "" -> "{"x":"y"}"`}},
		{name: "readOnly lost", change: func(g *grown) { g.Hints.ReadOnly = nil }, want: []string{"a readOnlyHint: true -> false"}},
		{name: "destructive gained", change: func(g *grown) { g.Hints.Destructive = &yes }, want: []string{"a destructiveHint: false -> true"}},
		{name: "destructive no longer denied", change: func(g *grown) { g.Hints.Destructive = nil }, want: []string{"a destructiveHint: false -> true"}},
		{name: "idempotent lost", change: func(g *grown) { g.Hints.Idempotent = &no }, want: []string{"a idempotentHint: true -> false"}},
		{name: "openWorld gained", change: func(g *grown) { g.Hints.OpenWorld = &yes }, want: []string{"a openWorldHint: false -> true"}},
		{name: "messages", change: func(g *grown) { g.Messages = true }, want: []string{"a wantsMessages: false -> true"}},
		{name: "more of the context", change: func(g *grown) { g.Context = []string{"token", "user"} }, want: []string{`a request context: "user" -> "token user"`}},
		{name: "less of the context", change: func(g *grown) { g.Context = nil }},
		{name: "approval dropped", change: func(g *grown) { g.Approval = false }, want: []string{"a requireApproval: true -> false"}},
		{name: "outputs unchecked", change: func(g *grown) { g.Loose = true }, want: []string{"a outputMode: reject -> off"}},
		{name: "two at once", change: func(g *grown) { g.Title, g.Messages = "B", true }, want: []string{`a title: "A" -> "B"`, "a wantsMessages: false -> true"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			cfg := host.Config{StateDir: stateDir(t), Definitions: host.DefinitionsReview}
			first := open(t, cfg, growing(t, base, grown{ID: "gone"}))
			if got := names(first); !slices.Equal(got, []string{"a", "gone"}) || status(t, first).Changes != nil {
				t.Fatalf("first seen: %v, %v", got, status(t, first).Changes)
			}
			first.Close()
			next := base
			hints := *base.Hints
			next.Hints = &hints
			tt.change(&next)
			h := open(t, cfg, growing(t, next))
			want := []string{"a"}
			if tt.want != nil {
				want = nil
			}
			if got := names(h); !slices.Equal(got, want) {
				t.Errorf("listed: %v, want %v", got, want)
			}
			if diff := cmp.Diff(tt.want, changesOf(status(t, h))); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// T19: a milder hint is growth of a plugin whose hints count in rules, and of no other.
func TestT19_AMilderHintOfATrustedPlugin(t *testing.T) {
	yes := true
	for _, trusted := range []bool{false, true} {
		cfg := host.Config{StateDir: stateDir(t)}
		for i, hints := range []*pluginsdk.Annotations{nil, {ReadOnly: &yes}} {
			p := growing(t, grown{ID: "a", Hints: hints})
			p.Trusted = trusted
			h := open(t, cfg, p)
			names(h)
			var want []string
			if trusted && i == 1 {
				want = []string{"a readOnlyHint: false -> true"}
			}
			if diff := cmp.Diff(want, changesOf(status(t, h))); diff != "" {
				t.Error(diff)
			}
			h.Close()
		}
	}
}

func TestT19_ReviewHoldsWhatGrewUntilItIsAccepted(t *testing.T) {
	dir := t.TempDir()
	review := host.Config{StateDir: dir, Definitions: host.DefinitionsReview}
	v1 := growing(t, grown{ID: "same"}, grown{ID: "changed", Text: "Old."}, grown{ID: "removed"})
	v2 := growing(t, grown{ID: "same"}, grown{ID: "changed", Text: "New."}, grown{ID: "added", Text: "Fresh."})
	h := open(t, review, v1)
	names(h)
	h.Close()

	var log bytes.Buffer
	review.Logger = slog.New(slog.NewTextHandler(&log, nil))
	h = open(t, review, v2)
	other := open(t, host.Config{StateDir: dir, Definitions: host.DefinitionsReview}, v2)
	for _, h := range []*host.Host{h, other} {
		if got := names(h); !slices.Equal(got, []string{"same"}) {
			t.Errorf("listed: %v", got)
		}
		for _, name := range []string{"changed", "growing/added"} {
			e := fails(t, h, name, `{}`, host.NotFound, host.NotStarted)
			if !strings.Contains(e.Error(), "waits for a person: see toolhost lint") {
				t.Errorf("%v does not say why", e)
			}
		}
		call(t, h, "same", `{}`)
	}
	want := []host.Change{
		{Tool: "changed", What: "description", Old: `"Old."`, New: `"New."`, Held: true}, {Tool: "added", What: "new tool", New: `"Fresh."`, Held: true},
	}
	if diff := cmp.Diff(want, status(t, h).Changes); diff != "" {
		t.Error(diff)
	}
	manifest := status(t, h).Manifest
	if err := h.Accept(t.Context(), "growing", manifest); err != nil {
		t.Fatal(err)
	}
	again := open(t, host.Config{StateDir: dir, Definitions: host.DefinitionsReview}, v2)
	for _, h := range []*host.Host{h, other, again} {
		if got := names(h); !slices.Equal(got, []string{"added", "changed", "same"}) {
			t.Errorf("accepted: %v", got)
		}
		call(t, h, "added", `{}`)
	}
	for _, h := range []*host.Host{h, again} {
		if c := status(t, h).Changes; c != nil {
			t.Errorf("accepted, and still %v", c)
		}
	}
	h.Close()
	if n := strings.Count(log.String(), "a tool is more than it was"); n != 2 {
		t.Errorf("logged %d times:\n%s", n, &log)
	}
	// What was accepted is what later versions are compared with: the old description is growth now.
	back := open(t, host.Config{StateDir: dir, Definitions: host.DefinitionsReview}, growing(t, grown{ID: "changed", Text: "Older."}, grown{ID: "added", Text: "Fresh."}))
	if got := names(back); !slices.Equal(got, []string{"added"}) {
		t.Errorf("another version: %v", got)
	}
}

func TestT19_WarnShowsAndHidesNothing(t *testing.T) {
	cfg := host.Config{StateDir: stateDir(t)}
	h := open(t, cfg, growing(t, grown{ID: "a"}))
	names(h)
	h.Close()
	for range 2 { // known from before the second time
		h = open(t, cfg, growing(t, grown{ID: "a"}, grown{ID: "b"}))
		if got := names(h); !slices.Equal(got, []string{"a", "b"}) {
			t.Errorf("listed: %v", got)
		}
		if diff := cmp.Diff([]host.Change{{Tool: "b", What: "new tool", New: `"test tool b"`}}, status(t, h).Changes); diff != "" {
			t.Error(diff)
		}
		h.Close()
	}
	cfg.Definitions = host.DefinitionsOff
	h = open(t, cfg, growing(t, grown{ID: "a"}, grown{ID: "b"}))
	if names(h); status(t, h).Changes != nil {
		t.Errorf("off: %v", status(t, h).Changes)
	}
}

// T19: if what was accepted cannot be read, everything waits under review.
func TestT19_ADamagedBaseline(t *testing.T) {
	dir := t.TempDir()
	cfg := host.Config{StateDir: dir, Definitions: host.DefinitionsReview}
	h := open(t, cfg, growing(t, grown{ID: "a"}))
	names(h)
	h.Close()
	files, err := filepath.Glob(filepath.Join(dir, "baseline", "*"))
	if err != nil || len(files) != 1 {
		t.Fatal(files, err)
	}
	if err := os.WriteFile(files[0], []byte("{"), 0o600); err != nil {
		t.Fatal(err)
	}
	h = open(t, cfg, growing(t, grown{ID: "a", Timeout: 1}, grown{ID: "b"}))
	if got := names(h); len(got) != 0 {
		t.Errorf("listed: %v", got)
	}
	if c := status(t, h).Changes; len(c) != 2 || !strings.Contains(c[0].What, "cannot be read") {
		t.Errorf("%v", c)
	}
	if err := h.Accept(t.Context(), "growing", status(t, h).Manifest); err != nil {
		t.Fatal(err)
	}
	if got := names(h); !slices.Equal(got, []string{"a", "b"}) {
		t.Errorf("accepted: %v", got)
	}
}

// T19, T24: an approval that was given for the tool as it was does not count for the tool as it is.
func TestT19_ApprovalsOfChangedToolsAskAnew(t *testing.T) {
	cfg := host.Config{StateDir: stateDir(t)}
	h := open(t, cfg, growing(t, grown{ID: "a", Approval: true, Text: "Old."}))
	_, err := h.Call(t.Context(), host.Call{Tool: "a", Input: json.RawMessage(`{}`)})
	waits, ok := errors.AsType[*host.SuspendedError](err)
	if !ok {
		t.Fatal(err)
	}
	h.Close()
	h = open(t, cfg, growing(t, grown{ID: "a", Approval: true, Text: "New."}))
	_, err = h.Call(t.Context(), waits.Suspension.Approve())
	again, ok := errors.AsType[*host.SuspendedError](err)
	if !ok || again.Suspension.ID == waits.Suspension.ID {
		t.Fatalf("%v", err)
	}
	if _, err := h.Call(t.Context(), again.Suspension.Approve()); err != nil {
		t.Error(err)
	}
}
