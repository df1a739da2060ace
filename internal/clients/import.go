//go:build linux

package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/toolhost/toolhost/host"
	"github.com/toolhost/toolhost/host/config"
)

// server is a real MCP server that is imported.
type server struct {
	name        string
	bin         string                    // in the modules' .bin
	args        func(dir string) []string // its arguments
	env         func(dir string) map[string]string
	http        bool // it is reached over HTTP
	quick, long call // a call with its answer; one that is under way when the server is killed
}

type call struct {
	tool, input, want string
}

var quickEcho = call{"echo", `{"message":"hello there"}`, "hello there"}
var longWork = call{"trigger-long-running-operation", `{"duration":20,"steps":40}`, ""}
var graph = call{"read_graph", `{}`, "entities"}

var servers = []server{
	{name: "everything", bin: "mcp-server-everything", quick: quickEcho, long: longWork},
	{name: "everything-http", bin: "mcp-server-everything", http: true, quick: quickEcho, long: longWork},
	{name: "files", bin: "mcp-server-filesystem", args: func(dir string) []string { return []string{dir} },
		quick: call{"list_allowed_directories", `{}`, "Allowed"}, long: call{"list_allowed_directories", `{}`, ""}},
	{name: "memory-a", bin: "mcp-server-memory", env: memory("a"), quick: graph, long: graph},
	{name: "memory-b", bin: "mcp-server-memory", env: memory("b"), quick: graph, long: graph},
}

func memory(name string) func(string) map[string]string {
	return func(dir string) map[string]string {
		return map[string]string{"MEMORY_FILE_PATH": filepath.Join(dir, name+".json")}
	}
}

// importAll writes a client's configuration file with all servers, lets toolhost import it, and tries every server.
func importAll(ctx context.Context, w io.Writer, want func(string) bool) error {
	b, err := newBench()
	if err != nil {
		return err
	}
	defer b.close()
	address, err := freeAddress()
	if err != nil {
		return err
	}
	stop, err := b.startHTTPServer(ctx, address)
	if err != nil {
		return err
	}
	defer func() { stop() }()
	if err := b.importFile(ctx, w, address); err != nil {
		return err
	}
	h, err := b.open(ctx)
	if err != nil {
		return err
	}
	defer func() { _ = h.Close() }()
	failed := 0
	for _, s := range servers {
		if !want(s.name) {
			continue
		}
		kill := func(pid int) error { return syscall.Kill(pid, syscall.SIGKILL) }
		if s.http {
			kill = func(int) error { stop(); return nil }
		}
		restart := func() (err error) {
			if s.http {
				stop, err = b.startHTTPServer(ctx, address)
			}
			return err
		}
		said, err := try(ctx, h, s, kill, restart)
		if err != nil {
			failed++
			said = append(said, "FAILED: "+err.Error())
		}
		for i, line := range said {
			fmt.Fprintf(w, "%-16s %s\n", map[bool]string{true: s.name}[i == 0], line)
		}
	}
	if failed > 0 {
		return fmt.Errorf("%d servers failed", failed)
	}
	return nil
}

// importFile writes what a client has and runs toolhost import on it.
func (b *bench) importFile(ctx context.Context, w io.Writer, address string) error {
	blocks := map[string]any{}
	for _, s := range servers {
		block := map[string]any{"command": "node", "args": append([]string{b.module(".bin/" + s.bin)}, s.arguments(b.dir)...)}
		if s.env != nil {
			block["env"] = s.env(b.dir)
		}
		if s.http {
			block = map[string]any{"type": "http", "url": "http://" + address + "/mcp"}
		}
		blocks[s.name] = block
	}
	text, err := json.MarshalIndent(map[string]any{"mcpServers": blocks}, "", "  ")
	if err != nil {
		return err
	}
	file := filepath.Join(b.dir, "client.json")
	if err := os.WriteFile(file, text, 0o600); err != nil {
		return err
	}
	cmd := exec.CommandContext(ctx, b.bin, "--config", b.config(), "--state", filepath.Join(b.dir, "state"), "import", file, "--write")
	cmd.Env = b.env()
	out, err := cmd.CombinedOutput()
	if err != nil {
		return fmt.Errorf("toolhost import: %w\n%s", err, out)
	}
	fmt.Fprintf(w, "%s\n", out)
	return nil
}

func (s server) arguments(dir string) []string {
	if s.args == nil {
		return nil
	}
	return s.args(dir)
}

func (b *bench) open(ctx context.Context) (*host.Host, error) {
	file, err := config.Load(b.config())
	if err != nil {
		return nil, err
	}
	file.Importer = filepath.Join(b.root, "bin/toolplugin-mcp")
	cfg := file.Config()
	cfg.StateDir = filepath.Join(b.dir, "state")
	return host.Open(ctx, cfg)
}

