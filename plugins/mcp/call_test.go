package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/toolhost/toolhost/host"
)

// call calls the tool "t" of the server far.
func call(t *testing.T, h *host.Host, input string) (*host.Result, error) {
	t.Helper()
	return h.Call(t.Context(), host.Call{Tool: "t", Input: json.RawMessage(input)})
}

// toolError is the tool's own error that a call ended with.
func toolError(t *testing.T, err error) *host.ToolError {
	t.Helper()
	e, ok := errors.AsType[*host.ToolError](err)
	if !ok {
		t.Fatalf("the call ended with %v", err)
	}
	return e
}

// TestR21_NumbersSurvive: the input reaches the server, and the output the caller, digit for digit; and nothing but the input does.
func TestR21_NumbersSurvive(t *testing.T) {
	f := &fake{tools: []string{`{"name":"t.t","description":"d","inputSchema":{"type":"object"}}`}}
	f.result(`{"structuredContent":{"n":9007199254740993,"f":1.10,"e":1E+2},"content":[]}`)
	h := f.open(t, someSettings)
	const trace = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
	res, err := h.Call(t.Context(), host.Call{
		Tool: "t_x2e_t", Input: json.RawMessage(`{"big":9007199254740993,"dec":0.10}`), Traceparent: trace, Tracestate: "vendor=secret",
		Context: json.RawMessage(`{"user":"ada"}`), Messages: json.RawMessage(`[{"role":"user"}]`), ID: "call-1",
		Caller: host.Caller{Subject: "ada", Channel: "mcp"},
	})
	if err != nil {
		t.Fatal(err)
	}
	if want := `{"n":9007199254740993,"f":1.10,"e":1E+2}`; string(res.Output) != want {
		t.Errorf("output %s, want %s", res.Output, want)
	}
	got := f.last()
	if got.name != "t.t" || string(got.arguments) != `{"big":9007199254740993,"dec":0.10}` || got.repeat {
		t.Errorf("the server got %q, %s, repeat %t", got.name, got.arguments, got.repeat)
	}
	if string(got.meta) != `{"traceparent":"`+trace+`"}` { // T38
		t.Errorf("meta %s", got.meta)
	}
}

