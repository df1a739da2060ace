package mcpserver

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/toolhost/toolhost/host"
)

const ping = `{"jsonrpc":"2.0","id":"p","method":"ping"}`

func echoCall(extra string) string {
	return `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"echo","arguments":{"text":"hello"}` + extra + `}}`
}

func TestHTTP_BothErasOnOneURL(t *testing.T) {
	c := startHTTP(t, newServer(t, Config{}))
	status, all := c.post(`{"jsonrpc":"2.0","id":1,"method":"server/discover","params":{`+modernMeta+`}}`, modernCall("server/discover", "")...)
	if status != http.StatusOK || dig(all[0], "result", "supportedVersions", 0) != firstModern {
		t.Errorf("discover: %d %v", status, all)
	}
	status, all = c.post(echoCall(","+modernMeta), modernCall("tools/call", "echo")...)
	if status != http.StatusOK || !strings.Contains(fmt.Sprint(all), "hello") || dig(all[0], "result", "resultType") != "complete" {
		t.Errorf("modern call: %d %v", status, all)
	}
	c.shake()
	status, all = c.post(echoCall(""))
	if status != http.StatusOK || !strings.Contains(fmt.Sprint(all), "hello") || dig(all[0], "result", "resultType") != nil {
		t.Errorf("legacy call: %d %v", status, all)
	}
	// A modern request is modern also beside a session.
	if status, all = c.post(echoCall(","+modernMeta), modernCall("tools/call", "echo")...); status != http.StatusOK || dig(all[0], "result", "resultType") != "complete" {
		t.Errorf("modern call with a session: %d %v", status, all)
	}
}

func TestHTTP_WhatIsWrongIsAnsweredInTheProtocol(t *testing.T) {
	c := startHTTP(t, newServer(t, Config{Message: 1 << 20}))
	c.shake()
	modernPing := `{"jsonrpc":"2.0","id":1,"method":"ping","params":{` + modernMeta + `}}`
	for _, x := range []struct {
		name, body string
		header     []string
		status     int
		code       any
	}{
		{"no JSON", `{"jsonrpc"`, nil, 400, -32700.0},
		{"empty", ``, nil, 400, -32700.0},
		{"empty batch", `[]`, nil, 400, -32600.0},
		{"no message", `{"x":1}`, nil, 400, -32600.0},
		{"unknown method", `{"jsonrpc":"2.0","id":1,"method":"no/such"}`, nil, 200, -32601.0},
		{"completion", `{"jsonrpc":"2.0","id":1,"method":"completion/complete"}`, nil, 200, -32601.0},
		{"no params", `{"jsonrpc":"2.0","id":1,"method":"tools/call"}`, nil, 200, -32602.0},
		{"unknown tool", `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"nope"}}`, nil, 200, -32602.0},
		{"unknown version", ping, []string{versionHeader, "2020-01-01"}, 400, -32600.0},
		{"batch", `[` + ping + `]`, []string{versionHeader, "2025-11-25"}, 400, -32600.0},
		{"modern batch", `[` + ping + `]`, modernCall("ping", ""), 400, -32600.0},
		{"modern ping", modernPing, modernCall("ping", ""), 404, -32601.0},
		{"modern unknown", strings.Replace(modernPing, "ping", "no/such", 1), modernCall("no/such", ""), 404, -32601.0},
		{"modern completion", strings.Replace(modernPing, "ping", "completion/complete", 1), modernCall("completion/complete", ""), 404, -32601.0},
		{"modern header mismatch", modernPing, modernCall("tools/list", ""), 400, -32020.0},
		{"modern future", strings.ReplaceAll(modernPing, firstModern, "2099-01-01"), []string{versionHeader, "2099-01-01", "Mcp-Method", "ping"}, 400, -32022.0},
		{"modern unknown tool", `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"nope",` + modernMeta + `}}`, modernCall("tools/call", "nope"), 400, -32602.0},
		{"modern odd answers", `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"echo","inputResponses":7,` + modernMeta + `}}`, modernCall("tools/call", "echo"), 400, -32602.0},
		{"mirror missing", `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"mirrored","arguments":{"region":"eu"},` + modernMeta + `}}`, modernCall("tools/call", "mirrored"), 400, -32020.0},
		{"mirror differs", `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"mirrored","arguments":{"region":"eu"},` + modernMeta + `}}`, append(modernCall("tools/call", "mirrored"), "Mcp-Param-Region", "us"), 400, -32020.0},
		{"mirror agrees", `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"mirrored","arguments":{"region":"eu"},` + modernMeta + `}}`, append(modernCall("tools/call", "mirrored"), "Mcp-Param-Region", "=?base64?ZXU=?="), 200, nil},
		{"too large", `{"jsonrpc":"2.0","id":1,"method":"ping","params":{"x":"` + strings.Repeat("x", 1<<20) + `"}}`, nil, 413, nil},
		{"no JSON type", ping, []string{"Content-Type", "text/plain"}, 415, nil},
		{"wants HTML", ping, []string{"Accept", "text/html"}, 406, nil},
	} {
		t.Run(x.name, func(t *testing.T) {
			c.t = t
			status, all := c.post(x.body, x.header...)
			var code any
			if len(all) > 0 {
				code = dig(all[0], "error", "code")
			}
			if status != x.status || code != x.code {
				t.Errorf("got %d %v, want %d %v", status, all, x.status, x.code)
			}
			if status, all := c.post(ping); status != 200 || dig(all[0], "result") == nil {
				t.Errorf("then a ping gets %d %v", status, all)
			}
		})
	}
	c.t = t
}

