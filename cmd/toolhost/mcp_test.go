package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/rogpeppe/go-internal/testscript"
)

// patience is how long an answer may take on a loaded machine.
const patience = 60 * time.Second

// scriptEnv are the variables of a script that a toolhost beside it gets.
var scriptEnv = []string{
	"HOME", "PATH", "TMPDIR", "XDG_RUNTIME_DIR", "XDG_STATE_HOME", "GORACE", "TOOLHOST_PLUGINS", "TOOLHOST_STATE", "TOOLHOST_MCP_TOKEN",
}

func scriptToolhost(ts *testscript.TestScript, args []string) *exec.Cmd {
	cmd := exec.Command("toolhost", args...)
	cmd.Dir = ts.MkAbs(".")
	for _, name := range scriptEnv {
		if value := ts.Getenv(name); value != "" {
			cmd.Env = append(cmd.Env, name+"="+value)
		}
	}
	return cmd
}

// converse FILE ARGUMENT...: starts toolhost, sends it the lines of FILE, waits after each request for its answer, ends stdin and
// waits. Every line of stdout must be JSON-RPC (R25). Answers are in answers/ID.json, all lines in answers/all.
func scriptConverse(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: converse FILE TOOLHOST-ARGUMENT...")
	}
	dir := ts.MkAbs("answers")
	ts.Check(errors.Join(os.RemoveAll(dir), os.Mkdir(dir, 0o700)))
	cmd := scriptToolhost(ts, args[1:])
	c, err := startClient(cmd)
	ts.Check(err)
	var all []byte
	for _, line := range strings.Split(strings.TrimSpace(ts.ReadFile(args[0])), "\n") {
		var m struct {
			ID json.RawMessage `json:"id"`
		}
		wants := ""
		if json.Unmarshal([]byte(line), &m) != nil {
			wants = "null" // it is no JSON, and answered as such
		} else if m.ID != nil {
			wants = strings.Trim(string(m.ID), `"`)
		}
		_, err := io.WriteString(c.in, line+"\n")
		ts.Check(err)
		for got := wants == ""; !got; {
			text, err := c.next()
			if err != nil {
				ts.Fatalf("after %s: %v\nstderr: %s", line, err, c.stderr())
			}
			all = append(append(all, text...), '\n')
			var a struct {
				ID     json.RawMessage `json:"id"`
				Method string          `json:"method"`
			}
			if err := json.Unmarshal(text, &a); err != nil {
				ts.Fatalf("not JSON on stdout: %q", text)
			}
			if id := strings.Trim(string(a.ID), `"`); a.Method == "" && (id == wants || wants == "null" && id == "") {
				ts.Check(os.WriteFile(filepath.Join(dir, wants+".json"), text, 0o600))
				got = true
			}
		}
	}
	fds := fmt.Sprintf("/proc/%d/fd/", cmd.Process.Pid)
	if one, err := os.Readlink(fds + "1"); err == nil { // what the process itself prints goes to stderr, too (R25)
		if two, err := os.Readlink(fds + "2"); err != nil || one != two {
			ts.Fatalf("descriptor 1 is %s, and 2 is %s", one, two)
		}
	}
	begun := time.Now()
	ts.Check(c.in.Close())
	rest, err := c.end()
	ts.Check(err)
	if took := time.Since(begun); took > patience/2 { // R29 says two seconds, on a machine that is not loaded
		ts.Fatalf("it took %v to end", took)
	}
	for _, line := range rest {
		if !json.Valid(line) {
			ts.Fatalf("not JSON on stdout: %q", line)
		}
	}
	ts.Check(os.WriteFile(filepath.Join(dir, "all"), all, 0o600))
	ts.Check(os.WriteFile(filepath.Join(dir, "stderr"), []byte(c.stderr()), 0o600))
}

// client talks to a toolhost over its streams.
type client struct {
	cmd   *exec.Cmd
	in    io.WriteCloser
	lines chan []byte // closed with stdout
	mu    sync.Mutex
	err   bytes.Buffer // stderr
}

func startClient(cmd *exec.Cmd) (*client, error) {
	c := &client{cmd: cmd, lines: make(chan []byte, 100)}
	in, err := cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	c.in, cmd.Stderr = in, c
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	go func() { // ends with the process
		defer close(c.lines)
		s := bufio.NewScanner(out)
		s.Buffer(nil, 64<<20)
		for s.Scan() {
			c.lines <- bytes.Clone(s.Bytes())
		}
	}()
	return c, nil
}

