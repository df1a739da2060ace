package mcpserver

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/toolhost/toolhost/host"
	"github.com/toolhost/toolhost/internal/rawjson"
)

func TestStdio_ListAndCallInBothEras(t *testing.T) {
	c := startStdio(t, newServer(t, Config{}))
	c.send(`{"jsonrpc":"2.0","id":1,"method":"server/discover","params":{` + modernMeta + `}}`)
	m := c.answerTo(1.0)
	if dig(m, "result", "capabilities", "tools", "listChanged") != true {
		t.Errorf("discover: %v", m)
	}
	c.send(`{"jsonrpc":"2.0","id":2,"method":"tools/list","params":{` + modernMeta + `}}`)
	m = c.answerTo(2.0)
	if dig(m, "result", "resultType") != "complete" || dig(m, "result", "cacheScope") != "private" || dig(m, "result", "ttlMs") == nil ||
		dig(m, "result", "_meta", "io.modelcontextprotocol/serverInfo", "name") != "toolhost" {
		t.Errorf("modern list: %v", m)
	}
	c.send(`{"jsonrpc":"2.0","id":3,"method":"tools/call","params":{"name":"echo","arguments":{"text":"a"},` + modernMeta + `}}`)
	if m = c.answerTo(3.0); dig(m, "result", "content", 0, "type") != "text" || dig(m, "result", "resultType") != "complete" {
		t.Errorf("modern call: %v", m)
	}
	c.shake()
	c.send(`{"jsonrpc":"2.0","id":4,"method":"tools/list"}`)
	m = c.answerTo(4.0)
	tools, _ := dig(m, "result", "tools").([]any)
	if len(tools) != len(wireTools()) || dig(m, "result", "resultType") != nil || dig(m, "result", "nextCursor") != nil {
		t.Errorf("legacy list: %v", m)
	}
	for i := 1; i < len(tools); i++ {
		if dig(tools[i-1], "name").(string) >= dig(tools[i], "name").(string) {
			t.Errorf("the list is not ordered at %d", i)
		}
	}
	c.send(`{"jsonrpc":"2.0","id":5,"method":"tools/call","params":{"name":"echo","arguments":{"text":"b"}}}`)
	if m = c.answerTo(5.0); !strings.Contains(dig(m, "result", "content", 0, "text").(string), "b") {
		t.Errorf("legacy call: %v", m)
	}
}

func TestStdio_AServerOfToolsHasNoPromptsAndResources(t *testing.T) {
	c := startStdio(t, newServer(t, Config{}))
	c.shake()
	for i, x := range []struct {
		method string
		code   float64 // 0: an empty list
	}{
		{"prompts/list", 0}, {"resources/list", 0}, {"resources/templates/list", 0},
		{"prompts/get", -32602}, {"resources/read", -32002}, {"resources/subscribe", -32601}, {"completion/complete", -32601}, {"no/such", -32601},
	} {
		c.send(`{"jsonrpc":"2.0","id":` + string(rawjson.Encode(i)) + `,"method":"` + x.method + `","params":{"name":"x","uri":"x:y","ref":{"type":"ref/prompt","name":"x"},"argument":{"name":"a","value":"b"}}}`)
		m := c.answerTo(float64(i))
		if x.code != 0 {
			if dig(m, "error", "code") != x.code {
				t.Errorf("%s: %v", x.method, m)
			}
			continue
		}
		name := map[string]string{"prompts/list": "prompts", "resources/list": "resources", "resources/templates/list": "resourceTemplates"}[x.method]
		if list, ok := dig(m, "result", name).([]any); !ok || len(list) != 0 {
			t.Errorf("%s: %v", x.method, m)
		}
	}
}

func TestStdio_ACallWithoutArgumentsIsOneWithNone(t *testing.T) {
	c := startStdio(t, newServer(t, Config{}))
	c.shake()
	for i, params := range []string{`"name":"echo"`, `"name":"echo","arguments":null`, `"name":"echo","arguments":{}`, `"name":"echo",` + modernMeta} {
		c.send(`{"jsonrpc":"2.0","id":` + string(rawjson.Encode(i)) + `,"method":"tools/call","params":{` + params + `}}`)
		if m := c.answerTo(float64(i)); dig(m, "result", "content") == nil {
			t.Errorf("%s: %v", params, m)
		}
	}
}

