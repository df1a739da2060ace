package project

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/toolhost/toolhost/host"
	"github.com/toolhost/toolhost/internal/rawjson"
)

// returned is a result whose model form is the output, as the host makes it.
func returned(output string) *host.Result {
	r := &host.Result{Model: host.ModelOutput{Type: "text", Value: raw(`""`)}}
	if output != "" {
		r.Output = raw(output)
		r.Model = host.ModelOutput{Type: "json", Value: r.Output}
	}
	if strings.HasPrefix(output, `"`) {
		r.Model.Type = "text"
	}
	return r
}

// resultFor is Result as the server calls it.
func resultFor(t host.Tool, res *host.Result, e Era, limit int) json.RawMessage {
	return Result(t, Wraps(t, e), res, e, limit)
}

func TestMC4_R16_R19_R21_OutputsBecomeResults(t *testing.T) {
	for _, c := range []struct{ about, schema, output, old, now string }{
		{"nothing", "", "", `{"content":[]}`, `{"content":[]}`},
		{"a string is text as it is", "", `"a\nb"`, `{"content":[{"type":"text","text":"a\nb"}]}`, `{"content":[{"type":"text","text":"a\nb"}]}`},
		{"data are text", "", `{"n": 9007199254740993}`, `{"content":[{"type":"text","text":"{\"n\": 9007199254740993}"}]}`, `{"content":[{"type":"text","text":"{\"n\": 9007199254740993}"}]}`},
		{
			"R21: an object", `{"type":"object"}`, `{"n": 9007199254740993, "x": 1.0}`, `{"content":[{"type":"text","text":"{\"n\": 9007199254740993, \"x\": 1.0}"}],"structuredContent":{"n":9007199254740993,"x":1.0}}`,
			`{"content":[{"type":"text","text":"{\"n\": 9007199254740993, \"x\": 1.0}"}],"structuredContent":{"n":9007199254740993,"x":1.0}}`,
		},
		{"R16: an array", `{"type":"array"}`, `[1]`, `{"content":[{"type":"text","text":"[1]"}],"structuredContent":{"result":[1]}}`, `{"content":[{"type":"text","text":"[1]"}],"structuredContent":[1]}`},
		{"a declared string is JSON in both", `{"type":"string"}`, `"a"`, `{"content":[{"type":"text","text":"\"a\""}],"structuredContent":{"result":"a"}}`, `{"content":[{"type":"text","text":"\"a\""}],"structuredContent":"a"}`},
		{"null where the schema admits it", `{"type":["object","null"]}`, "", `{"content":[],"structuredContent":{"result":null}}`, `{"content":[],"structuredContent":null}`},
		{"a schema that older clients get none of", `{"type":"array","items":{"$ref":"#"}}`, `[[]]`, `{"content":[{"type":"text","text":"[[]]"}]}`, `{"content":[{"type":"text","text":"[[]]"}],"structuredContent":[[]]}`},
	} {
		tool := host.Tool{Name: "t", Plugin: "p", OutputSchema: raw(c.schema)}
		for e, want := range map[Era]string{Legacy: c.old, Modern: c.now} {
			if got := string(resultFor(tool, returned(c.output), e, 0)); got != want {
				t.Errorf("%s, era %v: %s, want %s", c.about, e, got, want)
			}
		}
	}
	tool := host.Tool{Name: "p/t", Plugin: "p", ID: "t", OutputSchema: raw(`{"type":"object"}`), OutputMode: host.OutputWarn}
	o, _ := rawjson.ParseObject(resultFor(tool, returned(""), Legacy, 0))
	if string(o.Get("isError")) != "true" || o.Has("structuredContent") || !strings.Contains(string(o.Get("content")), "call p/t: invalid output: plugin p declares an output schema for the tool and returned nothing") {
		t.Errorf("R19: %s", o.Raw())
	}
	tool.OutputMode = host.OutputOff
	if got := string(resultFor(tool, returned(""), Legacy, 0)); got != `{"content":[]}` {
		t.Errorf("R19: off: %s", got)
	}
	res := returned(`1`)
	res.Warnings = []string{"call t: invalid output: <b>"}
	if got := string(resultFor(host.Tool{}, res, Modern, 0)); got != `{"content":[{"type":"text","text":"1"}],"_meta":{"io.github.toolhost/warnings":["call t: invalid output: <b>"]}}` {
		t.Error(got)
	}
}

