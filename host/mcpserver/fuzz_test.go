package mcpserver

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/toolhost/toolhost/host"
)

// fuzzServer is a server without plugins: what is tested is what comes before a tool.
func fuzzServer(t testing.TB) *Server {
	t.Helper()
	h, err := host.Open(t.Context(), host.Config{})
	if err != nil {
		t.Fatal(err)
	}
	s, err := New(Config{Host: h, Message: 64 << 10})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		s.Close()
		h.Close()
	})
	return s
}

// seeds are what goes wrong in practice, and what is right.
func seeds(f *testing.F) {
	for _, s := range []string{
		"", "\x00", "{}", "[]", "[[]]", "null", `{"jsonrpc":"2.0"}`, initialize, ping, echoCall(""), echoCall("," + modernMeta),
		`[` + ping + `,` + ping + `]`, `[` + ping + `,` + initialize + `]`, initialize + "\n" + initialize,
		`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"x","_meta":{"progressToken":{}},"arguments":[]}}`,
		`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}`,
		`{"jsonrpc":"2.0","method":"notifications/cancelled","params":[]}`,
		`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":{"a":1}}}`,
		`{"jsonrpc":"2.0","method":"notifications/progress"}`, `{"jsonrpc":"2.0","method":"notifications/initialized","params":null}`,
		`{"jsonrpc":"2.0","id":"ask-1","result":{}}`, `{"jsonrpc":"2.0","id":1,"error":{"code":"x"}}`, `{"jsonrpc":"2.0","id":1,"result":null}`,
		`{"jsonrpc":"2.0","id":1,"method":"subscriptions/listen","params":{"notifications":{"toolsListChanged":true},` + modernMeta + `}}`,
		`{"jsonrpc":"2.0","id":1,"method":"subscriptions/listen","params":{` + modernMeta + `}}`,
		`{"jsonrpc":"2.0","id":1,"method":"logging/setLevel","params":{"level":7}}`,
		`{"jsonrpc":"2.0","id":1,"method":"ping","params":{` + modernMeta + `}}`,
		`{"jsonrpc":"2.0","id":1,"method":"server/discover","params":{` + modernMeta + `}}`,
		`{"jsonrpc":"2.0","id":1,"method":"completion/complete","params":{"ref":null}}`,
		`{"jsonrpc":"2.0","id":1e400,"method":"ping"}`, `{"jsonrpc":"2.0","id":99999999999999999999,"method":"ping"}`,
		strings.Repeat(`{"a":`, 2000) + "1" + strings.Repeat("}", 2000), strings.Repeat("x", 70<<10),
	} {
		f.Add([]byte(s))
	}
}

// FuzzR43_Stdio holds that after any lines a session still answers, and that all it writes is JSON-RPC.
func FuzzR43_Stdio(f *testing.F) {
	seeds(f)
	s := fuzzServer(f)
	const probe = `{"jsonrpc":"2.0","id":"the end","method":"tools/list","params":{"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}}}`
	f.Fuzz(func(t *testing.T, junk []byte) {
		serverIn, in := io.Pipe()
		out, serverOut := io.Pipe()
		ended := make(chan error, 1)
		go func() { // ends with the input
			err := s.ServeStdio(t.Context(), serverIn, serverOut)
			serverOut.Close()
			ended <- err
		}()
		go func() { // ends when all is written
			in.Write(junk)
			io.WriteString(in, "\n"+probe+"\n")
		}()
		late := time.AfterFunc(patience, func() { out.Close() })
		defer late.Stop()
		answered := false
		r := bufio.NewReader(out)
		for !answered {
			line, err := r.ReadBytes('\n')
			if err != nil {
				t.Fatalf("the session is wedged: %v", err)
			}
			answered = checkLine(t, line)
		}
		in.Close()
		go io.Copy(io.Discard, r) // ends with the server
		if err := <-ended; err != nil {
			t.Errorf("ServeStdio: %v", err)
		}
	})
}