func TestR28_AMalformedLineIsAnsweredAndTheSessionGoesOn(t *testing.T) {
	c := startStdio(t, newServer(t, Config{}))
	c.shake()
	for _, x := range []struct {
		line string
		code float64
		id   any
	}{
		{`{"jsonrpc":"2.0","id":7,"method"`, -32700, nil},
		{`hello`, -32700, nil},
		{`[]`, -32600, nil},
		{`[{"jsonrpc":"2.0","id":1,"method":"ping"}]`, -32600, nil}, // the agreed version has no batches
		{`17`, -32600, nil},
		{`{"id":8,"method":"ping"}`, -32600, 8.0},
		{`{"jsonrpc":"2.0","id":{},"method":"ping"}`, -32600, nil},
		{`{"jsonrpc":"2.0","id":1.5,"method":"ping"}`, -32600, nil},
		{`{"jsonrpc":"2.0","id":9,"method":7}`, -32600, 9.0},
		{`{"jsonrpc":"2.0","id":10,"method":"ping","params":[1]}`, -32602, 10.0},
		{`{"jsonrpc":"2.0","id":11,"method":"tools/call","params":{"name":7}}`, -32602, 11.0},
		{`{"jsonrpc":"2.0","id":12,"method":"tools/call"}`, -32600, 12.0},
		{`{"jsonrpc":"2.0","id":13,"method":"tools/list","params":{"cursor":"x"}}`, -32602, 13.0},
		{`{"jsonrpc":"2.0","id":14,"method":"tools/call","params":{"name":"no such tool"}}`, -32602, 14.0},
		{`{"jsonrpc":"2.0","id":15,"method":"tools/call","params":{"name":"echo","arguments":` + strings.Repeat("[", 5000) + strings.Repeat("]", 5000) + `}}`, 0, 15.0},
	} {
		c.send(x.line)
		m := c.next()
		if m["id"] != x.id || x.code != 0 && dig(m, "error", "code") != x.code {
			t.Errorf("%.80s: got %v", x.line, m)
		}
		c.send(`{"jsonrpc":"2.0","id":"p","method":"ping"}`)
		if m := c.next(); m["id"] != "p" || m["result"] == nil {
			t.Fatalf("after %.80s a ping gets %v", x.line, m)
		}
	}
}

func TestR28_IdsComeBackAsTheyWere(t *testing.T) {
	c := startStdio(t, newServer(t, Config{}))
	for _, id := range []string{`9007199254740993`, `"9007199254740993"`, `-1`, `0`, `""`, `"\u0041<"`} {
		c.send(`{"jsonrpc":"2.0","id":` + id + `,"method":"ping"}`)
		c.next()
		if raw := <-c.raw; !strings.Contains(raw, `"id":`+id+`,`) {
			t.Errorf("id %s came back in %s", id, raw)
		}
	}
}

func TestStdio_ABatchOfAnOldClientIsAnsweredAsOne(t *testing.T) {
	c := startStdio(t, newServer(t, Config{}))
	c.send(strings.Replace(initialize, "2025-11-25", "2025-03-26", 1))
	c.next()
	<-c.raw
	c.send(`[{"jsonrpc":"2.0","id":1,"method":"ping"},{"jsonrpc":"2.0","method":"notifications/initialized"},7,{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"echo","arguments":{"text":"x"}}}]`)
	c.next()
	var all []map[string]any
	if raw := <-c.raw; json.Unmarshal([]byte(raw), &all) != nil || len(all) != 3 {
		t.Errorf("got %s", raw)
	}
}

