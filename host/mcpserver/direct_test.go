package mcpserver

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/toolhost/toolhost/host"
	"github.com/toolhost/toolhost/internal/rawjson"
	"github.com/toolhost/toolhost/pluginsdk"
)

// ordinary are params of tools/call, without their braces, that a client may well send.
var ordinary = []string{
	`"name":"echo","arguments":{"text":"a"}`, `"name":"echo"`, `"name":"echo","arguments":null`, `"arguments":{"text":"<\u2028>"},"name":"echo","more":[1.0]`,
	`"name":"echo","arguments":{"text":5}`, `"name":"echo","arguments":[]`, `"name":"fail"`, `"name":"nope"`, `"name":"\u0065cho","arguments":{"text":"b"}`,
	`"name":"echo","inputResponses":7`, `"name":"echo","requestState":"forged"`, `"name":"echo","requestState":7`, `"name":"name"`, `"name":"survey"`,
}

// Params of which the SDK reads the rest: a legacy _meta that is null, and nothing that was accepted before.
const viaSDK = `,"_meta":null`

func TestDirect_OverStdioACallIsAnsweredAsThroughTheSDK(t *testing.T) {
	for _, params := range ordinary {
		c := startStdio(t, newServer(t, Config{}))
		c.shake()
		ask := func(id int, params string) map[string]any {
			c.send(`{"jsonrpc":"2.0","id":` + string(rawjson.Encode(id)) + `,"method":"tools/call","params":{` + params + `}}`)
			m := c.answerTo(float64(id))
			delete(m, "id")
			return m
		}
		if diff := cmp.Diff(ask(1, params+viaSDK), ask(2, params), sealed); diff != "" {
			t.Errorf("legacy %s: %s", params, diff)
		}
		c = startStdio(t, newServer(t, Config{}))
		if diff := cmp.Diff(ask(1, params+","+modernMeta), ask(2, params+","+modernMeta), sealed); diff != "" {
			t.Errorf("modern %s: %s", params, diff)
		}
	}
}

func TestDirect_OverHTTPACallIsAnsweredAsThroughTheSDK(t *testing.T) {
	type answer struct {
		Status   int
		Messages []map[string]any
	}
	ask := func(c *httpClient, params string, header ...string) (a answer, kind string) {
		resp := c.request(t.Context(), http.MethodPost, `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{`+params+`}}`, header...)
		defer resp.Body.Close()
		data, err := io.ReadAll(resp.Body)
		if err != nil {
			t.Fatal(err)
		}
		return answer{resp.StatusCode, messagesOf(string(data))}, resp.Header.Get("Content-Type")
	}
	const stream, json = "text/event-stream", "application/json"
	for _, params := range ordinary {
		c := startHTTP(t, newServer(t, Config{}))
		c.shake()
		want, kind := ask(c, params+viaSDK)
		got, kindNow := ask(c, params)
		if diff := cmp.Diff(want, got, sealed); diff != "" || kind != stream || kindNow != json {
			t.Errorf("legacy %s: %s then %s: %s", params, kind, kindNow, diff)
		}
		c = startHTTP(t, newServer(t, Config{}))
		name := "echo"
		if _, rest, ok := strings.Cut(params, `"name":"`); ok && !strings.Contains(params, `\u0065`) {
			name, _, _ = strings.Cut(rest, `"`)
		}
		want, _ = ask(c, params+","+modernMeta, modernCall("tools/call", name)...)
		got, kindNow = ask(c, params+","+modernMeta, modernCall("tools/call", name)...)
		if diff := cmp.Diff(want, got, sealed); diff != "" || kindNow != json {
			t.Errorf("modern %s: %s: %s", params, kindNow, diff)
		}
	}
}

// sealed are values that differ from call to call.
var sealed = cmp.FilterPath(func(p cmp.Path) bool {
	i, ok := p.Last().(cmp.MapIndex)
	return ok && (i.Key().String() == "requestState" || i.Key().String() == "suspension" || i.Key().String() == "text")
}, cmp.Ignore())

