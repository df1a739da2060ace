package mcpserver

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/toolhost/toolhost/host"
	"github.com/toolhost/toolhost/pluginsdk"
)

// patience is how long a test waits for what must happen, on a machine that is loaded.
const patience = time.Minute

// servePlugin is the test binary as another plugin than that of testTools.
func servePlugin(kind string) {
	switch kind {
	case "odd":
		pluginsdk.Serve(oddTools()...)
	case "forging":
		pluginsdk.Serve(forgingTools()...)
	case "growing":
		pluginsdk.ServeFunc(func(_ context.Context, r *pluginsdk.Registry) error {
			r.Dynamic()
			tools := []pluginsdk.Definition{}
			grow := tool("grow", func(_ context.Context, _ *pluginsdk.Call, in struct {
				Name string `json:"name"`
			}) (string, error) {
				tools = append(tools, tool(in.Name, func(context.Context, *pluginsdk.Call, struct{}) (string, error) { return in.Name, nil }))
				return "grown", r.Set(tools...)
			})
			tools = append(tools, grow)
			return r.Set(tools...)
		})
	default:
		pluginsdk.Serve(wireTools()...)
	}
}

type echoed struct {
	Text string `json:"text"`
}

func wireTools() []pluginsdk.Definition {
	return []pluginsdk.Definition{
		tool("echo", func(_ context.Context, _ *pluginsdk.Call, in echoed) (echoed, error) { return in, nil }),
		tool("same", func(_ context.Context, _ *pluginsdk.Call, in json.RawMessage) (json.RawMessage, error) {
			return in, nil
		}),
		tool("fail", func(context.Context, *pluginsdk.Call, struct{}) (string, error) {
			return "", errors.New("no luck")
		}),
		tool("big", func(_ context.Context, _ *pluginsdk.Call, in struct {
			Bytes int `json:"bytes"`
		}) (string, error) {
			return strings.Repeat("x", in.Bytes), nil
		}),
		// wait says on a socket that it runs, and when it is cancelled.
		tool("wait", func(ctx context.Context, _ *pluginsdk.Call, in struct {
			Socket string `json:"socket"`
		}) (string, error) {
			c, err := net.Dial("unix", in.Socket)
			if err != nil {
				return "", err
			}
			defer c.Close()
			fmt.Fprintln(c, "running")
			<-ctx.Done()
			fmt.Fprintln(c, "cancelled")
			return "", ctx.Err()
		}),
		tool("steps", func(_ context.Context, c *pluginsdk.Call, in struct {
			N int `json:"n"`
		}) (string, error) {
			for i := range in.N {
				c.Progress(float64(i+1), float64(in.N), "step")
				c.Logger().Info("step", "n", i)
				time.Sleep(time.Millisecond) // so that steps are apart, not a signal
			}
			return "done", nil
		}),
		tool("ask", func(ctx context.Context, c *pluginsdk.Call, in struct {
			Message string `json:"message"`
		}) (string, error) {
			a, err := c.Elicit(ctx, pluginsdk.Question{Message: in.Message, Schema: json.RawMessage(`{"type":"object","properties":{"name":{"type":"string"}}}`)})
			if err != nil {
				return "", err
			}
			return string(a.Action) + " " + string(a.Content), nil
		}),
		pluginsdk.Tool[map[string]any, string]{ID: "mirrored", Description: "an argument in a header",
			InputSchema: json.RawMessage(`{"type":"object","properties":{"region":{"type":"string","x-mcp-header":"Region"}}}`),
			Execute:     func(context.Context, *pluginsdk.Call, map[string]any) (string, error) { return "ok", nil }},
	}
}

