package pluginsdk

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/testing/protocmp"

	pb "github.com/toolhost/toolhost/proto/toolplugin/v1"
)

func TestT1_EveryFieldIsInTheManifest(t *testing.T) {
	yes, no := true, false
	raw := func(s string) json.RawMessage { return json.RawMessage(s) }
	cc := serveConn(t, static([]Definition{Tool[city, string]{
		ID: "full", Description: "d", Title: "t",
		Execute:     func(context.Context, *Call, city) (string, error) { return "", nil },
		InputSchema: raw(`{"type":"object"}`), SuspendSchema: raw(`{"a":1}`), ResumeSchema: raw(`{"b":1}`), RequestContextSchema: raw(`{"c":1}`),
		Strict: &no, ProviderOptions: raw(`{"p":{}}`), InputExamples: []city{{"Rome"}},
		MCP:        MCP{Annotations: &Annotations{Title: "at", ReadOnly: &yes}, Meta: raw(`{"m":1}`), Icons: raw(`[]`), Extra: raw(`{"execution":{}}`)},
		Background: raw(`{"enabled":true}`), Timeout: 1500 * time.Microsecond, MaxConcurrency: 3, OutputMode: OutputWarn,
		Idempotent: true, WantsMessages: true, NoRepairs: []string{"null"}, RequireApproval: true,
		NeedsApproval: func(context.Context, *Call, city) (bool, error) { return true, nil },
		ToModelOutput: func(context.Context, city, string) (ModelOutput, error) { return Text(""), nil },
		Transform: Transform[city, string]{
			Display: Views[city, string]{
				Input:          Keep("/city").Mask("/city/*", "").Replace("/a~1b", map[string]any{"x": "<y>"}),
				InputDeltaFunc: func(context.Context, *Call, string) (string, error) { return "", nil },
				OutputFunc:     func(context.Context, *Call, city, string) (any, error) { return 1, nil },
			},
			Transcript: Views[city, string]{Error: Mask("/message"), Approval: Keep("")},
		},
		OnInputStart:     func(context.Context, *Call) error { return nil },
		OnInputDelta:     func(context.Context, *Call, string) error { return nil },
		OnInputAvailable: func(context.Context, *Call, city) error { return nil },
		OnResume:         func(context.Context, *Call, json.RawMessage) error { return nil },
		OnOutput:         func(context.Context, *Call, string) error { return nil },
	}}))
	m := describeOn(t, cc, "")
	want := &pb.Tool{
		Id: "full", Description: "d", Title: "t",
		InputSchema: raw(`{"type":"object"}`), OutputSchema: raw(`{"type":"string"}`),
		SuspendSchema: raw(`{"a":1}`), ResumeSchema: raw(`{"b":1}`), RequestContextSchema: raw(`{"c":1}`),
		Strict: &no, ProviderOptions: raw(`{"p":{}}`), InputExamples: [][]byte{raw(`{"city":"Rome"}`)},
		Annotations: &pb.Annotations{Title: "at", ReadOnlyHint: &yes}, Meta: raw(`{"m":1}`), Icons: raw(`[]`), Extra: raw(`{"execution":{}}`),
		Background: raw(`{"enabled":true}`), TimeoutMs: 2, MaxConcurrency: 3, OutputMode: pb.OutputMode_OUTPUT_MODE_WARN,
		RequireApproval: true, WantsMessages: true, Idempotent: true, NoRepairs: []string{"null"},
		Callbacks: []pb.Callback{1, 2, 3, 4, 5, 6, 7},
		Views: []*pb.View{
			{Audience: 1, Phase: pb.Phase_PHASE_INPUT_DELTA, Function: true},
			{Audience: 1, Phase: pb.Phase_PHASE_INPUT, Rules: []*pb.ViewRule{
				{Action: 1, Paths: []string{"/city"}}, {Action: 2, Paths: []string{"/city/*", ""}},
				{Action: 3, Paths: []string{"/a~1b"}, Value: raw(`{"x":"<y>"}`)},
			}},
			{Audience: 1, Phase: pb.Phase_PHASE_OUTPUT, Function: true},
			{Audience: 2, Phase: pb.Phase_PHASE_ERROR, Rules: []*pb.ViewRule{{Action: 2, Paths: []string{"/message"}}}},
			{Audience: 2, Phase: pb.Phase_PHASE_APPROVAL, Rules: []*pb.ViewRule{{Action: 1, Paths: []string{""}}}},
		},
	}
	if diff := cmp.Diff(want, m.GetTools()[0], protocmp.Transform()); diff != "" {
		t.Error(diff)
	}
	if m.GetRole() != pb.Role_ROLE_TOOLS || m.GetSdk() != sdkVersion || m.GetDynamic() {
		t.Errorf("manifest = %v", m)
	}
	if h := connect(t, cc, ""); string(h.welcome.GetManifestHash()) != string(hashOf(m)) || len(hashOf(m)) != 32 {
		t.Errorf("welcome = %v", h.welcome)
	}
}

