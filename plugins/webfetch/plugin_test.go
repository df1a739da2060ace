package main

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"github.com/toolhost/toolhost/host"
	"github.com/toolhost/toolhost/host/conform"
	"github.com/toolhost/toolhost/plugins/internal/upstream"
	"github.com/toolhost/toolhost/plugins/webfetch/internal/fetch"
	"github.com/toolhost/toolhost/pluginsdk/plugintest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// recorded serves the recorded pages and returns their base URL and settings that allow it.
func recorded(t *testing.T, h http.Handler) (string, fetch.Settings) {
	t.Helper()
	server := httptest.NewServer(h)
	t.Cleanup(server.Close)
	return server.URL, fetch.Settings{Allow: []string{strings.TrimPrefix(server.URL, "http://")}}
}

// open runs the tool in memory under the real host.
func open(t *testing.T, s fetch.Settings) *host.Host {
	t.Helper()
	f, err := s.Fetcher()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(f.Close)
	return plugintest.Open(t, webfetch(f))
}

func input(t *testing.T, in fetch.Input) json.RawMessage {
	t.Helper()
	raw, err := json.Marshal(in)
	if err != nil {
		t.Fatal(err)
	}
	return raw
}

// TestTool_Definition holds what hosts and models are told of the tool.
func TestTool_Definition(t *testing.T) {
	tool, ok := open(t, fetch.Settings{}).Tool("webfetch")
	if !ok {
		t.Fatal("no tool webfetch")
	}
	a := tool.Annotations
	if a.ReadOnly == nil || !*a.ReadOnly || a.OpenWorld == nil || !*a.OpenWorld || a.Destructive == nil || *a.Destructive {
		t.Errorf("annotations %+v", a)
	}
	var in, out struct {
		Required   []string
		Properties map[string]struct{ Description string }
	}
	if err := errors.Join(json.Unmarshal(tool.InputSchema, &in), json.Unmarshal(tool.OutputSchema, &out)); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"url"}, in.Required); diff != "" {
		t.Error(diff)
	}
	for name, p := range in.Properties {
		if p.Description == "" {
			t.Errorf("input %s has no description", name)
		}
	}
	if diff := cmp.Diff([]string{"url", "status", "statusText", "ok", "format", "content", "truncated"}, out.Required); diff != "" {
		t.Error(diff)
	}
}

// TestTool_Parts goes through a long page part by part, as a model does: by what the model form says.
func TestTool_Parts(t *testing.T) {
	base, settings := recorded(t, upstream.Handler())
	h := open(t, settings)
	in := fetch.Input{URL: base + upstream.PagesPath + "/large", MaxChars: 60_000}
	var seen []string
	for range 4 {
		res, err := h.Call(t.Context(), host.Call{Tool: "webfetch", Input: input(t, in)})
		if err != nil {
			t.Fatal(err)
		}
		var out fetch.Output
		var model string
		if err := errors.Join(json.Unmarshal(res.Output, &out), json.Unmarshal(res.Model.Value, &model)); err != nil {
			t.Fatal(err)
		}
		if res.Model.Type != "text" || !strings.Contains(model, "\n\n"+out.Content+"\n") {
			t.Fatalf("model form %s", res.Model.Type)
		}
		head, _, _ := strings.Cut(model, "\n\n")
		seen = append(seen, strings.ReplaceAll(head, base, "BASE"))
		if out.NextOffset == nil {
			break
		}
		in.Offset = *out.NextOffset
	}
	want := []string{
		"Title: A long page\nURL: BASE/pages/large\nPart: characters 0 to 60000 of 110290; go on with offset 60000",
		"Title: A long page\nURL: BASE/pages/large\nPart: characters from 60000 of 110290; this is the end",
	}
	if diff := cmp.Diff(want, seen); diff != "" {
		t.Error(diff)
	}
}

func TestBI29_NotFoundIsAResult(t *testing.T) {
	base, settings := recorded(t, upstream.Handler())
	res, err := open(t, settings).Call(t.Context(), host.Call{Tool: "webfetch", Input: input(t, fetch.Input{URL: base + "/pages/missing", Links: true})})
	if err != nil {
		t.Fatal(err)
	}
	var model string
	if err := json.Unmarshal(res.Model.Value, &model); err != nil {
		t.Fatal(err)
	}
	want := "Title: Not Found\nURL: " + base + "/pages/missing\nStatus: 404 Not Found\n\nThere is no page /missing.\n"
	if diff := cmp.Diff(want, model); diff != "" {
		t.Error(diff)
	}
}