func TestR39_AnUnknownSessionIs404AndDeleteEndsOne(t *testing.T) {
	c := startHTTP(t, newServer(t, Config{}))
	c.shake()
	id := c.session
	for _, method := range []string{http.MethodGet, http.MethodPost, http.MethodDelete} {
		c.session = "NOSUCHSESSION"
		resp := c.request(t.Context(), method, ping)
		resp.Body.Close()
		if resp.StatusCode != http.StatusNotFound {
			t.Errorf("%s of an unknown session: %s", method, resp.Status)
		}
	}
	c.session = ""
	if status, _ := c.post(ping); status != http.StatusBadRequest {
		t.Errorf("no session: %d", status)
	}
	c.session = id
	resp := c.request(t.Context(), http.MethodDelete, "")
	resp.Body.Close()
	if resp.StatusCode != http.StatusNoContent {
		t.Errorf("DELETE: %s", resp.Status)
	}
	if status, _ := c.post(ping); status != http.StatusNotFound {
		t.Errorf("after DELETE: %d", status)
	}
}

func TestR41_R42_ForeignHostsAndOriginsAreForbidden(t *testing.T) {
	s := newServer(t, Config{AllowedHosts: []string{"tools.example.com"}, AllowedOrigins: []string{"https://app.example.com"}})
	c := startHTTP(t, s)
	c.shake()
	here := strings.TrimPrefix(c.url, "http://")
	for _, x := range []struct {
		name   string
		header []string
		status int
		says   string
	}{
		{"own", nil, 200, ""},
		{"localhost", []string{"Host", "localhost:1"}, 200, ""},
		{"foreign host", []string{"Host", "evil.example.com"}, 403, "--allowed-host evil.example.com"},
		{"foreign address", []string{"Host", "10.0.0.1"}, 403, "--allowed-host 10.0.0.1"},
		{"allowed host", []string{"Host", "tools.example.com"}, 200, ""},
		{"allowed host with port", []string{"Host", "tools.example.com:8443"}, 200, ""},
		{"own origin", []string{"Origin", "http://" + here}, 200, ""},
		{"foreign origin", []string{"Origin", "http://evil.example.com"}, 403, "AllowedOrigins"},
		{"other port", []string{"Origin", "http://127.0.0.1:1"}, 403, ""},
		{"own origin with a user", []string{"Origin", "http://evil.example.com@" + here}, 403, ""},
		{"own origin with a path", []string{"Origin", "http://" + here + "/x"}, 403, ""},
		{"null origin", []string{"Origin", "null"}, 403, ""},
		{"allowed origin", []string{"Origin", "https://app.example.com"}, 200, ""},
		{"origin of an allowed host", []string{"Host", "tools.example.com", "Origin", "https://tools.example.com"}, 200, ""},
	} {
		t.Run(x.name, func(t *testing.T) {
			c.t = t
			for _, method := range []string{http.MethodPost, http.MethodGet, http.MethodDelete} {
				if method != http.MethodPost && x.status == 200 {
					continue
				}
				resp := c.request(t.Context(), method, ping, x.header...)
				body, _ := io.ReadAll(resp.Body)
				resp.Body.Close()
				if resp.StatusCode != x.status || !strings.Contains(string(body), x.says) {
					t.Errorf("%s: %s %s", method, resp.Status, body)
				}
			}
			// The modern era has the same guard.
			if status, _ := c.post(echoCall(","+modernMeta), append(modernCall("tools/call", "echo"), x.header...)...); status != x.status {
				t.Errorf("modern: %d", status)
			}
		})
	}
	c.t = t
	resp := c.request(t.Context(), http.MethodOptions, "", "Origin", "https://app.example.com")
	resp.Body.Close()
	if resp.StatusCode != http.StatusNoContent || resp.Header.Get("Access-Control-Allow-Origin") != "https://app.example.com" {
		t.Errorf("preflight: %s %v", resp.Status, resp.Header)
	}
	if status, _ := c.post(ping); status != 200 {
		t.Errorf("the session is gone: %d", status)
	}
}

