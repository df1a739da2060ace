package mcpserver

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/toolhost/toolhost/host"
	"github.com/toolhost/toolhost/host/mcpserver/internal/project"
)

// bench is a pipeline with a host of its own, and hand-made requests to it.
type bench struct {
	*calls
	t testing.TB
}

func newBench(t testing.TB, change func(*Config), hostChange func(*host.Config)) *bench {
	t.Helper()
	if hostChange == nil {
		return newBenchOn(t, anyHost(t), change)
	}
	return newBenchOn(t, testHost(t, hostChange), change)
}

// newBenchOn is newBench with a host that is there.
func newBenchOn(t testing.TB, h *host.Host, change func(*Config)) *bench {
	t.Helper()
	cfg := Config{Host: h}
	if change != nil {
		change(&cfg)
	}
	return &bench{newServer(t, cfg).calls, t}
}

// client is what a hand-made request is told and asked.
type client struct {
	mu   sync.Mutex
	sent []sent
	over bool // the request was answered: nothing more may come
	late int
	told chan struct{} // one token when something was sent
}

type sent struct {
	method string
	params json.RawMessage
	at     time.Time
}

func newClient() *client { return &client{told: make(chan struct{}, 1)} }

func (c *client) notify(method string, params any) {
	raw, err := json.Marshal(params)
	if err != nil {
		panic(err)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.over {
		c.late++
	}
	c.sent = append(c.sent, sent{method, raw, time.Now()})
	select {
	case c.told <- struct{}{}:
	default:
	}
}

func (c *client) of(method string) (all []json.RawMessage) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, s := range c.sent {
		if s.method == method {
			all = append(all, s.params)
		}
	}
	return all
}

var everything = capabilities{form: true, sampling: true, roots: true}

// outcome is what a request was answered.
type outcome struct {
	err  error
	raw  json.RawMessage
	Type string `json:"resultType"`

	IsError bool `json:"isError"`
	Content []struct {
		Text string `json:"text"`
	} `json:"content"`
	Requests map[string]struct {
		Method string `json:"method"`
		Params struct {
			Message string          `json:"message"`
			Schema  json.RawMessage `json:"requestedSchema"`
		} `json:"params"`
	} `json:"inputRequests"`
	State string `json:"requestState"`
}

func (a outcome) text() string {
	var b strings.Builder
	for _, c := range a.Content {
		b.WriteString(c.Text)
	}
	var s string
	if json.Unmarshal([]byte(b.String()), &s) == nil {
		return s // an output that is a string, as JSON
	}
	return b.String()
}

func (a outcome) code() int {
	if e, ok := a.err.(*rpcError); ok {
		return e.code
	}
	return 0
}

func (a outcome) keys() []string { return slices.Sorted(maps.Keys(a.Requests)) }

func (b *bench) send(ctx context.Context, r request) outcome {
	b.t.Helper()
	if r.caller.Channel == "" {
		r.caller.Channel = channelStdio
	}
	raw, err := b.call(ctx, r)
	a := outcome{err: err, raw: raw}
	if err == nil {
		if err := json.Unmarshal(raw, &a); err != nil {
			b.t.Fatalf("the result of %s is no JSON: %v: %.200s", r.name, err, raw)
		}
	}
	return a
}

// must sends a request that ends with this text.
func (b *bench) must(r request, want string) outcome {
	b.t.Helper()
	a := b.send(b.t.Context(), r)
	if a.err != nil || a.text() != want {
		b.t.Fatalf("%s: got %q, error %v, want %q: %.500s", r.name, a.text(), a.err, want, a.raw)
	}
	return a
}

func TestCallUnknownToolIsAnError(t *testing.T) {
	b := newBench(t, func(c *Config) { c.Prefix = true }, func(c *host.Config) {
		c.Policy.Rules = []host.Rule{{Action: host.Deny, Tool: "fail"}}
	})
	for _, e := range []project.Era{project.Legacy, project.Modern} {
		for name, want := range map[string]string{"kit__ecco": "did you mean kit__echo", "fail": "no tool has that name"} {
			a := b.send(t.Context(), request{era: e, name: name})
			if a.code() != codeInvalidParams || !strings.Contains(a.err.Error(), want) {
				t.Errorf("%s: error %v, want %d with %q", name, a.err, codeInvalidParams, want)
			}
		}
	}
}

func TestCallArguments(t *testing.T) {
	b := newBench(t, nil, nil)
	for _, e := range []project.Era{project.Legacy, project.Modern} {
		b.must(request{era: e, name: "echo", arguments: json.RawMessage(`{"text":"hi"}`)}, "hi")
		b.must(request{era: e, name: "trace"}, "") // absent arguments are {}
		for _, bad := range []string{`[1]`, `"x"`, `null`, `7`, `{"text":7,"more":1}`} {
			a := b.send(t.Context(), request{era: e, name: "echo", arguments: json.RawMessage(bad)})
			if a.err != nil || !a.IsError || !strings.Contains(a.text(), "invalid input") {
				t.Errorf("%s: got %s, error %v, want isError", bad, a.raw, a.err)
			}
		}
		a := b.send(t.Context(), request{era: e, name: "fail"})
		if !a.IsError || !strings.Contains(a.text(), "it cannot be done") {
			t.Errorf("a tool's own failure: %s", a.raw)
		}
	}
}

