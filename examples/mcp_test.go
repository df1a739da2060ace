package examples_test

import (
	"bufio"
	"encoding/json"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/toolhost/toolhost/host/config"
)

// testMCP does with each block for MCP what its reader does. dir has the programs.
func testMCP(t *testing.T, dir string) {
	// As installed: toolhost in PATH, and a plugin where it is found without a flag.
	plugins := filepath.Join(dir, ".local/share/toolhost/plugins")
	if err := os.MkdirAll(plugins, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Link(filepath.Join(dir, "bin/plugins/toolplugin-wordcount"), filepath.Join(plugins, "toolplugin-wordcount")); err != nil {
		t.Fatal(err)
	}
	for file, member := range map[string]string{"mcp/mcpServers.json": "mcpServers", "mcp/vscode.json": "servers"} {
		t.Run(file, func(t *testing.T) {
			s := clientBlock(t, file, member)
			cmd := exec.CommandContext(t.Context(), filepath.Join(dir, "bin", s.Command), s.Args...)
			if s.Command != "toolhost" {
				t.Fatalf("command %q", s.Command)
			}
			cmd.Dir, cmd.Env = dir, userEnv(dir)
			contains(t, talk(t, cmd), `"name":"wordcount"`, "Counts the words of a text.")
		})
	}
	t.Run("mcp/http.json", func(t *testing.T) { testHTTPBlock(t, dir) })
	t.Run("mcp/toolhost.yaml", func(t *testing.T) { testServers(t, dir) })
}

// userEnv is the environment of a user whose home is dir.
func userEnv(dir string) []string {
	return []string{"PATH=" + filepath.Join(dir, "bin") + string(filepath.ListSeparator) + os.Getenv("PATH"), "HOME=" + dir, "TOOLHOST_STATE=" + filepath.Join(dir, "state")}
}

type block struct {
	Type, Command, URL string
	Args               []string
	Headers            map[string]string
}

// clientBlock reads the server toolhost of a client's file.
func clientBlock(t *testing.T, file, member string) block {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var all map[string]map[string]block
	if err := json.Unmarshal(text, &all); err != nil {
		t.Fatal(err)
	}
	s, ok := all[member]["toolhost"]
	if !ok {
		t.Fatalf("%s has no %s.toolhost", file, member)
	}
	return s
}

const (
	initialize = `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"t","version":"1"}}}`
	list       = `{"jsonrpc":"2.0","id":2,"method":"tools/list"}`
	ready      = `{"jsonrpc":"2.0","method":"notifications/initialized"}`
)

// talk starts a server and returns its list of tools.
func talk(t *testing.T, cmd *exec.Cmd) string {
	t.Helper()
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	var stderr strings.Builder
	cmd.Stderr = &stderr
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	late := time.AfterFunc(time.Minute, func() { _ = cmd.Process.Kill() })
	defer late.Stop()
	if _, err := io.WriteString(in, initialize+"\n"+ready+"\n"+list+"\n"); err != nil {
		t.Fatal(err)
	}
	answer := ""
	for s := bufio.NewScanner(out); answer == "" && s.Scan(); {
		if strings.Contains(s.Text(), `"id":2`) {
			answer = s.Text()
		}
	}
	in.Close()
	if err := cmd.Wait(); err != nil {
		t.Errorf("%v: %v\n%s", cmd, err, stderr.String())
	}
	return answer
}

// testHTTPBlock runs the script of the server, on another port, and calls as the client's block says.
func testHTTPBlock(t *testing.T, dir string) {
	script, err := os.ReadFile("mcp/http.sh")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := exec.LookPath("openssl"); err != nil {
		script = []byte(strings.ReplaceAll(string(script), "openssl rand -hex 32", "echo 0123456789abcdef0123456789abcdef"))
	}
	s := clientBlock(t, "mcp/http.json", "mcpServers")
	const port = "127.0.0.1:8787"
	if !strings.Contains(string(script), port) || !strings.HasPrefix(s.URL, "http://"+port+"/") || s.Type != "http" {
		t.Fatalf("the script and the block do not agree: %s and\n%s", s.URL, script)
	}
	text := strings.ReplaceAll(string(script), port, "127.0.0.1:0")
	text = strings.Replace(text, "\ntoolhost mcp", "\nexec toolhost mcp", 1) // so that it is the process that ends
	cmd := exec.CommandContext(t.Context(), "sh", "-euc", text)
	cmd.Dir, cmd.Env = dir, userEnv(dir)
	stderr, err := cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() { _, _ = cmd.Process.Kill(), cmd.Wait() }()
	late := time.AfterFunc(time.Minute, func() { _ = cmd.Process.Kill() })
	defer late.Stop()
	var url string
	for lines := bufio.NewScanner(stderr); url == "" && lines.Scan(); {
		url = regexp.MustCompile(`http://\S+`).FindString(lines.Text())
	}
	token, err := os.ReadFile(filepath.Join(dir, "mcp.token"))
	if err != nil {
		t.Fatal(err)
	}
	session := ""
	for _, message := range []string{initialize, ready, list} {
		req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, url, strings.NewReader(message))
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("Content-Type", "application/json")
		req.Header.Set("Accept", "application/json, text/event-stream")
		req.Header.Set("Mcp-Session-Id", session)
		for name, value := range s.Headers {
			req.Header.Set(name, strings.ReplaceAll(value, "${TOOLHOST_MCP_TOKEN}", strings.TrimSpace(string(token))))
		}
		if session == "" {
			req.Header.Del("Mcp-Session-Id")
		}
		resp, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		body, err := io.ReadAll(resp.Body)
		resp.Body.Close()
		if err != nil || resp.StatusCode >= 300 {
			t.Fatalf("%s: %v, status %d: %s", message, err, resp.StatusCode, body)
		}
		if session == "" {
			session = resp.Header.Get("Mcp-Session-Id")
		}
		if message == list {
			contains(t, string(body), `"name":"wordcount"`)
		}
	}
}

