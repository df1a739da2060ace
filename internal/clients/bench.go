//go:build linux

package main

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"time"
)

// modules is where the clients are installed.
const modules = "tools/mcp/clients"

// bench is what the clients are tried with: the server, its plugin and a directory of their own.
type bench struct {
	root string // of the repository
	dir  string // scratch
	bin  string // the command
	url  string // of the HTTP server
	http *exec.Cmd
	log  *os.File
}

// setUp builds the plugin, writes the configuration and starts the HTTP server. close ends all of it.
func setUp(ctx context.Context) (*bench, error) {
	b, err := newBench()
	if err != nil {
		return nil, err
	}
	if err := b.start(ctx); err != nil {
		b.close()
		return nil, err
	}
	return b, nil
}

// newBench finds what is needed and makes the directory.
func newBench() (*bench, error) {
	root, err := os.Getwd()
	if err != nil {
		return nil, err
	}
	if _, err := os.Stat(filepath.Join(root, modules, "node_modules")); err != nil {
		return nil, fmt.Errorf("%w: run make clients or make import, which install them", err)
	}
	dir, err := os.MkdirTemp("", "clients")
	if err != nil {
		return nil, err
	}
	return &bench{root: root, dir: dir, bin: filepath.Join(root, "bin/toolhost")}, nil
}

func (b *bench) start(ctx context.Context) error {
	plugin := filepath.Join(b.dir, "toolplugin-clients")
	if out, err := exec.CommandContext(ctx, "go", "build", "-o", plugin, "./internal/clients/plugin").CombinedOutput(); err != nil {
		return fmt.Errorf("build of the plugin: %w\n%s", err, out)
	}
	config := map[string]any{
		"plugins": map[string]any{"clients": map[string]any{"path": plugin, "settings": map[string]any{"dir": b.dir}}},
		"serve":   map[string]any{"approvals": []string{"stdio", "http"}},
	}
	text, err := json.Marshal(config) // JSON is YAML
	if err != nil {
		return err
	}
	if err := os.WriteFile(b.config(), text, 0o600); err != nil {
		return err
	}
	if err := b.serve(); err != nil {
		return err
	}
	blocks := map[string]any{"stdio": map[string]any{"command": b.bin, "args": b.args()}, "http": map[string]any{"type": "http", "url": b.url}}
	if text, err = json.Marshal(map[string]any{"mcpServers": blocks}); err != nil {
		return err
	}
	return os.WriteFile(b.servers(), text, 0o600)
}

func (b *bench) config() string { return filepath.Join(b.dir, "toolhost.yaml") }

// servers is the file with the blocks that a client's own configuration has.
func (b *bench) servers() string { return filepath.Join(b.dir, "servers.json") }

// args are the arguments of the server over stdio.
func (b *bench) args(more ...string) []string {
	return append([]string{"--config", b.config(), "--state", filepath.Join(b.dir, "state"), "mcp"}, more...)
}

var urlLine = regexp.MustCompile(`http://[0-9.:]+/mcp`)

// serve starts the HTTP server and waits until it says its address.
func (b *bench) serve() error {
	var err error
	if b.log, err = os.Create(filepath.Join(b.dir, "http.log")); err != nil {
		return err
	}
	b.http = exec.Command(b.bin, b.args("--http", "127.0.0.1:0")...)
	b.http.Stderr, b.http.Env = b.log, b.env()
	if err := b.http.Start(); err != nil {
		b.http = nil
		return err
	}
	for end := time.Now().Add(30 * time.Second); time.Now().Before(end); time.Sleep(20 * time.Millisecond) { // a file has no signal to wait for
		text, err := os.ReadFile(b.log.Name())
		if err != nil {
			return err
		}
		if b.url = urlLine.FindString(string(text)); b.url != "" {
			resp, err := http.Get(b.url)
			if err == nil {
				return resp.Body.Close()
			}
		}
	}
	text, _ := os.ReadFile(b.log.Name())
	return fmt.Errorf("toolhost mcp --http did not say where it listens:\n%s", text)
}

// env is the environment of everything that is started: nothing is looked up at home.
func (b *bench) env() []string {
	return append(os.Environ(), "HOME="+b.dir, "MCP_REMOTE_CONFIG_DIR="+filepath.Join(b.dir, "remote"),
		"MASTRA_TELEMETRY_DISABLED=1", "DO_NOT_TRACK=1")
}

func (b *bench) close() {
	if b.http != nil {
		_ = b.http.Process.Signal(os.Interrupt)
		_ = b.http.Wait()
	}
	if b.log != nil {
		_ = b.log.Close()
	}
	_ = os.RemoveAll(b.dir)
}