// Write takes what is written to stderr.
func (c *client) Write(text []byte) (int, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.err.Write(text)
}

func (c *client) stderr() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.err.String()
}

// next returns the next line of stdout.
func (c *client) next() ([]byte, error) {
	select {
	case line, ok := <-c.lines:
		if !ok {
			return nil, io.ErrUnexpectedEOF
		}
		return line, nil
	case <-time.After(patience):
		return nil, os.ErrDeadlineExceeded
	}
}

// end waits for the process, and kills one that does not end. It returns what came last.
func (c *client) end() (rest [][]byte, err error) {
	late := time.AfterFunc(patience, func() { _ = c.cmd.Process.Kill() })
	defer late.Stop()
	for line := range c.lines {
		rest = append(rest, line)
	}
	return rest, c.cmd.Wait()
}

// serve ARGUMENT...: starts toolhost mcp --http on a free port and sets $URL. It is stopped with the script, or by stop.
func scriptServe(ts *testscript.TestScript, neg bool, args []string) {
	if neg {
		ts.Fatalf("usage: serve TOOLHOST-ARGUMENT...")
	}
	c, err := startClient(scriptToolhost(ts, append([]string{"mcp", "--http", "127.0.0.1:0"}, args...)))
	ts.Check(err)
	ts.Defer(func() { _ = c.cmd.Process.Kill() })
	const says = "serving MCP at "
	for begun := time.Now(); !strings.Contains(c.stderr(), says); {
		if time.Since(begun) > patience {
			ts.Fatalf("no URL in %q", c.stderr())
		}
		time.Sleep(5 * time.Millisecond)
	}
	_, after, _ := strings.Cut(c.stderr(), says)
	url, _, _ := strings.Cut(after, "\n")
	ts.Setenv("URL", url)
	httpServers.Store(url, c)
}

// httpServers are the servers of all scripts, by URL.
var httpServers sync.Map

// stop: ends the server at $URL by a signal, and wants exit code 0. Its stderr is in the file stderr.
func scriptStop(ts *testscript.TestScript, neg bool, args []string) {
	v, ok := httpServers.LoadAndDelete(ts.Getenv("URL"))
	if neg || len(args) > 0 || !ok {
		ts.Fatalf("usage: stop, after serve")
	}
	c := v.(*client)
	ts.Check(c.cmd.Process.Signal(syscall.SIGTERM))
	rest, err := c.end()
	if err != nil || len(rest) > 0 {
		ts.Fatalf("ended with %v, stdout %q, stderr %s", err, rest, c.stderr())
	}
	ts.Check(os.WriteFile(ts.MkAbs("stderr"), []byte(c.stderr()), 0o600))
}

// post STATUS FILE [HEADER:VALUE]...: posts FILE to $URL, as a client does. The answer is in the file answer: of a stream, its last
// message. Host: is the Host header, and Path: what stands in place of the URL's path.
func scriptPost(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: post STATUS FILE [HEADER:VALUE]...")
	}
	req, err := http.NewRequest(http.MethodPost, ts.Getenv("URL"), strings.NewReader(ts.ReadFile(args[1])))
	ts.Check(err)
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Accept", "application/json, text/event-stream")
	for _, h := range args[2:] {
		switch name, value, _ := strings.Cut(h, ":"); name {
		case "Host":
			req.Host = value
		case "Path":
			req.URL.Path = value
		default:
			req.Header.Set(name, value)
		}
	}
	resp, err := (&http.Client{Timeout: patience}).Do(req)
	ts.Check(err)
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	ts.Check(err)
	if fmt.Sprint(resp.StatusCode) != args[0] {
		ts.Fatalf("status %d, want %s\n%s", resp.StatusCode, args[0], body)
	}
	if id := resp.Header.Get("Mcp-Session-Id"); id != "" {
		ts.Setenv("SESSION", id)
	}
	if strings.HasPrefix(resp.Header.Get("Content-Type"), "text/event-stream") {
		for line := range strings.Lines(string(body)) {
			if data, ok := strings.CutPrefix(line, "data: "); ok {
				body = []byte(data)
			}
		}
	}
	ts.Check(os.WriteFile(ts.MkAbs("answer"), body, 0o600))
}