// checkLine checks one line of output. It reports whether it is the answer to the probe.
func checkLine(t *testing.T, line []byte) (probe bool) {
	t.Helper()
	var all []map[string]any
	if line[0] == '[' {
		if json.Unmarshal(line, &all) != nil {
			t.Fatalf("written was %q", line)
		}
	} else {
		var m map[string]any
		if json.Unmarshal(line, &m) != nil {
			t.Fatalf("written was %q", line)
		}
		all = append(all, m)
	}
	for _, m := range all {
		if m["jsonrpc"] != "2.0" {
			t.Fatalf("written was %q", line)
		}
		probe = probe || m["id"] == "the end" && m["result"] != nil
	}
	return probe
}

// FuzzR43_HTTP holds that after any body, in both eras, a session still answers.
func FuzzR43_HTTP(f *testing.F) {
	seeds(f)
	s := fuzzServer(f)
	h := s.Handler()
	do := func(body []byte, header ...string) *httptest.ResponseRecorder {
		r := httptest.NewRequest(http.MethodPost, "http://localhost/mcp", bytes.NewReader(body))
		r.Header.Set("Content-Type", "application/json")
		r.Header.Set("Accept", "application/json, text/event-stream")
		for i := 0; i+1 < len(header); i += 2 {
			r.Header.Set(header[i], header[i+1])
		}
		ctx, cancel := context.WithTimeout(context.Background(), 2*time.Second) // a stream to listen on stays open
		defer cancel()
		w := httptest.NewRecorder()
		h.ServeHTTP(w, r.WithContext(ctx))
		return w
	}
	f.Fuzz(func(t *testing.T, junk []byte) {
		if bytes.Contains(junk, []byte("subscriptions")) {
			return // stays open by design
		}
		id := do([]byte(initialize)).Header().Get(sessionHeader)
		if id == "" {
			t.Fatal("no session")
		}
		do(junk)
		do(junk, sessionHeader, id)
		do(junk, versionHeader, firstModern, "Mcp-Method", "tools/call", "Mcp-Name", "echo")
		if w := do([]byte(ping), sessionHeader, id); w.Code != 200 || !strings.Contains(w.Body.String(), `"result"`) {
			t.Errorf("then a ping gets %d %s", w.Code, w.Body)
		}
		s.endSession(s.findSession(id, host.Caller{Channel: channelHTTP}))
		s.sessions.mu.Lock()
		var left []*session
		for _, x := range s.sessions.byID {
			left = append(left, x)
		}
		s.sessions.mu.Unlock()
		for _, x := range left {
			s.endSession(x)
		}
	})
}

// FuzzDirect_AMessageIsAnsweredAsThroughTheSDK holds that what goes past the SDK is answered as what goes through it.
func FuzzDirect_AMessageIsAnsweredAsThroughTheSDK(f *testing.F) {
	for _, params := range ordinary {
		f.Add([]byte(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{` + params + `,` + modernMeta + `}}`))
	}
	for _, s := range []string{`"id":"\ud800"`, `"id":1,"id":2`, `"id":1,"ID":2`, `"id":9007199254740993`, `"\u0069d":1,"x":[]`, `"id":1,"error":{}`} {
		f.Add([]byte(`{"jsonrpc":"2.0",` + s + `,"method":"tools/call","params":{"name":"echo","_meta":{"progressToken":1},` + modernMeta + `}}`))
	}
	s := fuzzServer(f)
	h := s.Handler()
	do := func(body []byte) (int, []map[string]any) {
		ctx, cancel := context.WithTimeout(context.Background(), patience)
		defer cancel()
		r := httptest.NewRequestWithContext(ctx, http.MethodPost, "http://localhost/mcp", bytes.NewReader(body))
		r.Header = http.Header{"Content-Type": {"application/json"}, "Accept": {"application/json, text/event-stream"}, versionHeader: {firstModern}, "Mcp-Method": {"tools/call"}, "Mcp-Name": {"echo"}}
		w := httptest.NewRecorder()
		h.ServeHTTP(w, r)
		return w.Code, messagesOf(w.Body.String())
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		if bytes.Contains(body, []byte("subscriptions")) || bytes.Count(body, []byte("["))+bytes.Count(body, []byte("{")) > 900 { // which the SDK does not read
			return
		}
		s.introduced.mu.Lock()
		clear(s.introduced.known)
		s.introduced.mu.Unlock()
		status, want := do(body)
		statusNow, got := do(body)
		if diff := cmp.Diff(want, got, sealed); diff != "" || status != statusNow {
			t.Errorf("%s: %d then %d: %s", body, status, statusNow, diff)
		}
	})
}