// testServers imports through the configuration: npx is a stand-in for a server, toolhost itself, which is both ends at once.
func testServers(t *testing.T, dir string) {
	file, err := config.Load("mcp/toolhost.yaml")
	if err != nil {
		t.Fatal(err)
	}
	if len(file.Servers) != 1 || file.Servers[0].Name != "files" {
		t.Fatalf("servers %+v", file.Servers)
	}
	npx := "#!/bin/sh\nexec " + filepath.Join(dir, "bin/toolhost") + " --plugins " + filepath.Join(dir, "bin/plugins") + " --state " + filepath.Join(dir, "other") + " mcp\n"
	if err := os.WriteFile(filepath.Join(dir, "bin/npx"), []byte(npx), 0o755); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile("mcp/toolhost.yaml")
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "mcp.yaml"), text, 0o600); err != nil {
		t.Fatal(err)
	}
	path := userEnv(dir)[0]
	with := func(args ...string) string {
		return run(t, dir, "env", append([]string{path, "XDG_DATA_HOME=" + filepath.Join(dir, "none"), "toolhost", "--config", "mcp.yaml"}, args...)...)
	}
	contains(t, with("list"), "wordcount", "files")
	contains(t, with("call", "wordcount", `{"text":"one two three"}`), `{"words":3}`)
	// And a client's file becomes such a block.
	client := filepath.Join(dir, "client.json")
	if err := os.WriteFile(client, []byte(`{"mcpServers": {"mine": {"command": "toolhost", "args": ["mcp"]}}}`), 0o600); err != nil {
		t.Fatal(err)
	}
	taken, err := config.Parse("t", []byte(with("import", client)))
	if err != nil {
		t.Fatal(err)
	}
	if s := taken.Servers[0]; s.Name != "mine" || s.Command != filepath.Join(dir, "bin/toolhost") {
		t.Errorf("got %+v", s)
	}
}
