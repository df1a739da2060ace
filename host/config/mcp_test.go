package config

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/toolhost/toolhost/host"
)

// program makes an executable file and puts its directory first in PATH.
func program(t *testing.T, name string) string {
	t.Helper()
	dir := t.TempDir()
	path := filepath.Join(dir, name)
	if err := os.WriteFile(path, []byte("#!/bin/sh\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", dir+string(filepath.ListSeparator)+os.Getenv("PATH"))
	return path
}

func TestServers(t *testing.T) {
	npx := program(t, "npx")
	t.Setenv("TOKEN", "s3cret")
	t.Setenv("HOME", "/home/ada")
	f, err := Parse("/etc/th/toolhost.yaml", []byte(`
mcp:
  files: {command: npx, args: [-y, "@modelcontextprotocol/server-filesystem", "${HOME}/a", "$${HOME}"], env: {KEY: "x${env:TOKEN}y"}, cwd: work}
  here: {type: stdio, command: ./bin/server, timeout: 2m, definitions: warn, trusted: true, sandbox: strict, grant: {messages: true}, limits: {call: 5s, idle: 1m}}
  off: {disabled: true, command: "${NOT_SET}"}
  web: {type: streamable-http, url: "https://example.com/mcp", headers: {Authorization: "Bearer ${TOKEN}", X-Mode: "${MODE:-calm}"}, era: modern, output: "off", idempotent: [look]}
`))
	if err != nil {
		t.Fatal(err)
	}
	want := []Server{
		{
			Name: "files", Type: "stdio", Command: npx, Args: []string{"-y", "@modelcontextprotocol/server-filesystem", "/home/ada/a", "${HOME}"},
			Env: map[string]string{"KEY": "xs3crety"}, Cwd: "/etc/th/work", Definitions: host.DefinitionsReview,
			Limits: host.Limits{Describe: time.Minute, Start: time.Minute, Idle: -1},
		},
		{
			Name: "here", Type: "stdio", Command: "/etc/th/bin/server", Timeout: "2m0s", Trusted: true, Definitions: host.DefinitionsWarn,
			Sandbox: host.Sandbox{Profile: host.ProfileStrict}, Grant: host.Grant{Messages: true},
			Limits: host.Limits{Describe: 125 * time.Second, Start: 125 * time.Second, Idle: time.Minute, Call: 5 * time.Second},
		},
		{
			Name: "web", Type: "http", URL: "https://example.com/mcp", Headers: map[string]string{"Authorization": "Bearer s3cret", "X-Mode": "calm"},
			Era: "modern", Output: "off", Idempotent: []string{"look"}, Definitions: host.DefinitionsReview, Limits: host.Limits{Describe: time.Minute, Start: time.Minute, Idle: -1},
		},
	}
	if diff := cmp.Diff(want, f.Servers); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestServersArePlugins(t *testing.T) {
	npx := program(t, "npx")
	f, err := Parse("toolhost.yaml", []byte(`
plugins: {weather: {path: /w}}
mcp:
  files: {command: npx, args: [a], env: {KEY: secret}}
  web: {url: "https://example.com/mcp", definitions: "off"}
`))
	if err != nil {
		t.Fatal(err)
	}
	f.Importer = "/opt/toolplugin-mcp"
	plugins := f.Config().Plugins
	if len(plugins) != 3 || len(f.Plugins) != 1 {
		t.Fatalf("got %d plugins, and %d in the block plugins", len(plugins), len(f.Plugins))
	}
	files, web := plugins[1], plugins[2]
	if files.Name != "files" || files.Path != "/opt/toolplugin-mcp" || web.Path != "/opt/toolplugin-mcp" {
		t.Errorf("got %+v and %+v", files, web)
	}
	// The server's variables are in the settings, which travel over the wire, and nowhere else.
	if len(files.Env) > 0 || len(files.Args) > 0 {
		t.Errorf("the importer has env %q and args %q", files.Env, files.Args)
	}
	want := `{"type":"stdio","command":` + quoted(npx) + `,"args":["a"],"env":{"KEY":"secret"}}`
	if string(files.Settings) != want {
		t.Errorf("settings %s, want %s", files.Settings, want)
	}
	if want := `{"type":"http","url":"https://example.com/mcp"}`; string(web.Settings) != want {
		t.Errorf("settings %s, want %s", web.Settings, want)
	}
	// T16, R15: what a foreign server says of its tools waits for a person, unless the block says otherwise.
	if *files.Definitions != host.DefinitionsReview || *web.Definitions != host.DefinitionsOff {
		t.Errorf("definitions %v and %v", files.Definitions, web.Definitions)
	}
	if diff := cmp.Diff([]string{npx}, files.Programs); diff != "" || len(web.Programs) > 0 {
		t.Errorf("programs %q and %q", files.Programs, web.Programs)
	}
	if f.Importer = ""; !strings.HasSuffix(f.Config().Plugins[1].Path, Importer) {
		t.Errorf("without an importer: %s", f.Config().Plugins[1].Path)
	}
}

func quoted(s string) string {
	text, _ := json.Marshal(s)
	return string(text)
}

// A program that is not there is the fault of one plugin, and not of the file.
func TestR33_ServerThatIsNotInstalled(t *testing.T) {
	f, err := Parse("toolhost.yaml", []byte("mcp: {gone: {command: no-such-program-at-all}}"))
	if err != nil {
		t.Fatal(err)
	}
	p := f.Config().Plugins[0]
	p.Path = os.Args[0]
	if err := host.Check(p); err == nil || !strings.Contains(err.Error(), `"no-such-program-at-all" is not in PATH`) {
		t.Errorf("got %v", err)
	}
}

func TestServe(t *testing.T) {
	f, err := Parse("etc/toolhost.yaml", []byte(`
serve:
  prefix: true
  profile: strict-model
  instructions: be kind
  approvals: [stdio]
  allowedHosts: [tools.example.com]
  allowedOrigins: ["https://app.example.com"]
  tokens: {ci: ci.token, ada: /run/ada}
  heartbeat: 5s
  sessions: 9
  sessionIdle: 1h
  nameBudget: 0
  result: 1MiB
  context: [tenant]
`))
	if err != nil {
		t.Fatal(err)
	}
	want := Serve{
		Prefix: true, Profile: "strict-model", Instructions: "be kind", Approvals: []string{"stdio"}, AllowedHosts: []string{"tools.example.com"},
		AllowedOrigins: []string{"https://app.example.com"}, Tokens: map[string]string{"ci": "etc/ci.token", "ada": "/run/ada"},
		Heartbeat: 5 * time.Second, Sessions: 9, SessionIdle: time.Hour,
		NameBudget: -1, Result: 1 << 20, Context: []string{"tenant"},
	}
	if diff := cmp.Diff(want, f.Serve); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestMCPErrors(t *testing.T) {
	for _, tt := range []struct{ name, text, want string }{
		{"neither", "mcp:\n  a: {}\n", "f:2:6: mcp.a: neither a command nor a url"},
		{"both", "mcp: {a: {command: c, url: \"http://x/\"}}", "f:1:28: mcp.a.url: a command and a url"},
		{"sse", "mcp: {a: {type: sse, url: \"http://x/\"}}", `f:1:17: mcp.a.type: got "sse"; write one of stdio http streamable-http`},
		{"http with a command", "mcp: {a: {type: http, command: c}}", "f:1:17: mcp.a.type: http is for a url"},
		{"stdio with a url", "mcp: {a: {type: stdio, url: \"http://x/\"}}", "f:1:17: mcp.a.type: stdio is for a command"},
		{"env with a url", "mcp: {a: {url: \"http://x/\", env: {A: b}}}", "f:1:34: mcp.a.env: is for a command"},
		{"headers with a command", "mcp: {a: {command: c, headers: {A: b}}}", "f:1:32: mcp.a.headers: is for a url"},
		{"unknown key", "mcp:\n  a: {command: c, alwaysAllow: [x]}\n", "f:2:19: mcp.a.alwaysAllow: unknown key; known are args, command, "},
		{"name", "mcp: {a b: {command: c}}", "f:1:7: mcp.a b"},
		{"name of a plugin", "plugins: {a: {path: p}}\nmcp: {a: {command: c}}", "f:2:10: mcp.a: plugins has the same name"},
		{"number in env", "mcp: {a: {command: c, env: {PORT: 80}}}", "f:1:35: mcp.a.env.PORT: got number 80; write a text"},
		{"header", "mcp: {a: {url: \"http://x/\", headers: {\"a b\": c}}}", "f:1:39: mcp.a.headers"},
		{"line in a header", "mcp: {a: {url: \"http://x/\", headers: {a: \"b\\nc\"}}}", "f:1:42: mcp.a.headers.a: a control character"},
		{"no URL", "mcp: {a: {url: example.com}}", "f:1:16: mcp.a.url: no URL like"},
		{"file URL", "mcp: {a: {url: \"file:///etc\"}}", "f:1:16: mcp.a.url: no URL like"},
		{"password in the URL", "mcp: {a: {url: \"https://u:p@x/\"}}", "f:1:16: mcp.a.url: a name or a password in the URL"},
		{"input", "mcp: {a: {command: c, env: {A: \"${input:key}\"}}}", "f:1:32: mcp.a.env.A: ${input:key} is not known; ${NAME} is"},
		{"open", "mcp: {a: {command: c, env: {A: \"${A\"}}}", "f:1:32: mcp.a.env.A: ${ without }"},
		{"timeout", "mcp: {a: {command: c, timeout: 5}}", "f:1:32: mcp.a.timeout: got number 5; write it like 30s"},
		{"limits", "mcp: {a: {command: c, limits: {call: 0s}}}", `f:1:38: mcp.a.limits.call: "0s" is not above zero`},
		{"NUL", "mcp: {a: {command: c, args: [\"\\0\"]}}", "f:1:30: mcp.a.args[0]: a NUL"},
		{"serve", "serve: {port: 80}", "f:1:9: serve.port: unknown key"},
		{"profile", "serve: {profile: strict}", `f:1:18: serve.profile: got "strict"; write one of strict-model`},
		{"approvals", "serve: {approvals: [mcp]}", `f:1:21: serve.approvals[0]: got "mcp"; write one of stdio http`},
		{"origin", "serve: {allowedOrigins: [example.com]}", `f:1:26: serve.allowedOrigins[0]`},
		{"budget", "serve: {nameBudget: 41}", "f:1:21: serve.nameBudget: "},
		{"result", "serve: {result: 0B}", `f:1:17: serve.result: 0B is not above zero`},
		{"idle", "serve: {sessionIdle: 0s}", `f:1:22: serve.sessionIdle: "0s" is not above zero`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			_, err := Parse("f", []byte(tt.text))
			if err == nil || !strings.HasPrefix(err.Error(), tt.want) {
				t.Errorf("got\n%v\nwant\n%s…", err, tt.want)
			}
		})
	}
}

// TestUnsetVariablesMakeOneServerUnusable: the others, and the file, are as good as before; and no further fault comes of it.
func TestUnsetVariablesMakeOneServerUnusable(t *testing.T) {
	t.Setenv("TH_SET", "x")
	const lacks = "the environment has no TH_NOT_SET; set it, or write ${TH_NOT_SET:-} if it may be missing"
	for _, tt := range []struct{ text, want string }{
		{`{command: c, args: [x, "${TH_SET} ${TH_NOT_SET}"]}`, "f:1:33: mcp.a.args[1]: " + lacks},
		{`{command: "${TH_NOT_SET}/c"}`, "f:1:20: mcp.a.command: " + lacks},
		{`{url: "${env:TH_NOT_SET}/mcp"}`, "f:1:16: mcp.a.url: " + lacks},
		{`{url: "http://x", headers: {A: "${TH_NOT_SET}", B: "${TH_NOT_SET}"}}`, "f:1:41: mcp.a.headers.A: " + lacks + "; f:1:61: mcp.a.headers.B: " + lacks},
	} {
		f, err := Parse("f", []byte("mcp: {a: "+tt.text+", b: {url: \"http://y\"}}"))
		if err != nil || len(f.Servers) != 2 {
			t.Errorf("%s: %v", tt.text, err)
			continue
		}
		p := f.Config().Plugins
		if err := p[0].Unusable; err == nil || err.Error() != tt.want || host.Check(p[0]) != err {
			t.Errorf("%s: %v, want %s", tt.text, err, tt.want)
		}
		if p[1].Unusable != nil {
			t.Errorf("%s: the other: %v", tt.text, p[1].Unusable)
		}
		if s := f.Servers[0]; strings.HasSuffix(tt.text, `]}`) && s.Args[1] != "${TH_SET} ${TH_NOT_SET}" {
			t.Errorf("%q: half of it was put in", s.Args)
		}
	}
}
