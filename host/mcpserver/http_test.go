package mcpserver

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"
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
		if least > patience/4 { // 250 ms on a machine that is not loaded
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
		if least > patience/4 { // 250 ms on a machine that is not loaded
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

func (r *recorder) Header() http.Header { return r.header }

func (r *recorder) WriteHeader(status int) { r.status = status }

func (r *recorder) Write(p []byte) (int, error) { return r.body.Write(p) }

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