func TestBadToolsDoNotTakeTheirSiblings(t *testing.T) {
	ok := func(context.Context, *Call, nothing) (any, error) { return 1, nil }
	tool := func(id string, edit func(*Tool[nothing, any])) Definition {
		def := newTool(id, ok)
		edit(&def)
		return def
	}
	defs := []Definition{
		newTool("good", ok),
		newTool("func", func(context.Context, *Call, struct{ F func() }) (any, error) { return nil, nil }),
		newTool("scalar", func(context.Context, *Call, string) (any, error) { return nil, nil }),
		newTool("chan-out", func(context.Context, *Call, nothing) (struct{ C []chan int }, error) {
			return struct{ C []chan int }{}, nil
		}),
		newTool("good", ok),
		newTool("no spaces", ok),
		newTool("", ok),
		tool("no-execute", func(t *Tool[nothing, any]) { t.Execute = nil }),
		tool("no-description", func(t *Tool[nothing, any]) { t.Description = "" }),
		tool("schema", func(t *Tool[nothing, any]) { t.InputSchema = json.RawMessage(`{"type":`) }),
		tool("schema-array", func(t *Tool[nothing, any]) { t.ResumeSchema = json.RawMessage(`[]`) }),
		tool("options", func(t *Tool[nothing, any]) { t.ProviderOptions = json.RawMessage(`1`) }),
		tool("provider", func(t *Tool[nothing, any]) { t.ProviderOptions = json.RawMessage(`{"a":{},"b/c":1}`) }),
		tool("repair", func(t *Tool[nothing, any]) { t.NoRepairs = []string{"null", "spelling"} }),
		tool("icons", func(t *Tool[nothing, any]) { t.MCP.Icons = json.RawMessage(`{}`) }),
		tool("extra", func(t *Tool[nothing, any]) { t.MCP.Extra = json.RawMessage(`[]`) }),
		tool("own", func(t *Tool[nothing, any]) { t.MCP.Extra = json.RawMessage(`{"x":1,"inputSchema":{}}`) }),
		tool("timeout", func(t *Tool[nothing, any]) { t.Timeout = -1 }),
		tool("mode", func(t *Tool[nothing, any]) { t.OutputMode = 7 }),
		(*Tool[nothing, any])(nil),
		nil,
	}
	cc := serveConn(t, static(defs))
	m := describeOn(t, cc, "")
	if len(m.GetTools()) != 1 || m.GetTools()[0].GetId() != "good" {
		t.Errorf("tools = %v", m.GetTools())
	}
	want := []string{
		"func: input schema: at /F: type func() has no JSON form", "scalar: input schema: type string: an input is a JSON object",
		"chan-out: output schema: at /C/*: type chan int", "good: field ID: another tool has it already", "no spaces: field ID", ": field ID",
		"no-execute: field Execute: missing", "no-description: field Description: missing", "schema: input schema: no JSON", "schema-array: field ResumeSchema: a JSON Schema",
		"options: field ProviderOptions: no JSON object", "provider: field ProviderOptions: at /b~1c: no JSON object", `repair: field NoRepairs: no kind of repair is called "spelling"`, "icons: field MCP.Icons", "extra: field MCP.Extra: no JSON object", "own: field MCP.Extra: inputSchema has a field of its own", "timeout: field Timeout", "mode: field OutputMode", ": panic in the definition", ": the definition is nil",
	}
	if len(m.GetBadTools()) != len(want) {
		t.Fatalf("bad tools = %v", m.GetBadTools())
	}
	for i, bad := range m.GetBadTools() {
		if got := bad.GetId() + ": " + bad.GetError(); !strings.HasPrefix(got, want[i]) {
			t.Errorf("bad tool %d: %q, want %q", i, got, want[i])
		}
	}
	connect(t, cc, "").open("good", "{}").output()
	err := (&Registry{}).Set(defs...)
	if err == nil || !strings.Contains(err.Error(), `register tool 1 "func": input schema: at /F`) {
		t.Errorf("Set: %v", err)
	}
}