func TestR24_ALargeResultArrivesAndTheSessionLives(t *testing.T) {
	c := startStdio(t, newServer(t, Config{}))
	c.shake()
	c.send(fmt.Sprintf(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"big","arguments":{"bytes":%d}}}`, largeBytes))
	m := c.answerTo(1.0)
	if text, _ := dig(m, "result", "content", 0, "text").(string); len(text) < largeBytes && dig(m, "result", "isError") != true {
		t.Errorf("got %d bytes, error %v", len(text), m["error"])
	}
	c.send(`{"jsonrpc":"2.0","id":2,"method":"ping"}`)
	c.answerTo(2.0)
}

func TestR24_AMessageOverTheLimitCostsItselfOnly(t *testing.T) {
	c := startStdio(t, newServer(t, Config{Message: 1 << 20}))
	c.shake()
	long := strings.Repeat(`{\"id\":3,"`, 200_000)
	for _, line := range []string{
		`{"jsonrpc":"2.0","id":"big","method":"tools/call","params":{"name":"echo","arguments":{"id":5,"text":"` + strings.ReplaceAll(long, `,"`, `,`) + `"}}}`,
		`{"method":"tools/call","params":{"name":"echo","arguments":{"id":5,"text":"` + strings.ReplaceAll(long, `,"`, `,`) + `"}},"jsonrpc":"2.0","id":"big"}`,
	} {
		c.send(line)
		if m := c.next(); m["id"] != "big" || dig(m, "error", "code") != -32600.0 || !strings.Contains(dig(m, "error", "message").(string), "1048576") {
			t.Errorf("got %.300v", m)
		}
		c.send(`{"jsonrpc":"2.0","id":2,"method":"ping"}`)
		c.answerTo(2.0)
	}
}

func TestR29_TheEndOfTheInputEndsTheServerWithinTwoSeconds(t *testing.T) {
	sig := listenSignals(t)
	c := startStdio(t, newServer(t, Config{}))
	c.shake()
	c.send(sig.call("1"))
	sig.await(t, "running")
	c.in.Close()
	start := time.Now()
	select {
	case err := <-c.ended:
		if err != nil {
			t.Errorf("got %v", err)
		}
	case <-time.After(patience):
		t.Fatal("it goes on")
	}
	if took := time.Since(start); took > patience/2 { // two seconds on a machine that is not loaded
		t.Errorf("it took %v", took)
	}
	sig.await(t, "cancelled")
}

func TestR29_CallsThatAreQuickAreAnsweredAfterTheEndOfTheInput(t *testing.T) {
	s := newServer(t, Config{})
	s.listing(host.Caller{Channel: "mcp"}) // the plugin runs
	for range 20 {                         // on a busy machine they may not be quick
		c := startStdio(t, s)
		c.send(initialize)
		c.send(`{"jsonrpc":"2.0","id":1,"method":"tools/list"}`)
		c.in.Close()
		for m := range c.lines {
			if m["id"] == 1.0 && m["result"] != nil {
				return
			}
		}
	}
	t.Error("they are not")
}

func TestR35_R36_ACancelReachesTheToolAndNothingIsAnswered(t *testing.T) {
	for _, e := range []string{"legacy", "modern"} {
		t.Run(e, func(t *testing.T) {
			sig := listenSignals(t)
			c := startStdio(t, newServer(t, Config{}))
			call := sig.call(`"c"`)
			if e == "legacy" {
				c.shake()
			} else {
				call = strings.Replace(call, `"params":{`, `"params":{`+modernMeta+`,`, 1)
			}
			least := patience
			for range 3 { // the same id can be used again
				c.send(call)
				sig.await(t, "running")
				start := time.Now()
				c.send(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":"c","reason":"enough"}}`)
				sig.await(t, "cancelled")
				least = min(least, time.Since(start))
				c.send(`{"jsonrpc":"2.0","id":"p","method":"tools/list","params":{}}`)
				if m := c.next(); m["id"] != "p" {
					t.Errorf("after the cancel came %v", m)
				}
			}
			if least > patience/4 { // 250 ms on a machine that is not loaded
				t.Errorf("a cancel took %v", least)
			}
		})
	}
}

func TestStdio_AQuestionIsPutToALegacyClientAndAnswered(t *testing.T) {
	c := startStdio(t, newServer(t, Config{}))
	c.shake()
	c.send(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"ask","arguments":{"message":"Who?"}}}`)
	m := c.next()
	if m["method"] != "elicitation/create" {
		t.Skipf("the pipeline does not ask yet: %v", m)
	}
	c.send(`{"jsonrpc":"2.0","id":"` + m["id"].(string) + `","result":{"action":"accept","content":{"name":"Ada"}}}`)
	if m = c.answerTo(1.0); !strings.Contains(dig(m, "result", "content", 0, "text").(string), "Ada") {
		t.Errorf("got %v", m)
	}
}

func TestR29_ACallThatTheEndCancelsIsNotAnswered(t *testing.T) {
	p := newPipe(t.Context(), nil, nil, 0, nil)
	p.run = func(f func()) { go f() } // joined by p.work
	p.end()
	p.mu.Lock()
	for p.seq = range int64(outQueue) {
		p.begin(&pipeCall{}, func(context.Context) (json.RawMessage, *rpcError) { return nil, &rpcError{code: codeInternal} })
	}
	p.mu.Unlock()
	if p.work.Wait(); len(p.outgoing) > 0 {
		t.Errorf("%d are, such as %s", len(p.outgoing), <-p.outgoing)
	}
}