// TestMC10_Results: what of a result is the output, and what the model is shown.
func TestMC10_Results(t *testing.T) {
	const png = "iVBORw0KGgo="
	for _, tt := range []struct{ name, result, output, model string }{
		{"text", `{"content":[{"type":"text","text":"hi <b>"}]}`, `{"content":[{"type":"text","text":"hi <b>"}]}`,
			`[{"type":"text","text":"hi <b>"}]`},
		{"structured", `{"structuredContent":{"a":1},"content":[{"type":"text","text":"{\"a\":1}"}],"resultType":"complete"}`, `{"a":1}`,
			`[{"type":"text","text":"{\"a\":1}"},{"type":"custom","providerOptions":{"mcp":{"structured":true}}}]`},
		{"structured alone", `{"structuredContent":[1,"x"],"more":2}`, `[1,"x"]`,
			`[{"type":"text","text":"[1,\"x\"]"},{"type":"custom","providerOptions":{"mcp":{"result":{"more":2},"structured":true}}}]`},
		{"null", `{"structuredContent":null,"content":[]}`, `{"structuredContent":null,"content":[]}`, `json`},
		{"beside a text", `{"content":[{"type":"text","text":"","annotations":{"priority":0,"x":1e2},"_meta":{"k":9007199254740993}}]}`, "",
			`[{"type":"text","providerOptions":{"mcp":{"annotations":{"priority":0,"x":1e2},"_meta":{"k":9007199254740993}}},"text":""}]`},
		{"image", `{"content":[{"type":"image","data":"` + png + `","mimeType":"image/png","annotations":{"audience":["user"]}}]}`, "",
			`[{"type":"image-data","data":"` + png + `","mediaType":"image/png","providerOptions":{"mcp":{"annotations":{"audience":["user"]}}}}]`},
		{"audio", `{"content":[{"type":"audio","data":"` + png + `","mimeType":"audio/wav"}]}`, "",
			`[{"type":"file-data","data":"` + png + `","mediaType":"audio/wav"}]`},
		{"what is no image", `{"content":[{"type":"image","data":"AB==","mimeType":"image/png"},{"type":"image","data":"` + png + `"},{"type":"image","data":"","mimeType":"image/png"}]}`, "",
			`[{"type":"custom","providerOptions":{"mcp":{"type":"image","data":"AB==","mimeType":"image/png"}}},{"type":"custom","providerOptions":{"mcp":{"type":"image","data":"` + png + `"}}},{"type":"custom","providerOptions":{"mcp":{"type":"image","data":"","mimeType":"image/png"}}}]`},
		{"resources", `{"content":[{"type":"resource","resource":{"uri":"a://b","text":"t"}},{"type":"resource_link","uri":"a://b","name":"n","size":1.0}]}`, "",
			`[{"type":"custom","providerOptions":{"mcp":{"type":"resource","resource":{"uri":"a://b","text":"t"}}}},{"type":"custom","providerOptions":{"mcp":{"type":"resource_link","uri":"a://b","name":"n","size":1.0}}}]`},
		{"unknown", `{"content":[{"type":"hologram","n":9007199254740993},{"text":5,"type":"text"},"junk"]}`, "",
			`[{"type":"custom","providerOptions":{"mcp":{"type":"hologram","n":9007199254740993}}},{"type":"custom","providerOptions":{"mcp":{"text":5,"type":"text"}}},{"type":"text","text":"\"junk\""}]`},
		{"beside the content", `{"content":[],"_meta":{"k":1.0,"io.modelcontextprotocol/serverInfo":{"name":"x"}},"more":[2],"isError":false}`, "",
			`[{"type":"custom","providerOptions":{"mcp":{"result":{"more":[2],"_meta":{"k":1.0}}}}}]`},
		{"the connection's own", `{"content":[],"_meta":{"io.modelcontextprotocol/serverInfo":{}},"resultType":"complete"}`, "", `json`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			f := &fake{tools: []string{plain("t")}}
			f.result(tt.result)
			res, err := call(t, f.open(t, someSettings), `{}`)
			if err != nil {
				t.Fatal(err)
			}
			if tt.output == "" {
				tt.output = tt.result
			}
			if diff := cmp.Diff(tt.output, string(res.Output)); diff != "" {
				t.Errorf("output (-want +got):\n%s", diff)
			}
			kind, want := "content", tt.model
			if tt.model == "json" {
				kind, want = "json", tt.output
			}
			if diff := cmp.Diff(kind+" "+want, res.Model.Type+" "+string(res.Model.Value)); diff != "" {
				t.Errorf("model (-want +got):\n%s", diff)
			}
			if len(res.Warnings) > 0 {
				t.Errorf("warnings %q", res.Warnings)
			}
		})
	}
}

// TestMC10_RewrittenOutput: of an output that a hook rewrote the model is shown that, not the server's content.
func TestMC10_RewrittenOutput(t *testing.T) {
	f := &fake{tools: []string{plain("t")}}
	f.result(`{"structuredContent":{"a":1},"content":[{"type":"text","text":"the secret"}]}`)
	h := openHost(t, host.Config{Hooks: []host.Hook{{After: func(_ context.Context, _ host.Call, res *host.Result, err error) (*host.Result, error) {
		return &host.Result{Output: json.RawMessage(`{"a":9007199254740993}`)}, err
	}}}}, f.plugin(t, "far", someSettings))
	res, err := call(t, h, `{}`)
	if err != nil {
		t.Fatal(err)
	}
	if want := `{"a":9007199254740993}`; string(res.Output) != want || string(res.Model.Value) != want || res.Model.Type != "json" {
		t.Errorf("output %s, model %s %s", res.Output, res.Model.Type, res.Model.Value)
	}
}