// verify knows the tokens that are a name and "-token".
func verify(_ context.Context, token string) (host.Caller, error) {
	name, ok := strings.CutSuffix(token, "-token")
	if !ok {
		return host.Caller{}, errors.New("there is no token " + token)
	}
	return host.Caller{Subject: name, Channel: "terminal", Session: "mine"}, nil
}

func TestT37_ATokenIsNeededAndNeverShown(t *testing.T) {
	var log bytes.Buffer
	var mu sync.Mutex
	s := newServer(t, Config{Verify: verify, Logger: slog.New(slog.NewTextHandler(writerFunc(func(p []byte) (int, error) {
		mu.Lock()
		defer mu.Unlock()
		return log.Write(p)
	}), nil))})
	c := startHTTP(t, s)
	for _, h := range []string{"", "Basic YTpi", "Bearer", "Bearer secret-of-nobody"} {
		c.header.Set("Authorization", h)
		resp := c.request(t.Context(), http.MethodPost, initialize)
		body, _ := io.ReadAll(resp.Body)
		resp.Body.Close()
		if resp.StatusCode != http.StatusUnauthorized || !strings.HasPrefix(resp.Header.Get("WWW-Authenticate"), "Bearer") {
			t.Errorf("%q: %s %v", h, resp.Status, resp.Header)
		}
		if strings.Contains(string(body), "secret-of-nobody") {
			t.Errorf("the answer shows the token: %s", body)
		}
	}
	c.header.Set("Authorization", "Bearer ada-token")
	c.shake()
	if status, all := c.post(echoCall("")); status != 200 {
		t.Errorf("got %d %v", status, all)
	}
	resp := c.request(t.Context(), http.MethodPost, ping, "Authorization", "Bearer bob-token")
	resp.Body.Close()
	mu.Lock()
	defer mu.Unlock()
	for _, secret := range []string{"secret-of-nobody", "ada-token", "bob-token", c.session} {
		if strings.Contains(log.String(), secret) {
			t.Errorf("the log has %s:\n%s", secret, &log)
		}
	}
	if !strings.Contains(log.String(), "not accepted") {
		t.Errorf("the log says nothing of a bad token:\n%s", &log)
	}
}