func TestR20_ContentIsGivenOnAsItCame(t *testing.T) {
	for _, c := range []struct{ about, part, block string }{
		{"text", `{"type":"text","text":"a"}`, `{"type":"text","text":"a"}`},
		{
			"text with members", `{"type":"text","text":"a","providerOptions":{"mcp":{"type":"x","annotations":{"priority":0,"audience":["user"],"x":1.0},"_meta":{"b":1,"a":9007199254740993}}}}`,
			`{"type":"text","text":"a","annotations":{"priority":0,"audience":["user"],"x":1.0},"_meta":{"b":1,"a":9007199254740993}}`,
		},
		{"image", `{"type":"image-data","data":"AAEC","mediaType":"image/png"}`, `{"type":"image","data":"AAEC","mimeType":"image/png"}`},
		{"audio", `{"type":"file-data","data":"AAEC","mediaType":"audio/wav"}`, `{"type":"audio","data":"AAEC","mimeType":"audio/wav"}`},
		{"file", `{"type":"file-data","data":"AAEC","mediaType":"application/pdf","filename":"a b.pdf"}`, `{"type":"resource","resource":{"uri":"attachment:///a%20b.pdf","mimeType":"application/pdf","blob":"AAEC"}}`},
		{"image by address", `{"type":"image-url","url":"https://example.com/x/i.png?s=1"}`, `{"type":"resource_link","uri":"https://example.com/x/i.png?s=1","name":"i.png"}`},
		{"file by address", `{"type":"file-url","url":"https://example.com"}`, `{"type":"resource_link","uri":"https://example.com","name":"example.com"}`},
		{"a block", `{"type":"custom","providerOptions":{"mcp":{"type":"resource_link","uri":"u","name":"n","size":3,"x":[1.0]}}}`, `{"type":"resource_link","uri":"u","name":"n","size":3,"x":[1.0]}`},
		{"a resource", `{"type":"custom","providerOptions":{"mcp":{"type":"resource","resource":{"uri":"u","text":"","_meta":{}}}}}`, `{"type":"resource","resource":{"uri":"u","text":"","_meta":{}}}`},
		{"an unknown block", `{"type":"custom","providerOptions":{"mcp":{"type":"video","data":"AA"}}}`, `{"type":"text","text":"{\"type\":\"video\",\"data\":\"AA\"}"}`},
		{"a broken block", `{"type":"custom","providerOptions":{"mcp":{"type":"resource","resource":{"uri":"u"}}}}`, `{"type":"text","text":"{\"type\":\"resource\",\"resource\":{\"uri\":\"u\"}}"}`},
		{"no base64", `{"type":"image-data","data":"?","mediaType":"image/png"}`, `{"type":"text","text":"{\"type\":\"image\",\"data\":\"?\",\"mimeType\":\"image/png\"}"}`},
		{"annotations that clients refuse", `{"type":"text","text":"a","providerOptions":{"mcp":{"annotations":{"priority":7},"_meta":1}}}`, `{"type":"text","text":"a"}`},
		{"an id of a provider", `{"type":"file-id","fileId":"f"}`, `{"type":"text","text":"{\"type\":\"file-id\",\"fileId\":\"f\"}"}`},
		{"a part of others", `{"type":"custom","providerOptions":{"p":{}}}`, `{"type":"text","text":"{\"type\":\"custom\",\"providerOptions\":{\"p\":{}}}"}`},
		{"no part", `7`, `{"type":"text","text":"7"}`},
		{"text without text", `{"type":"text"}`, `{"type":"text","text":"{\"type\":\"text\"}"}`},
	} {
		res := &host.Result{Output: raw(`{}`), Model: host.ModelOutput{Type: "content", Value: raw(`[` + c.part + `]`)}}
		if got, want := string(resultFor(host.Tool{}, res, Modern, 0)), `{"content":[`+c.block+`]}`; got != want {
			t.Errorf("%s: %s, want %s", c.about, got, want)
		}
	}
	for part, want := range map[string]string{ // of a tool without an output schema
		`{"structured":true}`:                            `,"structuredContent":{"n":1.0}`,
		`{"structured":true,"result":{"_meta":{"a":1}}}`: `,"structuredContent":{"n":1.0},"_meta":{"a":1}`,
		`{"result":{"_meta":{"a":1}}}`:                   `,"_meta":{"a":1}`,
	} {
		res := &host.Result{Output: raw(`{"n":1.0}`), Model: host.ModelOutput{
			Type: "content", Value: raw(`[{"type":"text","text":"a"},{"type":"custom","providerOptions":{"mcp":` + part + `}}]`),
		}}
		if got, want := string(resultFor(host.Tool{}, res, Legacy, 0)), `{"content":[{"type":"text","text":"a"}]`+want+`}`; got != want {
			t.Errorf("%s: %s, want %s", part, got, want)
		}
		res.Output = raw(`[1]`)
		if got := string(resultFor(host.Tool{}, res, Legacy, 0)); strings.Contains(got, "structuredContent") {
			t.Errorf("an array for a legacy client: %s", got)
		}
	}
	res := &host.Result{Output: raw(`{"n":1}`), Warnings: []string{"w"}, Model: host.ModelOutput{
		Type: "content", Value: raw(`[{"type":"text","text":"a"},{"type":"custom","providerOptions":{"mcp":{"result":{"_meta":{"com.example/a":1.0},"com.example":2,"isError":true,"content":[]}}}}]`),
	}}
	got := resultFor(host.Tool{OutputSchema: raw(`{"type":"object"}`)}, res, Legacy, 0)
	want := `{"content":[{"type":"text","text":"a"}],"structuredContent":{"n":1},"_meta":{"com.example/a":1.0,"io.github.toolhost/warnings":["w"]},"com.example":2}`
	if diff := cmp.Diff(want, string(got)); diff != "" {
		t.Error(diff)
	}
}

