package mcpserver

import (
	"context"
	"encoding/json"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/toolhost/toolhost/host"
	"github.com/toolhost/toolhost/host/mcpserver/internal/project"
	"github.com/toolhost/toolhost/pluginsdk"
)

func TestR2_LintNamesToolPlaceAndConsequence(t *testing.T) {
	tools := []host.Tool{
		{Name: "union", Plugin: "p", ID: "union", InputSchema: json.RawMessage(`{"type":"object","oneOf":[{"required":["a"]}]}`)},
		{Name: "list", Plugin: "p", ID: "list", InputSchema: json.RawMessage(`{"type":"array"}`)},
		{Name: "fine", Plugin: "p", ID: "fine", InputSchema: json.RawMessage(`{"type":"object"}`), OutputSchema: json.RawMessage(`{"type":"array"}`)},
		{Name: "q/fine", Plugin: "q", ID: "fine", InputSchema: json.RawMessage(`{"type":"object"}`)},
		{Name: "warns", Plugin: "q", ID: "warns", InputSchema: json.RawMessage(`{"type":"object"}`), OutputSchema: json.RawMessage(`{"type":"object"}`), OutputMode: host.OutputWarn},
	}
	want := []Remark{
		{"p", "list", "list", "root", "/inputSchema", "the root admits no object, and MCP takes nothing else for arguments: the tool is not exported"},
		{"p", "fine", "p__fine", "name", "/name", "exported as p__fine: other plugins have a tool of that id too"},
		{"q", "fine", "q__fine", "name", "/name", "exported as q__fine: other plugins have a tool of that id too"},
		{"p", "union", "union", "root_rule", "/inputSchema/oneOf", "some model APIs refuse a request over oneOf at the root, and some clients leave the tool out: move it below a property, or serve with the profile strict-model"},
		{"q", "warns", "warns", "output_mode", "/outputSchema", "it is not listed: with output mode warn a result may break it, and clients refuse such results"},
	}
	if diff := cmp.Diff(want, Lint(tools, Config{})); diff != "" {
		t.Error(diff)
	}
	for _, r := range Lint(tools, Config{Profile: ProfileStrictModel, Prefix: true}) {
		if r.Rule == "root_rule" || r.Rule == "name" {
			t.Errorf("%+v", r)
		}
	}
}

// oddTools have rules at the root of their schema, and one of them a schema that is none.
func oddTools() []pluginsdk.Definition {
	same := func(_ context.Context, _ *pluginsdk.Call, in json.RawMessage) (json.RawMessage, error) {
		return in, nil
	}
	list := []pluginsdk.Definition{}
	for _, t := range [][2]string{
		{"union", `{"type":"object","properties":{"id":{"type":"integer"},"name":{"type":"string"}},"oneOf":[{"required":["id"]},{"required":["name"]}]}`},
		{"bad", `{"type":"object","properties":{"n":{"type":"int"}}}`},
		{"ahead", `{"type":"object","properties":{"s":{"type":"string","pattern":"^(?!x)[\\w-.]+$"}}}`},
	} {
		list = append(list, pluginsdk.Tool[json.RawMessage, json.RawMessage]{ID: t[0], Description: "Does.", InputSchema: json.RawMessage(t[1]), Execute: same})
	}
	return list
}

// oddHost is a host with the plugins odd, of oddTools, and kit.
func oddHost(cfg *host.Config) {
	cfg.Plugins = append(cfg.Plugins, host.Plugin{Name: "odd", Path: os.Args[0], Env: []string{"TEST_PLUGIN=odd", "GORACE=atexit_sleep_ms=0"}, Sandbox: host.Sandbox{Profile: host.ProfileNone}})
}

// In the strict profile the rule is not in the schema, and holds.
func TestR1_R22_TheHostStillRejectsWhatTheRuleForbids(t *testing.T) {
	b := newBench(t, func(c *Config) { c.Profile = ProfileStrictModel }, oddHost)
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	call := func(args string) outcome {
		return b.send(ctx, request{era: project.Modern, name: "union", arguments: json.RawMessage(args)})
	}
	if a := call(`{"id":1}`); a.err != nil || a.IsError || a.text() != `{"id":1}` {
		t.Errorf("valid: %+v", a)
	}
	for args, says := range map[string]string{
		`{"id":1,"name":"x"}`: "call union: invalid input", `{}`: "call union: invalid input", `{"id":"five"}`: `call union: invalid input: at /id: expected integer, got string "five"`,
	} {
		if a := call(args); !a.IsError || !strings.Contains(a.text(), says) {
			t.Errorf("%s: %s, want %q", args, a.text(), says)
		}
	}
}

func TestR4_R7_ASchemaThatIsNoneCostsItsToolAlone(t *testing.T) {
	b := newBench(t, nil, oddHost)
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	for name, args := range map[string]string{"union": `{"id":1}`, "echo": `{"text":"a"}`, "ahead": `{"s":"a-b"}`} {
		if a := b.send(ctx, request{era: project.Legacy, name: name, arguments: json.RawMessage(args)}); a.err != nil || a.IsError {
			t.Errorf("%s: %v %s", name, a.err, a.text())
		}
	}
	// R7: a pattern with look-around is enforced, not only taken.
	if a := b.send(ctx, request{era: project.Legacy, name: "ahead", arguments: json.RawMessage(`{"s":"xa"}`)}); !a.IsError || !strings.Contains(a.text(), "at /s: ") {
		t.Errorf("ahead: %s", a.text())
	}
	if a := b.send(ctx, request{era: project.Legacy, name: "bad", arguments: json.RawMessage(`{}`)}); a.code() != -32602 {
		t.Errorf("bad: %v %s", a.err, a.text())
	}
	for p := range b.host.Plugins() {
		if p.Name == "odd" && (len(p.BadTools) != 1 || p.BadTools[0].ID != "bad" || !strings.Contains(p.BadTools[0].Reason, "inputSchema: at /properties/n/type: not valid JSON Schema")) {
			t.Errorf("status: %+v", p.BadTools)
		}
	}
}