// TestMC9_Errors: a result with isError, and an error of the protocol, are the tool's own errors; a result that is none is a clear one.
func TestMC9_Errors(t *testing.T) {
	content := `[{"type":"text","text":"no such city"},{"type":"image","data":"AA==","mimeType":"image/png"},{"type":"text","text":"try Rome"}]`
	for _, tt := range []struct {
		name, result string
		err          error
		text, data   string
		outcome      host.Outcome // of what was lost; all else failed
	}{
		{name: "isError", result: `{"isError":true,"content":` + content + `,"structuredContent":{"a":1}}`, text: "no such city\ntry Rome", data: `{"content":` + content + `}`},
		{name: "isError and no word", result: `{"isError":true,"content":[]}`, text: "the server says that the tool failed, and no more", data: `{"content":[]}`},
		{name: "unknown tool, of some", result: `{"isError":true,"content":[{"type":"text","text":"Tool t not found"}]}`, text: "Tool t not found", data: `{"content":[{"type":"text","text":"Tool t not found"}]}`},
		{name: "unknown tool, of others", err: &rpcError{code: -32602, message: `unknown tool "t"`}, text: `unknown tool "t" (-32602)`, data: `{"error":{"code":-32602,"message":"unknown tool \"t\""}}`},
		{name: "data", err: &rpcError{code: -32021, message: "no", data: json.RawMessage(`{"n":9007199254740993}`)}, text: "no (-32021)", data: `{"error":{"code":-32021,"message":"no","data":{"n":9007199254740993}}}`},
		{name: "not reached", err: &lostError{text: "connection refused"}, text: "MCP server server: connection refused; the call was not sent", outcome: host.NotStarted},
		{name: "lost", err: &lostError{sent: true, text: "it exited with status 3"}, text: "it exited with status 3; whether the tool did anything is not known", outcome: host.Unknown},
		{name: "no object", result: `[]`, text: "the server's result is no JSON object"},
		{name: "nothing", result: `{}`, text: "neither content nor structuredContent"},
		{name: "content", result: `{"content":{}}`, text: "a content that is no array"},
		{name: "flag", result: `{"content":[],"isError":"yes"}`, text: "an isError that is no boolean"},
		{name: "kind", result: `{"resultType":"task","task":{}}`, text: `a result of type "task"`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			f := &fake{tools: []string{plain("t")}}
			f.answer = func(context.Context, remoteCall) (json.RawMessage, error) { return json.RawMessage(tt.result), tt.err }
			_, err := call(t, f.open(t, someSettings), `{}`)
			e := toolError(t, err)
			if !strings.Contains(e.Message, tt.text) || tt.data != "" && string(e.Data) != tt.data {
				t.Errorf("%q, data %s", e.Message, e.Data)
			}
			if code, _ := host.CodeOf(err); code != host.ToolFailed || !strings.Contains(err.Error(), "t: ") {
				t.Errorf("%v: %v", code, err)
			}
			want := tt.outcome
			if tt.name != "not reached" && tt.name != "lost" {
				want = host.Failed
			}
			if failed, _ := errors.AsType[*host.Error](err); failed.Outcome != want {
				t.Errorf("outcome %v, want %v", failed.Outcome, want)
			}
		})
	}
}

// TestR19_NoStructuredContent: a tool with an output schema whose result has no structuredContent has failed, unless the operator is
// content with that.
func TestR19_NoStructuredContent(t *testing.T) {
	const tool = `{"name":"t","description":"d","inputSchema":{"type":"object"},"outputSchema":{"type":"object","required":["a"]}}`
	const text = `{"content":[{"type":"text","text":"a is 1"}]}`
	for _, tt := range []struct{ output, result, fails string }{
		{"reject", text, "no structuredContent"},
		{"reject", `{"content":[],"structuredContent":{"b":1}}`, "/a"},
		{"reject", `{"content":[],"structuredContent":null}`, "invalid output"},
		{"reject", `{"content":[],"structuredContent":{"a":1}}`, ""},
		{"off", `{"content":[],"structuredContent":{"b":1}}`, ""},
		{"off", text, ""},
	} {
		f := &fake{tools: []string{tool}}
		f.result(tt.result)
		h := f.open(t, `{"command":"server","output":"`+tt.output+`"}`)
		res, err := call(t, h, `{}`)
		switch {
		case tt.fails == "" && err != nil, tt.fails != "" && (err == nil || !strings.Contains(err.Error(), tt.fails)):
			t.Errorf("%s %s: %v", tt.output, tt.result, err)
		case tt.fails == "" && len(res.Warnings) > 0:
			t.Errorf("%s %s: warnings %q", tt.output, tt.result, res.Warnings)
		}
	}
}