type upstream struct {
	URL   string `json:"url"`
	Retry int    `json:"retry,omitempty"`
}

type settings struct {
	Key      string              `json:"key"`
	Upstream map[string]upstream `json:"upstream,omitempty"`
	More     []upstream          `json:"more,omitempty"`
}

func TestSettings(t *testing.T) {
	var builds atomic.Int32
	cc := serveConn(t, func(ctx context.Context, r *Registry) error {
		builds.Add(1)
		var s settings
		if err := r.Settings(&s); err != nil {
			return err
		}
		return r.Set(newTool("key-"+s.Key, func(_ context.Context, c *Call, _ nothing) (settings, error) {
			var again settings
			return again, c.Settings(&again)
		}))
	})
	for _, tt := range []struct{ settings, tool, err string }{
		{`{"key":"a"}`, "key-a", ""},
		{`{"key":"b","upstream":{"x":{"url":"u","retry":2}}}`, "key-b", ""},
		{``, "", "settings: at /key: missing"},
		{`{"key":"a","kay":1}`, "", "settings: at /kay: unknown"},
		{`{"key":"a","upstream":{"x/y":{"url":"u","tries":2}}}`, "", "settings: at /upstream/x~1y/tries: unknown"},
		{`{"key":"a","more":[{"url":"u"},{}]}`, "", "settings: at /more/1/url: missing"},
		{`{"key":"a","more":[{"url":"u"},{"url":"v","retry":"x"}]}`, "", "settings: at /more/1/retry: string does not fit int"},
		{`{"key":`, "", "settings: at byte 7: unexpected end of JSON input"},
		{`[]`, "", "settings: at /: array does not fit"},
	} {
		m := describeOn(t, cc, tt.settings)
		if !strings.Contains(m.GetError(), tt.err) || tt.err == "" && m.GetError() != "" {
			t.Errorf("%s: error %q, want %q", tt.settings, m.GetError(), tt.err)
		}
		if !strings.Contains(string(m.GetSettingsSchema()), `"key"`) {
			t.Errorf("%s: no settings schema: %v", tt.settings, m)
		}
		if tt.err != "" && len(m.GetTools()) > 0 || tt.err == "" && m.GetTools()[0].GetId() != tt.tool {
			t.Errorf("%s: tools = %v", tt.settings, m.GetTools())
		}
	}
	before := builds.Load()
	h := connect(t, cc, `{"key":"b","upstream":{"x":{"url":"u","retry":2}}}`)
	if builds.Load() != before {
		t.Error("the same settings were built twice")
	}
	got := string(h.open("key-b", "{}").output().GetOutput())
	if want := `{"key":"b","upstream":{"x":{"url":"u","retry":2}}}`; got != want {
		t.Errorf("Call.Settings = %s, want %s", got, want)
	}
	h.sess.Close()
	if h := connect(t, cc, "{}"); h.welcome.GetRefusal() != "settings: at /key: missing" {
		t.Errorf("welcome = %v", h.welcome)
	}
}

func TestD5_FailedBuildIsTriedAgain(t *testing.T) {
	var n atomic.Int32
	cc := serveConn(t, func(ctx context.Context, r *Registry) error {
		switch n.Add(1) {
		case 1:
			return errors.New("not yet")
		case 2:
			panic("not yet either")
		}
		return r.Set(newTool("t", func(context.Context, *Call, nothing) (any, error) { return nil, nil }))
	})
	for _, want := range []string{"not yet", "panic in the function that sets the tools: not yet either", ""} {
		if m := describeOn(t, cc, ""); m.GetError() != want {
			t.Errorf("error %q, want %q", m.GetError(), want)
		}
	}
}