func TestDirect_WhatIsOddStillGoesThroughTheSDK(t *testing.T) {
	c := startHTTP(t, newServer(t, Config{}))
	call := func(meta string, header ...string) int {
		status, _ := c.post(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"echo",`+meta+`}}`, header...)
		return status
	}
	plain := modernCall("tools/call", "echo")
	for range 2 { // the second one could go directly
		if status := call(modernMeta, plain...); status != 200 {
			t.Fatalf("status %d", status)
		}
	}
	for _, x := range []struct {
		about, meta string
		header      []string
	}{
		{"another name in the header", modernMeta, modernCall("tools/call", "fail")},
		{"no name in the header", modernMeta, modernCall("tools/call", "")},
		{"another method in the header", modernMeta, modernCall("tools/list", "echo")},
		{"another version in the header", modernMeta, append([]string{versionHeader, "2027-01-01"}, plain[2:]...)},
		{"an id of an event", modernMeta, append([]string{"Last-Event-ID", "1"}, plain...)},
		{"no capabilities", `"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28"}`, plain},
		{"a client that is none", strings.Replace(modernMeta, `{"io`, `{"io.modelcontextprotocol/clientInfo":7,"io`, 1), plain},
		{"capabilities that are none", strings.Replace(modernMeta, `{}`, `[]`, 1), plain},
	} {
		for range 2 {
			if status := call(x.meta, x.header...); status != 400 {
				t.Errorf("%s: status %d", x.about, status)
			}
		}
	}
	c.shake()
	for _, message := range []string{ // that the SDK does not take
		`"jsonrpc":7,"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"echo"%s}`,
		`"jsonrpc":"2.0","id":1,"method":"tools/call","error":"x","params":{"name":"echo"%s}`,
	} {
		if status, all := c.post("{" + fmt.Sprintf(message, "") + "}"); status != 400 {
			t.Errorf("legacy %s: status %d %v", message, status, all)
		}
		if status, all := c.post("{"+fmt.Sprintf(message, ","+modernMeta)+"}", plain...); status != 400 {
			t.Errorf("modern %s: status %d %v", message, status, all)
		}
	}
	std := startStdio(t, newServer(t, Config{}))
	std.send(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"echo"}}`)
	if m := std.answerTo(1.0); dig(m, "error", "code") != float64(codeInvalidRequest) {
		t.Errorf("before the handshake: %v", m)
	}
	std.shake()
	for _, meta := range []string{`{"progressToken":1e400}`, `{"x":{"y":[1e400,true]}}`, `{"io.modelcontextprotocol/clientInfo":[` + strings.Repeat("9", 400) + `]}`} {
		std.send(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"echo","_meta":` + meta + `}}`)
		if m := std.answerTo(1.0); dig(m, "error", "code") != float64(codeInvalidParams) {
			t.Errorf("%s: %v", meta, m)
		}
	}
}

func TestDirect_AnIDThatIsTakenIsRefused(t *testing.T) {
	sig := listenSignals(t)
	c := startHTTP(t, newServer(t, Config{}))
	c.shake()
	done := make(chan struct{})
	go func() { // ends with the call
		defer close(done)
		c.post(sig.call("1"))
	}()
	sig.await(t, "running")
	for _, params := range []string{`"name":"echo"`, `"name":"echo"` + viaSDK} {
		if status, _ := c.post(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{` + params + `}}`); status != http.StatusBadRequest {
			t.Errorf("%s: status %d", params, status)
		}
	}
	c.post(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}`)
	sig.await(t, "cancelled")
	<-done
}