// TestC3_OnlyTheOperatorMakesCallsRepeatable: whatever the server hints.
func TestC3_OnlyTheOperatorMakesCallsRepeatable(t *testing.T) {
	f := &fake{tools: []string{
		`{"name":"t","description":"d","inputSchema":{"type":"object"},"annotations":{"idempotentHint":true,"readOnlyHint":true}}`, plain("u"),
	}}
	f.result(`{"content":[]}`)
	h := f.open(t, `{"command":"server","idempotent":["u"]}`)
	for tool, want := range map[string]bool{"t": false, "u": true} {
		if _, err := h.Call(t.Context(), host.Call{Tool: tool, Input: []byte(`{}`)}); err != nil {
			t.Fatal(err)
		}
		if got := f.last().repeat; got != want {
			t.Errorf("%s may be repeated: %t", tool, got)
		}
	}
}

// TestR37_ProgressAndLog: what the server says while it works reaches the caller.
func TestR37_ProgressAndLog(t *testing.T) {
	f := &fake{tools: []string{plain("t")}}
	f.answer = func(_ context.Context, c remoteCall) (json.RawMessage, error) {
		c.log("warning", "it is late")
		c.progress(1, 3, "a third")
		return json.RawMessage(`{"content":[]}`), nil
	}
	h := f.open(t, someSettings)
	var logged strings.Builder
	running := h.Start(t.Context(), host.Call{Tool: "t", Input: []byte(`{}`), Log: slog.New(slog.NewTextHandler(&logged, nil))})
	var progress []string
	for e := range running.Events() {
		if p, ok := e.(host.Progress); ok {
			progress = append(progress, p.Message)
		}
	}
	if _, err := running.Result(); err != nil {
		t.Fatal(err)
	}
	if !cmp.Equal(progress, []string{"a third"}) {
		t.Errorf("progress %q", progress)
	}
	if got := logged.String(); !strings.Contains(got, "level=WARN") || !strings.Contains(got, "it is late") {
		t.Errorf("logged %q", got)
	}
}

// TestR35_Cancel reaches the connection, and the call ends as cancelled.
func TestR35_Cancel(t *testing.T) {
	f := &fake{tools: []string{plain("t")}}
	entered, canceled := make(chan struct{}), make(chan struct{})
	f.answer = func(ctx context.Context, _ remoteCall) (json.RawMessage, error) {
		close(entered)
		<-ctx.Done()
		close(canceled)
		return nil, &lostError{sent: true, text: "cancelled", err: ctx.Err()}
	}
	h := f.open(t, someSettings)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	running := h.Start(ctx, host.Call{Tool: "t", Input: []byte(`{}`)})
	<-entered
	cancel()
	<-canceled
	_, err := running.Result()
	if code, _ := host.CodeOf(err); code != host.Canceled {
		t.Errorf("%v", err)
	}
}

