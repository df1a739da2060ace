package main

import (
	"encoding/json"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/toolhost/toolhost/internal/runes"
)

// TestRealServers uses servers from npm. MCP_SERVERS is their directory, such as node_modules/@modelcontextprotocol; node is on the path.
func TestRealServers(t *testing.T) {
	dir := os.Getenv("MCP_SERVERS")
	if dir == "" {
		t.Skip("MCP_SERVERS is not set; make import does this with the plugin")
	}
	everything := filepath.Join(dir, "server-everything/dist/index.js")
	work := t.TempDir()
	if err := os.WriteFile(filepath.Join(work, "a.txt"), []byte("hello"), 0o600); err != nil {
		t.Fatal(err)
	}
	port, stop := serveEverything(t, everything, 0)
	for name, c := range map[string]struct {
		set        settings
		tool, args string
	}{
		"everything over stdio": {settings{Command: "node", Args: []string{everything}}, "echo", `{"message":"hello"}`},
		"everything over HTTP":  {settings{URL: fmt.Sprintf("http://127.0.0.1:%d/mcp", port)}, "echo", `{"message":"hello"}`},
		"filesystem": {settings{Command: "node", Args: []string{filepath.Join(dir, "server-filesystem/dist/index.js"), work}},
			"read_text_file", `{"path":"` + filepath.Join(work, "a.txt") + `"}`},
		"memory": {settings{Command: "node", Args: []string{filepath.Join(dir, "server-memory/dist/index.js")},
			Env: map[string]string{"MEMORY_FILE_PATH": filepath.Join(work, "m.json")}},
			"create_entities", `{"entities":[{"name":"hello","entityType":"x","observations":[]}]}`},
	} {
		t.Run(name, func(t *testing.T) {
			r := testRemote(t, c.set)
			began := time.Now()
			tools, warnings, err := r.list(testCtx(t))
			if err != nil {
				t.Fatal(err)
			}
			r.mu.Lock()
			t.Logf("%d tools in %v, %v, %q", len(tools), time.Since(began).Round(time.Millisecond), r.cur.agreement, warnings)
			r.mu.Unlock()
			raw := mustCall(t, r, c.tool, c.args)
			if t.Logf("%s", runes.Cut(string(raw), 300)); !strings.Contains(string(raw), "hello") {
				t.Error("no hello")
			}
			if c.set.URL != "" { // it is started again on its port
				stop()
				_, err := r.call(testCtx(t), remoteCall{name: c.tool, arguments: json.RawMessage(c.args)})
				if t.Logf("stopped: %v", err); err == nil {
					t.Error("it is stopped, and answers")
				}
				_, stop = serveEverything(t, everything, port)
				mustCall(t, r, c.tool, c.args)
				return
			}
			if strings.HasPrefix(name, "everything") {
				tryEverything(t, r)
			}
			l, _ := linkOf(r.cur.peer)
			if err := l.proc.cmd.Process.Kill(); err != nil {
				t.Fatal(err)
			}
			<-r.cur.down
			mustCall(t, r, c.tool, c.args)
		})
	}
	stop()
}

// tryEverything asks and is asked.
func tryEverything(t *testing.T, r *conn) {
	steps := 0
	raw, err := r.call(testCtx(t), remoteCall{name: "trigger-long-running-operation", arguments: json.RawMessage(`{"duration":1,"steps":4}`),
		progress: func(float64, float64, string) { steps++ }})
	if err != nil || steps < 3 {
		t.Errorf("%s, %v, %d steps", raw, err, steps)
	}
	for _, tool := range []string{"trigger-elicitation-request", "get-roots-list"} {
		var got []string
		raw, err := r.call(testCtx(t), remoteCall{name: tool, ask: answers(&got, `{"action":"decline","roots":[]}`)})
		t.Logf("%s: %s, %v, asked %q", tool, runes.Cut(string(raw), 200), err, got)
	}
}

// serveEverything starts the server over HTTP, on a free port if it is 0.
func serveEverything(t *testing.T, script string, port int) (int, func()) {
	t.Helper()
	if port == 0 {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		port = l.Addr().(*net.TCPAddr).Port
		l.Close()
	}
	cmd := exec.Command("node", script, "streamableHttp")
	cmd.Env = append(os.Environ(), fmt.Sprint("PORT=", port))
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	eventually(t, "it listens", func() bool {
		c, err := net.Dial("tcp", fmt.Sprintf("127.0.0.1:%d", port))
		if err == nil {
			c.Close()
		}
		return err == nil
	})
	return port, func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	}
}