// try calls a tool of a server, kills the server while a call is under way, and calls again.
func try(ctx context.Context, h *host.Host, s server, kill func(int) error, restart func() error) (said []string, err error) {
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	tools := 0
	for t := range h.Tools() {
		if t.Plugin == s.name {
			tools++
		}
	}
	if err := quick(ctx, h, s); err != nil {
		return said, fmt.Errorf("%d tools; the first call: %w", tools, err)
	}
	said = append(said, fmt.Sprintf("%d tools; %s answered", tools, s.quick.tool))
	err = during(ctx, h, s, kill)
	failed, ok := errors.AsType[*host.Error](err)
	if !ok {
		return said, fmt.Errorf("the call that was under way when the server was killed: %v", err)
	}
	said = append(said, fmt.Sprintf("killed in a call: outcome %v: %s", failed.Outcome, firstLine(failed.Error())))
	if failed.Outcome == host.NotStarted || failed.Outcome == host.Done {
		return said, errors.New("that outcome is not honest")
	}
	if err := restart(); err != nil {
		return said, err
	}
	if err := quick(ctx, h, s); err != nil {
		return said, fmt.Errorf("the next call: %w", err)
	}
	return append(said, "the next call answered"), nil
}

func quick(ctx context.Context, h *host.Host, s server) error {
	res, err := h.Call(ctx, host.Call{Tool: s.name + "/" + s.quick.tool, Input: json.RawMessage(s.quick.input)})
	if err != nil {
		return err
	}
	if all := string(res.Output) + string(res.Model.Value); !strings.Contains(all, s.quick.want) {
		return fmt.Errorf("%q is not in %s", s.quick.want, all)
	}
	return nil
}

// during makes a call and kills the server when it has it, and returns the call's error.
func during(ctx context.Context, h *host.Host, s server, kill func(int) error) error {
	pid := 0
	if !s.http {
		var err error
		if pid, err = serverOf(h, s.name); err != nil {
			return err
		}
	}
	stopped := s.long.tool == s.quick.tool // too quick to be caught: the server is held, and its input says when it has the call
	if stopped {
		if err := syscall.Kill(pid, syscall.SIGSTOP); err != nil {
			return err
		}
	}
	run := h.Start(ctx, host.Call{Tool: s.name + "/" + s.long.tool, Input: json.RawMessage(s.long.input)})
	if stopped {
		if err := hasInput(ctx, pid); err != nil {
			return err
		}
		if err := kill(pid); err != nil {
			return err
		}
	}
	for e := range run.Events() {
		if _, ok := e.(host.Progress); ok && !stopped {
			if err := kill(pid); err != nil {
				return err
			}
			stopped = true
		}
	}
	_, err := run.Result()
	return err
}

// serverOf finds the server's process: the child of the plugin's.
func serverOf(h *host.Host, plugin string) (int, error) {
	for status := range h.Plugins() {
		if status.Name != plugin {
			continue
		}
		text, err := exec.Command("ps", "-o", "pid=", "--ppid", strconv.Itoa(status.PID)).Output()
		if fields := strings.Fields(string(text)); len(fields) > 0 {
			return strconv.Atoi(slices.Max(fields))
		}
		return 0, fmt.Errorf("process %d of %s has no child: %v", status.PID, plugin, err)
	}
	return 0, fmt.Errorf("no plugin %s", plugin)
}

// hasInput waits until bytes wait in a process's standard input.
func hasInput(ctx context.Context, pid int) error {
	pipe, err := os.OpenFile(fmt.Sprintf("/proc/%d/fd/0", pid), os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return err
	}
	defer func() { _ = pipe.Close() }()
	for ctx.Err() == nil {
		n, err := unix.IoctlGetInt(int(pipe.Fd()), unix.TIOCINQ)
		if err != nil || n > 0 {
			return err
		}
		time.Sleep(time.Millisecond) // the bytes come from another process: there is nothing to wait on that does not take them
	}
	return ctx.Err()
}

// startHTTPServer starts server-everything over HTTP and waits until it answers; the function ends it.
func (b *bench) startHTTPServer(ctx context.Context, address string) (func(), error) {
	_, port, err := net.SplitHostPort(address)
	if err != nil {
		return nil, err
	}
	cmd := exec.CommandContext(ctx, "node", b.module(".bin/mcp-server-everything"), "streamableHttp")
	cmd.Env = append(b.env(), "PORT="+port)
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	stop := func() { _ = cmd.Process.Kill(); _ = cmd.Wait() }
	for end := time.Now().Add(20 * time.Second); time.Now().Before(end); time.Sleep(20 * time.Millisecond) { // it says nothing that could be waited for
		if resp, err := http.Get("http://" + address + "/mcp"); err == nil {
			return stop, resp.Body.Close()
		}
	}
	stop()
	return nil, fmt.Errorf("server-everything does not answer on %s", address)
}

func freeAddress() (string, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	defer func() { _ = l.Close() }()
	return l.Addr().String(), nil
}

func firstLine(text string) string {
	line, _, _ := strings.Cut(text, "\n")
	return line
}