func TestR23_AResultOverTheLimitSaysHowToAskForLess(t *testing.T) {
	tool := host.Tool{Name: "list", Plugin: "p", InputSchema: raw(`{"type":"object","properties":{"path":{},"pageSize":{},"limit":{}}}`), OutputSchema: raw(`{"type":"object"}`)}
	res := returned(`{"a":"` + strings.Repeat("x", 1000) + `"}`)
	whole := resultFor(tool, res, Modern, 0)
	if got := resultFor(tool, res, Modern, len(whole)); string(got) != string(whole) {
		t.Errorf("at the limit: %s", got)
	}
	got := resultFor(tool, res, Modern, 1000)
	var r struct {
		IsError bool
		Content []struct{ Text string }
		Meta    map[string]struct{ Code, Outcome string } `json:"_meta"`
	}
	if err := json.Unmarshal(got, &r); err != nil {
		t.Fatal(err)
	}
	if want := "call list: too large: the result has 2080 bytes, the limit is 1000: ask for a smaller part, with pageSize, limit"; !r.IsError || r.Content[0].Text != want ||
		r.Meta[metaError].Code != "too_large" || r.Meta[metaError].Outcome != "done" || strings.Contains(string(got), "structuredContent") {
		t.Errorf("%s\nwant %s", got, want)
	}
}