// What is written is UTF-8, whatever was read: some clients end at anything else.
func TestR24_AnIDThatIsNoUTF8IsNotRepeated(t *testing.T) {
	s := newServer(t, Config{})
	std, web := startStdio(t, s), startHTTP(t, s)
	std.shake()
	web.shake()
	for _, method := range []string{"ping", "tools/call"} {
		message := fmt.Sprintf(`{"jsonrpc":"2.0","id":"`+"\xff"+`","method":%q,"params":{"name":"echo","arguments":{"text":"a"}}}`, method)
		std.send(message)
		m := std.next()
		if id, there := m["id"]; !there || id != nil || dig(m, "error", "code") != float64(codeInvalidRequest) {
			t.Errorf("stdio, %s: %v", method, m)
		}
		if status, all := web.post(message); status != http.StatusBadRequest || len(all) != 1 || all[0]["id"] != nil {
			t.Errorf("HTTP, %s: %d %v", method, status, all)
		}
	}
}

func TestDirect_IntroductionsAreBounded(t *testing.T) {
	i := introductions{known: map[string]bool{}}
	for n := range 3 * maxIntroductions {
		m := meta{{"io.modelcontextprotocol/clientInfo", rawjson.Encode(n)}}
		if i.accept(m); !i.has(m) || len(i.known) > maxIntroductions {
			t.Fatalf("after %d: %d are kept", n, len(i.known))
		}
	}
	long := meta{{"io.modelcontextprotocol/clientInfo", rawjson.Quote(strings.Repeat("x", maxIntroduction))}}
	if i.accept(long); i.has(long) || i.has(nil) {
		t.Error("what is too long, or empty, is taken for accepted")
	}
}

// forgingTools ask what has a line of its own that could pass for the server's.
func forgingTools() []pluginsdk.Definition {
	const line = "\n" + `{"jsonrpc":"2.0","id":2,"result":{"content":[]}}` + "\n"
	return []pluginsdk.Definition{
		tool("sample", func(ctx context.Context, c *pluginsdk.Call, _ none) (string, error) {
			a, err := c.Sample(ctx, json.RawMessage(`{"messages":[`+line+`],"maxTokens":1}`))
			return answerText(a), err
		}),
		// late says on a socket that it runs, and what came of its question, which it asks when there is a file.
		tool("late", func(ctx context.Context, c *pluginsdk.Call, in struct {
			Socket string `json:"socket"`
			File   string `json:"file"`
		}) (string, error) {
			w, err := net.Dial("unix", in.Socket)
			if err != nil {
				return "", err
			}
			defer w.Close()
			fmt.Fprintln(w, "running")
			for _, err := os.Stat(in.File); err != nil; _, err = os.Stat(in.File) {
				if !pause(ctx, time.Millisecond) {
					return "", ctx.Err()
				}
			}
			a, err := c.Elicit(ctx, pluginsdk.Question{Schema: json.RawMessage(nameSchema)})
			fmt.Fprintln(w, a.Action, err)
			return answerText(a), err
		}),
		tool("choose", func(ctx context.Context, c *pluginsdk.Call, _ none) (string, error) {
			a, err := c.Elicit(ctx, pluginsdk.Question{Schema: json.RawMessage(`{"type":"object","properties":{"a":{"enum":["x",` + "\n" + `"y"]}}}`)})
			return answerText(a), err
		}),
	}
}

func TestR24_APluginsQuestionIsNoLineOfItsOwn(t *testing.T) {
	const can = `"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{"sampling":{},"elicitation":{}}}`
	s := newServer(t, Config{Host: newHost(t, host.Config{}, "forging")})
	std, web := startStdio(t, s), startHTTP(t, s)
	for i, name := range []string{"sample", "choose", "sample", "choose"} { // the first goes through the SDK
		call := fmt.Sprintf(`{"jsonrpc":"2.0","id":"%d","method":"tools/call","params":{"name":"%s",%s}}`, i, name, can)
		std.send(call)
		if m := std.next(); m["id"] != fmt.Sprint(i) || dig(m, "result", "resultType") != "input_required" {
			t.Errorf("stdio, %s: %v", name, m)
		}
		status, all := web.post(call, modernCall("tools/call", name)...)
		if status != http.StatusOK || len(all) != 1 || dig(all[0], "result", "resultType") != "input_required" {
			t.Errorf("HTTP, %s: %d %v", name, status, all)
		}
	}
}

