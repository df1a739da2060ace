package main

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/toolhost/toolhost/internal/runes"
)

// conformanceCalls are what the client of the official suite calls in a scenario beside the list, with what arguments. Of other
// scenarios, it calls every tool.
var conformanceCalls = map[string][]remoteCall{
	"tools_call": {{name: "add_numbers", arguments: json.RawMessage(`{"a":5,"b":3}`)}},
}

// beConformanceClient is one run of the client under test.
func beConformanceClient(scenario, url string) int {
	log := slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: slog.LevelDebug}))
	r := newRemote(settings{URL: url}, log, func() {})
	defer r.close()
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	tools, warnings, err := r.list(ctx)
	log.Info("listed", "tools", len(tools), "warnings", warnings, "error", err)
	if err != nil {
		return 1
	}
	calls := conformanceCalls[scenario]
	var given struct {
		ToolCalls []struct {
			Name      string
			Arguments json.RawMessage
		}
	}
	_ = json.Unmarshal([]byte(os.Getenv("MCP_CONFORMANCE_CONTEXT")), &given)
	for _, c := range given.ToolCalls {
		calls = append(calls, remoteCall{name: c.Name, arguments: c.Arguments})
	}
	if calls == nil {
		for _, raw := range tools {
			var tool struct {
				Name   string
				Schema json.RawMessage `json:"inputSchema"`
			}
			_ = json.Unmarshal(raw, &tool)
			c := remoteCall{name: tool.Name, arguments: json.RawMessage(`{}`)}
			if tool.Name == "json_schema_echo" {
				i := slices.IndexFunc(tools, func(raw json.RawMessage) bool { return strings.Contains(string(raw), `"json_schema_2020_12_tool"`) })
				_ = json.Unmarshal(tools[i], &tool)
				c.arguments = json.RawMessage(`{"schema":` + string(tool.Schema) + `}`)
			}
			calls = append(calls, c)
		}
	}
	for _, c := range calls {
		c.ask = func(_ context.Context, list []question) (all []json.RawMessage, err error) {
			for _, q := range list {
				answer := `{"action":"accept","content":{}}`
				if strings.Contains(string(q.params), "confirmed") {
					answer = `{"action":"accept","content":{"confirmed":true}}`
				}
				all = append(all, json.RawMessage(answer))
			}
			return all, nil
		}
		raw, err := r.call(ctx, c)
		log.Info("called", "tool", c.name, "result", runes.Cut(string(raw), 200), "error", err)
	}
	return 0
}

// TestConformanceClient runs the official suite's scenarios for clients. MCP_CONFORMANCE is the command that runs the suite, such as
// "node22 .../conformance/dist/index.js".
func TestConformanceClient(t *testing.T) {
	command := strings.Fields(os.Getenv("MCP_CONFORMANCE"))
	if len(command) == 0 {
		t.Skip("MCP_CONFORMANCE is not set; make conformance runs the suite against the plugin")
	}
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	for _, scenario := range []string{
		"initialize", "tools_call", "elicitation-sep1034-client-defaults", "sse-retry", "request-metadata", "sep-2322-client-request-state",
		"http-standard-headers", "http-custom-headers", "http-invalid-tool-headers", "json-schema-ref-no-deref", "json-schema-2020-12-preservation",
	} {
		t.Run(scenario, func(t *testing.T) {
			ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
			defer cancel()
			args := append(slices.Clone(command[1:]), "client", "--command", exe, "--scenario", scenario)
			out, err := exec.CommandContext(ctx, command[0], args...).CombinedOutput()
			if err != nil || testing.Verbose() {
				t.Logf("%s", out)
			}
			if err != nil {
				t.Error(fmt.Errorf("%s: %w", scenario, err))
			}
		})
	}
}
