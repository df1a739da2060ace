package main

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/toolhost/toolhost/host"
	"github.com/toolhost/toolhost/host/conform"
	"github.com/toolhost/toolhost/plugins/internal/upstream"
	"github.com/toolhost/toolhost/pluginsdk/plugintest"
)

// open runs the tool in memory under the real host, against the recorded services.
func open(t *testing.T, settings Settings) *host.Host {
	t.Helper()
	return plugintest.Open(t, weather(newService(t).forecaster(t, settings), newArrivals()))
}

// TestTool_Schemas holds the inferred schemas to what a model needs to know.
func TestTool_Schemas(t *testing.T) {
	tool, ok := open(t, Settings{}).Tool("weather")
	if !ok {
		t.Fatal("no tool weather")
	}
	var input struct {
		Type       string
		Required   []string
		Additional *bool `json:"additionalProperties"`
		Properties map[string]map[string]any
	}
	if err := json.Unmarshal(tool.InputSchema, &input); err != nil {
		t.Fatal(err)
	}
	if input.Type != "object" || cmp.Diff([]string{"location"}, input.Required) != "" || input.Additional == nil || *input.Additional {
		t.Errorf("input schema %s", tool.InputSchema)
	}
	for name, want := range map[string]map[string]any{
		"location": {"type": "string", "minLength": 1.0, "maxLength": 200.0},
		"units":    {"type": "string", "enum": []any{"metric", "imperial"}, "default": "metric"},
		"days":     {"type": "integer", "minimum": 0.0, "maximum": 7.0, "default": 1.0},
	} {
		got := input.Properties[name]
		if got["description"] == "" || got["description"] == nil {
			t.Errorf("%s has no description", name)
		}
		delete(got, "description")
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
	var output struct{ Required []string }
	if err := json.Unmarshal(tool.OutputSchema, &output); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"place", "units", "current", "daily", "provider", "attribution"}, output.Required); diff != "" {
		t.Errorf("required output (-want +got):\n%s", diff)
	}
	if strings.Contains(string(tool.OutputSchema), `"null"`) {
		t.Errorf("the output schema allows null, which no report has: %s", tool.OutputSchema)
	}
}

// TestTool_Call calls through the host: defaults are filled, the output fits
// its schema, and what goes wrong has its code.
func TestTool_Call(t *testing.T) {
	for _, name := range everyProvider {
		h := open(t, Settings{Provider: name})
		res, err := h.Call(t.Context(), host.Call{Tool: "weather", Input: []byte(`{"location":"Berlin"}`)})
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		var r Report
		if err := json.Unmarshal(res.Output, &r); err != nil || r.Place.Name != "Berlin" || r.Units.System != "metric" || len(r.Daily) != 1 {
			t.Errorf("%s: output %s, error %v", name, res.Output, err)
		}
	}
	h := open(t, Settings{})
	for input, want := range map[string]host.Code{
		`{}`:                                host.InvalidInput,
		`{"location":"Berlin","days":8}`:    host.InvalidInput,
		`{"location":"Berlin","units":"K"}`: host.InvalidInput,
		`{"location":"fault-429"}`:          host.ToolFailed,
		`{"location":"91,0"}`:               host.ToolFailed,
	} {
		_, err := h.Call(t.Context(), host.Call{Tool: "weather", Input: []byte(input)})
		var got *host.Error
		if !errors.As(err, &got) || got.Code != want {
			t.Errorf("%s: error %v, want code %v", input, err, want)
		}
	}
}

// TestTool_FailureHasData checks what the host hands on of a service's failure.
func TestTool_FailureHasData(t *testing.T) {
	_, err := open(t, Settings{}).Call(t.Context(), host.Call{Tool: "weather", Input: []byte(`{"location":"forecast-fault-429"}`)})
	var got *host.ToolError
	if !errors.As(err, &got) {
		t.Fatalf("error %v, want a *host.ToolError", err)
	}
	var f failure
	if err := json.Unmarshal(got.Data, &f); err != nil {
		t.Fatal(err)
	}
	if f.Provider != openMeteoName || f.Status != 429 || !f.Retryable || f.RetryAfter != 7 || !strings.HasPrefix(got.Message, "open-meteo: "+f.Host+": 429") {
		t.Errorf("message %q, data %s", got.Message, got.Data)
	}
}

// messages is a slog.Handler that sends the messages of records to a channel.
type messages struct{ to chan string }

func (m messages) Enabled(context.Context, slog.Level) bool { return true }
func (m messages) WithAttrs([]slog.Attr) slog.Handler       { return m }
func (m messages) WithGroup(string) slog.Handler            { return m }
func (m messages) Handle(_ context.Context, r slog.Record) error {
	if strings.HasPrefix(r.Message, "input ") {
		m.to <- r.Message
	}
	return nil
}

// TestBinary_SeesEachDelta runs the real binary with settings as make upstream
// writes them, and writes a piece of the input only when the plugin has logged
// the one before.
func TestBinary_SeesEachDelta(t *testing.T) {
	s := newService(t)
	settings, err := json.Marshal(Settings{OpenMeteo: s.url + upstream.OpenMeteoPath, Geocoding: s.url + upstream.GeocodingPath})
	if err != nil {
		t.Fatal(err)
	}
	logged := make(chan string, 16)
	h, err := host.Open(t.Context(), host.Config{
		Plugins:  []host.Plugin{{Path: plugintest.Build(t, ".", "weather"), Settings: settings}},
		StateDir: t.TempDir(),
		Logger:   slog.New(messages{logged}),
	})
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := h.Close(); err != nil {
			t.Error(err)
		}
	}()
	expect := func(want string) {
		t.Helper()
		select {
		case got := <-logged:
			if got != want {
				t.Fatalf("the plugin logged %q, want %q", got, want)
			}
		case <-time.After(time.Minute):
			t.Fatalf("the plugin has not logged %q", want)
		}
	}
	r := h.Start(t.Context(), host.Call{Tool: "weather"})
	expect("input starts")
	for _, delta := range []string{`{"loca`, `tion":"Ber`, `lin","days":3}`} {
		if err := r.Delta([]byte(delta)); err != nil {
			t.Fatal(err)
		}
		expect("input delta")
	}
	if err := r.EndInput(); err != nil {
		t.Fatal(err)
	}
	expect("input available")
	res, err := r.Result()
	if err != nil {
		t.Fatal(err)
	}
	var report Report
	if err := json.Unmarshal(res.Output, &report); err != nil || report.Place.Name != "Berlin" || len(report.Daily) != 3 {
		t.Errorf("output %s, error %v", res.Output, err)
	}
}

// TestA3_Conform holds the real binary to what a host expects, against the recorded services.
func TestA3_Conform(t *testing.T) {
	s := newService(t)
	settings, err := json.Marshal(Settings{OpenMeteo: s.url + upstream.OpenMeteoPath, Geocoding: s.url + upstream.GeocodingPath})
	if err != nil {
		t.Fatal(err)
	}
	report := plugintest.Config{Settings: settings, Unsafe: true}.Conform(t, plugintest.Build(t, ".", "weather"))
	if c, _ := report.Check("call"); c.State != conform.OK {
		t.Errorf("the tool was not called: %+v", c)
	}
}