// TestBI23_RefusalsAreToolErrors has what is wrong, with which URL, in message and data.
func TestBI23_RefusalsAreToolErrors(t *testing.T) {
	h := open(t, fetch.Settings{})
	for url, want := range map[string]struct{ data, message string }{
		"http://169.254.169.254/x": {`{"kind":"private_address","url":"http://169.254.169.254/x","address":"169.254.169.254"}`,
			"fetch http://169.254.169.254/x: URL resolves to a private or reserved address. 169.254.169.254 (link local)"},
		"ftp://example.com/": {`{"kind":"unsupported_scheme","url":"ftp://example.com/"}`,
			"fetch ftp://example.com/: only HTTP and HTTPS URLs are supported."},
		"http://me:pw@example.com/": {`{"kind":"invalid_url","url":"http://example.com/"}`, "fetch http://example.com/: a URL with a user"},
	} {
		_, err := h.Call(t.Context(), host.Call{Tool: "webfetch", Input: input(t, fetch.Input{URL: url})})
		var he *host.Error
		var te *host.ToolError
		if !errors.As(err, &he) || he.Code != host.ToolFailed || !errors.As(err, &te) {
			t.Errorf("%s: %v", url, err)
			continue
		}
		if string(te.Data) != want.data || !strings.HasPrefix(te.Message, want.message) {
			t.Errorf("%s: message %q, data %s", url, te.Message, te.Data)
		}
	}
	for _, bad := range []string{`{}`, `{"url":""}`, `{"url":"http://example.com/","format":"pdf"}`, `{"url":"http://example.com/","maxChars":200001}`} {
		_, err := h.Call(t.Context(), host.Call{Tool: "webfetch", Input: json.RawMessage(bad)})
		var he *host.Error
		if !errors.As(err, &he) || he.Code != host.InvalidInput {
			t.Errorf("%s: %v", bad, err)
		}
	}
}

// TestB54_CancelReachesTheServer runs the real binary, cancels a call in the middle of the body and waits
// until the server has seen its connection end; then the same process answers the next call.
func TestB54_CancelReachesTheServer(t *testing.T) {
	gone := make(chan struct{})
	mux := http.NewServeMux()
	mux.Handle("/pages/", upstream.Handler())
	mux.HandleFunc("/endless", func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/plain")
		_, _ = w.Write([]byte("the beginning"))
		_ = http.NewResponseController(w).Flush()
		<-r.Context().Done()
		close(gone)
	})
	base, settings := recorded(t, mux)
	raw, err := json.Marshal(settings)
	if err != nil {
		t.Fatal(err)
	}
	h := plugintest.Config{Settings: raw}.Binary(t, plugintest.Build(t, ".", "webfetch"))
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	progress := 0.0
	var last host.Event
	run := h.Start(ctx, host.Call{Tool: "webfetch", Input: input(t, fetch.Input{URL: base + "/endless"})})
	for e := range run.Events() {
		if p, ok := e.(host.Progress); ok {
			progress = p.Progress
			cancel()
		}
		last = e
	}
	if _, err := run.Result(); !errors.Is(err, context.Canceled) || progress != float64(len("the beginning")) {
		t.Errorf("progress %v, last event %T, error %v", progress, last, err)
	}
	<-gone
	if _, err := h.Call(t.Context(), host.Call{Tool: "webfetch", Input: input(t, fetch.Input{URL: base + "/pages/article"})}); err != nil {
		t.Error(err)
	}
}

// TestBinary_BadSettings starts the real binary with settings that cannot be: the reason is told, nothing is
// fetched.
func TestBinary_BadSettings(t *testing.T) {
	h, err := host.Open(t.Context(), host.Config{Eager: true, StateDir: t.TempDir(), Plugins: []host.Plugin{
		{Path: plugintest.Build(t, ".", "webfetch"), Settings: json.RawMessage(`{"allow":["localhost:80"]}`)}}})
	if err != nil {
		t.Fatal(err)
	}
	defer h.Close()
	for p := range h.Plugins() {
		if !strings.Contains(p.Error, `settings: allow: "localhost:80"`) {
			t.Errorf("plugin %s: %q", p.Name, p.Error)
		}
	}
	_, err = h.Call(t.Context(), host.Call{Tool: "webfetch", Input: input(t, fetch.Input{URL: "http://127.0.0.1/"})})
	var he *host.Error
	if !errors.As(err, &he) || he.Code == host.ToolFailed {
		t.Errorf("a call: %v", err)
	}
}

// TestA3_Conform holds the real binary to what a host expects, against recorded pages.
func TestA3_Conform(t *testing.T) {
	base, settings := recorded(t, upstream.Handler())
	raw, err := json.Marshal(settings)
	if err != nil {
		t.Fatal(err)
	}
	report := plugintest.Config{
		Settings: raw, Unsafe: true, Calls: []conform.Call{{Tool: "webfetch", Input: input(t, fetch.Input{URL: base + upstream.PagesPath + "/large"})}},
	}.Conform(t, plugintest.Build(t, ".", "webfetch"))
	if c, _ := report.Check("call"); c.State != conform.OK {
		t.Errorf("the tool was not called: %+v", c)
	}
}