// newHost opens a host with the test binary as its plugins; by default one, with wireTools.
func newHost(t testing.TB, cfg host.Config, kinds ...string) *host.Host {
	t.Helper()
	if len(kinds) == 0 {
		kinds = []string{"wire"}
	}
	for _, k := range kinds {
		cfg.Plugins = append(cfg.Plugins, host.Plugin{Name: k, Path: os.Args[0], Env: []string{"TEST_PLUGIN=" + k, "GORACE=atexit_sleep_ms=0"}})
	}
	h, err := host.Open(t.Context(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { h.Close() })
	return h
}

// newServer makes a server; with the test tools if the configuration has no host.
func newServer(t testing.TB, cfg Config) *Server {
	t.Helper()
	if cfg.Host == nil {
		cfg.Host = newHost(t, host.Config{})
	}
	s, err := New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	return s
}

// signals is where the tool wait says what becomes of it.
type signals struct {
	path  string
	lines chan string
}

func listenSignals(t testing.TB) *signals {
	t.Helper()
	dir, err := os.MkdirTemp("", "mcps") // short: the path of a socket may not be long
	if err != nil {
		t.Fatal(err)
	}
	s := &signals{path: filepath.Join(dir, "s"), lines: make(chan string, 100)}
	l, err := net.Listen("unix", s.path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		l.Close()
		os.RemoveAll(dir)
	})
	go func() { // ends with the listener
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			go func() { // ends with the connection
				defer c.Close()
				for r := bufio.NewScanner(c); r.Scan(); {
					s.lines <- r.Text()
				}
			}()
		}
	}()
	return s
}

// await waits for a line.
func (s *signals) await(t testing.TB, want string) {
	t.Helper()
	select {
	case got := <-s.lines:
		if got != want {
			t.Fatalf("the tool says %q, want %q", got, want)
		}
	case <-time.After(patience):
		t.Fatalf("the tool never said %q", want)
	}
}

func (s *signals) call(id string) string {
	return `{"jsonrpc":"2.0","id":` + id + `,"method":"tools/call","params":{"name":"wait","arguments":{"socket":"` + s.path + `"}}}`
}

// stdioClient speaks to ServeStdio over real pipes.
type stdioClient struct {
	t     testing.TB
	in    *os.File // to the server
	lines chan map[string]any
	raw   chan string
	ended chan error
}

func startStdio(t testing.TB, s *Server) *stdioClient {
	t.Helper()
	serverIn, in, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	out, serverOut, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	c := &stdioClient{t: t, in: in, lines: make(chan map[string]any, 1000), raw: make(chan string, 1000), ended: make(chan error, 1)}
	go func() { // ends with the server
		err := s.ServeStdio(context.Background(), serverIn, serverOut)
		serverOut.Close()
		c.ended <- err
	}()
	read := make(chan struct{})
	go func() { // ends when the server closes its output
		defer close(read)
		defer close(c.lines)
		r := bufio.NewReader(out)
		for {
			line, err := r.ReadBytes('\n')
			if len(line) > 0 {
				var m map[string]any
				if json.Unmarshal(line, &m) != nil {
					m = map[string]any{"not an object": string(line)}
				}
				select {
				case c.raw <- string(line):
				default:
				}
				c.lines <- m
			}
			if err != nil {
				return
			}
		}
	}()
	t.Cleanup(func() {
		in.Close()
		<-read
		out.Close()
	})
	return c
}

func (c *stdioClient) send(line string) {
	c.t.Helper()
	if _, err := io.WriteString(c.in, line+"\n"); err != nil {
		c.t.Fatal(err)
	}
}

// next returns the next message.
func (c *stdioClient) next() map[string]any {
	c.t.Helper()
	select {
	case m, ok := <-c.lines:
		if !ok {
			c.t.Fatal("the server has ended")
		}
		return m
	case <-time.After(patience):
		c.t.Fatal("nothing came")
	}
	return nil
}

// answerTo returns the answer to a call, skipping what comes before it.
func (c *stdioClient) answerTo(id any) map[string]any {
	c.t.Helper()
	for {
		m := c.next()
		if _, isRequest := m["method"]; !isRequest && m["id"] == id {
			return m
		}
	}
}

const initialize = `{"jsonrpc":"2.0","id":"init","method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{"elicitation":{}},"clientInfo":{"name":"test","version":"1"}}}`