// TestAsk: the server's questions reach the caller, whose answers go back as the requests' results.
func TestAsk(t *testing.T) {
	accept := func(content string) func(host.Question) host.Answer {
		return func(host.Question) host.Answer {
			return host.Answer{Action: "accept", Content: json.RawMessage(content)}
		}
	}
	says := func(action string) func(host.Question) host.Answer {
		return func(host.Question) host.Answer { return host.Answer{Action: action} }
	}
	const form = `{"message":"sure?","requestedSchema":{"type":"object","properties":{"ok":{"type":"boolean"}}}}`
	for _, tt := range []struct {
		name, method, params string
		answer               func(host.Question) host.Answer
		result               string
		code                 int
	}{
		{"form", "elicitation/create", form, accept(`{"ok":true}`), `{"action":"accept","content":{"ok":true}}`, 0},
		{"decline", "elicitation/create", form, says("decline"), `{"action":"decline"}`, 0},
		{"cancel", "elicitation/create", form, says("cancel"), `{"action":"cancel"}`, 0},
		{"url", "elicitation/create", `{"mode":"url","message":"log in","url":"https://evil.example/"}`, accept(`{}`), `{"action":"decline"}`, 0},
		{"form by name", "elicitation/create", `{"mode":"form","message":"sure?","requestedSchema":null}`, says("decline"), `{"action":"decline"}`, 0},
		{"no message", "elicitation/create", `{}`, accept(`{}`), "", codeParams},
		{"no params", "elicitation/create", `null`, accept(`{}`), "", codeParams},
		{"schema", "elicitation/create", `{"message":"m","requestedSchema":[]}`, accept(`{}`), "", codeParams},
		{"sampling", "sampling/createMessage", `{"messages":[],"maxTokens":9}`, accept(`{"role":"assistant","n":1.0}`), `{"role":"assistant","n":1.0}`, 0},
		{"no sampling", "sampling/createMessage", `{"messages":[]}`, says("decline"), "", codeRejected},
		{"roots", "roots/list", ``, accept(`{"roots":[]}`), `{"roots":[]}`, 0},
		{"no roots", "roots/list", `{}`, says("decline"), "", codeRejected},
		{"unknown", "ping/pong", `{}`, accept(`{}`), "", codeMethod},
	} {
		t.Run(tt.name, func(t *testing.T) {
			f := &fake{tools: []string{plain("t")}}
			f.answer = func(ctx context.Context, c remoteCall) (json.RawMessage, error) {
				var raw json.RawMessage
				answers, err := c.ask(ctx, []question{{tt.method, json.RawMessage(tt.params)}})
				if err == nil {
					raw = answers[0]
				}
				rpc, _ := errors.AsType[*rpcError](err)
				switch {
				case err != nil && (rpc == nil || rpc.code != tt.code):
					t.Errorf("error %v, want code %d", err, tt.code)
				case string(raw) != tt.result:
					t.Errorf("%s, want %s", raw, tt.result)
				}
				return json.RawMessage(`{"content":[]}`), nil
			}
			h := f.open(t, someSettings)
			var asked []host.Question
			_, err := h.Call(t.Context(), host.Call{Tool: "t", Input: []byte(`{}`), Elicit: func(_ context.Context, q host.Question) (host.Answer, error) {
				asked = append(asked, q)
				return tt.answer(q), nil
			}})
			if err != nil {
				t.Fatal(err)
			}
			if tt.name == "sampling" && (len(asked) != 1 || asked[0].Kind != host.QuestionSampling || string(asked[0].Params) != tt.params) {
				t.Errorf("asked %+v", asked)
			}
			if tt.name == "url" && len(asked) > 0 {
				t.Errorf("the URL was asked about: %+v", asked)
			}
		})
	}
}

// TestAsk_Together: what the server asks at once the caller is asked at once, and the answers are in the order of the questions; what is
// declined without asking keeps its place.
func TestAsk_Together(t *testing.T) {
	f := &fake{tools: []string{plain("t")}}
	f.answer = func(ctx context.Context, c remoteCall) (json.RawMessage, error) {
		raws, err := c.ask(ctx, []question{
			{"elicitation/create", json.RawMessage(`{"message":"first"}`)},
			{"elicitation/create", json.RawMessage(`{"message":"log in","mode":"url"}`)},
			{"roots/list", nil},
		})
		if err != nil || len(raws) != 3 {
			return nil, fmt.Errorf("%v %q", err, raws)
		}
		if got := fmt.Sprintf("%s %s %s", raws[0], raws[1], raws[2]); got != `{"action":"cancel"} {"action":"decline"} {"roots":[]}` {
			t.Error(got)
		}
		return json.RawMessage(`{"content":[]}`), nil
	}
	h := f.open(t, someSettings)
	_, err := h.Call(t.Context(), host.Call{Tool: "t", Input: []byte(`{}`), Elicit: func(_ context.Context, q host.Question) (host.Answer, error) {
		if q.Together != 2 {
			t.Errorf("%q is one of %d", q.Message, q.Together)
		}
		if q.Kind == host.QuestionRoots {
			return host.Answer{Action: "accept", Content: json.RawMessage(`{"roots":[]}`)}, nil
		}
		return host.Answer{Action: "cancel"}, nil
	}})
	if err != nil {
		t.Error(err)
	}
}