// TestT36_OnlyListedKeysEnterTheContext holds that nothing of _meta becomes the caller, and of the context only what is listed.
func TestT36_OnlyListedKeysEnterTheContext(t *testing.T) {
	hostile := json.RawMessage(`{"com.example/user":"ann","secret":"s","caller":{"subject":"root"},"io.modelcontextprotocol/clientInfo":{}}`)
	var mu sync.Mutex
	var callers []host.Caller
	rule := func(c *host.Config) {
		c.Policy.Func = func(_ context.Context, p host.PolicyCall) (host.Action, error) {
			mu.Lock()
			defer mu.Unlock()
			callers = append(callers, p.Caller)
			return host.Allow, nil
		}
	}
	newBench(t, nil, rule).must(request{era: project.Modern, name: "context", meta: readMeta(hostile)}, "{}")
	listed := newBench(t, func(c *Config) { c.Context = []string{"com.example/user"} }, rule)
	listed.must(request{era: project.Modern, name: "context", meta: readMeta(hostile)}, `{"com.example/user":"ann"}`)
	for _, c := range callers {
		if c.Channel != channelStdio || c.Subject != "" {
			t.Errorf("the caller is %+v", c)
		}
	}
	if len(callers) != 2 {
		t.Errorf("the policy was asked %d times", len(callers))
	}
}

// TestT38_TraceContextPassesAndBaggageDoesNot holds that a well-formed trace context reaches the plugin.
func TestT38_TraceContextPassesAndBaggageDoesNot(t *testing.T) {
	b := newBench(t, nil, nil)
	const id = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
	b.must(request{era: project.Modern, name: "trace", meta: readMeta(json.RawMessage(`{"traceparent":"` + id + `","tracestate":"a=b","baggage":"secret=1"}`))}, id)
	b.must(request{era: project.Modern, name: "trace", meta: readMeta(json.RawMessage(`{"traceparent":"` + id + `\r\nx: y"}`))}, "")
}

// TestR35_CancelReachesTheAuthor holds that the author's context ends within 250 ms, in both eras, and R36 that nothing is
// told after that.
func TestR35_CancelReachesTheAuthor(t *testing.T) {
	b := newBench(t, func(c *Config) { c.Heartbeat = time.Millisecond }, nil)
	for _, e := range []project.Era{project.Legacy, project.Modern} {
		mark := filepath.Join(t.TempDir(), "mark")
		cl := newClient()
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan outcome, 1)
		go func() { // ends with the call
			ended <- b.send(ctx, request{
				era: e, name: "hang", arguments: fmt.Appendf(nil, `{"text":%q}`, mark),
				meta: readMeta(json.RawMessage(`{"progressToken":1}`)), notify: cl.notify,
			})
		}()
		for !slices.ContainsFunc(cl.of("notifications/progress"), func(p json.RawMessage) bool { return strings.Contains(string(p), "hanging") }) {
			<-cl.told
		}
		cancel()
		a := <-ended
		cl.mu.Lock()
		cl.over = true
		cl.mu.Unlock()
		if a.err != context.Canceled {
			t.Errorf("era %d: got %v %s", e, a.err, a.raw)
		}
		begun := time.Now()
		for {
			if _, err := os.Stat(mark); err == nil {
				break
			}
			if time.Since(begun) > patience {
				t.Fatalf("era %d: the author was not told", e)
			}
			pause(t.Context(), time.Millisecond)
		}
		cl.mu.Lock()
		if cl.late > 0 {
			t.Errorf("era %d: %d notifications after the answer", e, cl.late)
		}
		cl.mu.Unlock()
	}
}

// TestR24_LargeResult holds that a result of 20 MiB arrives whole.
func TestR24_LargeResult(t *testing.T) {
	b := newBench(t, nil, nil)
	for _, e := range []project.Era{project.Legacy, project.Modern} {
		a := b.send(t.Context(), request{era: e, name: "big"})
		if a.err != nil || a.IsError || len(a.text()) != largeBytes {
			t.Errorf("era %d: %d bytes, error %v", e, len(a.text()), a.err)
		}
	}
}

// TestCallAfterClose holds that a closed server refuses calls and leaves nothing running.
func TestCallAfterClose(t *testing.T) {
	leaks(t)
	b := newBenchOn(t, testHost(t, nil), nil)
	a := b.send(t.Context(), request{era: project.Modern, name: "name", can: everything})
	if a.Type != "input_required" {
		t.Fatalf("got %s", a.raw)
	}
	b.close() // the parked call ends with it
	if a := b.send(t.Context(), request{era: project.Modern, name: "echo"}); !a.IsError || !strings.Contains(a.text(), "closed") {
		t.Errorf("got %s, error %v", a.raw, a.err)
	}
	if a := b.send(t.Context(), request{era: project.Modern, name: "name", can: everything, state: a.State}); a.code() != codeInvalidParams {
		t.Errorf("got %s, error %v", a.raw, a.err)
	}
}