// shake does the legacy handshake.
func (c *stdioClient) shake() {
	c.t.Helper()
	c.send(initialize)
	c.answerTo("init")
	c.send(`{"jsonrpc":"2.0","method":"notifications/initialized"}`)
}

const modernMeta = `"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}`

// httpClient speaks to Handler over loopback.
type httpClient struct {
	t       testing.TB
	url     string
	header  http.Header
	session string
	client  *http.Client
}

func startHTTP(t testing.TB, s *Server) *httpClient {
	t.Helper()
	srv := httptest.NewServer(s.Handler())
	tr := &http.Transport{}
	t.Cleanup(func() {
		tr.CloseIdleConnections()
		s.Close()
		srv.Close()
	})
	return &httpClient{t: t, url: srv.URL, header: http.Header{}, client: &http.Client{Transport: tr}}
}

func (c *httpClient) request(ctx context.Context, method, body string, header ...string) *http.Response {
	c.t.Helper()
	req, err := http.NewRequestWithContext(ctx, method, c.url, strings.NewReader(body))
	if err != nil {
		c.t.Fatal(err)
	}
	req.Header = c.header.Clone()
	if method == http.MethodPost {
		req.Header.Set("Content-Type", "application/json")
	}
	req.Header.Set("Accept", "application/json, text/event-stream")
	if c.session != "" {
		req.Header.Set(sessionHeader, c.session)
	}
	for i := 0; i+1 < len(header); i += 2 {
		if header[i] == "Host" {
			req.Host = header[i+1]
		}
		req.Header.Set(header[i], header[i+1])
	}
	resp, err := c.client.Do(req)
	if err != nil {
		c.t.Fatal(err)
	}
	return resp
}

// post posts a message and returns status and the messages of the response.
func (c *httpClient) post(body string, header ...string) (int, []map[string]any) {
	c.t.Helper()
	resp := c.request(c.t.Context(), http.MethodPost, body, header...)
	defer resp.Body.Close()
	data, err := io.ReadAll(resp.Body)
	if err != nil {
		c.t.Fatal(err)
	}
	return resp.StatusCode, messagesOf(string(data))
}

// messagesOf reads the messages of a body of either kind.
func messagesOf(body string) (all []map[string]any) {
	for _, line := range strings.Split(body, "\n") {
		line = strings.TrimPrefix(line, "data: ")
		var m map[string]any
		if json.Unmarshal([]byte(line), &m) == nil {
			all = append(all, m)
		}
	}
	return all
}

// shake opens a legacy session.
func (c *httpClient) shake() {
	c.t.Helper()
	resp := c.request(c.t.Context(), http.MethodPost, initialize)
	io.Copy(io.Discard, resp.Body)
	resp.Body.Close()
	if c.session = resp.Header.Get(sessionHeader); c.session == "" {
		c.t.Fatalf("no session: status %s", resp.Status)
	}
	c.post(`{"jsonrpc":"2.0","method":"notifications/initialized"}`)
}

// modernCall is the headers of a modern request.
func modernCall(method, name string) []string {
	h := []string{versionHeader, firstModern, "Mcp-Method", method}
	if name != "" {
		h = append(h, "Mcp-Name", name)
	}
	return h
}

// dig takes a value out of a message, such as dig(m, "error", "code").
func dig(m any, path ...any) any {
	for _, p := range path {
		switch p := p.(type) {
		case string:
			o, _ := m.(map[string]any)
			m = o[p]
		case int:
			a, _ := m.([]any)
			if p >= len(a) {
				return nil
			}
			m = a[p]
		}
	}
	return m
}

// settles waits until a number is at most what it should be.
func settles(t testing.TB, what string, most int, number func() int) {
	t.Helper()
	deadline := time.Now().Add(patience)
	for n := number(); n > most; n = number() {
		if time.Now().After(deadline) {
			buf := make([]byte, 1<<20)
			t.Fatalf("%s: %d, want at most %d\n%s", what, n, most, buf[:runtime.Stack(buf, true)])
		}
		time.Sleep(5 * time.Millisecond)
	}
}