func TestDynamicTools(t *testing.T) {
	registry := make(chan *Registry, 1)
	started, release := make(chan struct{}), make(chan struct{})
	version := func(v string) Definition {
		return newTool("t", func(context.Context, *Call, nothing) (string, error) {
			if v == "1" {
				close(started)
				<-release
			}
			return v, nil
		})
	}
	cc := serveConn(t, func(_ context.Context, r *Registry) error {
		r.Dynamic()
		registry <- r
		return r.Set(version("1"))
	})
	h := connect(t, cc, "")
	r := waitFor(t, registry, "registry")
	first := describeOn(t, cc, "")
	old := h.open("t", "{}")
	waitFor(t, started, "start")
	// The same definition with another function: nothing to tell.
	if err := r.Set(version("2")); err != nil {
		t.Fatal(err)
	}
	if got := string(h.open("t", "{}").output().GetOutput()); got != `"2"` {
		t.Errorf("the new function gave %s", got)
	}
	if err := r.Set(version("3"), newTool("more", func(context.Context, *Call, nothing) (any, error) { return nil, nil })); err != nil {
		t.Fatal(err)
	}
	waitFor(t, h.changed, "tools_changed")
	if n := len(h.changed); n > 0 {
		t.Errorf("%d more changes were told", n)
	}
	second := describeOn(t, cc, "")
	if !first.GetDynamic() || !second.GetDynamic() || len(second.GetTools()) != 2 {
		t.Errorf("first %v, second %v", first, second)
	}
	close(release)
	if got := string(old.output().GetOutput()); got != `"1"` {
		t.Errorf("the running call gave %s", got)
	}
}

// Set after the function returned makes a plugin dynamic that did not say so.
func TestLateSetIsDynamic(t *testing.T) {
	r := &Registry{}
	if err := r.Set(); err != nil || r.current(nil).pb.GetDynamic() {
		t.Fatalf("dynamic at once: %v", err)
	}
	r.ready.Store(true)
	if err := r.Set(); err != nil || !r.current(nil).pb.GetDynamic() {
		t.Errorf("not dynamic after a late Set: %v", err)
	}
}

func TestVersionIsRefused(t *testing.T) {
	c := &connection{server: newServer(static(nil)), ready: make(chan struct{})}
	close(c.ready)
	w := c.hello(&pb.Hello{Versions: []uint32{7, 9}})
	if !strings.Contains(w.GetRefusal(), "[7 9]") || !strings.Contains(w.GetRefusal(), "speaks 1") {
		t.Errorf("welcome = %v", w)
	}
}

func TestDescribeJSON(t *testing.T) {
	r := &Registry{}
	if err := r.Set(newTool("t", func(context.Context, *Call, city) (any, error) { return nil, nil }),
		newTool("", func(context.Context, *Call, city) (any, error) { return nil, nil })); err == nil {
		t.Fatal("no error for a tool without an id")
	}
	m := r.current(nil)
	raw, err := describe(m)
	if err != nil {
		t.Fatal(err)
	}
	var got struct {
		Hash     string
		Manifest struct {
			Role  string
			Tools []struct {
				ID          string
				InputSchema struct{ Required []string }
				OutputMode  string
			}
			BadTools []struct{ Error string }
		}
	}
	if err := json.Unmarshal(raw, &got); err != nil {
		t.Fatalf("%s: %v", raw, err)
	}
	tools := got.Manifest.Tools
	if len(got.Hash) != 64 || got.Manifest.Role != "ROLE_TOOLS" || len(tools) != 1 || tools[0].ID != "t" ||
		!cmp.Equal(tools[0].InputSchema.Required, []string{"city"}) || tools[0].OutputMode != "OUTPUT_MODE_REJECT" ||
		len(got.Manifest.BadTools) != 1 || !strings.Contains(got.Manifest.BadTools[0].Error, "field ID") {
		t.Errorf("got %s", raw)
	}
	if again := r.current(nil); !proto.Equal(again.pb, m.pb) || string(again.hash) != string(m.hash) {
		t.Error("the manifest is not stable")
	}
}