type writerFunc func([]byte) (int, error)

func (f writerFunc) Write(p []byte) (int, error) { return f(p) }

func TestT34_ASessionIsItsSubjectsOnly(t *testing.T) {
	c := startHTTP(t, newServer(t, Config{Verify: verify}))
	c.header.Set("Authorization", "Bearer ada-token")
	c.shake()
	for _, method := range []string{http.MethodPost, http.MethodGet, http.MethodDelete} {
		resp := c.request(t.Context(), method, ping, "Authorization", "Bearer bob-token")
		resp.Body.Close()
		if resp.StatusCode != http.StatusNotFound {
			t.Errorf("%s by another subject: %s", method, resp.Status)
		}
	}
	if status, _ := c.post(ping); status != 200 {
		t.Errorf("by its own: %d", status)
	}
}

func TestT36_ACallerIsWhatTheTokenSays(t *testing.T) {
	var got []host.Caller
	var mu sync.Mutex
	h := newHost(t, host.Config{Policy: host.Policy{Func: func(_ context.Context, c host.PolicyCall) (host.Action, error) {
		mu.Lock()
		defer mu.Unlock()
		got = append(got, c.Caller)
		return host.Allow, nil
	}}})
	s := newServer(t, Config{Verify: verify, Host: h})
	c := startHTTP(t, s)
	c.header.Set("Authorization", "Bearer ada-token")
	c.post(strings.Replace(echoCall(","+modernMeta), `"_meta":{`, `"_meta":{"subject":"root","caller":{"subject":"root"},`, 1), append(modernCall("tools/call", "echo"), "X-Subject", "root")...)
	c.shake()
	c.post(echoCall(""))
	mu.Lock()
	defer mu.Unlock()
	if len(got) != 2 {
		t.Fatalf("%d calls", len(got))
	}
	for i, g := range got {
		if g.Subject != "ada" || g.Channel != "http" || (i == 0) != (g.Session == "") || g.Session == c.session {
			t.Errorf("call %d is by %+v", i, g)
		}
	}
}