func TestR18_R22_ErrorsAreForTheModel(t *testing.T) {
	tool := host.Tool{Name: "weather", Plugin: "p", ID: "weather", OutputSchema: raw(`{"type":"object"}`)}
	sealed := host.Suspension{ID: "s1", Kind: host.KindApproval, Sealed: []byte("secret"), Display: raw(`{"private":1}`)}
	for _, c := range []struct {
		about string
		err   error
		want  string
	}{
		{
			"R22: a bad input", &host.Error{Op: "call", Tool: "weather", Code: host.InvalidInput, Err: &host.SchemaError{Violations: []host.Violation{{Path: "/days", Keyword: "type", Expected: "integer", Got: `"5"`, Message: `at /days: expected integer, got "5"`}}}},
			`{"content":[{"type":"text","text":"call weather: invalid input: at /days: expected integer, got \"5\""}],"isError":true,"_meta":{"io.github.toolhost/error":{"code":"invalid_input","message":"call weather: invalid input: at /days: expected integer, got \"5\"","outcome":"not_started","violations":[{"path":"/days","keyword":"type","expected":"integer","got":"\"5\"","message":"at /days: expected integer, got \"5\""}]}}}`,
		},
		{
			"the tool's own error", &host.Error{Op: "call", Tool: "weather", Code: host.ToolFailed, Outcome: host.Failed, Err: &host.ToolError{Message: "no such city", Data: []byte(`{"n":9007199254740993}`)}},
			`{"content":[{"type":"text","text":"call weather: tool failed: no such city"}],"isError":true,"_meta":{"io.github.toolhost/error":{"code":"tool","message":"call weather: tool failed: no such city","outcome":"failed","data":{"n":9007199254740993}}}}`,
		},
		{
			"an imported tool's", &host.Error{Op: "call", Tool: "weather", Code: host.ToolFailed, Outcome: host.Failed, Err: &host.ToolError{Message: "no", Data: []byte(`{"content":[{"type":"text","text":"no","annotations":{"priority":0}},{"type":"video"}]}`)}},
			`{"content":[{"type":"text","text":"no","annotations":{"priority":0}},{"type":"text","text":"{\"type\":\"video\"}"}],"isError":true,"_meta":{"io.github.toolhost/error":{"code":"tool","message":"call weather: tool failed: no","outcome":"failed"}}}`,
		},
		{
			"what only the host's user may see", &host.Error{Op: "call", Tool: "weather", Code: host.Unavailable, Outcome: host.Unknown, Err: &host.ExitError{Plugin: "p", Status: -1, Signal: "SIGKILL", Stderr: strings.Repeat("secret\n", 500) + "last"}},
			`{"content":[{"type":"text","text":"call weather: unavailable: plugin p was ended by SIGKILL: stderr ends: last"}],"isError":true,"_meta":{"io.github.toolhost/error":{"code":"unavailable","message":"call weather: unavailable: plugin p was ended by SIGKILL: stderr ends: last","outcome":"unknown","exit":{"plugin":"p","status":-1,"signal":"SIGKILL"}}}}`,
		},
		{
			"T17: a character that nobody sees", &host.Error{Op: "call", Tool: "weather", Code: host.ToolFailed, Outcome: host.Failed, Err: &host.ToolError{Message: "a\U000e0041b"}},
			`{"content":[{"type":"text","text":"call weather: tool failed: ab"}],"isError":true,"_meta":{"io.github.toolhost/error":{"code":"tool","message":"call weather: tool failed: ab","outcome":"failed"}}}`,
		},
		{
			"any other", errors.New("broken"),
			`{"content":[{"type":"text","text":"call weather: internal: broken"}],"isError":true,"_meta":{"io.github.toolhost/error":{"code":"internal","message":"call weather: internal: broken","outcome":"unknown"}}}`,
		},
	} {
		if diff := cmp.Diff(c.want, string(Error(tool, c.err))); diff != "" {
			t.Errorf("%s: %s", c.about, diff)
		}
	}
	waits := string(Error(tool, &host.Error{Op: "call", Code: host.Suspended, Err: &host.SuspendedError{Suspension: sealed}}))
	if strings.Contains(waits, "sealed") || strings.Contains(waits, "private") || !strings.Contains(waits, `"id":"s1"`) {
		t.Errorf("a suspension: %s", waits)
	}
	huge := &host.Error{Op: "call", Tool: "weather", Code: host.InvalidOutput, Outcome: host.Done, Err: &host.OutputError{Output: []byte(`"` + strings.Repeat("x", 1<<20) + `"`), Err: errors.New("bad")}}
	if got := Error(tool, huge); len(got) > maxErrorObject || !json.Valid(got) || !strings.Contains(string(got), `"cut":true`) {
		t.Errorf("%d bytes", len(got))
	}
}