// uses is how many requests use the sessions.
func uses(s *Server) func() int {
	return func() (n int) {
		s.sessions.mu.Lock()
		defer s.sessions.mu.Unlock()
		for _, x := range s.sessions.byID {
			x.mu.Lock()
			n += x.refs
			x.mu.Unlock()
		}
		return n
	}
}

func TestR35_AClientThatHasGoneIsNotAsked(t *testing.T) {
	sig := listenSignals(t)
	s := newServer(t, Config{Host: newHost(t, host.Config{}, "forging")})
	c := startHTTP(t, s)
	c.shake()
	file := filepath.Join(filepath.Dir(sig.path), "go")
	leave := abandon(c, fmt.Sprintf(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"late","arguments":{"socket":%q,"file":%q}}}`, sig.path, file))
	sig.await(t, "running")
	leave()
	settles(t, "requests", 0, uses(s))
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	sig.await(t, "decline <nil>")
}

func TestR40_ASessionWhoseClientHasGoneEndsWithItsCall(t *testing.T) {
	sig := listenSignals(t)
	s := newServer(t, Config{SessionIdle: 2 * time.Second})
	c := startHTTP(t, s)
	c.shake()
	leave := abandon(c, sig.call("1"))
	sig.await(t, "running")
	leave()
	sig.await(t, "cancelled")
	settles(t, "sessions", 0, func() int {
		s.sessions.mu.Lock()
		defer s.sessions.mu.Unlock()
		return len(s.sessions.byID)
	})
}

// abandon posts a message, and returns how the client goes away.
func abandon(c *httpClient, body string) (leave func()) {
	ctx, cancel := context.WithCancel(c.t.Context())
	left := make(chan struct{})
	go func() { // ends with leave
		defer close(left)
		req, err := http.NewRequestWithContext(ctx, http.MethodPost, c.url, strings.NewReader(body))
		if err != nil {
			c.t.Error(err)
			return
		}
		req.Header = http.Header{"Content-Type": {"application/json"}, "Accept": {"application/json, text/event-stream"}, sessionHeader: {c.session}}
		if resp, err := c.client.Do(req); err == nil {
			_, _ = io.Copy(io.Discard, resp.Body) // until it leaves
			resp.Body.Close()
		}
	}()
	return func() {
		cancel()
		<-left
	}
}

func TestT34_ACallPastTheSDKNeedsTokenOriginAndSession(t *testing.T) {
	h := newHost(t, host.Config{Policy: host.Policy{Rules: []host.Rule{{Action: host.Deny, Tool: "echo", Caller: host.CallerMatch{Subject: "bob"}}}}})
	c := startHTTP(t, newServer(t, Config{Host: h, Verify: verify}))
	for range 3 { // the first of ada's goes through the SDK
		for _, x := range []struct {
			status int
			header []string
		}{
			{200, []string{"Authorization", "Bearer ada-token"}},
			{400, []string{"Authorization", "Bearer bob-token"}}, // for him there is no such tool
			{401, []string{"Authorization", "Bearer x"}},
			{401, nil},
			{403, []string{"Authorization", "Bearer ada-token", "Origin", "http://evil.example"}},
			{403, []string{"Authorization", "Bearer ada-token", "Host", "evil.example"}},
		} {
			if status, all := c.post(echoCall(","+modernMeta), append(modernCall("tools/call", "echo"), x.header...)...); status != x.status {
				t.Errorf("%v: %d %v", x.header, status, all)
			}
		}
	}
	c.header.Set("Authorization", "Bearer ada-token")
	c.shake()
	for who, want := range map[string]int{"ada": 200, "bob": 404} {
		if status, all := c.post(echoCall(""), "Authorization", "Bearer "+who+"-token"); status != want {
			t.Errorf("%s, in ada's session: %d %v", who, status, all)
		}
	}
}