func TestR35_ACancelReachesTheToolOverHTTP(t *testing.T) {
	t.Run("stateful", func(t *testing.T) {
		sig := listenSignals(t)
		c := startHTTP(t, newServer(t, Config{}))
		c.shake()
		least := patience
		for range 3 { // the same id can be used again
			done := make(chan []map[string]any, 1)
			go func() { // ends with the call
				_, all := c.post(sig.call("1"))
				done <- all
			}()
			sig.await(t, "running")
			start := time.Now()
			if status, _ := c.post(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}`); status != http.StatusAccepted {
				t.Errorf("status %d", status)
			}
			sig.await(t, "cancelled")
			least = min(least, time.Since(start))
			select {
			case all := <-done:
				if len(all) != 0 { // R36
					t.Errorf("after the cancel came %v", all)
				}
			case <-time.After(patience):
				t.Fatal("the stream of the cancelled call stays open")
			}
		}
		if least > 250*time.Millisecond {
			t.Errorf("a cancel took %v", least)
		}
	})
	t.Run("modern disconnect", func(t *testing.T) {
		sig := listenSignals(t)
		c := startHTTP(t, newServer(t, Config{}))
		least := patience
		for range 3 {
			ctx, cancel := context.WithCancel(t.Context())
			done := make(chan struct{})
			go func() { // ends with ctx
				defer close(done)
				req, err := http.NewRequestWithContext(ctx, http.MethodPost, c.url, strings.NewReader(strings.Replace(sig.call("1"), `"params":{`, `"params":{`+modernMeta+`,`, 1)))
				if err != nil {
					return
				}
				req.Header = http.Header{"Content-Type": {"application/json"}, "Accept": {"*/*"}, versionHeader: {firstModern}, "Mcp-Method": {"tools/call"}, "Mcp-Name": {"wait"}}
				if resp, err := c.client.Do(req); err == nil {
					resp.Body.Close()
				}
			}()
			sig.await(t, "running")
			start := time.Now()
			cancel()
			sig.await(t, "cancelled")
			least = min(least, time.Since(start))
			<-done
		}
		if least > 250*time.Millisecond {
			t.Errorf("a cancel took %v", least)
		}
	})
	t.Run("delete", func(t *testing.T) {
		sig := listenSignals(t)
		c := startHTTP(t, newServer(t, Config{}))
		c.shake()
		done := make(chan struct{})
		go func() { // ends with the session
			defer close(done)
			c.post(sig.call("1"))
		}()
		sig.await(t, "running")
		c.request(t.Context(), http.MethodDelete, "").Body.Close()
		sig.await(t, "cancelled")
		<-done
	})
}

func TestR38_AnOpenStreamIsKeptAlive(t *testing.T) {
	sig := listenSignals(t)
	c := startHTTP(t, newServer(t, Config{KeepAlive: 20 * time.Millisecond}))
	c.shake()
	modernWait := strings.Replace(sig.call("1"), `"params":{`, `"params":{`+modernMeta+`,`, 1)
	listen := `{"jsonrpc":"2.0","id":1,"method":"subscriptions/listen","params":{"notifications":{"toolsListChanged":true},` + modernMeta + `}}`
	for _, x := range []struct {
		name, method, body string
		header             []string
	}{
		{"GET", http.MethodGet, "", nil},
		{"legacy POST", http.MethodPost, sig.call("1"), nil},
		{"modern POST", http.MethodPost, modernWait, modernCall("tools/call", "wait")},
		{"listen", http.MethodPost, listen, modernCall("subscriptions/listen", "")},
	} {
		t.Run(x.name, func(t *testing.T) {
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			resp := c.request(ctx, x.method, x.body, x.header...)
			defer resp.Body.Close()
			if resp.Header.Get("X-Accel-Buffering") != "no" || resp.Header.Get("Content-Type") != "text/event-stream" {
				t.Errorf("header %v", resp.Header)
			}
			comments := 0
			for r := bufio.NewScanner(resp.Body); comments < 3 && r.Scan(); {
				if r.Text() == ": still here" {
					comments++
				}
			}
			if comments < 3 {
				t.Errorf("%d comments", comments)
			}
		})
	}
}

func TestR38_AnErrorAfterACommentIsAnEvent(t *testing.T) {
	w := &recorder{header: http.Header{}}
	s := newStream(w)
	s.last = time.Now().Add(-time.Hour)
	s.comment(time.Now(), time.Second)
	s.Header().Set("Content-Type", "application/json")
	s.WriteHeader(http.StatusBadRequest)
	fmt.Fprint(s, `{"jsonrpc":"2.0"}`)
	if w.status != 200 || w.body.String() != ": still here\n\nevent: message\ndata: {\"jsonrpc\":\"2.0\"}\n\n" {
		t.Errorf("%d %q", w.status, &w.body)
	}
}

// recorder is a plain ResponseWriter.
type recorder struct {
	header http.Header
	status int
	body   bytes.Buffer
}

func (r *recorder) Header() http.Header         { return r.header }
func (r *recorder) WriteHeader(status int)      { r.status = status }
func (r *recorder) Write(p []byte) (int, error) { return r.body.Write(p) }

func TestR40_AThousandAbandonedSessionsReturnToBaseline(t *testing.T) {
	leaks(t)
	s := newServer(t, Config{SessionIdle: 300 * time.Millisecond, Sessions: 1100, Host: newHost(t, host.Config{})})
	c := startHTTP(t, s)
	c.shake() // what is made once is there
	c.request(t.Context(), http.MethodDelete, "").Body.Close()
	c.client.CloseIdleConnections()
	settles(t, "sessions", 0, func() int { return count(s) })
	before := runtime.NumGoroutine()
	memory := heap()
	most := 0
	for range 1000 {
		c.session = ""
		c.shake()
		most = max(most, count(s))
	}
	if most < 2 {
		t.Errorf("at most %d sessions at once: the test says nothing", most)
	}
	c.client.CloseIdleConnections()
	settles(t, "sessions", 0, func() int { return count(s) })
	settles(t, "goroutines", before+5, runtime.NumGoroutine)
	if grown := heap() - memory; grown > 4<<20 {
		t.Errorf("the heap grew by %d KiB", grown>>10)
	}
	if status, _ := c.post(ping); status != http.StatusNotFound {
		t.Errorf("an abandoned session answers %d", status)
	}
}

func count(s *Server) int {
	s.sessions.mu.Lock()
	defer s.sessions.mu.Unlock()
	return len(s.sessions.byID)
}

func heap() int64 {
	runtime.GC()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}

func TestR40_SessionsHaveALimit(t *testing.T) {
	c := startHTTP(t, newServer(t, Config{Sessions: 2}))
	c.shake()
	first := c.session
	c.session = ""
	c.shake()
	c.session = ""
	resp := c.request(t.Context(), http.MethodPost, initialize)
	resp.Body.Close()
	if resp.StatusCode != http.StatusServiceUnavailable || resp.Header.Get("Retry-After") == "" {
		t.Errorf("got %s %v", resp.Status, resp.Header)
	}
	if status, _ := c.post(`{"jsonrpc":"2.0","id":1,"method":"subscriptions/listen","params":{"notifications":{"toolsListChanged":true},`+modernMeta+`}}`, modernCall("subscriptions/listen", "")...); status != http.StatusServiceUnavailable {
		t.Errorf("a stream to listen on: %d", status)
	}
	c.session = first
	c.request(t.Context(), http.MethodDelete, "").Body.Close()
	c.session = ""
	c.shake()
}

func TestR40_AHandshakeThatFailsLeavesNoSession(t *testing.T) {
	s := newServer(t, Config{})
	c := startHTTP(t, s)
	c.post(`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"capabilities":7}}`)
	settles(t, "sessions", 0, func() int { return count(s) })
}

func TestHTTP_AStormOfSessionsLeavesNothingBehind(t *testing.T) {
	leaks(t)
	s := newServer(t, Config{Host: newHost(t, host.Config{})})
	c := startHTTP(t, s)
	var clients sync.WaitGroup
	for i := range 16 {
		clients.Go(func() {
			for j := range 5 {
				me := *c
				me.shake()
				text := fmt.Sprintf("%d-%d", i, j)
				for _, x := range []struct{ extra, header string }{{"", ""}, {"," + modernMeta, "m"}} {
					var h []string
					if x.header != "" {
						h = modernCall("tools/call", "echo")
					}
					if _, all := me.post(strings.Replace(echoCall(x.extra), "hello", text, 1), h...); !strings.Contains(fmt.Sprint(all), text) {
						t.Errorf("%s: got %v", text, all)
					}
				}
				if j%2 == 0 {
					me.request(t.Context(), http.MethodDelete, "").Body.Close()
				}
			}
		})
	}
	clients.Wait()
}

func TestR24_ALargeResultOverHTTP(t *testing.T) {
	c := startHTTP(t, newServer(t, Config{}))
	c.shake()
	const size = largeBytes
	_, all := c.post(fmt.Sprintf(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"big","arguments":{"bytes":%d}}}`, size))
	if text, _ := dig(all[0], "result", "content", 0, "text").(string); len(text) < size {
		t.Errorf("got %d bytes", len(text))
	}
	if status, _ := c.post(ping); status != 200 {
		t.Errorf("then a ping gets %d", status)
	}
}
