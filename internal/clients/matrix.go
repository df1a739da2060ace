//go:build linux

package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os/exec"
	"path/filepath"
	"strings"
	"time"
)

// steps are the columns of the matrix.
var steps = []string{"list", "call", "bad input", "unknown", "progress", "cancel", "approval"}

// client is one row's client: a script that runs every step, or the inspector, which is a command a step.
type client struct {
	name   string
	script string // in modules; empty: the inspector
	eras   []string
	bridge bool // it reaches an HTTP server through mcp-remote, as a stdio server
}

var clients = []client{
	{name: "TypeScript SDK 1", script: "sdk1.mjs", eras: []string{"legacy"}},
	{name: "TypeScript SDK 2", script: "sdk2.mjs", eras: []string{"legacy", "auto", "modern"}},
	{name: "mcp-remote", script: "sdk1.mjs", eras: []string{"legacy"}, bridge: true},
	{name: "@mastra/mcp", script: "mastra.mjs", eras: []string{"auto", "legacy"}},
	{name: "@ai-sdk/mcp", script: "aisdk.mjs", eras: []string{"auto"}},
	{name: "Inspector", eras: []string{"legacy", "auto", "modern"}},
}

// cell is what one client said of one step.
type cell struct {
	Step    string `json:"step"`
	Verdict string `json:"verdict"` // ok, FAILED or -
	Detail  string `json:"detail"`
}

// target is what a script is told.
type target struct {
	Command string   `json:"command,omitempty"`
	Args    []string `json:"args,omitempty"`
	URL     string   `json:"url,omitempty"`
	Era     string   `json:"era"`
	Dir     string   `json:"dir"`
}

// matrix drives every client over every transport in every era that it has.
func matrix(ctx context.Context, w io.Writer, want func(string) bool) error {
	b, err := setUp(ctx)
	if err != nil {
		return err
	}
	defer b.close()
	var notes []string
	failed, rows := 0, 0
	fmt.Fprintf(w, "%-18s %-6s %-7s", "client", "over", "era")
	for _, s := range steps {
		fmt.Fprintf(w, " %-9s", s)
	}
	fmt.Fprintln(w)
	for _, c := range clients {
		if !want(c.name) && !want(c.script) {
			continue
		}
		for _, over := range []string{"stdio", "http"} {
			if c.bridge && over == "stdio" {
				continue // it is for HTTP
			}
			for _, era := range c.eras {
				rows++
				cells := b.try(ctx, c, over, era)
				fmt.Fprintf(w, "%-18s %-6s %-7s", c.name, over, era)
				for _, s := range steps {
					got := cells[s]
					fmt.Fprintf(w, " %-9s", got.Verdict)
					switch {
					case got.Verdict == "FAILED":
						failed++
						notes = append(notes, fmt.Sprintf("%s over %s, %s: %s: %s", c.name, over, era, s, got.Detail))
					case got.Verdict == "-" && !strings.Contains(strings.Join(notes, "\n"), c.name+": "+s+": "):
						notes = append(notes, fmt.Sprintf("%s: %s: - %s", c.name, s, got.Detail))
					case s == "cancel" && got.Verdict == "ok":
						notes = append(notes, fmt.Sprintf("%s over %s, %s: cancelled after %s", c.name, over, era, got.Detail))
					}
				}
				fmt.Fprintln(w)
			}
		}
	}
	fmt.Fprintf(w, "\n%s\n\n%d rows, %d cells failed\n", strings.Join(notes, "\n"), rows, failed)
	if failed > 0 || rows == 0 {
		return fmt.Errorf("%d cells failed in %d rows", failed, rows)
	}
	return nil
}

// try runs one row. A step of which the client said nothing failed.
func (b *bench) try(ctx context.Context, c client, over, era string) map[string]cell {
	ctx, cancel := context.WithTimeout(ctx, 2*time.Minute)
	defer cancel()
	var cells map[string]cell
	var rest string
	if c.script == "" {
		cells, rest = b.inspect(ctx, over, era), "not tried"
	} else {
		cells, rest = b.script(ctx, c, over, era)
	}
	for _, s := range steps {
		if _, ok := cells[s]; !ok {
			cells[s] = cell{s, "FAILED", rest}
		}
	}
	return cells
}

// script runs a client's script and reads its cells; rest is what else it said.
func (b *bench) script(ctx context.Context, c client, over, era string) (cells map[string]cell, rest string) {
	t := target{Command: b.bin, Args: b.args(), Era: era, Dir: b.dir}
	if over == "http" {
		t = target{URL: b.url, Era: era, Dir: b.dir}
	}
	if c.bridge {
		t = target{Command: "node", Args: []string{b.module("mcp-remote/dist/proxy.js"), b.url, "--allow-http", "--transport", "http-only"}, Era: era, Dir: b.dir}
	}
	text, err := json.Marshal(t)
	if err != nil {
		return map[string]cell{}, err.Error()
	}
	cmd := exec.CommandContext(ctx, "node", c.script, string(text))
	cmd.Dir, cmd.Env, cmd.WaitDelay = filepath.Join(b.root, modules), b.env(), time.Second
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	cells = map[string]cell{}
	for lines := bufio.NewScanner(bytes.NewReader(out)); lines.Scan(); {
		var got cell
		if json.Unmarshal(lines.Bytes(), &got) == nil && got.Step != "" {
			cells[got.Step] = got
		}
	}
	return cells, fmt.Sprintf("%v\n%s", err, stderr.Bytes())
}

func (b *bench) module(path string) string {
	return filepath.Join(b.root, modules, "node_modules", path)
}

// inspect runs the inspector's command once a step. Its list is strict: it reports every schema that some client cannot
// take.
func (b *bench) inspect(ctx context.Context, over, era string) map[string]cell {
	cells := map[string]cell{
		"progress": {"progress", "-", "its command line shows none"},
		"cancel":   {"cancel", "-", "its command line cannot"},
		"approval": {"approval", "-", "its command line answers no questions"},
	}
	for _, try := range []struct {
		step string
		args []string
		exit int
		text string
	}{
		{"list", []string{"--method", "tools/list", "--strict"}, 0, `"danger"`},
		{"call", []string{"--method", "tools/call", "--tool-name", "add", "--tool-args-json", `{"a":2,"b":3}`}, 0, `"sum":5`},
		{"bad input", []string{"--method", "tools/call", "--tool-name", "add", "--tool-args-json", `{"a":"two","b":3}`}, 5, "/a"},
		{"unknown", []string{"--method", "tools/call", "--tool-name", "nothing_of_the_kind", "--tool-args-json", `{}`}, 5, "nothing_of_the_kind"},
	} {
		args := append([]string{b.module(".bin/mcp-inspector"), "--cli", "--config", b.servers(), "--server", over}, try.args...)
		args = append(args, "--format", "json", "-q", "--protocol-era", era)
		cmd := exec.CommandContext(ctx, "node", args...)
		cmd.Env, cmd.WaitDelay = b.env(), time.Second
		out, err := cmd.CombinedOutput()
		text := strings.ReplaceAll(strings.ReplaceAll(string(out), `\"`, `"`), " ", "")
		cells[try.step] = cell{try.step, "ok", ""}
		if cmd.ProcessState.ExitCode() != try.exit || !strings.Contains(text, strings.ReplaceAll(try.text, " ", "")) {
			cells[try.step] = cell{try.step, "FAILED", fmt.Sprintf("want exit %d and %q: %v\n%s", try.exit, try.text, err, out)}
		}
	}
	return cells
}
